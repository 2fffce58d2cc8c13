package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/term"

	"memtrix"
	"memtrix/comfyui"
	"memtrix/environment"
	"memtrix/hardware"
	"memtrix/history"
	"memtrix/matrix"
	"memtrix/recorders"
	"memtrix/recorders/nvidia"
	"memtrix/reports"
	"memtrix/reports/progress"
	"memtrix/results"
	"memtrix/runner"
)

type runCmd struct {
	specFlags
	standInFlags
	Results string `help:"Folder for memtrix.db, pictures and the raw files of each trial." default:"memtrix-results" type:"path"`
	Session string `help:"new, last, or a session's name. By default the last session of this spec goes on if it was interrupted, else a new one begins." placeholder:"SESSION"`
	JSON    bool   `name:"json" help:"One JSON document on standard output and nothing else there."`
	Quiet   bool   `short:"q" help:"No progress."`
	// OOMDetail costs a trial more for each cell that ran out of VRAM.
	Confirm   bool   `help:"When a cell newly runs out of memory, or its numbers are far from those of the nights before, repeat it once more or twice, to be sure. Where an alarm is about VRAM and memtrix floor has found the cell's floor before, two trials beside it tell whether it moved." default:"true" negatable:""`
	FailOn    string `name:"fail-on" help:"Exit with 1 only on these changes against the sessions and versions before: new-oom, new-failure, shift, shift:5% (of at least that much), slope (a drift, too), fixed-oom. By default on every trial that did not end as expected, and on every new alarm." placeholder:"KINDS"`
	OOMDetail bool   `name:"oom-detail" help:"Repeat each cell that ran out of VRAM at work once, with torch's native allocator and a record of its allocations: what held the memory, with its lines of Python."`
}

func (c *runCmd) Run(a *app) error {
	rules, err := parseFailOn(c.FailOn)
	if err != nil {
		return err
	}
	spec, err := c.load(a.ctx)
	if err != nil {
		return err
	}
	c.ownModels(a, spec)
	c.say(spec)
	db, done, err := openToWrite(a, c.Results)
	if err != nil {
		return err
	}
	defer done()
	s, seen, err := runSpec(a, spec, db, c.Session, c.Quiet, c.Confirm)
	if err != nil && s == nil {
		return err
	}
	var news *reports.Review
	if err == nil {
		var reviewErr error
		if news, reviewErr = review(a.ctx, db, seen, s.Name); reviewErr != nil {
			err = cannot{fmt.Errorf("look for what changed: %w", reviewErr)}
		}
	}
	if c.Confirm && err == nil {
		err = confirmFloors(a, spec, db, s, news, c.Quiet)
	}
	if c.OOMDetail && err == nil {
		var details strings.Builder
		err = detailOOMs(a, spec, db, s, &details, c.Quiet)
		defer func() { c.sayDetails(a, details.String()) }()
	}
	if c.JSON {
		if err := errors.Join(unlessUnread(reports.SessionJSON(a.stdout, *s)), err); err != nil {
			return err
		}
		return c.ending(a, a.stderr, s, news, rules)
	}
	if err := finishRun(a, s, c.Results, err); err != nil || news == nil {
		return err
	}
	return c.ending(a, a.stdout, s, news, rules)
}

// ending tells what the session changed, and gives the exit status.
func (c *runCmd) ending(a *app, out io.Writer, s *reports.Session, news *reports.Review, rules history.FailOn) error {
	if err := unlessUnread(reports.ReviewText(out, *news, tableOptions(a))); err != nil {
		return err
	}
	stepSummary(a, func(w io.Writer) error {
		return errors.Join(reports.Markdown(w, *s), reports.ReviewMarkdown(w, *news))
	})
	annotate(a, func(w io.Writer) error { return reports.Annotations(w, s.Trials, *news) })
	err := verdict(s)
	if err == status(exitCannot) {
		return err
	}
	if rules != nil {
		return sayFailing(a, failing(rules, news.Changes))
	}
	if err == nil && len(news.Opened) > 0 {
		return status(exitFound)
	}
	return err
}

// sayDetails writes after the table, and not into a JSON document.
func (c *runCmd) sayDetails(a *app, text string) {
	out := a.stdout
	if c.JSON {
		out = a.stderr
	}
	fmt.Fprint(out, text)
}

// finishRun shows what came out of a run, also of an interrupted one, and gives the
// errors on the way there.
func finishRun(a *app, s *reports.Session, dir string, err error) error {
	if e := show(a, s, dir); e != nil {
		err = errors.Join(err, e)
	}
	switch {
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(a.stderr, "The trials so far are kept; the same command goes on from here.")
		return err
	case err != nil:
		return err
	}
	return nil
}

// verdict is the exit status of a session.
func verdict(s *reports.Session) error {
	harness := 0
	for _, t := range s.Trials {
		if t.Outcome.Kind == memtrix.HarnessFailure && !t.AsExpected() {
			harness++
		}
	}
	switch failed := reports.Failed(s.Trials); {
	case harness > 0:
		return status(exitCannot)
	case failed > 0:
		return status(exitFound)
	}
	return nil
}

// runSpec plans a spec and runs what its session is missing. The session comes
// back also when the run was interrupted, with all its trials. What is known after the last
// of them comes with it where it was looked at.
func runSpec(a *app, spec *matrix.Spec, db *results.DB, which string, quiet, confirming bool) (_ *reports.Session, seen *sight, _ error) {
	rd, err := makeReady(a, spec, db, "", which, quiet)
	if err != nil {
		return nil, nil, err
	}
	defer rd.close()
	r, plan, session := rd.runner, rd.plan, rd.session
	_, runErr := r.Run(a.ctx, session, plan)
	if runErr == nil && confirming {
		seen, runErr = confirm(a, db, rd)
	}
	rd.display.Close()

	ctx := context.WithoutCancel(a.ctx)
	if runErr == nil {
		if err := db.EndSession(ctx, session.ID); err != nil {
			runErr = cannot{err} // the trials are there to be shown
		}
	}
	trials, err := db.Trials(ctx, session.ID)
	if err != nil {
		return nil, nil, cannot{err}
	}
	s := &reports.Session{Name: session.Name, Spec: plan.Spec, Trials: memtrix.Current(trials), Plan: *plan,
		Interval: spec.Interval, Slower: max(spec.Interval, recorders.Fast)}
	if r.Card == nil { // simulated cards are read as seldom as the rest
		s.Interval = s.Slower
	}
	for _, c := range plan.Cells {
		if name := c.Cell.Version.Name; !slices.Contains(s.Versions, name) {
			s.Versions = append(s.Versions, name)
		}
	}
	return s, seen, runErr
}

// pickSession finds the session to go on with, or begins a new one.
func pickSession(a *app, db *results.DB, spec, which string) (memtrix.Session, error) {
	switch which {
	case "new":
		return startSession(a, db, spec)
	case "", "last":
		s, err := db.LastSession(a.ctx, spec)
		if errors.Is(err, results.ErrNotFound) {
			if which == "last" {
				return s, usage{fmt.Errorf("there is no session of spec %q in %s yet", spec, db.Dir())}
			}
			return startSession(a, db, spec)
		}
		if err != nil {
			return s, cannot{err}
		}
		if which == "" && !s.Ended.IsZero() {
			return startSession(a, db, spec)
		}
		fmt.Fprintf(a.stderr, "going on with session %s\n", s.Name)
		return s, nil
	}
	s, err := db.FindSession(a.ctx, which)
	if errors.Is(err, results.ErrNotFound) {
		return s, usage{fmt.Errorf("there is no session %q in %s", which, db.Dir())}
	}
	if err == nil && s.Spec != spec {
		return s, usage{fmt.Errorf("session %q belongs to spec %q, not to %q", which, s.Spec, spec)}
	}
	return s, err
}

func startSession(a *app, db *results.DB, spec string) (memtrix.Session, error) {
	s, err := db.StartSession(a.ctx, spec, "")
	if err != nil {
		return s, cannot{err}
	}
	thinOlder(a, db, s)
	return s, nil
}

func options(s *matrix.Spec) runner.Options {
	return runner.Options{
		Prompts:  s.Prompts,
		Rest:     s.Rest,
		Free:     s.Free,
		Interval: s.Interval,
		Keep:     s.Keep,
		Timeouts: runner.Timeouts(s.Timeouts),
		Extra:    s.Args,
		Env:      s.Env,
		Models:   s.Models,
	}
}

func environmentOf(s *matrix.Spec) func(context.Context, memtrix.Version) memtrix.Environment {
	var c environment.Capturer
	return func(ctx context.Context, v memtrix.Version) memtrix.Environment {
		if v.Attached != nil {
			in, here := attachedEnvironment(v)
			if !here {
				return memtrix.Environment{}
			}
			return c.Capture(ctx, in)
		}
		in := environment.Input{Version: v, Env: comfyui.Environ(s.Env)}
		switch {
		case len(s.Models) > 0:
			in.Models = s.Models[0]
		case v.Dir != "":
			in.Models = filepath.Join(v.Dir, "models")
		}
		e := c.Capture(ctx, in)
		if len(s.Args) > 0 {
			e["args"] = strings.Join(s.Args, " ")
		}
		return e
	}
}

// newGate tolerates what is on the card when the session begins (a desktop, a
// ballast) and nothing more.
func newGate(card *nvidia.Card, say func(string)) func(context.Context, time.Duration) (*int64, error) {
	g := hardware.Gate{Allowed: hardware.Anything, Say: say}
	return func(ctx context.Context, limit time.Duration) (*int64, error) {
		b, err := g.Wait(ctx, card, limit)
		if err != nil {
			return nil, err
		}
		if g.Allowed == hardware.Anything {
			g.Allowed = b.Used
		}
		return &b.Used, nil
	}
}

// lookup finds variables as a server will see them.
func lookup(env map[string]string) nvidia.Lookup {
	return func(name string) (string, bool) {
		if v, ok := env[name]; ok {
			return v, true
		}
		return os.LookupEnv(name)
	}
}

func newDisplay(a *app, plan *memtrix.Plan, prompts int, quiet bool) *progress.Display {
	total := 0
	for _, c := range plan.Cells {
		switch c.Status {
		case memtrix.StatusRun:
			total += max(c.Repeats, 1)
		case memtrix.StatusNotApplicable:
			total++
		}
	}
	if quiet {
		return progress.Quiet(a.stderr)
	}
	f, ok := a.stderr.(*os.File)
	d := progress.New(a.stderr, ok && term.IsTerminal(int(f.Fd())), total)
	d.Prompts(prompts)
	return d
}
