package lab

import (
	"context"
	"fmt"

	"memtrix"
)

// Try runs one cell, or gives the trial of it that the session has already: the
// repeat-th, 0 for the first.
type Try func(ctx context.Context, c memtrix.PlannedCell, repeat int) (*memtrix.Trial, error)

// Runner runs what is missing of a plan in a session.
type Runner interface {
	Run(ctx context.Context, session memtrix.Session, plan *memtrix.Plan) ([]*memtrix.Trial, error)
}

// Store has the trials of a session and keeps what comes out of them.
type Store interface {
	Trials(ctx context.Context, session int64) ([]*memtrix.Trial, error)
	SaveValue(ctx context.Context, v memtrix.Value) error
}

// Bench makes tries of real trials.
type Bench struct {
	Runner  Runner
	Store   Store
	Session memtrix.Session
}

// Try is a Try whose trials are those of the session. One that memtrix failed to
// measure is done once more; then its failure is the error.
func (b *Bench) Try(ctx context.Context, c memtrix.PlannedCell, repeat int) (*memtrix.Trial, error) {
	for again := 0; ; again++ {
		t, err := b.find(ctx, c.Cell.ID(), repeat)
		if err != nil {
			return nil, err
		}
		if t != nil && finished(t) {
			return t, nil
		}
		if t != nil && again > 1 {
			return nil, fmt.Errorf("%s, %s, %s: memtrix could not measure it: %s", c.Cell.Version.Name, c.Cell.Workflow.Name, c.Cell.Hardware.Name, t.Outcome.Message)
		}
		c.First, c.Repeats = repeat, repeat+1
		plan := &memtrix.Plan{Spec: b.Session.Spec, Cells: []memtrix.PlannedCell{c}}
		if _, err := b.Runner.Run(ctx, b.Session, plan); err != nil {
			return nil, err
		}
	}
}

func finished(t *memtrix.Trial) bool {
	return t.Outcome.Kind != memtrix.Interrupted && t.Outcome.Kind != memtrix.HarnessFailure
}

// find gives the newest trial of a cell's repeat, nil where there is none.
func (b *Bench) find(ctx context.Context, cell string, repeat int) (*memtrix.Trial, error) {
	trials, err := b.Store.Trials(ctx, b.Session.ID)
	if err != nil {
		return nil, err
	}
	var found *memtrix.Trial
	for _, t := range trials {
		if t.Repeat == repeat && t.Cell.ID() == cell {
			found = t
		}
	}
	return found, nil
}

// Settled is an error that stays as it is when it is asked again in the same session: the
// trials that it is about are done, and are no answer. One that is not may be got over by
// going on.
type Settled struct{ error }

// Unwrap gives the error itself.
func (s Settled) Unwrap() error { return s.error }

// tell says why a trial is no answer to a search, nil where it is one.
func tell(t *memtrix.Trial) error {
	switch t.Outcome.Kind {
	case memtrix.NotApplicable, memtrix.NotInForce, memtrix.InvalidWorkflow:
		return Settled{fmt.Errorf("%s, %s: %s: %s", t.Cell.Version.Name, t.Cell.Workflow.Name, t.Outcome.Kind, t.Outcome.Message)}
	}
	return nil
}
