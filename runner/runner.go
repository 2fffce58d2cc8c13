// Package runner runs trials: one cell from its server's start to its end, with
// recorders beside it and a watchdog over it, and whole sessions of them.
//
// It makes facts (events, readings, spans, how the process ended) and leaves it
// to package diagnosis to say what they mean. Whatever happens to a server, a
// trial comes out of it and is saved; only a store that cannot be written stops
// a session.
package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"memtrix"
	"memtrix/hardware"
	"memtrix/recorders"
)

// Store keeps what was measured.
type Store interface {
	// SaveTrial keeps a trial in one transaction and sets its ID. An error that
	// wraps memtrix.ErrAgain may be over after a while.
	SaveTrial(ctx context.Context, t *memtrix.Trial) error
	// Done gives the finished trials of a session: cell id, repeat, outcome.
	// Interrupted trials and those that memtrix failed to measure are not done.
	Done(ctx context.Context, session int64) (map[string]map[int]memtrix.OutcomeKind, error)
}

// Progress is told what goes on. Its methods are called from several goroutines.
type Progress interface {
	CellStart(i int, title string)
	Event(memtrix.Event)
	Memory(map[string]int64)
	CellEnd(outcome string, seconds float64)
	Left(time.Duration)
	Say(string)
}

// Options are how trials are run; the spec sets them.
type Options struct {
	Prompts int
	Rest    time.Duration // 0: no rested reading
	// Inventory lets a probe count what the server holds, at the end of the start-up
	// and after the last prompt, where readings between prompts are taken.
	Inventory bool
	Between   time.Duration // idle time after each prompt but the last, then a reading; 0: none
	Free      bool
	Interval  time.Duration // at which the card is read while prompts run
	Keep      memtrix.Keep  // of the series; "" means auto
	Timeouts  Timeouts
	Extra     []string // raw flags
	Env       map[string]string
	Models    []string
}

// Timeouts bound a trial. Zero means no bound.
type Timeouts struct {
	Start   time.Duration // process start until ready
	Prompt  time.Duration
	Silence time.Duration // without an event or a log line while a prompt runs
	Free    time.Duration // POST /free until it has acted
	Stop    time.Duration
	Card    time.Duration // waiting for the card to become empty
	Queue   time.Duration // waiting for others' prompts on a server that they use, too
}

// Runner runs sessions.
type Runner struct {
	Targets  map[memtrix.TargetKind]memtrix.Target
	Store    Store
	Progress Progress
	Options  Options
	// Room fails when there is no room for what a trial leaves; nil does not ask.
	Room func() error
	// Dir is the results folder; each trial gets a folder below it.
	Dir string
	// Environment captures what could explain a difference, once a version.
	Environment func(ctx context.Context, v memtrix.Version) memtrix.Environment
	// Card is the card that is read, nil where there is none.
	Card recorders.Card
	// Gate waits until the card is empty and gives what is used on it before the
	// server starts, or nil where there is no card.
	Gate func(ctx context.Context, limit time.Duration) (used *int64, err error)

	// Machine makes a machine of another size for one trial, nil for the machine
	// as it is.
	Machine func(ctx context.Context, h memtrix.Hardware, name string) (*hardware.Machine, error)

	environments map[string]memtrix.Environment
	prepared     map[string]error
}

// Run does what is missing of a plan in a session and returns its trials, in
// order, without their series: those are in the store. When ctx ends, the trial that runs is saved as interrupted and Run
// returns ctx's error beside the trials so far.
func (r *Runner) Run(ctx context.Context, session memtrix.Session, plan *memtrix.Plan) ([]*memtrix.Trial, error) {
	if r.prepared == nil { // a search runs many plans, and each version is warmed once
		r.environments = map[string]memtrix.Environment{}
		r.prepared = map[string]error{}
	}
	done, err := r.Store.Done(ctx, session.ID)
	if err != nil {
		return nil, fmt.Errorf("read session %s: %w", session.Name, err)
	}
	work := missing(plan, done)
	before := len(missing(plan, nil)) - len(work) // in a session that goes on
	var trials []*memtrix.Trial
	eta := newEstimate(work)
	for i, w := range work {
		if ctx.Err() != nil {
			return trials, ctx.Err()
		}
		if err := r.room(); err != nil {
			return trials, err
		}
		r.Progress.CellStart(before+i+1, title(w.cell, w.repeat))
		r.Progress.Left(eta.left(i))
		t := r.one(ctx, session, w)
		// The trial is worth keeping whatever ended it.
		if err := r.save(ctx, t); err != nil {
			return trials, fmt.Errorf("save trial of %s: %w", title(w.cell, w.repeat), err)
		}
		// A night's series would fill the memory of the machine that is measured.
		t.Series = nil
		trials = append(trials, t)
		eta.took(i, t.Seconds)
		r.Progress.Left(eta.left(i + 1))
		r.Progress.CellEnd(describe(t), t.Seconds)
	}
	return trials, ctx.Err()
}

func (r *Runner) room() error {
	if r.Room == nil {
		return nil
	}
	return r.Room()
}

// How long, and how often, a trial that could not be saved is tried again: a full
// disk or another program in the database may be over by then, and what was
// measured took longer than that.
const (
	saveLimit = 10 * time.Minute
	savePause = 2 * time.Second
)

func (r *Runner) save(ctx context.Context, t *memtrix.Trial) error {
	begin := time.Now()
	for told := false; ; told = true {
		err := r.Store.SaveTrial(context.WithoutCancel(ctx), t)
		if !errors.Is(err, memtrix.ErrAgain) || time.Since(begin) > saveLimit {
			return err
		}
		if !told {
			r.Progress.Say(fmt.Sprintf("the trial is not saved yet, trying for %v (Ctrl-C gives it up): %v", saveLimit, err))
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(savePause):
		}
	}
}

func (r *Runner) one(ctx context.Context, session memtrix.Session, w item) *memtrix.Trial {
	t := &memtrix.Trial{
		Session: session.ID,
		Cell:    w.cell.Cell,
		Repeat:  w.repeat,
		Argv:    w.cell.Argv,
		Expect:  w.cell.Expect,
		Started: time.Now(),
		Control: w.cell.Control, Confirms: w.cell.Confirm,
	}
	a := t.Cell.Version.Attached
	t.Simulated = t.Cell.Version.Target == memtrix.TargetSim || a != nil && a.Simulated
	if w.cell.Status == memtrix.StatusNotApplicable {
		t.Outcome = memtrix.Outcome{Kind: memtrix.NotApplicable, Message: w.cell.Reason}
		return t
	}
	target, ok := r.Targets[t.Cell.Version.Target]
	if !ok {
		return fail(t, memtrix.HarnessFailure, fmt.Errorf("nothing here can run a target of kind %q", t.Cell.Version.Target))
	}
	if err := r.prepare(ctx, target, t.Cell.Version, r.Options.Timeouts.Start); err != nil {
		if ctx.Err() != nil {
			return fail(t, memtrix.Interrupted, ctx.Err())
		}
		return fail(t, memtrix.StartupFailure, err)
	}
	t.Started = time.Now() // what was made ready for all trials is no part of one
	for try := 1; ; try++ {
		t.Environment = r.environment(ctx, t.Cell.Version)
		t.Warnings = slices.Clone(w.cell.Notes)
		run := newTrialRun(r, target, t)
		err := run.run(ctx)
		if try == tries || !errors.Is(err, memtrix.ErrAgain) {
			break
		}
		r.Progress.Say(fmt.Sprintf("starting again: %v", err))
		clearTrial(t)
	}
	t.Seconds = time.Since(t.Started).Seconds()
	return t
}

// coldStarts is how many times longer than others a version's first start may take.
const coldStarts = 3

// tries bounds how often a start that failed by chance (a port that was taken in
// between) is repeated.
const tries = 3

// clearTrial forgets what a start that failed by chance left in a trial.
func clearTrial(t *memtrix.Trial) {
	*t = memtrix.Trial{
		Session: t.Session, Cell: t.Cell, Repeat: t.Repeat, Argv: t.Argv, Expect: t.Expect,
		Started: t.Started, Simulated: t.Simulated, Control: t.Control, Confirms: t.Confirms,
	}
}

// prepare warms a version once a session; a version that cannot run fails each
// of its cells with the same reason, at once. start bounds a start of a server; a
// first one, which compiles and reads from the disk, may take coldStarts times that
// (on CUDA it can be made twice: with the card and without).
func (r *Runner) prepare(ctx context.Context, target memtrix.Target, v memtrix.Version, start time.Duration) error {
	if v.Trouble != "" {
		return errors.New(v.Trouble)
	}
	key := versionKey(v)
	if err, ok := r.prepared[key]; ok {
		return err
	}
	limited := ctx
	if start > 0 {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeoutCause(ctx, coldStarts*start, fmt.Errorf("%w (%v, as timeouts: start allows for a first one)", errStartTimeout, coldStarts*start))
		defer cancel()
	}
	err := target.Prepare(limited, v, r.Progress.Say)
	if ctx.Err() == nil {
		r.prepared[key] = err
	}
	return err
}

func (r *Runner) environment(ctx context.Context, v memtrix.Version) memtrix.Environment {
	key := versionKey(v)
	if e, ok := r.environments[key]; ok {
		return e
	}
	e := r.Environment(ctx, v)
	r.environments[key] = e
	return e
}

func versionKey(v memtrix.Version) string {
	key := string(v.Target) + "\x00" + v.Name + "\x00" + v.Dir + "\x00" + v.Python + "\x00" + v.Commit
	for _, p := range v.Packs {
		key += "\x00" + p.Name + "\x00" + p.Hash
	}
	return key
}

// fail gives a trial that had no server its outcome: the first line of the error
// says what, the others (the end of a log, say) prove it.
func fail(t *memtrix.Trial, kind memtrix.OutcomeKind, err error) *memtrix.Trial {
	lines := strings.Split(strings.TrimSpace(err.Error()), "\n")
	t.Outcome = memtrix.Outcome{Kind: kind, Message: lines[0]}
	for _, l := range lines[1:] {
		if strings.TrimSpace(l) != "" {
			t.Outcome.Evidence = append(t.Outcome.Evidence, l)
		}
	}
	if kind == memtrix.StartupFailure {
		t.Outcome.Memory, t.Outcome.Phase = memtrix.MemoryNone, memtrix.PhaseStartup
	}
	t.Seconds = time.Since(t.Started).Seconds()
	return t
}

// errDied says that the server's process ended by itself.
var errDied = errors.New("the server's process ended")
