// Package export writes trials in the formats of other tools: the Go benchmark format
// (benchstat), JUnit XML, CSV, the trace format that Perfetto reads, and the JSON of
// github-action-benchmark. One format a file.
//
// It gives every number as it was measured and judges none; what a trial does not have
// is left out. A trial that failed has no peaks in formats that compare numbers: it
// stopped somewhere, and that is an outcome. Names of files, workflows and settings
// are data of others: each format escapes them in its own way.
package export

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"memtrix"
	"memtrix/reports"
)

// number is one quantity of a trial that formats compare.
type number struct {
	meter string // "ram.tree.rss", "prompt.2.seconds"
	kind  string // "peak", "rested", "freed", "time"
	how   memtrix.PeakHow
	value float64 // bytes or seconds
	bytes bool
}

// title is a number's name for people: "peak ram.tree.rss", "prompt 2".
func (n number) title() string {
	if n.kind == "time" {
		return n.meter
	}
	return n.kind + " " + n.meter
}

// numbers are those of a trial that passed: peaks and readings at rest of the meters,
// and the times of its prompts.
func numbers(t *memtrix.Trial, meters []string) []number {
	if t.Outcome.Kind != memtrix.Pass {
		return nil
	}
	var list []number
	for _, m := range meters {
		if p, ok := t.Peak(m); ok {
			list = append(list, number{m, "peak", p.How, float64(p.Value), true})
		}
	}
	for _, r := range t.Readings {
		if r.Kind == memtrix.Between {
			continue
		}
		for _, m := range meters {
			if v, ok := r.Values[m]; ok {
				list = append(list, number{m, string(r.Kind), "", float64(v), true})
			}
		}
	}
	for _, p := range t.Prompts {
		if p.Outcome == memtrix.Pass {
			list = append(list, number{"prompt " + strconv.Itoa(p.Index), "time", "", p.Seconds, false})
		}
	}
	return list
}

// meters are those that comparisons are about: a session's VRAM and RAM.
func meters(s reports.Session) []string {
	list := reports.HeatmapMeters(s)
	return append(list, memtrix.RAMTreeAnon)
}

// measured are the trials that say something about their version, in the order of
// versions and cells, as a table has them.
func measured(s reports.Session) []*memtrix.Trial {
	versions := s.VersionOrder()
	var list []*memtrix.Trial
	for _, t := range s.Trials {
		switch t.Outcome.Kind {
		case memtrix.Interrupted, memtrix.HarnessFailure, memtrix.NotApplicable:
			continue
		}
		list = append(list, t)
	}
	slices.SortStableFunc(list, func(a, b *memtrix.Trial) int {
		return cmp.Or(slices.Index(versions, a.Cell.Version.Name)-slices.Index(versions, b.Cell.Version.Name), cmp.Compare(a.ID, b.ID))
	})
	return list
}

// cellName says which cell a trial is of, without its version.
func cellName(c memtrix.Cell) string {
	words := []string{c.Workflow.Name, settings(c)}
	if c.Hardware.Name != "" && c.Hardware.Name != "as-is" {
		words = append(words, c.Hardware.Name)
	}
	return reports.OneLine(strings.Join(words, ", "))
}

func settings(c memtrix.Cell) string {
	text := c.Settings.String()
	if c.Probe {
		text += " (probe)"
	}
	return text
}

// outcome is a failure in a few words: "oom vram, KSampler (5)".
func outcome(o memtrix.Outcome) string {
	text := string(o.Kind)
	if o.Memory != "" && o.Memory != memtrix.MemoryNone {
		text += " " + string(o.Memory)
	}
	if o.Node != nil {
		text += ", " + memtrix.Span{Node: o.Node}.Name()
	} else if o.Phase != "" {
		text += " in " + string(o.Phase)
	}
	return reports.OneLine(text)
}

// decimal writes a number without an exponent.
func decimal(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		v = 0
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// wrap says which format an error is of.
func wrap(format string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("export %s: %w", format, err)
}
