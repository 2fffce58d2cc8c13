package main

import (
	"context"
	"errors"
	"fmt"

	"memtrix"
	"memtrix/lab"
	"memtrix/matrix"
	"memtrix/reports"
)

type ceilingCmd struct {
	experimentFlags
	Vary   string `help:"What is raised: batch, frames or pixels. By default frames where the workflow has some, else pixels." enum:",batch,frames,pixels" default:""`
	Trials int    `help:"Most trials for each cell, that of the workflow as it is included." default:"12"`
}

// Help is shown under --help.
func (ceilingCmd) Help() string {
	return `Exit status: 0 when each cell has a ceiling, 1 when one does not pass as it is, 2 for wrong usage or a bad spec, 3 when it could not be measured, 130 stopped by Ctrl-C; the same command goes on from there.`
}

func (c *ceilingCmd) Run(a *app) error {
	if c.Trials < 2 {
		return usage{errors.New("--trials: a ceiling takes 2 trials at least")}
	}
	name := "ceiling"
	if c.Vary != "" {
		name += "-" + c.Vary
	}
	e, err := c.open(a, name, func(s *matrix.Spec) error {
		s.Rest, s.Free = 0, false
		return nil
	})
	if err != nil {
		return err
	}
	defer e.close()
	for _, cell := range e.cells {
		if err := lab.CanRaise(cell.Cell.Workflow, lab.Vary(c.Vary)); err != nil {
			return usage{err}
		}
	}
	ceilings := []lab.CeilingReport{}
	err = e.each(a, func(ctx context.Context, cell memtrix.PlannedCell) error {
		r, err := lab.Ceiling(ctx, lab.CeilingOptions{Vary: lab.Vary(c.Vary), Most: c.Trials}, cell, e.bench.Try)
		if len(r.Tries) > 0 {
			ceilings = append(ceilings, r)
		}
		if err != nil {
			return err
		}
		if v, ok := r.Value(); ok {
			return e.keep(ctx, v)
		}
		return nil
	})
	return errors.Join(c.show(a, e, ceilings), err, answered(err, ceilings, func(r lab.CeilingReport) bool { return r.Found }))
}

func (c *ceilingCmd) show(a *app, e *experiment, ceilings []lab.CeilingReport) error {
	if c.JSON {
		return writeJSON(a, struct {
			Session  string              `json:"session"`
			Spec     string              `json:"spec"`
			Ceilings []lab.CeilingReport `json:"ceilings"`
		}{e.ready.session.Name, e.ready.plan.Spec, ceilings})
	}
	if len(ceilings) == 0 {
		return nil
	}
	curve := reports.Curve{Title: "ceiling: the most that passes on this card"}
	var words []string
	for _, r := range ceilings {
		scale, axis := 1.0, string(r.Vary)
		if r.Vary == lab.VaryPixels {
			scale, axis = 1e6, "megapixels"
		}
		curve.Axis = axis
		name := cellName(memtrix.Cell{
			Version: memtrix.Version{Name: r.Version}, Workflow: memtrix.Workflow{Name: r.Workflow}, Settings: r.Settings,
			Hardware: memtrix.Hardware{Name: r.Hardware},
		})
		curve.Simulated = curve.Simulated || r.Simulated
		curve.Lines = append(curve.Lines, curveLine(name, r.Tries, r.Ceiling, scale, func(p lab.Point) string { return p.Label }))
		if r.Verdict != "" {
			words = append(words, name+": "+r.Verdict)
		}
	}
	curve.Notes = words
	if err := unlessUnread(reports.CurveTable(a.stdout, curve)); err != nil {
		return err
	}
	fmt.Fprintln(a.stdout)
	for _, w := range words {
		fmt.Fprintln(a.stdout, reports.OneLine(w))
	}
	return e.drawCurve(a, curve)
}
