package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"memtrix"
	"memtrix/bisect"
	"memtrix/bisect/account"
	"memtrix/bisect/axes"
	"memtrix/internal/files"
	"memtrix/lab"
	"memtrix/matrix"
	"memtrix/reports"
	"memtrix/results"
	"memtrix/versions"
	"memtrix/versions/pyenv"
	"memtrix/workflows/standin"
)

// specSearch is a bisection over real cells: what is asked, and what runs it.
type specSearch struct {
	cmd    *bisectCmd
	app    *app
	spec   *matrix.Spec // of one workflow and one hardware
	ends   *bisectEnds
	ready  *ready
	acc    account.Account
	opened []string // merges that were looked into
	// places are those where no trial runs now.
	places chan *place
	floor  *floorAxis // nil but for --meter floor.vram and floor.ram

	planning sync.Mutex      // of what follows, and of the world that answers plans
	made     map[string]bool // groups of candidates whose environments are there
	cells    map[string]cellOrWhy
}

type cellOrWhy struct {
	cell memtrix.PlannedCell
	why  string
}

// runSpec bisects what a spec names.
func (c *bisectCmd) runSpec(a *app) error {
	s, err := c.openSpec(a)
	if err != nil {
		return err
	}
	db, done, err := openToWrite(a, c.Results)
	if err != nil {
		return err
	}
	defer done()
	if err := s.open(db); err != nil {
		return err
	}
	defer s.ready.close()
	err = s.stages()
	s.ready.display.Close()
	if errors.Is(err, context.Canceled) {
		fmt.Fprintln(a.stderr, "The trials so far are kept; the same command goes on from here.")
		return err
	}
	if err != nil && len(s.acc.Stages) == 0 {
		return err
	}
	if err == nil {
		if e := db.EndSession(context.WithoutCancel(a.ctx), s.ready.session.ID); e != nil {
			err = cannot{e}
		}
	}
	if e := s.show(db.Dir()); e != nil || err != nil {
		return errors.Join(err, e)
	}
	if !s.acc.Stages[0].Report.Answers() {
		return status(exitFound)
	}
	return nil
}

// openSpec reads the spec and finds its ends, before anything runs.
func (c *bisectCmd) openSpec(a *app) (*specSearch, error) {
	data, err := readSpec(a.ctx, c.Spec)
	if a.ctx.Err() != nil {
		return nil, a.ctx.Err()
	}
	if err != nil {
		return nil, usage{fmt.Errorf("read spec: %w", err)}
	}
	spec, err := matrix.Parse(c.Spec, data)
	if err == nil {
		err = spec.CheckStandIns(standin.CheckMapped)
	}
	if err != nil {
		return nil, err
	}
	if _, err := lab.ParseMeasure(c.Meter); err != nil {
		return nil, usage{err}
	}
	if err := c.one(spec); err != nil {
		return nil, usage{err}
	}
	ends, err := c.ends(a, spec)
	if err != nil {
		return nil, usage{err}
	}
	if err := c.checkJobs(spec, ends); err != nil {
		return nil, usage{err}
	}
	if err := c.checkFloor(spec, ends); err != nil {
		return nil, usage{err}
	}
	spec.Control, spec.Budget, spec.Repeats, spec.Expect = nil, 0, 1, nil
	return &specSearch{cmd: c, app: a, spec: spec, ends: ends, made: map[string]bool{}, cells: map[string]cellOrWhy{}}, nil
}

// identity names a search by all that decides about its runs, so that another one does
// not go on with its session.
func (s *specSearch) identity() string {
	c := s.cmd
	sum := sha256.New()
	fmt.Fprintf(sum, "%q %q %q %q %q %q %v %v %v %q %v", c.Axis, c.Meter, c.Failure, c.Find, s.spec.Workflows[0].Name, s.spec.Hardware[0].Name, c.Sure, c.NoHints, c.Deterministic,
		fmt.Sprint(s.ends.good.Settings, s.ends.bad.Settings), s.spec.Prompts)
	if _, ok := lab.Measure(c.Meter).Floor(); ok {
		fmt.Fprint(sum, c.Trials)
	}
	// Of a tree of one's own the commit counts, not where it lies.
	for _, e := range []matrix.VersionEntry{s.ends.good.Entry, s.ends.bad.Entry} {
		text, _ := json.Marshal([]any{e.Version, e.Path, e.Sim, e.Python, e.Source, e.Packages, e.Overrides, e.Wheels, e.Packs.List}) // plain values
		sum.Write(text)
	}
	return hex.EncodeToString(sum.Sum(nil)[:4])
}

// open makes all ready that runs trials.
func (s *specSearch) open(db *results.DB) error {
	s.own()
	only := *s.spec
	only.Versions = []matrix.VersionEntry{s.ends.bad.Entry}
	only.Settings = matrix.SettingsEntry{Base: s.ends.bad.Settings}
	rd, err := makeReady(s.app, &only, db, ".bisect-"+s.identity(), s.cmd.Session, s.cmd.Quiet)
	if err != nil {
		return err
	}
	s.ready = rd
	s.spec.Models, s.spec.StandIns = only.Models, only.StandIns
	if s.floor, err = s.withFloor(db); err != nil {
		rd.close()
		return err
	}
	return s.makePlaces(db)
}

// own lets commits of a person's installation see its models and custom nodes.
func (s *specSearch) own() {
	if s.ends.dir == "" {
		return
	}
	if models := filepath.Join(s.ends.dir, "models"); files.Exist(models) && !slices.Contains(s.spec.Models, models) {
		s.spec.Models = append(s.spec.Models, models)
	}
	for _, e := range []*matrix.VersionEntry{&s.ends.good.Entry, &s.ends.bad.Entry} {
		if e.Path == "" && files.Exist(filepath.Join(s.ends.dir, "custom_nodes")) && !slices.Contains(e.Packs.From, s.ends.dir) {
			e.Packs.From = append(e.Packs.From, s.ends.dir)
		}
	}
}

// look fills in what a state is: its commit and its packages.
func (s *specSearch) look(end string, state *axes.State) error {
	v, err := s.ready.world.version(state.Entry)
	if s.app.ctx.Err() != nil {
		return s.app.ctx.Err()
	}
	if err != nil {
		err = fmt.Errorf("the %s end: %w", end, err)
		if errors.Is(err, memtrix.ErrUnavailable) {
			return cannot{err}
		}
		return usage{err}
	}
	state.Version = v
	return nil
}

// cell plans a candidate; why says that it cannot be tested.
func (s *specSearch) cell(c axes.Candidate) (memtrix.PlannedCell, string, error) {
	s.planning.Lock()
	defer s.planning.Unlock()
	s.made[c.Group] = true
	key := fmt.Sprintf("%+v %s", c.Entry, c.Settings)
	if known, ok := s.cells[key]; ok {
		return known.cell, known.why, nil
	}
	only := *s.spec
	only.Warnings = nil
	only.Versions = []matrix.VersionEntry{c.Entry}
	only.Settings = matrix.SettingsEntry{Base: c.Settings}
	plan, err := only.Plan(s.ready.world.matrix())
	var got cellOrWhy
	switch {
	case s.app.ctx.Err() != nil:
		return got.cell, "", s.app.ctx.Err()
	case errors.Is(err, pyenv.ErrUnreachable), err != nil && strings.Contains(strings.ToLower(err.Error()), "no space left on device"):
		// That is no property of the candidate: later it may be had.
		return got.cell, "", cannot{err}
	case err != nil:
		got.why = reports.OneLine(err.Error())
	case len(plan.Cells) != 1:
		got.why = fmt.Sprintf("it has %d cells", len(plan.Cells))
	case plan.Cells[0].Status != memtrix.StatusRun:
		got.why = string(plan.Cells[0].Status) + ": " + plan.Cells[0].Reason
	case plan.Cells[0].Cell.Version.Trouble != "":
		got.why = plan.Cells[0].Cell.Version.Trouble
	default:
		got.cell = plan.Cells[0]
		got.cell.Expect = "" // a failure is an answer, and no surprise
		if got.cell.Cell.Version.Name == c.Commit[:min(len(c.Commit), 10)] && c.Subject != "" {
			got.cell.Cell.Version.Name = c.Name
		}
	}
	s.cells[key] = got
	return got.cell, got.why, nil
}

// say tells of the search.
func (s *specSearch) say(text string) {
	if !s.cmd.Quiet {
		s.ready.display.Say(reports.OneLine(text))
	}
}

// search runs one stage.
func (s *specSearch) search(list axes.List) (account.Stage, error) {
	c := s.cmd
	a := s.app
	say := s.say
	say(fmt.Sprintf("along %s, %d candidates: %s", list.Axis.Plural(), len(list.Candidates), list.Why))
	measure, err := lab.ParseMeasure(c.Meter)
	if err != nil {
		return account.Stage{}, usage{err}
	}
	if len(s.acc.Stages) > 0 {
		measure = s.acc.Stages[0].Report.Measure // the same question, further on
	}
	o := lab.Bisection{Measure: measure, Failure: c.Failure, Jobs: c.Jobs}
	o.Search = bisect.Config{N: len(list.Candidates), Sure: c.Sure, Deterministic: c.Deterministic, Find: bisect.Find(c.Find), Most: c.MaxRuns, Cost: list.Cost(s.made)}
	if s.floor != nil {
		o.Measure, o.At = lab.MeasureOutcome, s.floor.o.Meter
	}
	if !c.NoHints {
		o.Search.Prior = list.Prior()
	}
	o.Try = func(ctx context.Context, i, repeat int) (lab.Attempt, error) {
		cell, why, err := s.cell(list.Candidates[i])
		if err != nil {
			return lab.Attempt{}, err
		}
		if why != "" {
			return lab.Attempt{Untestable: why}, nil
		}
		if s.floor != nil {
			cell = s.floor.at(s.ready.runner.Options.Models, cell)
		}
		t, err := s.run(ctx, cell, repeat)
		if err != nil && ctx.Err() == nil {
			err = cannot{err}
		}
		return lab.Attempt{Trial: t}, err
	}
	o.Decided = func(m lab.Measure, why string) { say(fmt.Sprintf("compared is %s: %s", m.Words(), why)) }
	o.Told = func(r lab.BisectRun, now bisect.Result) { say(line(list, r, now)) }
	report, err := lab.Bisect(a.ctx, o)
	if s.floor != nil {
		report.At = s.floor.size()
	}
	return account.Stage{List: list, Report: report}, err
}

// line is what is said of one run.
func line(list axes.List, r lab.BisectRun, now bisect.Result) string {
	text := fmt.Sprintf("run %d: %s (%d of %d): %s", now.Runs, list.Candidates[r.Index].Name, r.Index+1, len(list.Candidates), runWords(r))
	return text + suspects(now, list.Candidates[now.FirstBad].Name)
}

func runWords(r lab.BisectRun) string {
	switch {
	case r.Why != "":
		return r.Result + ", " + r.Why
	case r.Value != nil:
		return valueWords(*r.Value)
	case r.Result != "":
		text := r.Result + " (" + string(r.Outcome) + ")"
		if r.Message != "" {
			text += ", " + r.Message
		}
		return text
	}
	return string(r.Outcome)
}

// valueWords writes bytes as MiB and seconds as they are.
func valueWords(v float64) string {
	if v >= 1<<16 {
		return fmt.Sprintf("%.1f MiB", v/(1<<20))
	}
	return fmt.Sprintf("%.2f", v)
}

// kept reports whether all versions like this one run in one environment.
func (s *specSearch) kept(e matrix.VersionEntry) (keep bool, err error) {
	return s.ready.world.provider.Kept(s.app.ctx, request(e))
}

// history lists the commits between two states as candidates.
func (s *specSearch) history(good, bad axes.State) (axes.List, error) {
	e := bad.Entry
	if e.Path != "" {
		e.Source = e.Path
	}
	from, steps, err := s.ready.world.provider.History(s.app.ctx, e.Source, good.Version.Commit, bad.Version.Commit)
	if err != nil {
		return axes.List{}, s.wrong(err)
	}
	keep, err := s.kept(bad.Entry)
	if err != nil {
		return axes.List{}, s.wrong(err)
	}
	commits := []axes.Commit{{Hash: from.Hash, Subject: from.Subject, Date: from.Date, Requirements: from.Requirements}}
	for _, x := range steps {
		c := axes.Commit{Hash: x.Hash, Subject: x.Subject, Date: x.Date, Merge: x.Merge(), Files: x.Files, Requirements: x.Requirements}
		if bad.Entry.Packages == string(versions.AsOfDate) {
			c.Requirements += "\n" + x.Date.Format("as-of-2006-01-02")
		}
		commits = append(commits, c)
	}
	state := bad
	if e.Path != "" {
		state.Entry.Source, state.Entry.Packages, state.Entry.Python = e.Path, string(versions.Keep), bad.Version.Python
		if len(bad.Version.Dirty) > 0 {
			fmt.Fprintf(s.app.stderr, "warning: %s has changes that no commit has (%s): the commits are run without them\n", e.Path, strings.Join(bad.Version.Dirty[:min(3, len(bad.Version.Dirty))], ", "))
		}
	}
	return axes.OfCommits(state, commits, keep || fullyPinned(bad)), nil
}

// fullyPinned reports whether overrides say all packages.
func fullyPinned(s axes.State) bool {
	return len(s.Entry.Overrides) > 0 && len(s.Entry.Overrides) >= len(s.Version.Packages)
}

func (s *specSearch) wrong(err error) error {
	if s.app.ctx.Err() != nil {
		return s.app.ctx.Err()
	}
	if errors.Is(err, memtrix.ErrUnavailable) {
		return cannot{err}
	}
	return usage{err}
}

// repeatCommand is the command line that was given.
func repeatCommand(args []string) string {
	var words []string
	for _, w := range args {
		if w == "" || strings.ContainsAny(w, " '\"$`\\&;()<>|*?[]{}~#!") {
			w = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		words = append(words, w)
	}
	return strings.Join(words, " ")
}

func commandLine() string {
	return repeatCommand(append([]string{"memtrix"}, os.Args[1:]...))
}
