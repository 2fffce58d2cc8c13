package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"memtrix"
	"memtrix/comfyui"
	"memtrix/comfyui/oomdetail"
	"memtrix/lab"
	"memtrix/matrix"
	"memtrix/reports"
	"memtrix/results"
)

// shownAllocations is how many holders of memory are named.
const shownAllocations = 5

// detailOOMs repeats each cell that ran out of VRAM at work once, with torch's native
// allocator and a record of what it gives out, and says what was held. The repeats are
// trials of a session of their own.
func detailOOMs(a *app, spec *matrix.Spec, db *results.DB, s *reports.Session, out io.Writer, quiet bool) error {
	failed := outOfVRAM(s.Trials)
	if len(failed) == 0 {
		return nil
	}
	again := *spec
	again.Rest, again.Free, again.Probe, again.Control, again.Budget, again.Repeats = 0, false, false, nil, 0, 1
	env, err := oomdetail.Env(filepath.Join(db.Dir(), "oom-detail"), spec.Env)
	if err != nil {
		return cannot{err}
	}
	again.Env = env
	rd, err := makeReady(a, &again, db, ".oom-detail", "new", quiet)
	if err != nil {
		return err
	}
	defer rd.close()
	rd.runner.Progress = &counted{Display: rd.display}
	bench := &lab.Bench{Runner: rd.runner, Store: db, Session: rd.session}
	for _, t := range failed {
		lines, err := detail(a.ctx, rd, bench, db, t)
		if a.ctx.Err() != nil {
			return a.ctx.Err()
		}
		if err != nil {
			lines = []string{"not told: " + err.Error()}
		}
		fmt.Fprintf(out, "out of memory in detail, trial %d:\n", t.ID)
		for _, l := range lines {
			fmt.Fprintln(out, "  "+reports.OneLine(l))
		}
	}
	if err := db.EndSession(context.WithoutCancel(a.ctx), rd.session.ID); err != nil {
		return cannot{err}
	}
	return nil
}

// outOfVRAM are the trials that ran out of VRAM while they computed, one a cell.
func outOfVRAM(trials []*memtrix.Trial) []*memtrix.Trial {
	var some []*memtrix.Trial
	for _, t := range trials {
		work := slices.Contains([]memtrix.Phase{memtrix.PhaseLoad, memtrix.PhaseTextEncode, memtrix.PhaseSample, memtrix.PhaseVAE}, t.Outcome.Phase)
		seen := slices.ContainsFunc(some, func(o *memtrix.Trial) bool { return o.Cell.ID() == t.Cell.ID() })
		if t.Outcome.Kind == memtrix.OOM && t.Outcome.Memory == memtrix.MemoryVRAM && work && !seen {
			some = append(some, t)
		}
	}
	return some
}

// detail repeats the cell of one trial and reads what torch told.
func detail(ctx context.Context, rd *ready, bench *lab.Bench, db *results.DB, t *memtrix.Trial) ([]string, error) {
	if t.Simulated {
		return nil, fmt.Errorf("a simulated server has no torch")
	}
	if t.Cell.Version.Attached != nil {
		return nil, fmt.Errorf("a server that runs cannot be started with torch's native allocator")
	}
	cell := t.Cell
	cell.Probe = false
	cell.Settings = maps.Clone(cell.Settings)
	if cell.Settings == nil {
		cell.Settings = memtrix.Settings{}
	}
	cell.Settings["cuda-malloc"] = "off"
	argv, reason := rd.runner.Targets[cell.Version.Target].Argv(cell)
	if reason != "" {
		return nil, fmt.Errorf("this version cannot be asked for torch's native allocator: %s", reason)
	}
	again, err := bench.Try(ctx, memtrix.PlannedCell{Cell: cell, Status: memtrix.StatusRun, Argv: argv, Repeats: 1, Expect: memtrix.OOM}, 0)
	if err != nil {
		return nil, err
	}
	head := fmt.Sprintf("repeated as trial %d with torch's native allocator: %s", again.ID, again.Outcome.Kind)
	if again.Outcome.Message != "" {
		head += ", " + again.Outcome.Message
	}
	left := filepath.Join(again.Dir, comfyui.WorkFolder)
	found, err := oomdetail.Read(left)
	if err != nil {
		return []string{head, err.Error()}, nil
	}
	last := found[len(found)-1]
	lines := append([]string{head}, last.Lines(shownAllocations)...)
	if n := len(found); n > 1 {
		lines = append(lines, fmt.Sprintf("%d allocations had failed before and were got over", n-1))
	}
	v := memtrix.Value{
		Trial: t.ID, Meter: memtrix.OOMHeld, Unit: memtrix.UnitBytes, Value: last.Held, Low: last.Held, High: last.Held,
		Trials: []int64{again.ID}, Note: strings.Join(lines, "\n"),
	}
	if err := db.SaveValue(context.WithoutCancel(ctx), v); err != nil {
		return nil, err
	}
	return append(lines, "torch's snapshot, for pytorch.org/memory_viz: "+filepath.Join(left, oomdetail.Snapshot)), nil
}
