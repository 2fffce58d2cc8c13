package reports

import (
	"cmp"
	"slices"
	"time"

	"memtrix"
	"memtrix/regress"
)

// Trend is a meter of one series of cells (settings, hardware, workflow) over
// versions and time, with what changed in it and is not noise.
type Trend struct {
	Series string       `json:"series"` // its key
	Name   string       `json:"name"`   // "sd15, cache=none"
	Meter  string       `json:"meter"`
	Unit   memtrix.Unit `json:"unit"`
	Points []TrendPoint `json:"points"`
	// Changes are places in Points, with reasons.
	Changes   []TrendChange `json:"changes"`
	Simulated bool          `json:"simulated,omitempty"`
}

// TrendPoint is one trial of a trend.
type TrendPoint struct {
	Version string              `json:"version"`
	Commit  string              `json:"commit,omitempty"`
	Started time.Time           `json:"started,omitzero"`
	Session int64               `json:"session"`
	Trial   int64               `json:"trial"`
	Outcome memtrix.OutcomeKind `json:"outcome"`
	// Value is nil where the trial has none: one that failed stopped somewhere, and
	// that is an outcome and no small value.
	Value *int64 `json:"value,omitempty"`
}

// TrendChange is a change along a trend.
type TrendChange struct {
	Kind   regress.Kind `json:"kind"`
	At     int          `json:"at"` // the first point after it
	Before float64      `json:"before"`
	After  float64      `json:"after"`
	Reason string       `json:"reason"`
}

// Analyse finds the changes along points; regress.Changes is one.
type Analyse func([]regress.Point, regress.Options) []regress.Change

// fewestTrend is how many points are worth a trend.
const fewestTrend = 3

// NewTrends lines up trials of several sessions: for each series of cells and each
// meter that reports show, in the order of the versions and then of time. Simulated
// trials and measured ones are never in one trend, and trials during which others
// used the server are in none. Trends with a change come first.
func NewTrends(s Session, trials []*memtrix.Trial, analyse Analyse) []Trend {
	type key struct {
		series    string
		simulated bool
	}
	all := Session{Trials: trials, Versions: s.Versions, Plan: s.Plan}
	versions := all.versionOrder()
	byKey := map[key][]*memtrix.Trial{}
	var keys []key
	for _, t := range trials {
		switch t.Outcome.Kind {
		case memtrix.Interrupted, memtrix.HarnessFailure, memtrix.NotApplicable:
			continue // says nothing of a version
		}
		if t.Shared {
			continue
		}
		k := key{t.Cell.Series(), t.Simulated}
		if byKey[k] == nil {
			keys = append(keys, k)
		}
		byKey[k] = append(byKey[k], t)
	}
	name := rowNamer(all.entries())
	var trends []Trend
	for _, k := range keys {
		line := byKey[k]
		slices.SortStableFunc(line, func(a, b *memtrix.Trial) int {
			return cmp.Or(
				slices.Index(versions, a.Cell.Version.Name)-slices.Index(versions, b.Cell.Version.Name),
				a.Started.Compare(b.Started), cmp.Compare(a.ID, b.ID))
		})
		if len(line) < fewestTrend {
			continue
		}
		for _, meter := range HeatmapMeters(Session{Trials: line}) {
			t := newTrend(line, meter, analyse)
			t.Series, t.Name, t.Simulated = k.series, OneLine(name(line[0].Cell)), k.simulated
			trends = append(trends, t)
		}
	}
	slices.SortStableFunc(trends, func(a, b Trend) int { return min(len(b.Changes), 1) - min(len(a.Changes), 1) })
	return trends
}

func newTrend(line []*memtrix.Trial, meter string, analyse Analyse) Trend {
	trend := Trend{Meter: meter, Unit: memtrix.UnitBytes, Points: []TrendPoint{}, Changes: []TrendChange{}}
	points := make([]regress.Point, len(line))
	for i, t := range line {
		p := TrendPoint{
			Version: t.Cell.Version.Name, Commit: t.Cell.Version.Commit, Started: t.Started,
			Session: t.Session, Trial: t.ID, Outcome: t.Outcome.Kind,
		}
		points[i].Outcome = t.Outcome.Kind
		if peak, ok := t.Peak(meter); ok && t.Outcome.Kind == memtrix.Pass {
			p.Value = &peak.Value
			points[i].Value, points[i].Known = float64(peak.Value), true
		}
		trend.Points = append(trend.Points, p)
	}
	o := regress.Options{Floor: regress.DefaultFloor(regress.Bytes), Unit: regress.Bytes, What: lowerFirst(mapTitle(meter))}
	for _, c := range analyse(points, o) {
		trend.Changes = append(trend.Changes, TrendChange{c.Kind, c.At, c.Before, c.After, c.Reason})
	}
	return trend
}

// lowerFirst is text in the middle of a sentence: "peak VRAM".
func lowerFirst(text string) string {
	if text == "" || text[0] < 'A' || text[0] > 'Z' {
		return text
	}
	return string(text[0]+'a'-'A') + text[1:]
}
