package main

import (
	"fmt"
	"io"
	"strings"

	"memtrix"
	"memtrix/matrix"
	"memtrix/reports"
	"memtrix/results"
)

type planCmd struct {
	specFlags
	Results string `help:"Results folder; earlier trials in it tell how long cells take." default:"memtrix-results" type:"path"`
	JSON    bool   `name:"json" help:"One JSON document on standard output."`
}

func (c *planCmd) Run(a *app) error {
	spec, err := c.load(a.ctx)
	if err != nil {
		return err
	}
	// A plan needs no results; with some it knows more.
	db, err := results.OpenReadOnly(a.ctx, c.Results)
	if err == nil {
		defer db.Close()
	}
	provider := newProvider(a, true, false)
	defer provider.Close()
	w, err := newWorld(a.ctx, db, provider)
	if err != nil {
		return err
	}
	plan, err := makePlan(a, spec, w)
	if err != nil {
		return err
	}
	sayStandIns(a, spec, c.Results)
	if c.JSON {
		return reports.PlanJSON(a.stdout, *plan)
	}
	return writePlan(a.stdout, plan)
}

// makePlan plans a spec and shows its warnings.
func makePlan(a *app, spec *matrix.Spec, w *world) (*memtrix.Plan, error) {
	w.flows = spec.Workflows
	plan, err := spec.Plan(w.matrix())
	if err != nil {
		return nil, err
	}
	for _, warning := range plan.Warnings {
		fmt.Fprintln(a.stderr, "warning:", reports.OneLine(warning))
	}
	return plan, nil
}

// writePlan lists the cells for people, one a line.
func writePlan(out io.Writer, plan *memtrix.Plan) error {
	trials := 0
	var b strings.Builder
	for i, c := range plan.Cells {
		fmt.Fprintf(&b, "%3d  %s  %s  %s", i+1, versionWords(c.Cell.Version), c.Cell.Workflow.Name, c.Cell.Settings)
		if h := c.Cell.Hardware.Name; h != "" && h != matrix.AsIs.Name {
			fmt.Fprintf(&b, "  %s", h)
		}
		b.WriteByte('\n')
		switch c.Status {
		case memtrix.StatusRun:
			trials += max(c.Repeats, 1)
			if c.Cell.Version.Trouble != "" {
				fmt.Fprintf(&b, "     fails: %s\n", c.Cell.Version.Trouble)
			}
			if len(c.Argv) > 0 {
				fmt.Fprintf(&b, "     flags: %s\n", strings.Join(c.Argv, " "))
			}
			if text := packText(c.Cell.Version.Packs); text != "" {
				fmt.Fprintf(&b, "     custom nodes: %s\n", text)
			}
			for _, note := range c.Notes {
				fmt.Fprintf(&b, "     note: %s\n", note)
			}
			if c.Expect != "" {
				fmt.Fprintf(&b, "     expected: %s\n", c.Expect)
			}
		default:
			fmt.Fprintf(&b, "     %s: %s\n", c.Status, c.Reason)
		}
	}
	fmt.Fprintf(&b, "%d cells, %d trials, about %s\n", len(plan.Cells), trials, reports.Duration(matrix.Expected(plan, nil)))
	_, err := io.WriteString(out, reports.Lines(b.String()))
	return err
}

// packText names packs with what they are.
func packText(packs []memtrix.Pack) string {
	var names []string
	for _, p := range packs {
		names = append(names, p.Short())
	}
	return strings.Join(names, ", ")
}

// versionWords names a version, and marks one that is no measurement.
func versionWords(v memtrix.Version) string {
	if v.Target == memtrix.TargetSim {
		return v.Name + " (simulated)"
	}
	return v.Name
}
