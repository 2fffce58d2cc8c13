// Package reports draws what sessions and trials found: a table for terminals, a
// Markdown summary, JSON documents, a timeline and a heat map. One output format
// a file.
//
// It is given data and draws it. It does not know how data was got, reads no
// files and no database, and judges nothing: where two versions differ it says
// by how much, and leaves "regression" to those who do statistics. What a trial
// does not have is left out, never shown as 0; whatever a simulator made is
// marked SIMULATED.
package reports

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"memtrix"
	"memtrix/history"
)

// Session is one session as reports see it.
type Session struct {
	// Name is the session's own; Spec the name of its spec.
	Name string
	Spec string
	// Trials in any order.
	Trials []*memtrix.Trial
	// Plan is what the session wanted to run. From it come the cells that did
	// not run and why. It may be empty.
	Plan memtrix.Plan
	// Interval is the time between two samples of a card's memory while prompts run,
	// Slower that of everything else; 0 when not known.
	Interval, Slower time.Duration
	// Versions are the names of the versions, oldest first. When it is empty,
	// names that are all numbers with dots are ordered by number, others by
	// their first appearance in the plan, then in the trials.
	Versions []string
	// Trends are values over versions and time, from this and earlier sessions, with
	// the changes in them; none where nobody looked.
	Trends []Trend
	// Alarms are those of its spec, in the order in which they were opened.
	Alarms []history.Alarm
}

// VersionOrder gives the names of all versions of the session, oldest first.
func (s Session) VersionOrder() []string { return s.versionOrder() }

// versionOrder gives all versions of the session, oldest first.
func (s Session) versionOrder() []string {
	names := slices.Clone(s.Versions)
	add := func(name string) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, c := range s.Plan.Cells {
		add(c.Cell.Version.Name)
	}
	for _, t := range s.Trials {
		add(t.Cell.Version.Name)
	}
	if len(s.Versions) == 0 && !slices.ContainsFunc(names, func(n string) bool { return versionParts(n) == nil }) {
		slices.SortStableFunc(names, func(a, b string) int {
			return slices.Compare(versionParts(a), versionParts(b))
		})
	}
	return names
}

// versionParts reads "0.29.0" or "v0.29.0" as numbers, since ComfyUI 0.3.77 is
// older than 0.12.1; nil for anything else.
func versionParts(name string) []int {
	var parts []int
	for word := range strings.SplitSeq(strings.TrimPrefix(name, "v"), ".") {
		n, err := strconv.Atoi(word)
		if err != nil || n < 0 {
			return nil
		}
		parts = append(parts, n)
	}
	return parts
}

// entry is one line of a report: a trial, or a planned cell that has none.
type entry struct {
	cell    memtrix.Cell
	trial   *memtrix.Trial // nil when it did not run
	planned *memtrix.PlannedCell
}

// entries are the session's trials and the cells without one, ordered by
// version, then as planned, then by trial.
func (s Session) entries() []entry {
	ran := map[string]bool{}
	var list []entry
	for _, t := range s.Trials {
		ran[t.Cell.ID()] = true
		list = append(list, entry{cell: t.Cell, trial: t})
	}
	for i, c := range s.Plan.Cells {
		if !ran[c.Cell.ID()] {
			list = append(list, entry{cell: c.Cell, planned: &s.Plan.Cells[i]})
		}
	}
	versions, series := s.versionOrder(), s.seriesOrder()
	slices.SortStableFunc(list, func(a, b entry) int {
		return cmp.Or(
			slices.Index(versions, a.cell.Version.Name)-slices.Index(versions, b.cell.Version.Name),
			series[a.cell.Series()]-series[b.cell.Series()],
			compareTrials(a.trial, b.trial),
		)
	})
	return list
}

// seriesOrder ranks the cells without their version: the plan's order, then that
// of the trials by number, so that a resumed session looks the same.
func (s Session) seriesOrder() map[string]int {
	order := map[string]int{}
	add := func(series string) {
		if _, ok := order[series]; !ok {
			order[series] = len(order)
		}
	}
	for _, c := range s.Plan.Cells {
		add(c.Cell.Series())
	}
	trials := slices.Clone(s.Trials)
	slices.SortStableFunc(trials, compareTrials)
	for _, t := range trials {
		add(t.Cell.Series())
	}
	return order
}

func compareTrials(a, b *memtrix.Trial) int {
	if a == nil || b == nil {
		return 0
	}
	return cmp.Or(cmp.Compare(a.Repeat, b.Repeat), cmp.Compare(a.ID, b.ID))
}

// settingsText names a cell's settings as tables do.
func settingsText(c memtrix.Cell) string {
	text := c.Settings.String()
	if c.Probe {
		text += " (probe)"
	}
	return text
}

// simulatedText says which trials a simulator made: "" for none.
func simulatedText(trials []*memtrix.Trial) string {
	var ids []int64
	for _, t := range trials {
		if t.Simulated {
			ids = append(ids, t.ID)
		}
	}
	switch {
	case len(ids) == 0:
		return ""
	case len(ids) == len(trials):
		return "SIMULATED: nothing here is a measurement of ComfyUI"
	case len(ids) == 1:
		return "SIMULATED: trial " + rangesText(ids) + " is not a measurement"
	}
	return "SIMULATED: trials " + rangesText(ids) + " are not measurements"
}

// rangesText writes numbers as "1, 3-5".
func rangesText(ids []int64) string {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	var words []string
	for i := 0; i < len(ids); {
		j := i
		for j+1 < len(ids) && ids[j+1] <= ids[j]+1 {
			j++
		}
		word := strconv.FormatInt(ids[i], 10)
		if ids[j] > ids[i] {
			word += "-" + strconv.FormatInt(ids[j], 10)
		}
		words = append(words, word)
		i = j + 1
	}
	return strings.Join(words, ", ")
}
