package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"memtrix"
	"memtrix/lab"
	"memtrix/matrix"
	"memtrix/reports"
)

type leakCmd struct {
	experimentFlags
	Prompts int           `help:"Prompts for each cell, 10 to 1000; memory at rest is read after each." default:"20"`
	NoProbe bool          `help:"Do not look from inside: what keeps a leak is told from outside only, and no trial differs by the probe."`
	Rest    time.Duration `help:"Idle time after each prompt; by default the spec's rest:, 11s (ComfyUI tidies up 10 s after a prompt)." placeholder:"11s"`
}

// Help is shown under --help.
func (leakCmd) Help() string {
	return `Exit status: 0 when all prompts passed and nothing leaks, 1 when memory grows with every prompt or a prompt failed (out of memory, say), 2 for wrong usage or a bad spec, 3 when it could not be measured, 130 stopped by Ctrl-C; the same command goes on from there.`
}

func (c *leakCmd) Run(a *app) error {
	switch {
	case c.Prompts < lab.FewestPrompts || c.Prompts > 1000:
		return usage{fmt.Errorf("--prompts takes %d to 1000, not %d: fewer do not tell growth from start-up", lab.FewestPrompts, c.Prompts)}
	case c.Rest < 0:
		return usage{errors.New("--rest: a time cannot be negative")}
	}
	var rest time.Duration
	e, err := c.open(a, fmt.Sprintf("leak-%d", c.Prompts), func(s *matrix.Spec) error {
		s.Prompts, s.Probe = c.Prompts, !c.NoProbe && hasInside(s)
		if c.Rest > 0 {
			s.Rest = c.Rest
		}
		if s.Rest == 0 {
			s.Rest = matrix.NewSpec().Rest
		}
		rest = s.Rest
		return nil
	})
	if err != nil {
		return err
	}
	defer e.close()
	e.ready.runner.Options.Between, e.ready.runner.Options.Inventory = rest, true
	leaks := []lab.LeakReport{}
	err = e.each(a, func(ctx context.Context, cell memtrix.PlannedCell) error {
		t, err := e.bench.Try(ctx, cell, 0)
		if err != nil {
			return err
		}
		r, err := lab.Leak(t)
		if err != nil {
			return err
		}
		leaks = append(leaks, r)
		for _, v := range r.Values() {
			if err := e.keep(ctx, v); err != nil {
				return err
			}
		}
		return nil
	})
	return errors.Join(c.show(a, e, leaks), err, answered(err, leaks, lab.LeakReport.Clean))
}

func (c *leakCmd) show(a *app, e *experiment, leaks []lab.LeakReport) error {
	if c.JSON {
		return writeJSON(a, struct {
			Session string           `json:"session"`
			Spec    string           `json:"spec"`
			Cells   []lab.LeakReport `json:"cells"`
		}{e.ready.session.Name, e.ready.plan.Spec, leaks})
	}
	for i, r := range leaks {
		if i > 0 {
			fmt.Fprintln(a.stdout)
		}
		if err := unlessUnread(writeLeak(a, r)); err != nil {
			return err
		}
	}
	return nil
}

func writeLeak(a *app, r lab.LeakReport) error {
	name := cellName(memtrix.Cell{
		Version: memtrix.Version{Name: r.Version}, Workflow: memtrix.Workflow{Name: r.Workflow}, Settings: r.Settings,
		Hardware: memtrix.Hardware{Name: r.Hardware},
	})
	if r.Simulated {
		name += "  SIMULATED: no measurement"
	}
	fmt.Fprintf(a.stdout, "%s  (%d prompts, trial %d, %s)\n", reports.OneLine(name), r.Prompts, r.Trial, r.Outcome)
	for _, line := range endedLines(r) {
		fmt.Fprintln(a.stdout, "  "+reports.OneLine(line))
	}
	for _, line := range r.Verdict {
		fmt.Fprintln(a.stdout, "  "+reports.OneLine(line))
	}
	for _, line := range r.Keeps {
		fmt.Fprintln(a.stdout, "  what keeps it: "+reports.OneLine(line))
	}
	if len(r.Meters) == 0 {
		return nil
	}
	table := reports.LeakTable{Prompts: r.Prompts}
	for _, m := range r.Meters {
		table.Rows = append(table.Rows, reports.LeakRow{
			Meter: m.Meter, Verdict: string(m.Kind), Slope: m.Slope, Low: m.Low, High: m.High, From: m.From, Readings: m.Readings,
		})
	}
	return table.Write(a.stdout)
}

// endedLines say how a trial that did not pass ended: what, where, and what to do.
func endedLines(r lab.LeakReport) []string {
	f := r.Failure
	if f == nil {
		return nil
	}
	ended := "ended: " + reports.Verdict(memtrix.Outcome{Kind: r.Outcome, Memory: f.Memory, How: f.How, Phase: f.Phase, Node: f.Node})
	if f.Prompt > 0 {
		ended += fmt.Sprintf(", in prompt %d", f.Prompt)
	}
	lines := []string{ended}
	if f.Message != "" {
		lines = append(lines, "  "+f.Message)
	}
	for _, text := range f.Advice {
		lines = append(lines, "  advice: "+text)
	}
	return lines
}
