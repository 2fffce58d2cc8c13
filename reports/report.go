package reports

import (
	"cmp"
	"slices"
	"strings"

	"memtrix"
)

// Report is a session as a page shows it: everything is words, numbers and places,
// made of the same sheet and heat maps that the table, the Markdown summary and the
// pictures are made of. It is pure data and encodes as JSON.
type Report struct {
	Title    string `json:"title"` // without what Simulated says
	Headline string `json:"headline"`
	// Simulated says which trials are no measurements, "" where all are.
	Simulated string   `json:"simulated,omitempty"`
	Versions  []string `json:"versions"`
	// Alarms that somebody may still act on.
	Alarms  []AlarmView  `json:"alarms"`
	Columns []Column     `json:"columns"`
	Rows    []Row        `json:"rows"` // the worst first
	Maps    []Map        `json:"maps"`
	Trials  []*TrialView `json:"trials"` // in the order of Rows
	Trends  []Trend      `json:"trends"`
	// Environments are what differs between the trials' machines and versions.
	Environments []EnvironmentView `json:"environments"`
	// Compare are places in Environments that are worth comparing first.
	Compare [2]int   `json:"compare"`
	Sources []string `json:"sources"`
	Notes   []string `json:"notes"`
}

// Column is one of the table.
type Column struct {
	Title string `json:"title"`
	Unit  string `json:"unit,omitempty"`
	How   string `json:"how,omitempty"`
	// Number columns stand at the right.
	Number bool `json:"number,omitempty"`
}

// Row is a trial, or a planned cell that has none (Trial is 0).
type Row struct {
	Trial int64   `json:"trial,omitempty"`
	Cells []Field `json:"cells"`
}

// Field is one text of the table.
type Field struct {
	Text string `json:"text"`
	Mark string `json:"mark,omitempty"` // "+12 %", "new oom"
	Tone string `json:"tone,omitempty"` // "bad", "differs", "dim", ""
}

// Map is the peak of a meter for all settings and versions.
type Map struct {
	Meter  string `json:"meter"`
	Title  string `json:"title"`
	Source string `json:"source"`
	Unit   string `json:"unit"`
	// From and To are the ends of the colour scale, in Unit.
	From     string    `json:"from"`
	To       string    `json:"to"`
	Versions []string  `json:"versions"`
	Rows     []MapLine `json:"rows"`
}

// MapLine is one combination of settings.
type MapLine struct {
	Name  string   `json:"name"`
	Cells []MapBox `json:"cells"`
}

// MapBox is one field of a map.
type MapBox struct {
	// Kind is "value", "failed", "expected", "not-applicable", "not-run" or "none".
	Kind string `json:"kind"`
	Text string `json:"text"`
	// Level is the colour of a value, 0 to MapLevels-1.
	Level  int     `json:"level,omitempty"`
	Trials []int64 `json:"trials,omitempty"`
	// Repeats that passed, where there are several: "4 of 4, 4.90 to 4.97".
	Spread string `json:"spread,omitempty"`
}

// MapLevels is how many colours a map has.
const MapLevels = 12

// NewReport lays out a session.
func NewReport(s Session) Report {
	sh := newSheet(s)
	r := Report{
		Title: plainTitle(s), Headline: headlineText(s), Simulated: simulatedText(s.Trials), Versions: oneLines(s.versionOrder()),
		Trends: s.Trends, Alarms: alarmViews(s.Alarms), Sources: sh.sources, Notes: withoutProofs(sh.notes),
	}
	for _, c := range sh.columns {
		r.Columns = append(r.Columns, Column{Title: c.title, Unit: c.unit, How: c.how, Number: c.right})
	}
	r.Environments = environments(s)
	place := map[string]int{}
	for i, e := range r.Environments {
		place[e.key] = i
	}
	for i, cells := range sh.rows {
		row := Row{}
		for _, c := range cells {
			row.Cells = append(row.Cells, Field{Text: c.text, Mark: c.mark, Tone: c.tone.String()})
		}
		if t := sh.entries[i].trial; t != nil {
			row.Trial = t.ID
			v := newTrialView(t)
			v.Environment = place[environmentKey(t)]
			r.Trials = append(r.Trials, v)
		}
		r.Rows = append(r.Rows, row)
	}
	r.Compare = s.worthComparing(place, sh.entries)
	for _, meter := range HeatmapMeters(s) {
		if m := newHeatmap(s, meter); len(m.rows) > 0 && len(m.columns) > 0 {
			r.Maps = append(r.Maps, m.view(s))
		}
	}
	return r
}

// worthComparing are the environments of the worst trial that an earlier one can be
// compared with, and of that one; else the first and the last.
func (s Session) worthComparing(place map[string]int, rows []row) [2]int {
	earlier := s.before()
	for _, r := range rows {
		if r.trial == nil {
			continue
		}
		if _, trials := earlier.of(r.trial); len(trials) > 0 {
			return [2]int{place[environmentKey(trials[0])], place[environmentKey(r.trial)]}
		}
	}
	return [2]int{0, max(0, len(place)-1)}
}

// withoutProofs leaves out lines of evidence and advice, which a page has with each
// failure.
func withoutProofs(notes []string) []string {
	return slices.DeleteFunc(slices.Clone(notes), func(n string) bool {
		return strings.HasPrefix(n, "| ") || strings.HasPrefix(n, "> ")
	})
}

func (t tone) String() string {
	return map[tone]string{bad: "bad", differs: "differs", dim: "dim"}[t]
}

var heatKindNames = map[heatKind]string{
	heatNothing: "none", heatValue: "value", heatFailed: "failed", heatExpected: "expected",
	heatNotApplicable: "not-applicable", heatNotRun: "not-run",
}

func (h heatmap) view(s Session) Map {
	unit := heatScale(h.to)
	m := Map{
		Meter: h.meter, Title: mapTitle(h.meter), Source: OneLine(sourceText(s, h.meter)), Unit: unit.unit,
		From: unit.format(h.from), To: unit.format(h.to), Versions: oneLines(h.columnLabels),
	}
	for i, name := range h.rows {
		line := MapLine{Name: OneLine(name)}
		for _, c := range h.cells[i] {
			box := MapBox{Kind: heatKindNames[c.kind], Text: OneLine(c.words), Trials: c.trials}
			if c.kind == heatValue {
				box.Text = unit.format(c.value)
				share := float64(c.value-h.from) / float64(max(h.to-h.from, 1))
				box.Level = min(MapLevels-1, max(0, int(share*MapLevels)))
				if len(c.trials) > 1 {
					box.Spread = "median of " + plural(len(c.trials), "trial", "trials") + ", " + unit.format(c.least) + " to " + unit.format(c.most)
				}
			}
			line.Cells = append(line.Cells, box)
		}
		m.Rows = append(m.Rows, line)
	}
	return m
}

// mapTitle is a meter in a person's words.
func mapTitle(meter string) string {
	switch meter {
	case memtrix.VRAMTrialUsed:
		return "Peak VRAM"
	case memtrix.VRAMDeviceUsed:
		return "Peak VRAM of the card"
	case memtrix.RAMTreeRSS:
		return "Peak RAM"
	case memtrix.RAMTreeAnon:
		return "Peak anonymous RAM"
	}
	return "Peak of " + meter
}

// worstFirst puts what a person must look at in front: what ended as nobody expects,
// then new outcomes, then larger peaks; what did not run comes last. Within these the
// order stays.
func worstFirst(rows []row) {
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(a.badness(), b.badness()) })
}

func (r row) badness() int {
	switch {
	case r.trial == nil:
		return 4
	case !r.trial.AsExpected():
		return 0
	case r.diff.outcome != "":
		return 1
	case len(r.diff.peaks) > 0:
		return 2
	}
	return 3
}
