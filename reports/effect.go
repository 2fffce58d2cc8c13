package reports

import (
	"maps"
	"math"
	"slices"
	"strings"

	"memtrix"
)

// A setting is said to have had no effect where nothing differs by more than this
// from the trial without it. Repeats of one cell differ by less (RssAnon by 10 MiB
// in 1600; the second prompt's time by half).
const (
	sameMemory = 0.02
	sameTime   = 0.5
)

// withoutEffect names the settings that changed nothing: a flag that does nothing
// is a finding. Compared are trials that passed and differ in exactly one setting
// from another one of the same version, workflow and hardware.
func withoutEffect(rows []row) []string {
	passed := map[string]*memtrix.Trial{} // by version, workflow, hardware and settings
	for _, r := range rows {
		if r.trial != nil && r.trial.Outcome.Kind == memtrix.Pass {
			passed[effectKey(r.trial.Cell, r.trial.Cell.Settings)] = r.trial
		}
	}
	byVersion := map[string][]string{}
	for _, r := range rows {
		if r.trial == nil || r.trial.Outcome.Kind != memtrix.Pass {
			continue
		}
		for name, value := range r.trial.Cell.Settings {
			without := maps.Clone(r.trial.Cell.Settings)
			delete(without, name)
			base := passed[effectKey(r.trial.Cell, without)]
			words := name + "=" + value
			version := r.trial.Cell.Version.Name
			if base != nil && alike(base, r.trial) && !slices.Contains(byVersion[version], words) {
				byVersion[version] = append(byVersion[version], words)
			}
		}
	}
	var lines []string
	for _, version := range slices.Sorted(maps.Keys(byVersion)) {
		slices.Sort(byVersion[version])
		lines = append(lines, version+": no effect seen (memory within 2 %, second prompt within half): "+strings.Join(byVersion[version], ", "))
	}
	return lines
}

func effectKey(c memtrix.Cell, s memtrix.Settings) string {
	c.Settings = s
	return c.ID()
}

// alike reports whether two trials agree in every peak and reading that a table
// shows, and in the time of the steady prompt.
func alike(a, b *memtrix.Trial) bool {
	for _, meter := range peakMeters([]*memtrix.Trial{a, b}) {
		p, ok1 := a.Peak(meter)
		q, ok2 := b.Peak(meter)
		if ok1 != ok2 || ok1 && !near(float64(p.Value), float64(q.Value), sameMemory) {
			return false
		}
	}
	if len(a.Readings) != len(b.Readings) {
		return false
	}
	for i, r := range a.Readings {
		for _, meter := range peakMeters([]*memtrix.Trial{a, b}) {
			if !near(float64(r.Values[meter]), float64(b.Readings[i].Values[meter]), sameMemory) {
				return false
			}
		}
	}
	n := min(len(a.Prompts), len(b.Prompts))
	return n > 0 && near(a.Prompts[min(n, 2)-1].Seconds, b.Prompts[min(n, 2)-1].Seconds, sameTime)
}

func near(a, b, within float64) bool { return math.Abs(a-b) <= within*max(math.Abs(a), math.Abs(b)) }
