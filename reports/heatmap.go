package reports

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"memtrix"
	"memtrix/regress"
)

// Heatmap draws the peak of a meter for all settings (rows) and versions
// (columns) of a session. An empty meter means vram.trial.used where trials have
// it, else ram.tree.rss. Cells that failed show their outcome instead of a
// number. Errors are about the format, a session too large to draw or without
// any cell, and those of w.
func Heatmap(w io.Writer, s Session, meter string, f Format) error {
	h := newHeatmap(s, meter)
	if len(h.rows) == 0 || len(h.columns) == 0 {
		return fmt.Errorf("heat map of session %q: no cells", s.Name)
	}
	l := h.layout()
	if err := render(w, f, l.width, l.height, l.paint); err != nil {
		return fmt.Errorf("heat map of session %q: %w", s.Name, err)
	}
	return nil
}

// HeatmapMeters are the meters that a session is worth a heat map of: its VRAM,
// where trials have that, and its RAM, since a setting often moves one into the
// other.
func HeatmapMeters(s Session) []string {
	if vram := vramMeter(s.Trials); vram != "" {
		return []string{vram, memtrix.RAMTreeRSS}
	}
	return []string{memtrix.RAMTreeRSS}
}

// heatKind says how a cell of the map looks.
type heatKind int

const (
	heatNothing  heatKind = iota // no such cell in the plan
	heatValue                    // passed: colour and value
	heatFailed                   // failed: hatched, the outcome's word
	heatExpected                 // failed as expected
	heatNotApplicable
	heatNotRun // left out, not run yet, no reading
)

// heatCell is one field of the map.
type heatCell struct {
	kind  heatKind
	value int64 // bytes
	words string
	// trials are those that it sums up; least and most the ends of their values.
	trials      []int64
	least, most int64
}

// heatmap is what the picture shows.
type heatmap struct {
	title, subtitle string
	simulated       bool // all of it
	meter           string
	columns         []string // versions
	columnLabels    []string // with "(sim)" where only some are simulated
	rows            []string // settings
	cells           [][]heatCell
	from, to        int64 // the ends of the colour scale, bytes
}

func newHeatmap(s Session, meter string) heatmap {
	if meter == "" {
		meter = defaultHeatMeter(s.Trials)
	}
	h := heatmap{meter: meter, columns: s.versionOrder()}
	h.title = "peak of " + meter
	if s.Name != "" {
		h.subtitle = "session " + s.Name + "; "
	}
	if simulated := simulatedText(s.Trials); simulated != "" {
		h.simulated = !slices.ContainsFunc(s.Trials, func(t *memtrix.Trial) bool { return !t.Simulated })
		if word := "SIMULATED"; h.simulated {
			h.title = word + "  ·  " + h.title
		} else {
			h.title = "partly " + word + "  ·  " + h.title
		}
		h.subtitle += simulated + "; "
	}
	h.subtitle += sourceText(s, meter)

	h.columnLabels = columnLabels(s, h.columns)
	entries := s.entries()
	name := rowNamer(entries)
	byRow := map[string]map[string][]entry{}
	for _, e := range orderedBySeries(s, entries) {
		row := name(e.cell)
		if byRow[row] == nil {
			byRow[row] = map[string][]entry{}
			h.rows = append(h.rows, row)
		}
		v := e.cell.Version.Name
		byRow[row][v] = append(byRow[row][v], e)
	}
	for _, row := range h.rows {
		line := make([]heatCell, len(h.columns))
		for i, version := range h.columns {
			line[i] = newHeatCell(byRow[row][version], meter)
		}
		h.cells = append(h.cells, line)
	}
	h.bounds()
	return h
}

// columnLabels marks the versions that a simulator ran, where others are real, and
// servers that ran before.
func columnLabels(s Session, versions []string) []string {
	simulated, attached, measured := map[string]bool{}, map[string]bool{}, false
	for _, t := range s.Trials {
		if t.Cell.Version.Attached != nil {
			attached[t.Cell.Version.Name] = true
		}
		if t.Simulated {
			simulated[t.Cell.Version.Name] = true
		} else {
			measured = true
		}
	}
	labels := slices.Clone(versions)
	for i, v := range versions {
		if attached[v] {
			labels[i] += " (attached)"
		}
		if simulated[v] && measured {
			labels[i] += " (sim)"
		}
	}
	return labels
}

// defaultHeatMeter is the VRAM that the trials used, else their RAM: what a
// whole card holds says little about a trial.
func defaultHeatMeter(trials []*memtrix.Trial) string {
	if vramMeter(trials) == memtrix.VRAMTrialUsed {
		return memtrix.VRAMTrialUsed
	}
	return memtrix.RAMTreeRSS
}

func orderedBySeries(s Session, entries []entry) []entry {
	order := s.seriesOrder()
	entries = slices.Clone(entries)
	slices.SortStableFunc(entries, func(a, b entry) int { return order[a.cell.Series()] - order[b.cell.Series()] })
	return entries
}

// rowNamer names rows by settings, and by workflow and hardware only where these
// differ.
func rowNamer(entries []entry) func(memtrix.Cell) string {
	workflows, machines := map[string]bool{}, map[string]bool{}
	for _, e := range entries {
		workflows[e.cell.Workflow.Name] = true
		machines[e.cell.Hardware.Name] = true
	}
	return func(c memtrix.Cell) string {
		words := []string{settingsText(c)}
		if len(workflows) > 1 {
			words = append(words, c.Workflow.Name)
		}
		if len(machines) > 1 {
			words = append(words, c.Hardware.Name)
		}
		return strings.Join(words, ", ")
	}
}

// newHeatCell sums up the repeats of a cell: any failure shows, else the median
// of the peaks.
func newHeatCell(entries []entry, meter string) heatCell {
	var failed []*memtrix.Trial
	var values, ids, failedIDs []int64
	for _, e := range measuredOnly(entries) {
		if e.trial == nil {
			continue
		}
		ids = append(ids, e.trial.ID)
		if e.trial.Outcome.Kind != memtrix.Pass {
			failed, failedIDs = append(failed, e.trial), append(failedIDs, e.trial.ID)
		} else if p, ok := e.trial.Peak(meter); ok {
			values = append(values, p.Value)
		}
	}
	var c heatCell
	switch {
	case len(entries) == 0:
		c = heatCell{words: "–"}
	case len(ids) == 0:
		c = notRunCell(entries[0].planned)
	case len(failed) > 0:
		c = failedCell(failed, len(ids))
	case len(values) == 0:
		c = heatCell{kind: heatNotRun, words: "no reading"}
	default:
		c = heatCell{kind: heatValue, value: int64(regress.Median(values)), least: slices.Min(values), most: slices.Max(values)}
	}
	// Who looks at a failure wants the trial that failed.
	c.trials = failedIDs
	for _, id := range ids {
		if !slices.Contains(failedIDs, id) {
			c.trials = append(c.trials, id)
		}
	}
	return c
}

// measuredOnly leaves out what a simulator made where there are measurements of
// the same cell: one number never mixes both.
func measuredOnly(entries []entry) []entry {
	real := func(e entry) bool { return e.trial != nil && !e.trial.Simulated }
	if !slices.ContainsFunc(entries, real) {
		return entries
	}
	return slices.DeleteFunc(slices.Clone(entries), func(e entry) bool { return !real(e) })
}

func notRunCell(p *memtrix.PlannedCell) heatCell {
	if p.Status == memtrix.StatusNotApplicable {
		return heatCell{kind: heatNotApplicable, words: "n/a"}
	}
	return heatCell{kind: heatNotRun, words: strings.ReplaceAll(notRunText(p), "-", " ")}
}

// failedCell names the first failure, and in how many of the repeats it was.
func failedCell(failed []*memtrix.Trial, trials int) heatCell {
	t := failed[0]
	c := heatCell{kind: heatFailed, words: string(t.Outcome.Kind)}
	if t.Outcome.Kind == memtrix.NotApplicable {
		return heatCell{kind: heatNotApplicable, words: "n/a"}
	}
	if t.Outcome.Kind == memtrix.OOM && t.Outcome.Memory != "" {
		c.words += " " + string(t.Outcome.Memory)
	}
	if !slices.ContainsFunc(failed, func(t *memtrix.Trial) bool { return !t.AsExpected() }) {
		c.kind = heatExpected
	}
	if trials > 1 {
		c.words += " " + strconv.Itoa(len(failed)) + "/" + strconv.Itoa(trials)
	}
	return c
}

// leastSpan is how much of the values the colour scale spans at least, so that
// small differences do not look large.
const leastSpan = 0.25

// bounds finds the ends of the colour scale.
func (h *heatmap) bounds() {
	var values []int64
	for _, row := range h.cells {
		for _, c := range row {
			if c.kind == heatValue {
				values = append(values, c.value)
			}
		}
	}
	if len(values) == 0 {
		return
	}
	h.from, h.to = slices.Min(values), slices.Max(values)
	middle := (h.from + h.to) / 2
	if least := int64(leastSpan * float64(middle)); h.to-h.from < least {
		h.from, h.to = middle-least/2, middle+least/2
	}
}

// has reports whether any cell is of a kind.
func (h heatmap) has(kind heatKind) bool {
	for _, row := range h.cells {
		for _, c := range row {
			if c.kind == kind {
				return true
			}
		}
	}
	return false
}
