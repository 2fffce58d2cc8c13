package memtrix

import (
	"encoding/json"
	"time"
)

// Session is one campaign: tonight's run. A new session measures everything
// again; an interrupted one is resumed and does only what is missing.
type Session struct {
	ID      int64
	Name    string
	Spec    string // the spec's name
	Started time.Time
	Ended   time.Time // zero while it runs, or when it was interrupted
}

// Trial is one execution of a cell: a fresh server, some prompts, readings, an
// outcome.
type Trial struct {
	ID      int64
	Session int64
	Cell    Cell
	Repeat  int // 0 for the first
	Argv    []string
	Started time.Time
	Seconds float64 // wall time, all in all
	// OwnSeconds is memtrix's own part of it: all but the server's start, its
	// prompts and the settle times that were asked for.
	OwnSeconds float64
	Outcome    Outcome
	Expect     OutcomeKind // "" means pass
	Prompts    []PromptResult
	Spans      []Span
	Readings   []Reading
	Series     []Series
	// Probe is what a probe inside the server told; nil without one.
	Probe *Probe
	Exit  Exit
	// Imports are what the import of each custom node pack cost.
	Imports []PackImport
	// Environment is what could explain a difference; stored once and referred to.
	Environment Environment
	// Dir holds the raw files: log, events.
	Dir string
	// Simulated is set for everything that internal/comfysim made.
	Simulated bool
	// Shared is set when prompts of others ran on the trial's server (an attached
	// one): its memory is not that of this workflow alone.
	Shared bool
	// Keep is how finely its series are kept, "" where an older memtrix stored it;
	// Marked is set when a person wants them whole.
	Keep   Keep
	Marked bool
	// Control is set for the frozen cell of its spec, Confirms for a repeat that was run
	// only to see whether a change is one.
	Control  bool
	Confirms bool
	// Warnings: e.g. a warm-up that failed, a meter that went away.
	Warnings []string
}

// AsExpected reports whether the outcome is the one that the spec expects. A
// setting that a version cannot be asked for is no failure of anybody.
func (t *Trial) AsExpected() bool {
	if t.Expect == "" {
		return t.Outcome.Kind == Pass || t.Outcome.Kind == NotApplicable
	}
	return t.Outcome.Kind == t.Expect
}

// Current gives the trials without the interrupted and failed tries that a later
// trial of the same cell and repeat has made up for, in the same order.
func Current(trials []*Trial) []*Trial {
	type key struct {
		cell   string
		repeat int
	}
	last := map[key]*Trial{}
	for _, t := range trials {
		last[key{t.Cell.ID(), t.Repeat}] = t
	}
	var current []*Trial
	for _, t := range trials {
		redone := t.Outcome.Kind == Interrupted || t.Outcome.Kind == HarnessFailure
		if redone && last[key{t.Cell.ID(), t.Repeat}] != t {
			continue
		}
		current = append(current, t)
	}
	return current
}

// Peak gives the largest peak of a meter over the trial's work, or false: from
// the start to the end of the last prompt. What memtrix provokes afterwards does
// not count (see SpanKind.Work): models that are moved to RAM by POST /free, and
// the hundred MiB that a Python process takes to clear up before it ends, are in
// nobody's workflow.
func (t *Trial) Peak(meter string) (Peak, bool) {
	var best Peak
	found := false
	for _, s := range t.Spans {
		if !s.Kind.Work() {
			continue
		}
		for _, p := range s.Peaks {
			if p.Meter != meter {
				continue
			}
			// Of equal ones the kernel's says more: nothing was missed.
			if !found || p.Value > best.Value || p.Value == best.Value && p.How == PeakKernel {
				best, found = p, true
			}
		}
	}
	return best, found
}

// PromptResult is what one prompt did.
type PromptResult struct {
	Index   int         `json:"index"` // 1 for the first
	ID      string      `json:"id"`
	Seconds float64     `json:"seconds"` // POST until ended
	Outcome OutcomeKind `json:"outcome"`
	// Executed and Cached are node ids. A prompt that executed nothing but its
	// output nodes measured nothing.
	Executed []string `json:"executed,omitempty"`
	Cached   []string `json:"cached,omitempty"`
}

// Exit is how the server process ended.
type Exit struct {
	// Asked is set when memtrix stopped it.
	Asked  bool   `json:"asked"`
	Status int    `json:"status"`
	Signal string `json:"signal,omitempty"` // "KILL" where a signal ended it
	// BySignal is the last signal memtrix had to send, e.g. "INT".
	BySignal string `json:"by_signal,omitempty"`
	// Unknown is set when it ended and nobody told how: memtrix had not started it.
	Unknown bool `json:"unknown,omitempty"`
}

// Environment is everything that could explain a difference between trials, as
// facts by name ("driver", "gpu.0.name", "kernel", "ram.total", "package.torch",
// "env.PYTORCH_CUDA_ALLOC_CONF").
type Environment map[string]string

// Hash identifies an environment by content.
func (e Environment) Hash() string {
	return hash("environment", []any{sortedPairs(e)})
}

// LogLine is one line of a server's output as it was printed, carriage returns
// and colours included, without the newline.
type LogLine struct {
	At     time.Duration `json:"t"`
	Stream string        `json:"stream"` // "stdout" or "stderr"
	Text   string        `json:"text"`
}

// EventKind names what a target reports while it works.
type EventKind string

const (
	EventReady       EventKind = "ready"        // the server answers
	EventPromptStart EventKind = "prompt-start" // accepted
	EventPromptEnd   EventKind = "prompt-end"
	EventNodeStart   EventKind = "node-start" // ends the node before it, too
	EventProgress    EventKind = "progress"   // Value of Max steps
	EventCached      EventKind = "cached"
	EventError       EventKind = "error"
	EventInterrupted EventKind = "interrupted"
	EventReconnect   EventKind = "reconnect"
)

// Event is something that a target did, on the trial's clock.
type Event struct {
	At     time.Duration `json:"t"`
	Kind   EventKind     `json:"kind"`
	Prompt int           `json:"prompt,omitempty"`
	Node   *Node         `json:"node,omitempty"`
	Value  int           `json:"value,omitempty"`
	Max    int           `json:"max,omitempty"`
	Nodes  []string      `json:"nodes,omitempty"` // of EventCached
	// Failure is what the server itself said about an error, nil otherwise.
	Failure *Failure `json:"failure,omitempty"`
	// Raw is the frame as it came, where there was one.
	Raw json.RawMessage `json:"raw,omitempty"`
}

// Failure is an exception or a refusal as a target told it.
type Failure struct {
	Type      string `json:"type"`    // "torch.OutOfMemoryError", "value_not_in_list"
	Message   string `json:"message"` // whole text
	Node      *Node  `json:"node,omitempty"`
	Traceback string `json:"traceback,omitempty"`
	// Refused is set when the server did not accept the work (HTTP 400, or a
	// branch of it dropped).
	Refused bool `json:"refused,omitempty"`
}
