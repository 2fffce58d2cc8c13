package main

import (
	"context"
	"os"

	"memtrix"
	"memtrix/hardware"
	"memtrix/matrix"
	"memtrix/recorders/nvidia"
	"memtrix/reports/progress"
	"memtrix/results"
	"memtrix/runner"
)

// ready is a spec with all that it takes to run its trials.
type ready struct {
	plan    *memtrix.Plan
	world   *world // answers further plans: a search does not know its cells beforehand
	runner  *runner.Runner
	display *progress.Display
	session memtrix.Session
	self    string // this program, which holds machines of another size; "" for none
	closers []func()
}

// makeReady plans a spec, and finds the session to go on with: that of the spec's
// name with what an experiment adds to it. The caller closes it.
func makeReady(a *app, spec *matrix.Spec, db *results.DB, experiment, which string, quiet bool) (_ *ready, err error) {
	if err := addStandIns(a, spec, db.Dir()); err != nil {
		return nil, err
	}
	rd := &ready{}
	defer func() {
		if err != nil {
			rd.close()
		}
	}()
	provider := newProvider(a, false, quiet)
	rd.closers = append(rd.closers, func() { provider.Close() })
	w, err := newWorld(a.ctx, db, provider)
	if err != nil {
		return nil, err
	}
	w.spec = spec
	w.startWith(spec.Env)
	rd.world = w
	if rd.plan, err = makePlan(a, spec, w); err != nil {
		return nil, err
	}
	rd.plan.Spec += experiment
	if !quiet {
		sayMade(a, provider)
	}
	if rd.session, err = pickSession(a, db, rd.plan.Spec, which); err != nil {
		return nil, err
	}
	shown := rd.plan
	if experiment != "" {
		shown = &memtrix.Plan{} // how many trials there will be is not known
	}
	rd.display = newDisplay(a, shown, spec.Prompts, quiet)
	rd.closers = append(rd.closers, rd.display.Close)
	if self, err := os.Executable(); err == nil {
		rd.self = self
	}
	rd.runner = rd.newRunner(db, spec, w.targets, rd.display)
	// Where there is no card there is nothing to wait for and nothing to read.
	if card, err := nvidia.Open(lookup(spec.Env)); err == nil {
		rd.closers = append(rd.closers, func() { card.Close() })
		rd.runner.Card, rd.runner.Gate = card, newGate(card, rd.display.Say)
	}
	return rd, nil
}

// newRunner runs trials of a spec, on no card yet.
func (rd *ready) newRunner(db *results.DB, spec *matrix.Spec, targets map[memtrix.TargetKind]memtrix.Target, progress runner.Progress) *runner.Runner {
	r := &runner.Runner{
		Targets:     targets,
		Store:       db,
		Room:        db.CheckRoom,
		Progress:    progress,
		Options:     options(spec),
		Dir:         db.Dir(),
		Environment: environmentOf(spec),
	}
	if rd.self != "" {
		r.Machine = func(ctx context.Context, h memtrix.Hardware, name string) (*hardware.Machine, error) {
			return hardware.Make(ctx, rd.self, h, name, spec.Env)
		}
	}
	return r
}

func (rd *ready) close() {
	for i := len(rd.closers) - 1; i >= 0; i-- {
		rd.closers[i]()
	}
	rd.closers = nil
}
