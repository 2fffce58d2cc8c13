package reports

import (
	"encoding/json"
	"io"
	"time"

	"memtrix"
)

// Bytes are integers and times are seconds as numbers. What is not available is
// left out. Fields may be added, and are never renamed or removed.

// planJSON is the document of `memtrix plan --json`.
type planJSON struct {
	Spec     string     `json:"spec,omitempty"`
	Cells    []cellJSON `json:"cells"`
	Warnings []string   `json:"warnings,omitempty"`
}

type cellJSON struct {
	ID       string              `json:"id"`
	Series   string              `json:"series"`
	Version  string              `json:"version"`
	Commit   string              `json:"commit,omitempty"`
	Workflow string              `json:"workflow"`
	Hardware string              `json:"hardware"`
	Settings memtrix.Settings    `json:"settings"`
	Argv     []string            `json:"argv"`
	Status   memtrix.Status      `json:"status"`
	Reason   string              `json:"reason,omitempty"`
	Trouble  string              `json:"trouble,omitempty"` // why its version cannot be had here
	Notes    []string            `json:"notes,omitempty"`
	Repeats  int                 `json:"repeats,omitempty"`
	Expect   memtrix.OutcomeKind `json:"expect,omitempty"`
	Control  bool                `json:"control,omitempty"`
	Probe    bool                `json:"probe,omitempty"`
	Packs    []packJSON          `json:"custom_nodes,omitempty"`
}

// sessionJSON is the document of `memtrix run --json`.
type sessionJSON struct {
	Session  string      `json:"session"`
	Spec     string      `json:"spec,omitempty"`
	Trials   []trialJSON `json:"trials"`
	NotRun   []cellJSON  `json:"not_run,omitempty"`
	Warnings []string    `json:"warnings,omitempty"`
}

type trialJSON struct {
	ID        int64                      `json:"id"`
	Cell      string                     `json:"cell"`
	Outcome   memtrix.OutcomeKind        `json:"outcome"`
	Memory    memtrix.Memory             `json:"memory,omitempty"`
	How       memtrix.How                `json:"how,omitempty"`
	Phase     memtrix.Phase              `json:"phase,omitempty"`
	Node      *memtrix.Node              `json:"node,omitempty"`
	Peaks     map[string]int64           `json:"peaks"`
	Prompts   []promptJSON               `json:"prompts"`
	Simulated bool                       `json:"simulated"`
	Attached  *memtrix.Attached          `json:"attached,omitempty"`
	Shared    bool                       `json:"shared,omitempty"`
	PeaksHow  map[string]memtrix.PeakHow `json:"peaks_how,omitempty"`
	// PeaksBy has every way in which a peak was got, so that a sampled one can
	// be held against the kernel's.
	PeaksBy map[memtrix.PeakHow]map[string]int64 `json:"peaks_by,omitempty"`

	Series     string              `json:"series"`
	Version    string              `json:"version"`
	Commit     string              `json:"commit,omitempty"`
	Settings   memtrix.Settings    `json:"settings"`
	Workflow   string              `json:"workflow"`
	Hardware   string              `json:"hardware"`
	Probe      bool                `json:"probe,omitempty"`
	Repeat     int                 `json:"repeat"`
	Argv       []string            `json:"argv"`
	Expect     memtrix.OutcomeKind `json:"expect,omitempty"`
	AsExpected bool                `json:"as_expected"`

	Requested     *int64           `json:"requested_bytes,omitempty"`
	Free          *int64           `json:"free_bytes,omitempty"`
	Unallocated   *int64           `json:"unallocated_bytes,omitempty"`
	Holders       []memtrix.Holder `json:"holders,omitempty"`
	HiddenRetries int              `json:"hidden_retries"`
	FallBacks     []string         `json:"fall_backs,omitempty"`
	Slow          *memtrix.Slow    `json:"slow,omitempty"`
	Rule          string           `json:"rule,omitempty"`
	// StandIns are the models that had no real weights.
	StandIns   []memtrix.StandIn `json:"stand_ins,omitempty"`
	Message    string            `json:"message,omitempty"`
	Evidence   []string          `json:"evidence,omitempty"`
	Advice     []string          `json:"advice,omitempty"`
	Readings   []readingJSON     `json:"readings,omitempty"`
	Spans      []spanJSON        `json:"spans,omitempty"`
	Started    *time.Time        `json:"started,omitempty"`
	Seconds    float64           `json:"seconds,omitempty"`
	OwnSeconds float64           `json:"own_seconds,omitempty"`
	Exit       memtrix.Exit      `json:"exit"`
	Dir        string            `json:"dir,omitempty"`
	Warnings   []string          `json:"warnings,omitempty"`
	Inside     *probeJSON        `json:"inside,omitempty"`
	// Packs are the custom node packs, with what their import cost.
	Packs []packJSON `json:"custom_nodes,omitempty"`
}

type promptJSON struct {
	Index    int                 `json:"index"`
	Seconds  float64             `json:"seconds"`
	Outcome  memtrix.OutcomeKind `json:"outcome"`
	Executed []string            `json:"executed,omitempty"`
	Cached   []string            `json:"cached,omitempty"`
}

type readingJSON struct {
	Kind   memtrix.ReadingKind `json:"kind"`
	At     float64             `json:"at_seconds"`
	Values map[string]int64    `json:"values"`
	Note   string              `json:"note,omitempty"`
}

type spanJSON struct {
	Kind   memtrix.SpanKind `json:"kind"`
	Prompt int              `json:"prompt,omitempty"`
	Node   *memtrix.Node    `json:"node,omitempty"`
	Start  float64          `json:"start_seconds"`
	End    float64          `json:"end_seconds"`
	Peaks  map[string]int64 `json:"peaks,omitempty"`
}

// PlanJSON writes the document of `memtrix plan --json`. Its errors are those
// of w.
func PlanJSON(w io.Writer, p memtrix.Plan) error {
	doc := planJSON{Spec: p.Spec, Cells: make([]cellJSON, 0, len(p.Cells)), Warnings: p.Warnings}
	for _, c := range p.Cells {
		doc.Cells = append(doc.Cells, newCellJSON(c))
	}
	return writeJSON(w, doc)
}

// SessionJSON writes the document of `memtrix run --json`. Its errors are those
// of w.
func SessionJSON(w io.Writer, s Session) error {
	doc := sessionJSON{Session: s.Name, Spec: s.Spec, Trials: make([]trialJSON, 0, len(s.Trials)), Warnings: s.Plan.Warnings}
	for _, e := range s.entries() {
		if e.trial != nil {
			doc.Trials = append(doc.Trials, newTrialJSON(e.trial))
		} else {
			doc.NotRun = append(doc.NotRun, newCellJSON(*e.planned))
		}
	}
	return writeJSON(w, doc)
}

func writeJSON(w io.Writer, doc any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(doc)
}

func newCellJSON(p memtrix.PlannedCell) cellJSON {
	c := p.Cell
	return cellJSON{
		ID: c.ID(), Series: c.Series(),
		Version: c.Version.Name, Commit: c.Version.Commit, Workflow: c.Workflow.Name, Hardware: c.Hardware.Name,
		Settings: present(c.Settings), Argv: append([]string{}, p.Argv...),
		Status: p.Status, Reason: p.Reason, Trouble: c.Version.Trouble, Notes: p.Notes, Repeats: p.Repeats, Expect: p.Expect, Control: p.Control, Probe: c.Probe,
		Packs: packsJSON(c.Version.Packs, nil),
	}
}

// present writes no settings as {}, since a default cell has settings: none.
func present(s memtrix.Settings) memtrix.Settings {
	if s == nil {
		return memtrix.Settings{}
	}
	return s
}

func newTrialJSON(t *memtrix.Trial) trialJSON {
	c, o := t.Cell, t.Outcome
	doc := trialJSON{
		ID: t.ID, Cell: c.ID(),
		Outcome: o.Kind, Memory: o.Memory, How: o.How, Phase: o.Phase, Node: o.Node,
		Peaks: map[string]int64{}, PeaksHow: map[string]memtrix.PeakHow{}, PeaksBy: map[memtrix.PeakHow]map[string]int64{},
		Prompts: make([]promptJSON, 0, len(t.Prompts)), Simulated: t.Simulated,
		Attached: c.Version.Attached, Shared: t.Shared,
		Series: c.Series(), Version: c.Version.Name, Commit: c.Version.Commit, Settings: present(c.Settings),
		Workflow: c.Workflow.Name, Hardware: c.Hardware.Name, Probe: c.Probe, Repeat: t.Repeat,
		Argv: append([]string{}, t.Argv...), Expect: t.Expect, AsExpected: t.AsExpected(),
		Requested: o.Requested, Free: o.Free, HiddenRetries: o.HiddenRetries,
		Unallocated: o.Unallocated, Holders: o.Holders, FallBacks: o.FallBacks, Slow: o.Slow, Rule: o.Rule,
		StandIns: c.Workflow.StandIns,
		Message:  o.Message, Evidence: o.Evidence, Advice: o.Advice,
		Seconds: t.Seconds, OwnSeconds: t.OwnSeconds, Exit: t.Exit, Dir: t.Dir, Warnings: t.Warnings,
		Packs: packsJSON(c.Version.Packs, t.Imports),
	}
	if !t.Started.IsZero() {
		started := t.Started
		doc.Started = &started
	}
	for _, span := range t.Spans {
		doc.Spans = append(doc.Spans, newSpanJSON(t, span))
		if !span.Kind.Work() {
			continue // see memtrix.Trial.Peak
		}
		for _, p := range span.Peaks {
			if isBytes(t, p.Meter) {
				doc.addPeak(t, p)
			}
		}
	}
	for _, p := range t.Prompts {
		doc.Prompts = append(doc.Prompts, promptJSON{p.Index, p.Seconds, p.Outcome, p.Executed, p.Cached})
	}
	for _, r := range t.Readings {
		values := r.Values
		if values == nil {
			values = map[string]int64{}
		}
		doc.Readings = append(doc.Readings, readingJSON{r.Kind, r.At.Seconds(), values, r.Note})
	}
	return doc
}

func (doc *trialJSON) addPeak(t *memtrix.Trial, p memtrix.Peak) {
	if best, ok := t.Peak(p.Meter); ok {
		doc.Peaks[p.Meter] = best.Value
		if best.How != "" {
			doc.PeaksHow[p.Meter] = best.How
		}
	}
	if p.How == "" {
		return
	}
	if doc.PeaksBy[p.How] == nil {
		doc.PeaksBy[p.How] = map[string]int64{}
	}
	by := doc.PeaksBy[p.How]
	by[p.Meter] = max(by[p.Meter], p.Value)
}

func newSpanJSON(t *memtrix.Trial, span memtrix.Span) spanJSON {
	doc := spanJSON{
		Kind: span.Kind, Prompt: span.Prompt, Node: span.Node,
		Start: span.Start.Seconds(), End: span.End.Seconds(), Peaks: map[string]int64{},
	}
	for _, p := range span.Peaks {
		if isBytes(t, p.Meter) {
			doc.Peaks[p.Meter] = max(doc.Peaks[p.Meter], p.Value)
		}
	}
	return doc
}
