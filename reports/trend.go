package reports

import (
	"slices"
	"time"

	"memtrix"
	"memtrix/history"
	"memtrix/regress"
)

// Trend is a line of a history as it is drawn: one cell over versions or over time,
// trial by trial, with the changes along it.
type Trend struct {
	Name string       `json:"name"` // "sd15, cache=none"
	Axis history.Axis `json:"axis"`
	// Control is the cell that is frozen in every respect.
	Control   bool         `json:"control,omitempty"`
	Simulated bool         `json:"simulated,omitempty"`
	Points    []TrendPoint `json:"points"`
	Meters    []TrendMeter `json:"meters"`
	// Outcomes are the changes in how trials end.
	Outcomes []TrendChange `json:"outcomes"`
	// Untold says what ended in another way where the trials are too few to tell.
	Untold []string `json:"untold,omitempty"`
	// TooFew says why nothing could be told of the numbers, "" where it could.
	TooFew string `json:"too_few,omitempty"`
}

// TrendPoint is one trial.
type TrendPoint struct {
	Trial   int64               `json:"trial"`
	Place   string              `json:"place"` // the version, or the session
	Version string              `json:"version"`
	Commit  string              `json:"commit,omitempty"` // its first letters
	Started string              `json:"started,omitempty"`
	Outcome memtrix.OutcomeKind `json:"outcome"`
}

// TrendMeter are the numbers of one meter along the points.
type TrendMeter struct {
	Meter string `json:"meter"`
	Label string `json:"label"` // "peak vram.device.used"
	// Unit is "MiB", "s" or "" for a count.
	Unit string `json:"unit"`
	// Values are in Unit; null where the trial has none. One that failed stopped
	// somewhere: that is an outcome and no small value.
	Values  []*float64    `json:"values"`
	Changes []TrendChange `json:"changes"`
}

// TrendChange is a change along a trend.
type TrendChange struct {
	Kind  regress.Kind `json:"kind"`
	At    int          `json:"at"` // the first point after it
	Worse bool         `json:"worse"`
	// Before and After are levels in the meter's unit; of outcomes, shares.
	Before float64 `json:"before"`
	After  float64 `json:"after"`
	Reason string  `json:"reason"`
	// Causes are what else differs there, the likeliest first.
	Causes []string `json:"causes,omitempty"`
}

const (
	// mostPoints bounds a trend to its newest trials.
	mostPoints  = 1000
	shownCauses = 6
)

// NewTrends draws up lines of a history with what package history found along them:
// changes[i] are those of lines[i]. Lines with a change for the worse come first, then
// those with any. Meters that no trial of a line has are left out of it; one that never
// passed has one meter without values, since how it ended is its history.
func NewTrends(lines []history.Line, meters []string, changes [][]history.Change) []Trend {
	trends := make([]Trend, 0, len(lines))
	for i, l := range lines {
		if t := newTrend(l, meters, changes[i]); len(t.Points) > 0 {
			trends = append(trends, t)
		}
	}
	slices.SortStableFunc(trends, func(a, b Trend) int { return b.weight() - a.weight() })
	return trends
}

// weight is larger the more a person should look at a trend.
func (t Trend) weight() int {
	all := slices.Clone(t.Outcomes)
	for _, m := range t.Meters {
		all = append(all, m.Changes...)
	}
	switch {
	case slices.ContainsFunc(all, func(c TrendChange) bool { return c.Worse }):
		return 2
	case len(all) > 0 || len(t.Untold) > 0:
		return 1
	}
	return 0
}

func newTrend(l history.Line, meters []string, changes []history.Change) Trend {
	t := Trend{Name: OneLine(lineText(l)), Axis: l.Axis, Control: l.Control, Simulated: l.Simulated, Points: []TrendPoint{}, Outcomes: []TrendChange{}}
	var trials []*memtrix.Brief
	places := map[int64]string{}
	for _, p := range l.Places {
		for _, b := range p.Trials {
			trials, places[b.Trial.ID] = append(trials, b), p.Name
		}
	}
	trials = trials[max(0, len(trials)-mostPoints):]
	at := map[int64]int{}
	for i, b := range trials {
		at[b.Trial.ID] = i
		v := b.Trial.Cell.Version
		t.Points = append(t.Points, TrendPoint{
			Trial: b.Trial.ID, Place: OneLine(places[b.Trial.ID]), Version: OneLine(v.Name), Commit: v.Commit[:min(len(v.Commit), 10)],
			Started: timeText(b.Trial.Started), Outcome: b.Trial.Outcome.Kind,
		})
	}
	for _, meter := range meters {
		if m, ok := newTrendMeter(trials, meter); ok {
			t.Meters = append(t.Meters, m)
		}
	}
	if len(t.Meters) == 0 {
		t.Meters = []TrendMeter{{Meter: "outcome", Label: "outcomes", Values: make([]*float64, len(trials)), Changes: []TrendChange{}}}
	}
	t.TooFew = history.TooFew(l)
	for _, s := range history.Untold(l, changes) {
		t.Untold = append(t.Untold, OneLine(untoldText(l, s)))
	}
	for _, c := range changes {
		// What was before the first point that is drawn is not drawn either.
		place, ok := at[c.TrialAfter]
		if !ok {
			continue
		}
		shown := newTrendChange(c, place)
		if c.Meter == "" {
			t.Outcomes = append(t.Outcomes, shown)
			continue
		}
		if i := slices.IndexFunc(t.Meters, func(m TrendMeter) bool { return m.Meter == c.Meter }); i >= 0 {
			t.Meters[i].Changes = append(t.Meters[i].Changes, shown)
		}
	}
	return t
}

func newTrendChange(c history.Change, at int) TrendChange {
	shown := TrendChange{Kind: c.Kind, At: at, Worse: c.Worse, Before: c.Before, After: c.After, Reason: OneLine(c.Reason)}
	if c.Unit == memtrix.UnitBytes {
		shown.Before, shown.After = c.Before/mib, c.After/mib
	}
	for _, cause := range c.Causes[:min(len(c.Causes), shownCauses)] {
		shown.Causes = append(shown.Causes, OneLine(causeText(cause)))
	}
	if more := len(c.Causes) - shownCauses; more > 0 {
		shown.Causes = append(shown.Causes, plural(more, "more", "more"))
	}
	return shown
}

func causeText(c history.Cause) string {
	text := string(c.Kind) + " " + c.Name
	if c.Kind == history.CauseComfyUI {
		text = "ComfyUI " + c.Name
	}
	switch {
	case c.Before == "":
		return text + " " + c.After + " (new)"
	case c.After == "":
		return text + " " + c.Before + " (gone)"
	}
	return text + " " + c.Before + " → " + c.After
}

func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04")
}

// lineText says what a line is about: "sdxl, default, card-8g, master by date".
func lineText(l history.Line) string {
	text := l.Workflow + ", " + l.Settings.String()
	if l.Hardware != "" && l.Hardware != "as-is" {
		text += ", " + l.Hardware
	}
	if l.Probe {
		text += " (probe)"
	}
	if l.Version != "" {
		return text + ", " + l.Version + " over time"
	}
	return text + ", over versions"
}

func newTrendMeter(trials []*memtrix.Brief, meter string) (TrendMeter, bool) {
	m := TrendMeter{Meter: meter, Label: history.Label(meter), Changes: []TrendChange{}}
	known := 0
	for _, b := range trials {
		n, ok := b.Numbers[meter]
		if !ok || b.Trial.Outcome.Kind != memtrix.Pass {
			m.Values = append(m.Values, nil)
			continue
		}
		known++
		v := float64(n.Value)
		switch n.Unit {
		case memtrix.UnitBytes:
			m.Unit, v = "MiB", v/mib
		case memtrix.UnitNanoseconds:
			m.Unit, v = "s", v/1e9
		}
		m.Values = append(m.Values, &v)
	}
	return m, known > 0
}
