package reports

import (
	"io"
	"time"

	"memtrix"
)

// probeJSON is what a probe told, with times in seconds.
type probeJSON struct {
	Nodes        []nodeJSON    `json:"nodes"`
	Loads        []loadJSON    `json:"loads,omitempty"`
	Events       []eventJSON   `json:"events,omitempty"`
	NonEvictable map[int]int64 `json:"non_evictable_by_prompt,omitempty"`
	Context      *int64        `json:"context,omitempty"`
	// Code is loaded with the first work, see memtrix.Probe.
	Code    *int64          `json:"code,omitempty"`
	Models  []memtrix.Model `json:"models,omitempty"`
	Missing []string        `json:"missing,omitempty"`
	Faults  []string        `json:"faults,omitempty"`
	Dropped int64           `json:"dropped,omitempty"`
}

type nodeJSON struct {
	Prompt  int              `json:"prompt"`
	Node    memtrix.Node     `json:"node"`
	State   string           `json:"state,omitempty"`
	Start   float64          `json:"start_seconds"`
	Seconds *float64         `json:"seconds,omitempty"`
	Peaks   memtrix.Values   `json:"peaks,omitempty"`
	Before  memtrix.Values   `json:"before,omitempty"`
	After   memtrix.Values   `json:"after,omitempty"`
	Account *memtrix.Account `json:"account,omitempty"`
	Loads   int              `json:"loads,omitempty"`
	OOMs    int64            `json:"ooms,omitempty"`
	Error   string           `json:"error,omitempty"`
}

type loadJSON struct {
	How     string         `json:"how"`
	Start   float64        `json:"start_seconds"`
	Seconds float64        `json:"seconds"`
	Node    string         `json:"node,omitempty"`
	Model   *memtrix.Model `json:"model,omitempty"`
	Asked   *int64         `json:"asked,omitempty"`
	Before  int64          `json:"before"`
	Error   string         `json:"error,omitempty"`
}

type eventJSON struct {
	Kind    string  `json:"kind"`
	Start   float64 `json:"start_seconds"`
	Seconds float64 `json:"seconds"`
	Node    string  `json:"node,omitempty"`
	Count   int64   `json:"count,omitempty"`
	Bytes   *int64  `json:"bytes,omitempty"`
	Text    string  `json:"text,omitempty"`
}

func newProbeJSON(p *memtrix.Probe) *probeJSON {
	if p == nil {
		return nil
	}
	doc := &probeJSON{Context: p.Context, Code: p.Code, Models: p.Models, Missing: p.Missing, Faults: p.Faults, Dropped: p.Dropped, Nodes: []nodeJSON{}}
	for _, n := range p.Nodes {
		j := nodeJSON{
			Prompt: n.Prompt, Node: n.Node, State: n.State, Start: n.Start.Seconds(), Peaks: n.Peaks,
			Before: n.Before, After: n.After, Loads: n.Loads, OOMs: n.OOMs, Error: n.Error,
		}
		if n.End > 0 {
			j.Seconds = secondsOf(n.End - n.Start)
		}
		if a, ok := p.Account(n.After); ok {
			j.Account = &a
		}
		doc.Nodes = append(doc.Nodes, j)
	}
	for _, l := range p.Loads {
		doc.Loads = append(doc.Loads, loadJSON{l.How, l.Start.Seconds(), (l.End - l.Start).Seconds(), l.Node, l.Model, l.Asked, l.Before, l.Error})
	}
	for _, e := range p.Events {
		doc.Events = append(doc.Events, eventJSON{e.Kind, e.Start.Seconds(), (e.End - e.Start).Seconds(), e.Node, e.Count, e.Bytes, e.Text})
	}
	for _, prompt := range p.Prompts {
		if prompt.NonEvictable != nil {
			if doc.NonEvictable == nil {
				doc.NonEvictable = map[int]int64{}
			}
			doc.NonEvictable[prompt.Prompt] = *prompt.NonEvictable
		}
	}
	return doc
}

func secondsOf(d time.Duration) *float64 {
	s := d.Seconds()
	return &s
}

// TrialJSON writes one trial, with what its probe told under "inside". Its errors
// are those of w.
func TrialJSON(w io.Writer, t *memtrix.Trial) error {
	doc := newTrialJSON(t)
	doc.Inside = newProbeJSON(t.Probe)
	return writeJSON(w, doc)
}
