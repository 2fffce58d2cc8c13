package main

import (
	"errors"
	"fmt"
	"io"

	"memtrix"
	"memtrix/reports"
	"memtrix/reports/export"
	"memtrix/results"
)

type exportCmd struct {
	Format  string  `arg:"" help:"gobench (for benchstat), junit, csv, perfetto (a trace, for ui.perfetto.dev), or github-action-benchmark (customSmallerIsBetter)." enum:"gobench,junit,csv,perfetto,github-action-benchmark"`
	Results string  `help:"Results folder." default:"memtrix-results" type:"existingdir"`
	Session string  `help:"A session's name; the last one by default." placeholder:"NAME"`
	Trial   []int64 `help:"Only these trials, of whatever session." placeholder:"ID"`
	Output  string  `name:"output" short:"o" help:"Write it there instead of to standard output." placeholder:"FILE" type:"path"`
}

// Help is shown under --help.
func (exportCmd) Help() string {
	return `Exit status: 0 when it is written, whatever became of the trials; 2 for wrong usage, or a session or trial that is not there; 3 when it cannot be read or written.`
}

func (c *exportCmd) Run(a *app) error {
	db, err := openToRead(a, c.Results)
	if err != nil {
		return err
	}
	defer db.Close()
	s, err := c.session(a, db)
	if err != nil {
		return err
	}
	return output(a, c.Output, func(w io.Writer) error { return c.write(a, db, w, *s) })
}

func (c *exportCmd) write(a *app, db *results.DB, w io.Writer, s reports.Session) error {
	switch c.Format {
	case "gobench":
		return export.GoBench(w, s)
	case "junit":
		return export.JUnit(w, s)
	case "csv":
		return export.CSV(w, s)
	case "github-action-benchmark":
		return export.BenchmarkAction(w, s)
	}
	trace := export.NewTrace(w)
	for _, t := range s.Trials {
		whole, err := db.Trial(a.ctx, t.ID)
		if err != nil {
			return cannot{err}
		}
		trace.Trial(whole)
	}
	return trace.Close()
}

// session is what is exported: a whole one, or the trials that were named.
func (c *exportCmd) session(a *app, db *results.DB) (*reports.Session, error) {
	if len(c.Trial) == 0 {
		session, err := findSession(a, db, c.Session)
		if err != nil {
			return nil, err
		}
		trials, err := db.Trials(a.ctx, session.ID)
		if err != nil {
			return nil, cannot{err}
		}
		return &reports.Session{Name: session.Name, Spec: session.Spec, Trials: memtrix.Current(trials)}, nil
	}
	if c.Session != "" {
		return nil, usage{errors.New("--trial goes without --session: a trial's number says which it is")}
	}
	s := &reports.Session{}
	for _, id := range c.Trial {
		t, err := db.Trial(a.ctx, id)
		switch {
		case errors.Is(err, results.ErrNotFound):
			return nil, usage{fmt.Errorf("there is no trial %d in %s", id, db.Dir())}
		case err != nil:
			return nil, cannot{err}
		}
		s.Trials = append(s.Trials, t)
	}
	return s, nil
}
