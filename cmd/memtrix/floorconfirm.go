package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"memtrix"
	"memtrix/history"
	"memtrix/lab"
	"memtrix/matrix"
	"memtrix/reports"
	"memtrix/results"
)

// floorMeters are the nightly values of which a floor says whether more is needed, or only
// more is used.
var floorMeters = []string{memtrix.VRAMNonEvictable, memtrix.VRAMDeviceUsed}

// floorSlower is what memtrix floor takes for too slow unless a person says otherwise.
const floorSlower = 10

// floorAsked is a cell of an alarm whose floor was found before.
type floorAsked struct {
	alarm  *history.Alarm
	where  string
	now    *memtrix.Trial // of tonight
	cell   memtrix.Cell   // as its floor was found: with the probe, or without
	before memtrix.ValueAt
}

// confirmFloors asks of each new alarm about VRAM whether the floor of its cell moved, where
// memtrix floor has found one before: two trials, on either side of it, in a session of
// floors. What they tell is kept with the alarm; what cannot be told is said, and the
// alarm stands.
func confirmFloors(a *app, spec *matrix.Spec, db *results.DB, s *reports.Session, news *reports.Review, quiet bool) error {
	session, err := db.FindSession(a.ctx, s.Name)
	if err != nil {
		return cannot{err}
	}
	var asked []floorAsked
	for i := range news.Opened {
		f, ok, err := floorOf(a.ctx, db, &news.Opened[i], s.Trials, session.ID)
		if err != nil {
			return cannot{err}
		}
		if ok {
			asked = append(asked, f)
		}
	}
	if len(asked) == 0 {
		return nil
	}
	again := *spec
	again.Rest, again.Free, again.Control, again.Budget, again.Repeats = 0, false, nil, 0, 1
	rd, err := makeReady(a, &again, db, ".floor-vram", "new", quiet)
	if err != nil {
		if a.ctx.Err() != nil {
			return a.ctx.Err()
		}
		fmt.Fprintf(a.stderr, "floors were not confirmed: %s\n", reports.OneLine(err.Error()))
		return nil
	}
	defer rd.close()
	rd.runner.Progress = &counted{Display: rd.display}
	bench := &lab.Bench{Runner: rd.runner, Store: db, Session: rd.session}
	for _, f := range asked {
		rd.display.Say(fmt.Sprintf("two trials on either side of the earlier floor: %s", f.where))
		if err := f.ask(a.ctx, rd, bench, db); err != nil {
			if a.ctx.Err() != nil {
				return a.ctx.Err()
			}
			fmt.Fprintf(a.stderr, "the floor of %s was not confirmed: %s\n", reports.OneLine(f.where), reports.OneLine(err.Error()))
		}
	}
	if err := db.EndSession(context.WithoutCancel(a.ctx), rd.session.ID); err != nil {
		return cannot{err}
	}
	return nil
}

// floorOf is the worst change of an alarm that a floor can confirm.
func floorOf(ctx context.Context, db *results.DB, alarm *history.Alarm, trials []*memtrix.Trial, session int64) (floorAsked, bool, error) {
	for _, c := range alarm.Changes {
		if !slices.Contains(floorMeters, c.Meter) {
			continue
		}
		i := slices.IndexFunc(trials, func(t *memtrix.Trial) bool {
			return strings.HasPrefix(c.Line, t.Cell.Series()+"|") && t.Cell.Version.Name == c.To && t.Outcome.Kind == memtrix.Pass && t.Cell.Version.Attached == nil
		})
		if i < 0 {
			continue
		}
		t := trials[i]
		for _, probe := range []bool{t.Cell.Probe, !t.Cell.Probe} {
			f := floorAsked{alarm: alarm, where: c.Where(), now: t, cell: t.Cell}
			f.cell.Probe = probe
			all, err := db.ValueHistory(ctx, f.cell.Series(), memtrix.FloorVRAM)
			if err != nil {
				return f, false, err
			}
			for _, v := range all {
				if v.Session < session && v.Simulated == t.Simulated && v.Version == c.To {
					f.before = v
				}
			}
			if f.before.Trial != 0 {
				return f, true, nil
			}
		}
	}
	return floorAsked{}, false, nil
}

// ask runs the trials and keeps what they tell.
func (f floorAsked) ask(ctx context.Context, rd *ready, bench *lab.Bench, db *results.DB) error {
	own := rd.runner.Options.Timeouts.Prompt
	defer func() { rd.runner.Options.Timeouts.Prompt = own }()
	o := lab.FloorOptions{
		Meter: lab.FloorOfVRAM, Slower: floorSlower, Before: f.before.Value.Value, BeforeFails: f.before.Low,
		Limit: func(d time.Duration) { rd.runner.Options.Timeouts.Prompt = least(d, own) },
	}
	cell := memtrix.PlannedCell{Cell: f.cell, Status: memtrix.StatusRun}
	if i := slices.IndexFunc(rd.plan.Cells, func(c memtrix.PlannedCell) bool { return c.Cell.ID() == f.now.Cell.ID() }); i >= 0 {
		cell = rd.plan.Cells[i]
		cell.Cell.Probe = f.cell.Probe
	}
	check, err := lab.ConfirmFloor(ctx, o, cell, f.now, bench.Try)
	if err != nil {
		return err
	}
	// The value is of tonight's version, and in the series of the earlier ones.
	if v, ok := check.Value(lab.FloorOfVRAM, f.now.ID); ok && f.cell.Probe == f.now.Cell.Probe {
		if err := db.SaveValue(context.WithoutCancel(ctx), v); err != nil {
			return err
		}
	}
	told := history.FloorTold{Where: f.where, Move: string(check.Move), Words: check.Words}
	for _, p := range check.Tries {
		told.Trials = append(told.Trials, p.Trial)
	}
	f.alarm.Floor = &told
	return db.SetFloor(context.WithoutCancel(ctx), f.alarm.ID, told)
}
