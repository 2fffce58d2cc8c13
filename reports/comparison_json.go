package reports

import (
	"encoding/json"
	"io"
	"math"

	"memtrix"
	"memtrix/history"
	"memtrix/regress"
)

type comparisonJSON struct {
	A         string     `json:"a"`
	B         string     `json:"b"`
	Simulated bool       `json:"simulated,omitempty"`
	Warnings  []string   `json:"warnings,omitempty"`
	Cells     []pairJSON `json:"cells"`
}

type pairJSON struct {
	Workflow string          `json:"workflow"`
	Settings string          `json:"settings"`
	Hardware string          `json:"hardware,omitempty"`
	Card     string          `json:"card,omitempty"`
	TrialsA  []int64         `json:"trials_a"`
	TrialsB  []int64         `json:"trials_b"`
	Outcomes outcomesJSON    `json:"outcomes"`
	Unlike   []string        `json:"unlike,omitempty"`
	Meters   []meterPairJSON `json:"meters"`
	Causes   []history.Cause `json:"causes,omitempty"`
}

type outcomesJSON struct {
	A     string       `json:"a"`
	B     string       `json:"b"`
	Kind  regress.Kind `json:"kind,omitempty"`
	Worse bool         `json:"worse"`
	// Expected is set for a new failure that the spec expects: it is not worse.
	Expected bool     `json:"expected,omitempty"`
	P        *float64 `json:"p,omitempty"`
	More     int      `json:"more_repeats,omitempty"`
}

type meterPairJSON struct {
	Meter   string          `json:"meter"`
	Unit    memtrix.Unit    `json:"unit"`
	A       *intervalJSON   `json:"a,omitempty"`
	B       *intervalJSON   `json:"b,omitempty"`
	Delta   *float64        `json:"delta,omitempty"`
	Share   *float64        `json:"delta_percent,omitempty"`
	P       *float64        `json:"p,omitempty"`
	Verdict regress.Verdict `json:"verdict"`
	Worse   bool            `json:"worse"`
	// More is how many more repeats a side are needed to tell, -1 for none that anybody
	// would run.
	More   int    `json:"more_repeats,omitempty"`
	Reason string `json:"reason"`
	// Files is set when only pages of mapped files differ.
	Files bool `json:"file_pages_only,omitempty"`
}

type intervalJSON struct {
	Median float64 `json:"median"`
	// Low and High are the interval of 95 %, left out where there are too few for one.
	Low    *float64  `json:"low,omitempty"`
	High   *float64  `json:"high,omitempty"`
	Values []float64 `json:"values"`
}

// ComparisonJSON is the document of memtrix compare --format json. Sizes are bytes,
// times seconds.
func ComparisonJSON(w io.Writer, c history.Comparison) error {
	doc := comparisonJSON{A: c.A, B: c.B, Warnings: c.Warnings, Cells: []pairJSON{}}
	for _, p := range c.Cells {
		doc.Simulated = doc.Simulated || p.B[0].Trial.Simulated
		row := pairJSON{
			Workflow: p.Workflow, Settings: p.Settings, Hardware: p.Hardware, Card: p.Card, TrialsA: ids(p.A), TrialsB: ids(p.B),
			Outcomes: outcomesJSON{A: p.Outcome.A, B: p.Outcome.B, Kind: p.Outcome.Kind, Worse: p.Outcome.Worse, Expected: p.Outcome.Expected, More: p.Outcome.More},
			Unlike:   p.Unlike, Meters: []meterPairJSON{}, Causes: p.Causes,
		}
		if p.Outcome.P > 0 {
			row.Outcomes.P = &p.Outcome.P
		}
		for _, m := range p.Meters {
			row.Meters = append(row.Meters, meterPair(m))
		}
		doc.Cells = append(doc.Cells, row)
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(doc)
}

func meterPair(m history.MeterPair) meterPairJSON {
	row := meterPairJSON{
		Meter: m.Meter, Unit: m.Unit, Verdict: m.Verdict, Worse: m.Worse, More: m.More, Reason: m.Reason, Files: m.Files,
		A: intervalOf(m.A, m.ValuesA), B: intervalOf(m.B, m.ValuesB),
	}
	if row.A != nil && row.B != nil {
		d := m.B.Median - m.A.Median
		row.Delta = &d
		if !m.Borders {
			row.P = &m.P
		}
		if share, ok := m.Delta(); ok {
			share *= 100
			row.Share = &share
		}
	}
	return row
}

func intervalOf(i regress.Interval, values []float64) *intervalJSON {
	if len(values) == 0 {
		return nil
	}
	row := &intervalJSON{Median: i.Median, Values: values}
	if !math.IsInf(i.Low, 0) && !math.IsInf(i.High, 0) && i.Confidence >= 0.95 {
		row.Low, row.High = &i.Low, &i.High
	}
	return row
}

func ids(trials []*memtrix.Brief) []int64 {
	all := make([]int64, len(trials))
	for i, t := range trials {
		all[i] = t.Trial.ID
	}
	return all
}
