package lab

import (
	"context"
	"fmt"

	"memtrix"
)

// CeilingOptions are how a ceiling is looked for.
type CeilingOptions struct {
	Vary Vary // "": frames where the workflow has some, else pixels
	Most int  // trials
}

// CeilingReport is the answer of a ceiling search.
type CeilingReport struct {
	Vary      Vary             `json:"vary"`
	Inputs    []string         `json:"inputs"` // that were raised
	Cell      string           `json:"cell"`
	Series    string           `json:"series"`
	Version   string           `json:"version"`
	Workflow  string           `json:"workflow"`
	Settings  memtrix.Settings `json:"settings"`
	Hardware  string           `json:"hardware"`
	Simulated bool             `json:"simulated"`
	Found     bool             `json:"found"`
	// Ceiling is the most images, frames or pixels that pass on this card, Fails the
	// next number that does not.
	Ceiling   int64   `json:"ceiling,omitempty"`
	Label     string  `json:"label,omitempty"` // "1536x1536"
	Fails     int64   `json:"fails,omitempty"`
	Near      bool    `json:"near"`
	Sure      bool    `json:"sure"`
	Mixed     []int64 `json:"mixed,omitempty"`
	Beyond    []int64 `json:"beyond,omitempty"`
	Monotonic bool    `json:"monotonic"`
	Verdict   string  `json:"verdict"`
	Tries     []Point `json:"tries"`
}

// ceilingSearch looks for the largest rung that passes.
func ceilingSearch(last int64, most int) Search {
	return Search{
		Hardest: last, Grain: 1, Most: most,
		Resolution: func(rung int64) int64 { return max(1, rung/50) },
	}
}

// Ceiling looks for the most images, frames or pixels of a workflow that pass on this
// card. The workflow as it is is the first try, and the least. An error means that it
// could not be told.
func Ceiling(ctx context.Context, o CeilingOptions, c memtrix.PlannedCell, try Try) (CeilingReport, error) {
	l, err := newLadder(c.Cell.Workflow, o.Vary)
	r := CeilingReport{
		Vary: l.vary, Inputs: l.inputs, Cell: c.Cell.ID(), Series: c.Cell.Series(), Version: c.Cell.Version.Name,
		Workflow: c.Cell.Workflow.Name, Settings: c.Cell.Settings, Hardware: c.Cell.Hardware.Name, Monotonic: true,
	}
	if err != nil {
		return r, err
	}
	s := ceilingSearch(l.last, o.Most)
	var tried []Tried
	rung, why := l.first, ""
	for more := true; more; rung, more = s.Next(tried) {
		t, err := r.attempt(ctx, l, c, try, rung, again(tried, rung))
		if err != nil {
			return r, err
		}
		if rung == l.first && t.Outcome.Kind != memtrix.Pass {
			why = outcomeWords(t)
		}
		tried = append(tried, Tried{rung, t.Outcome.Kind == memtrix.Pass})
	}
	b, ok := s.Border(tried)
	if !ok {
		r.Verdict = fmt.Sprintf("there is no ceiling: it does not pass as it is, with %s (%s)", l.label(l.first), why)
		return r, nil
	}
	r.conclude(l, b)
	return r, nil
}

func again(tried []Tried, rung int64) int {
	n := 0
	for _, t := range tried {
		if t.Size == rung {
			n++
		}
	}
	return n
}

func (r *CeilingReport) attempt(ctx context.Context, l ladder, c memtrix.PlannedCell, try Try, rung int64, repeat int) (*memtrix.Trial, error) {
	w, err := l.at(rung)
	if err != nil {
		return nil, err
	}
	if rung != l.first {
		c.Expect = ""
	}
	c.Cell.Workflow = w
	t, err := try(ctx, c, repeat)
	if err == nil && (rung == l.first || t.Outcome.Kind != memtrix.InvalidWorkflow) {
		err = tell(t) // a larger one that is refused is an answer: the nodes take no more
	}
	if err != nil {
		return nil, err
	}
	r.Simulated = t.Simulated
	p := point(t, l.size(rung))
	p.Label, p.AsIs, p.Peak = l.label(rung), rung == l.first, peakOf(FloorOfVRAM, t)
	r.Tries = append(r.Tries, p)
	return t, nil
}

func (r *CeilingReport) conclude(l ladder, b Border) {
	r.Found, r.Ceiling, r.Label = true, l.size(b.Size), l.label(b.Size)
	r.Near, r.Sure, r.Monotonic = b.Near, b.Sure, len(b.Beyond) == 0
	for _, rung := range b.Mixed {
		r.Mixed = append(r.Mixed, l.size(rung))
	}
	for _, rung := range b.Beyond {
		r.Beyond = append(r.Beyond, l.size(rung))
	}
	if b.Fails == 0 {
		r.Verdict = fmt.Sprintf("passes with %s on this card: the most that was tried", r.Label)
		if !b.Near && b.Size < l.last {
			r.Verdict += "; more may pass (--trials)"
		}
		return
	}
	r.Fails = l.size(b.Fails)
	r.Verdict = fmt.Sprintf("passes with %s on this card, and not with %s", r.Label, l.label(b.Fails))
	r.Verdict += borderWords(b, l.label)
	for _, p := range r.Tries {
		if p.Size == r.Fails && p.Outcome == memtrix.InvalidWorkflow {
			r.Verdict += "; the workflow's nodes take no more"
			return
		}
	}
}

// Value is the ceiling as a value that can be followed, or false where there is none.
func (r CeilingReport) Value() (memtrix.Value, bool) {
	if !r.Found {
		return memtrix.Value{}, false
	}
	v := memtrix.Value{
		Trial: r.Tries[0].Trial, Meter: memtrix.CeilingPrefix + string(r.Vary), Unit: memtrix.UnitCount,
		Value: r.Ceiling, Low: r.Ceiling, High: max(r.Fails-1, r.Ceiling), Note: r.Verdict,
	}
	for _, p := range r.Tries {
		v.Trials = append(v.Trials, p.Trial)
	}
	return v, true
}
