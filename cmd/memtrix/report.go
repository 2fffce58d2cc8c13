package main

import (
	"errors"
	"fmt"
	"io"

	"memtrix"
	"memtrix/reports"
	"memtrix/results"
)

type reportCmd struct {
	Session string `arg:"" optional:"" help:"A session's name; the last one by default."`
	Results string `help:"Results folder." default:"memtrix-results" type:"existingdir"`
	Format  string `help:"table (with pictures), markdown (fits a comment on a pull request), json, or html: one file with everything in it, that works offline." enum:"table,markdown,json,html" default:"table"`
	Output  string `name:"output" short:"o" help:"Write it there instead of to standard output; not for table." placeholder:"FILE" type:"path"`
	FailOn  string `name:"fail-on" help:"Exit with 1 when the session brought one of these against the sessions and versions before: new-oom, new-failure, shift, shift:5% (of at least that much), slope (a drift, too), fixed-oom." placeholder:"KINDS"`
	Trial   int64  `help:"One trial, from inside: what its probe told of each node and model." placeholder:"ID"`
}

// Help is shown under --help.
func (reportCmd) Help() string {
	return `Exit status: 0 when it is shown, whatever became of the trials; 1 when --fail-on found one of its changes; 2 for wrong usage, or a session or trial that is not there; 3 when it cannot be read or written.`
}

func (c *reportCmd) Run(a *app) error {
	rules, err := parseFailOn(c.FailOn)
	if err != nil {
		return err
	}
	if err := c.write(a); err != nil || rules == nil {
		return err
	}
	return failSession(a, c.Results, c.Session, rules)
}

func (c *reportCmd) write(a *app) error {
	db, err := openToRead(a, c.Results)
	if err != nil {
		return err
	}
	defer db.Close()
	if c.Trial != 0 {
		return c.trial(a, db)
	}
	session, err := findSession(a, db, c.Session)
	if err != nil {
		return err
	}
	trials, err := db.Trials(a.ctx, session.ID)
	if err != nil {
		return cannot{err}
	}
	s := &reports.Session{Name: session.Name, Spec: session.Spec, Trials: memtrix.Current(trials)}
	switch c.Format {
	case "markdown":
		return output(a, c.Output, func(w io.Writer) error { return reports.Markdown(w, *s) })
	case "json":
		return output(a, c.Output, func(w io.Writer) error { return reports.SessionJSON(w, *s) })
	case "html":
		return c.page(a, db, session, s)
	}
	if c.Output != "" {
		return usage{errors.New("--output goes with --format markdown, json or html; a table's pictures are in the results folder")}
	}
	if s.Trends, err = trends(a.ctx, db, session, *s); err != nil {
		return cannot{err}
	}
	return show(a, s, c.Results)
}

// trial shows one trial from inside.
func (c *reportCmd) trial(a *app, db *results.DB) error {
	t, err := db.Trial(a.ctx, c.Trial)
	switch {
	case errors.Is(err, results.ErrNotFound):
		return usage{fmt.Errorf("there is no trial %d in %s", c.Trial, db.Dir())}
	case err != nil:
		return cannot{err}
	case c.Session != "" || c.Format == "markdown" || c.Format == "html" || c.Output != "":
		return usage{errors.New("--trial goes with neither a session, markdown, html nor --output: a trial's number says which it is")}
	case c.Format == "json":
		return unlessUnread(reports.TrialJSON(a.stdout, t))
	}
	return unlessUnread(reports.ProbeTable(a.stdout, t, tableOptions(a)))
}

func findSession(a *app, db *results.DB, name string) (memtrix.Session, error) {
	if name != "" {
		s, err := db.FindSession(a.ctx, name)
		if errors.Is(err, results.ErrNotFound) {
			return s, usage{fmt.Errorf("there is no session %q in %s", name, db.Dir())}
		}
		return s, err
	}
	all, err := db.Sessions(a.ctx)
	if err != nil {
		return memtrix.Session{}, cannot{err}
	}
	if len(all) == 0 {
		return memtrix.Session{}, cannot{fmt.Errorf("there is no session in %s yet", db.Dir())}
	}
	return all[len(all)-1], nil
}
