package main

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/term"

	"memtrix/environment"
	"memtrix/recorders"
	"memtrix/reports"
)

type doctorCmd struct {
	JSON bool `name:"json" help:"One JSON document on standard output and nothing else there."`
}

// Run takes about two seconds: it reads every meter for one, and measures empty
// loops for the other.
func (c *doctorCmd) Run(a *app) error {
	h := reports.Health{Facts: environment.Capture(a.ctx, environment.Input{Env: os.Environ()})}
	group := recorders.GroupOf(0)
	switch {
	case group.Version == 0:
		h.Facts["cgroup"] = "none that counts memory"
	case group.Writable:
		h.Facts["cgroup"] = fmt.Sprintf("version %d, writable, %s", group.Version, group.Dir)
	default:
		h.Facts["cgroup"] = fmt.Sprintf("version %d, not writable, %s", group.Version, group.Dir)
	}
	survey := recorders.Look()
	for _, m := range survey.Meters {
		h.Meters = append(h.Meters, reports.HealthMeter{
			Meter: m.Meter, Reason: m.Reason, Value: m.Value, Group: m.Group, Thread: m.Thread,
			Every: m.Every, CPU: m.CPU, Each: m.Each, Longest: m.Longest,
		})
	}
	for _, w := range survey.Wakes {
		h.Wakes = append(h.Wakes, reports.HealthWake(w))
	}
	h.Recorder = survey.CPU.Seconds() / survey.Elapsed.Seconds()
	h.Notes = []string{"cards: " + strings.Join(recorders.CanRead(), "; ")}
	if c.JSON {
		return reports.DoctorJSON(a.stdout, h)
	}
	return reports.DoctorTable(a.stdout, h, tableOptions(a))
}

// tableOptions are for a table on standard output.
func tableOptions(a *app) reports.TableOptions {
	o := reports.TableOptions{}
	if f, ok := a.stdout.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil {
			o.Width = width
		}
		o.Color = os.Getenv("NO_COLOR") == ""
	}
	return o
}
