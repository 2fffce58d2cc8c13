package evidence

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"memtrix"
	"memtrix/regress"
	"memtrix/reports"
	"memtrix/reports/redact"
)

// Row is a cell that can be held against the trial's: its own, the same on another
// version, or with one setting otherwise.
type Row struct {
	// What makes it another one: "this", "version", the setting that is flipped, or
	// the size of the machine.
	What     string
	Version  string
	Settings string
	Trials   []int64
	// Passed of N trials passed; Ends are how the others ended.
	Passed, N int
	Ends      []string
	// VRAM and RAM are medians of peaks in bytes, Seconds of the second prompt's time
	// (of the first's where there is one only), all of those that passed, or of all
	// where none did; nil where that was not measured.
	VRAM, RAM *int64
	Seconds   *float64
	// AtLeast is set where more VRAM was held at a failure than any sample showed.
	AtLeast bool
	// Differs are other facts that differ from the trial's: what else may explain it.
	Differs []string

	release []int
	own     bool
}

// meters say what the figures of rows are.
type meters struct{ vram, ram string }

// compare finds the rows and the counterpart that says most.
func compare(r *redact.Redactor, t *memtrix.Trial, others []*memtrix.Trial) ([]Row, int) {
	groups := map[string][]*memtrix.Trial{}
	what := map[string]string{}
	own := t.Cell.ID()
	groups[own], what[own] = []*memtrix.Trial{t}, "this"
	for _, o := range memtrix.Current(others) {
		if o.ID == t.ID || !comparable(t, o) {
			continue
		}
		id := o.Cell.ID()
		if w := differs(t.Cell, o.Cell); w != "" {
			groups[id], what[id] = append(groups[id], o), w
		}
	}
	var all []*memtrix.Trial
	for _, g := range groups {
		all = append(all, g...)
	}
	m := metersOf(all)
	var rows []Row
	for id, g := range groups {
		slices.SortFunc(g, func(a, b *memtrix.Trial) int { return cmp.Compare(a.ID, b.ID) })
		rows = append(rows, newRow(r, t, g, what[id], m))
	}
	now := releaseParts(t.Cell.Version)
	slices.SortFunc(rows, func(a, b Row) int {
		return cmp.Or(-compareBool(a.own, b.own), -compareBool(a.What == "version", b.What == "version"),
			-slices.Compare(a.release, b.release), strings.Compare(a.What, b.What), cmp.Compare(a.Trials[0], b.Trials[0]))
	})
	return rows, counterpart(rows, now, t.Outcome.Kind == memtrix.Pass)
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// comparable leaves out what measured something else, or nothing.
func comparable(t, o *memtrix.Trial) bool {
	switch o.Outcome.Kind {
	case memtrix.Interrupted, memtrix.HarnessFailure, memtrix.NotApplicable, memtrix.NotInForce, "":
		return false
	}
	if t.Outcome.Kind != memtrix.StartupFailure && (o.Outcome.Kind == memtrix.StartupFailure || o.Outcome.Kind == memtrix.InvalidWorkflow) {
		return false // it did none of the work
	}
	return o.Simulated == t.Simulated && o.Shared == t.Shared && o.Cell.Probe == t.Cell.Probe &&
		(o.Cell.Version.Attached == nil) == (t.Cell.Version.Attached == nil)
}

// ofHardware begins What of a row that has a machine of another size.
const ofHardware = "hardware "

// differs says in what one thing a cell is another one; "this" for none, "" for more
// than one.
func differs(a, b memtrix.Cell) string {
	if a.ID() == b.ID() {
		return "this"
	}
	if a.Series() == b.Series() {
		return "version"
	}
	c := b
	c.Hardware = a.Hardware
	if c.ID() == a.ID() {
		if h := b.Hardware; h.VRAM == 0 && h.RAM == 0 && h.Swap == nil {
			return ofHardware + h.Name + " (the whole machine)"
		}
		return ofHardware + b.Hardware.Name
	}
	c = b
	c.Settings = a.Settings
	if c.ID() != a.ID() {
		return ""
	}
	var flips []string
	for _, d := range memtrix.SettingDefs {
		if x, y := a.Settings[d.Name], b.Settings[d.Name]; x != y {
			flips = append(flips, d.Name+" "+cmp.Or(x, "default")+" -> "+cmp.Or(y, "default"))
		}
	}
	if len(flips) != 1 {
		return ""
	}
	return flips[0]
}

func metersOf(trials []*memtrix.Trial) meters {
	m := meters{ram: memtrix.RAMTreeRSS}
	for _, name := range []string{memtrix.VRAMTrialUsed, memtrix.VRAMDeviceUsed} {
		if slices.ContainsFunc(trials, func(t *memtrix.Trial) bool { _, ok := t.Peak(name); return ok }) {
			m.vram = name
			break
		}
	}
	return m
}

func newRow(r *redact.Redactor, t *memtrix.Trial, g []*memtrix.Trial, what string, m meters) Row {
	first := g[0]
	row := Row{
		What: what, Version: r.Text(program(first)), Settings: r.Text(first.Cell.Settings.String()), N: len(g),
		own: what == "this", release: releaseParts(first.Cell.Version),
	}
	if name := r.Text(first.Cell.Version.Name); !strings.HasSuffix(row.Version, name) {
		row.Version += " (" + name + ")"
	}
	var passed []*memtrix.Trial
	ends := map[string]int{}
	for _, o := range g {
		row.Trials = append(row.Trials, o.ID)
		if o.Outcome.Kind == memtrix.Pass {
			passed = append(passed, o)
			continue
		}
		end := string(o.Outcome.Kind)
		if o.Outcome.Memory != "" && o.Outcome.Memory != memtrix.MemoryNone {
			end += " of " + string(o.Outcome.Memory)
		}
		ends[end]++
	}
	row.Passed = len(passed)
	for _, end := range slices.Sorted(maps.Keys(ends)) {
		row.Ends = append(row.Ends, fmt.Sprintf("%d of %d %s", ends[end], len(g), end))
	}
	if len(passed) > 0 {
		g = passed
	}
	row.VRAM, row.RAM = medianPeak(g, m.vram), medianPeak(g, m.ram)
	row.Seconds = medianSeconds(g)
	row.AtLeast = slices.ContainsFunc(g, func(o *memtrix.Trial) bool {
		p, ok := o.Peak(m.vram)
		return ok && reports.AtLeast(o, p)
	})
	if !row.own {
		row.Differs = otherFacts(r, t.Environment, first.Environment)
	}
	return row
}

// Outcome is "3 of 3 pass" or "2 of 3 oom of vram, 1 of 3 pass".
func (r Row) Outcome() string {
	words := slices.Clone(r.Ends)
	if r.Passed > 0 {
		words = append(words, fmt.Sprintf("%d of %d pass", r.Passed, r.N))
	}
	return strings.Join(words, ", ")
}

// Figures are its numbers in words: "VRAM peak 5123 MiB, RAM peak 8012 MiB, prompt in
// 3.2 s".
func (r Row) Figures() string {
	var words []string
	if r.VRAM != nil {
		words = append(words, "VRAM peak "+atLeast(r.AtLeast)+reports.MiB(*r.VRAM)+" MiB")
	}
	if r.RAM != nil {
		words = append(words, "RAM peak "+reports.MiB(*r.RAM)+" MiB")
	}
	if r.Seconds != nil {
		words = append(words, "prompt in "+reports.Seconds(*r.Seconds)+" s")
	}
	return strings.Join(words, ", ")
}

// atLeast stands before a lower bound.
func atLeast(bound bool) string {
	if bound {
		return "at least "
	}
	return ""
}

func medianPeak(trials []*memtrix.Trial, meter string) *int64 {
	var values []int64
	for _, t := range trials {
		if p, ok := t.Peak(meter); ok {
			values = append(values, p.Value)
		}
	}
	return median(values)
}

// median of numbers; nil of none.
func median[T int64 | float64](values []T) *T {
	if len(values) == 0 {
		return nil
	}
	m := T(regress.Median(values))
	return &m
}

// medianSeconds is the time of the steady prompt.
func medianSeconds(trials []*memtrix.Trial) *float64 {
	var values []float64
	for _, t := range trials {
		if n := len(t.Prompts); n > 0 && t.Prompts[min(n, 2)-1].Outcome == memtrix.Pass {
			values = append(values, t.Prompts[min(n, 2)-1].Seconds)
		}
	}
	return median(values)
}

// counterpart is the row to hold against the first one. For a failure: what passes,
// the nearest earlier version first, then the nearest later one, then a flip. For a
// pass: the nearest earlier version, else a flip.
func counterpart(rows []Row, now []int, passed bool) int {
	best, bestRank := -1, []int(nil)
	for i, row := range rows {
		if row.own {
			continue
		}
		rank := []int{0, 0, i}
		if !passed && row.Passed < row.N {
			rank[0] = 1 // fails, too
		}
		switch older := slices.Compare(row.release, now) < 0; {
		case row.What == "version" && older:
			rank[1] = 0
		case row.What == "version":
			rank[1], rank[2] = 1, -i // the nearest later one comes last
		case strings.HasPrefix(row.What, ofHardware):
			rank[1] = 3
		default:
			rank[1] = 2
		}
		if bestRank == nil || slices.Compare(rank, bestRank) < 0 {
			best, bestRank = i, rank
		}
	}
	return best
}

// releaseParts are a release as numbers: 0.3.77 is older than 0.12.1.
func releaseParts(v memtrix.Version) []int {
	var parts []int
	for word := range strings.SplitSeq(strings.TrimPrefix(cmp.Or(v.Release, v.Name), "v"), ".") {
		n, err := strconv.Atoi(word)
		if err != nil {
			return parts
		}
		parts = append(parts, n)
	}
	return parts
}

// mostFacts bounds the differences that are listed of one row.
const mostFacts = 12

// otherFacts lists what else differs between two trials. What follows from the version
// itself, or changes from run to run, is no explanation.
func otherFacts(r *redact.Redactor, a, b memtrix.Environment) []string {
	var list []string
	more := 0
	for _, name := range slices.Sorted(maps.Keys(a)) {
		other, ok := b[name]
		if !ok || other == a[name] || slices.Contains([]string{"python.path", "banner.comfyui", "server.comfyui", "server.pid", "server.argv", "server.url", "memtrix", "go"}, name) ||
			strings.HasPrefix(name, "package-hash.") || strings.HasPrefix(name, "banner.total-") {
			continue
		}
		if len(list) == mostFacts {
			more++
			continue
		}
		list = append(list, fmt.Sprintf("%s: %s here, %s there", name, brief(r.Value(variable(name), a[name])), brief(r.Value(variable(name), other))))
	}
	if more > 0 {
		list = append(list, fmt.Sprintf("and %d more", more))
	}
	return list
}

func brief(s string) string {
	if runes := []rune(oneLine(s)); len(runes) > 60 {
		return string(runes[:60]) + "..."
	}
	return oneLine(s)
}

func trialNumbers(ids []int64) string {
	words := make([]string, len(ids))
	for i, id := range ids {
		words[i] = strconv.FormatInt(id, 10)
	}
	if len(words) == 1 {
		return "trial " + words[0]
	}
	return "trials " + strings.Join(words, ", ")
}
