package reports

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"memtrix"
)

// TrialView is one trial as a page shows it: texts for people. It has no path of the
// machine in it.
type TrialView struct {
	ID       int64  `json:"id"`
	Cell     string `json:"cell"` // its id
	Title    string `json:"title"`
	Outcome  string `json:"outcome"`
	Kind     string `json:"kind"`
	Expected bool   `json:"expected"`
	// Failed is set for anything but a pass or a cell that cannot run on its version.
	Failed    bool   `json:"failed"`
	Simulated bool   `json:"simulated,omitempty"`
	Message   string `json:"message,omitempty"`
	// Evidence are the lines that prove the outcome, as the server wrote them.
	Evidence []string     `json:"evidence,omitempty"`
	Advice   []string     `json:"advice,omitempty"`
	Remarks  []string     `json:"remarks,omitempty"`
	Facts    [][2]string  `json:"facts"`
	Peaks    []PeakView   `json:"peaks"`
	Readings []PeakView   `json:"readings,omitempty"`
	Prompts  []PromptView `json:"prompts,omitempty"`
	Nodes    []NodeView   `json:"nodes,omitempty"`
	// Environment is the place in Report.Environments.
	Environment int `json:"environment"`
}

// PeakView is one value with how it was got.
type PeakView struct {
	Meter string `json:"meter"`
	Value string `json:"value"`
	How   string `json:"how"`
}

// PromptView is one prompt.
type PromptView struct {
	Index   int     `json:"index"`
	Seconds float64 `json:"seconds"`
	Outcome string  `json:"outcome"`
	Cached  int     `json:"cached,omitempty"` // nodes that a cache served
}

// NodeView is one execution of a node.
type NodeView struct {
	Prompt  int     `json:"prompt"`
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
	VRAM    string  `json:"vram,omitempty"` // its peak, with the unit
	RAM     string  `json:"ram,omitempty"`
}

func newTrialView(t *memtrix.Trial) *TrialView {
	o := t.Outcome
	v := &TrialView{
		ID: t.ID, Cell: t.Cell.ID(), Title: trialTitle(t.Cell),
		Outcome: OneLine(outcomeText(t)), Kind: string(o.Kind), Expected: t.AsExpected(),
		Failed:    o.Kind != memtrix.Pass && o.Kind != memtrix.NotApplicable,
		Simulated: t.Simulated, Message: OneLine(o.Message),
		Evidence: oneLines(o.Evidence), Advice: oneLines(o.Advice), Remarks: remarks(t), Facts: trialFacts(t),
		Peaks: peakViews(t), Readings: readingViews(t),
	}
	for _, p := range t.Prompts {
		v.Prompts = append(v.Prompts, PromptView{p.Index, p.Seconds, string(p.Outcome), len(p.Cached)})
	}
	vram := vramMeter([]*memtrix.Trial{t})
	for _, s := range nodeSpans(t.Spans) {
		v.Nodes = append(v.Nodes, NodeView{s.Prompt, OneLine(s.Name()), (s.End - s.Start).Seconds(), spanPeak(s, vram), spanPeak(s, memtrix.RAMTreeRSS)})
	}
	return v
}

// trialTitle is "0.29.0, cache=none, ram-3g".
func trialTitle(c memtrix.Cell) string { return OneLine(c.Version.Name + ", " + asAsked(c)) }

// asAsked is "cache=none, ram-3g"; a machine as it stands is not named.
func asAsked(c memtrix.Cell) string {
	if h := c.Hardware.Name; h != "" && h != "as-is" {
		return settingsText(c) + ", " + h
	}
	return settingsText(c)
}

func oneLines(lines []string) []string {
	var list []string
	for _, l := range lines {
		list = append(list, OneLine(l))
	}
	return list
}

func remarks(t *memtrix.Trial) []string {
	list := oneLines(t.Warnings)
	for _, r := range t.Readings {
		if r.Note != "" {
			list = append(list, OneLine(string(r.Kind)+": "+r.Note))
		}
	}
	if t.Shared {
		list = append(list, "others used the server during this trial")
	}
	for _, f := range t.Outcome.FallBacks {
		list = append(list, "fell back: "+OneLine(f))
	}
	return list
}

// trialFacts are what a person needs to run it again, and how it ended.
func trialFacts(t *memtrix.Trial) [][2]string {
	o, c := t.Outcome, t.Cell
	var list [][2]string
	add := func(name, value string) {
		if value = OneLine(value); value != "" {
			list = append(list, [2]string{name, value})
		}
	}
	add("version", strings.TrimSpace(c.Version.Name+" "+shortCommit(c.Version.Commit)))
	add("settings", settingsText(c))
	add("flags", strings.Join(t.Argv, " "))
	add("workflow", c.Workflow.Name)
	add("hardware", hardwareText(c.Hardware))
	add("repeat", strconv.Itoa(t.Repeat+1))
	if !t.Started.IsZero() {
		add("started", t.Started.UTC().Format("2006-01-02 15:04:05 UTC"))
	}
	if t.Seconds > 0 {
		add("took", Seconds(t.Seconds)+" s")
	}
	if o.Requested != nil {
		add("requested", Bytes(*o.Requested))
	}
	if o.Free != nil {
		add("free", Bytes(*o.Free))
	}
	for _, h := range o.Holders {
		add("also held by", h.Name+": "+Bytes(h.Bytes))
	}
	add("phase", string(o.Phase))
	return list
}

func shortCommit(commit string) string {
	if len(commit) == 40 {
		return "(" + commit[:10] + ")"
	}
	return ""
}

func hardwareText(h memtrix.Hardware) string {
	words := []string{h.Name}
	if h.VRAM > 0 {
		words = append(words, "VRAM "+Bytes(h.VRAM))
	}
	if h.RAM > 0 {
		words = append(words, "RAM "+Bytes(h.RAM))
	}
	if h.Swap != nil {
		words = append(words, "swap "+Bytes(*h.Swap))
	}
	return strings.Join(words, ", ")
}

// peakViews are the peaks of all meters in bytes that have one.
func peakViews(t *memtrix.Trial) []PeakView {
	names := map[string]bool{}
	for _, s := range t.Spans {
		for _, p := range s.Peaks {
			names[p.Meter] = true
		}
	}
	list := []PeakView{}
	for _, name := range slices.SortedFunc(maps.Keys(names), compareMeters) {
		if p, ok := t.Peak(name); ok && isBytes(t, name) {
			list = append(list, PeakView{name, Bytes(p.Value), string(p.How)})
		}
	}
	return list
}

// compareMeters puts the two that reports show first, then others by name.
func compareMeters(a, b string) int {
	first := []string{memtrix.RAMTreeRSS, memtrix.VRAMTrialUsed}
	return cmp.Or(slices.Index(first, b)-slices.Index(first, a), strings.Compare(a, b))
}

func readingViews(t *memtrix.Trial) []PeakView {
	var list []PeakView
	for _, r := range t.Readings {
		for _, meter := range []string{vramMeter([]*memtrix.Trial{t}), memtrix.RAMTreeRSS} {
			if v, ok := r.Values[meter]; ok {
				list = append(list, PeakView{meter, Bytes(v), string(r.Kind)})
			}
		}
	}
	return list
}

func spanPeak(s memtrix.Span, meter string) string {
	var most int64
	found := false
	for _, p := range s.Peaks {
		if p.Meter == meter && (!found || p.Value > most) {
			most, found = p.Value, true
		}
	}
	if !found {
		return ""
	}
	return Bytes(most)
}
