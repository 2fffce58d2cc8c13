package export

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"memtrix"
	"memtrix/reports"
)

// actionEntry is an entry of github-action-benchmark's customSmallerIsBetter
// (https://github.com/benchmark-action/github-action-benchmark).
type actionEntry struct {
	Name  string  `json:"name"`
	Unit  string  `json:"unit"`
	Value float64 `json:"value"`
	Range string  `json:"range,omitempty"`
	Extra string  `json:"extra,omitempty"`
}

// BenchmarkAction writes a session as the JSON that github-action-benchmark takes with
// tool: customSmallerIsBetter. An entry is one number of one cell, the median of its
// trials that passed, with half the distance of their ends as the range; and how many
// failed. The action follows an entry by its name: a version is part of it only where
// the session has several.
func BenchmarkAction(w io.Writer, s reports.Session) error {
	entries := actionEntries(s)
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return wrap("github-action-benchmark", e.Encode(entries))
}

func actionEntries(s reports.Session) []actionEntry {
	cells := map[string][]*memtrix.Trial{}
	var order []string
	for _, t := range measured(s) {
		id := t.Cell.ID() + t.Cell.Version.Name // two names of one commit stay two
		if cells[id] == nil {
			order = append(order, id)
		}
		cells[id] = append(cells[id], t)
	}
	entries := []actionEntry{}
	for _, id := range order {
		trials := cells[id]
		name := cellName(trials[0].Cell)
		if len(s.VersionOrder()) > 1 {
			name = reports.OneLine(trials[0].Cell.Version.Name) + ", " + name
		}
		if trials[0].Simulated {
			name += " (simulated)"
		}
		entries = append(entries, actionCell(s, name, trials)...)
	}
	return entries
}

func actionCell(s reports.Session, name string, trials []*memtrix.Trial) []actionEntry {
	values := map[string][]float64{}
	units := map[string]string{}
	var titles []string
	failed := []string{}
	for _, t := range trials {
		if t.Outcome.Kind != memtrix.Pass {
			failed = append(failed, outcome(t.Outcome))
		}
		for _, n := range numbers(t, meters(s)) {
			title, v, unit := n.title(), n.value, "s"
			if n.bytes {
				v, unit = v/(1<<20), "MiB"
			}
			if values[title] == nil {
				titles = append(titles, title)
			}
			values[title], units[title] = append(values[title], v), unit
		}
	}
	var entries []actionEntry
	extra := fmt.Sprintf("%d of %d trials, session %s", len(trials)-len(failed), len(trials), reports.OneLine(s.Name))
	for _, title := range titles {
		v := slices.Sorted(slices.Values(values[title]))
		e := actionEntry{Name: name + ": " + title, Unit: units[title], Value: rounded((v[(len(v)-1)/2] + v[len(v)/2]) / 2), Extra: extra}
		if half := (v[len(v)-1] - v[0]) / 2; len(v) > 1 {
			e.Range = "± " + decimal(rounded(half))
		}
		entries = append(entries, e)
	}
	what := extra
	if len(failed) > 0 {
		slices.Sort(failed)
		what += ": " + strings.Join(slices.Compact(failed), "; ")
	}
	return append(entries, actionEntry{Name: name + ": failed", Unit: "trials", Value: float64(len(failed)), Extra: what})
}

// rounded keeps three decimals: the action draws numbers, it does not reckon on.
func rounded(v float64) float64 { return math.Round(v*1000) / 1000 }
