package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"memtrix"
	"memtrix/hardware"
	"memtrix/lab"
	"memtrix/matrix"
	"memtrix/reports"
)

type floorCmd struct {
	experimentFlags
	Meter   string  `help:"The memory of which the least is looked for: vram (of this card) or ram (of this machine)." enum:"vram,ram" default:"vram"`
	Trials  int     `help:"Most trials for each cell, that of the cell as it is included." default:"12"`
	Slower  float64 `help:"A size does not pass at which a prompt takes so many times as long as with all memory; 0: only the spec's limits count." default:"10"`
	NoProbe bool    `help:"Do not look from inside, for what cannot be evicted from VRAM: the search starts from the peak."`
	Swap    bool    `help:"For --meter ram: let the server use the machine's swap. Without it, or a swap: in the spec's hardware, it gets none." negatable:""`
}

// notSized is why a server that runs has no floor.
const notSized = "a floor is looked for on machines of other sizes, and a server that runs cannot be given one: name its folder with --comfyui, or path: in the spec"

// Help is shown under --help.
func (floorCmd) Help() string {
	return `Exit status: 0 when each cell has a floor, 1 when one does not pass as it is, 2 for wrong usage or a bad spec, 3 when it could not be measured, 130 stopped by Ctrl-C; the same command goes on from there.`
}

func (c *floorCmd) Run(a *app) error {
	if c.Trials < 2 {
		return usage{errors.New("--trials: a floor takes 2 trials at least")}
	}
	e, err := c.open(a, "floor-"+c.Meter, func(s *matrix.Spec) error {
		if runsAlready(s) {
			return usage{errors.New(notSized)}
		}
		s.Rest, s.Free = 0, false // a floor is of the work
		s.Probe = s.Probe || c.Meter == "vram" && !c.NoProbe && hasInside(s)
		return nil
	})
	if err != nil {
		return err
	}
	defer e.close()
	if err := e.onlyStarted(a, notSized); err != nil {
		return err
	}
	o := lab.FloorOptions{Meter: lab.FloorMeter(c.Meter), Most: c.Trials, Slower: c.Slower}
	own := e.ready.runner.Options.Timeouts.Prompt
	o.Limit = func(d time.Duration) { e.ready.runner.Options.Timeouts.Prompt = least(d, own) }
	floors := []lab.FloorReport{} // JSON writes none as []
	err = e.each(a, func(ctx context.Context, cell memtrix.PlannedCell) error {
		e.ready.runner.Options.Timeouts.Prompt = own
		o := o
		if c.Meter == "ram" {
			o.Swap = swapOf(cell.Cell.Hardware, c.Swap)
			folders := modelFolders(e.ready.runner.Options.Models, cell.Cell.Version)
			o.Cold = func() { hardware.ForgetFiles(folders) }
		}
		if err := e.before(ctx, cell, &o); err != nil {
			return err
		}
		r, err := lab.Floor(ctx, o, cell, e.bench.Try)
		if len(r.Tries) > 0 {
			floors = append(floors, r)
		}
		if err != nil {
			return err
		}
		if v, ok := r.Value(); ok {
			return e.keep(ctx, v)
		}
		return nil
	})
	return errors.Join(c.show(a, e, floors, err != nil), err, answered(err, floors, func(r lab.FloorReport) bool { return r.Found }))
}

// modelFolders are where a trial of a version reads models.
func modelFolders(models []string, v memtrix.Version) []string {
	folders := slices.Clone(models)
	if v.Dir != "" {
		folders = append(folders, filepath.Join(v.Dir, "models"))
	}
	return folders
}

// before looks for the floor that was found the last time, of whatever version. One of
// this session is not it: what goes on must go on as it began.
func (e *experiment) before(ctx context.Context, cell memtrix.PlannedCell, o *lab.FloorOptions) error {
	meter := memtrix.FloorVRAM
	if o.Meter == lab.FloorOfRAM {
		meter = memtrix.FloorRAM
	}
	all, err := e.db.ValueHistory(ctx, cell.Cell.Series(), meter)
	if err != nil {
		return err
	}
	for _, v := range all {
		if v.Session < e.ready.session.ID && v.Simulated == (cell.Cell.Version.Target == memtrix.TargetSim) {
			o.Before, o.BeforeFails = v.Value.Value, v.Low
		}
	}
	return nil
}

// swapOf is the swap that the trials of a RAM floor may use: none, unless the spec or
// the command says otherwise.
func swapOf(h memtrix.Hardware, machine bool) *int64 {
	switch {
	case h.Swap != nil:
		return h.Swap
	case machine:
		return nil
	}
	return new(int64)
}

// least is the smaller of two limits, of which 0 is none.
func least(a, b time.Duration) time.Duration {
	if b == 0 || a > 0 && a < b {
		return a
	}
	return b
}

// answered is status 1 when a question has no answer.
func answered[T any](err error, all []T, has func(T) bool) error {
	if err != nil {
		return nil // says more
	}
	for _, r := range all {
		if !has(r) {
			return status(exitFound)
		}
	}
	return nil
}

func (c *floorCmd) show(a *app, e *experiment, floors []lab.FloorReport, broken bool) error {
	if c.JSON {
		return writeJSON(a, struct {
			Session string            `json:"session"`
			Spec    string            `json:"spec"`
			Floors  []lab.FloorReport `json:"floors"`
		}{e.ready.session.Name, e.ready.plan.Spec, floors})
	}
	if len(floors) == 0 {
		return nil
	}
	what := strings.ToUpper(c.Meter)
	where := "this card"
	if c.Meter == "ram" {
		where = "this machine"
	}
	curve := reports.Curve{Title: fmt.Sprintf("floor: the least free %s on %s", what, where), Axis: fmt.Sprintf("free %s, GiB", what)}
	var words []string
	for _, r := range floors {
		name := floorName(r)
		curve.Simulated = curve.Simulated || r.Simulated
		curve.Lines = append(curve.Lines, curveLine(name, r.Tries, r.Floor, 1<<30, func(p lab.Point) string { return fmt.Sprintf("%d MiB", p.Size>>20) }))
		if r.Verdict == "" {
			continue // broken off
		}
		line := name + ": " + r.Verdict
		if r.NonEvictable > 0 {
			line += fmt.Sprintf("; non-evictable peak %d MiB", r.NonEvictable>>20)
		}
		words = append(words, line)
	}
	curve.Notes = words
	if err := unlessUnread(reports.CurveTable(a.stdout, curve)); err != nil {
		return err
	}
	fmt.Fprintln(a.stdout)
	for _, w := range words {
		fmt.Fprintln(a.stdout, reports.OneLine(w))
	}
	if broken && len(words) == 0 {
		return nil
	}
	return e.drawCurve(a, curve)
}

func floorName(r lab.FloorReport) string {
	return cellName(memtrix.Cell{
		Version: memtrix.Version{Name: r.Version}, Workflow: memtrix.Workflow{Name: r.Workflow}, Settings: r.Settings,
		Hardware: memtrix.Hardware{Name: r.Hardware},
	})
}
