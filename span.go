package memtrix

import (
	"strconv"
	"time"
)

// SpanKind names a stretch of a trial.
type SpanKind string

const (
	SpanStart  SpanKind = "start"  // process start until the server answers
	SpanIdle   SpanKind = "idle"   // ready until the first prompt
	SpanPrompt SpanKind = "prompt" // POST until the prompt has ended
	SpanNode   SpanKind = "node"   // one node of one prompt
	SpanSettle SpanKind = "settle" // rest and free after the last prompt
	SpanStop   SpanKind = "stop"   // from the first signal until the tree is gone
	SpanRun    SpanKind = "run"    // the whole of a recorded program
)

// Work reports whether a span is part of what a person's own server would do, and
// not of what memtrix makes it do after the last prompt.
func (k SpanKind) Work() bool { return k != SpanSettle && k != SpanStop }

// Span is a stretch of a trial with the peaks of each meter in it.
type Span struct {
	Kind   SpanKind      `json:"kind"`
	Prompt int           `json:"prompt,omitempty"` // 1 for the first; 0 outside prompts
	Node   *Node         `json:"node,omitempty"`
	Start  time.Duration `json:"start"`
	End    time.Duration `json:"end"`
	Peaks  []Peak        `json:"peaks,omitempty"`
}

// Name is short, for tables and plots: "prompt 2", "KSampler (5)".
func (s Span) Name() string {
	switch {
	case s.Node != nil && s.Node.ClassType != "":
		return s.Node.ClassType + " (" + s.Node.ID + ")"
	case s.Node != nil:
		return s.Node.ID
	case s.Kind == SpanPrompt:
		return "prompt " + strconv.Itoa(s.Prompt)
	}
	return string(s.Kind)
}
