package export

import (
	"bufio"
	"encoding/json"
	"io"
	"strconv"
	"time"

	"memtrix"
	"memtrix/reports"
)

// traceEvent is an event of the Chrome JSON trace format, which Perfetto reads
// (https://perfetto.dev/docs/getting-started/other-formats). Times are microseconds.
type traceEvent struct {
	Name     string         `json:"name"`
	Phase    string         `json:"ph"`
	PID      int64          `json:"pid"`
	TID      int64          `json:"tid,omitempty"`
	TS       float64        `json:"ts"`
	Duration *float64       `json:"dur,omitempty"`
	Scope    string         `json:"s,omitempty"`
	Category string         `json:"cat,omitempty"`
	Args     map[string]any `json:"args,omitempty"`
}

// Threads of a trial's process in a trace.
const (
	phasesThread = 1
	nodesThread  = 2
)

// Trace writes trials one after another, so that not all of their series are in
// memory at once.
type Trace struct {
	w     *bufio.Writer
	first bool
	err   error
}

// NewTrace begins a trace. A trial is a process in it, numbered as it is, with the
// zero of its own clock: trials stand below each other to be compared. Its phases and
// nodes are slices, its meters counter tracks, its readings and its failure instants.
// Close ends it.
func NewTrace(w io.Writer) *Trace {
	t := &Trace{w: bufio.NewWriter(w), first: true}
	t.text(`{"displayTimeUnit":"ms","traceEvents":[`)
	return t
}

// Close writes the end, and gives the first error of the writer.
func (t *Trace) Close() error {
	t.text("\n]}\n")
	if t.err == nil {
		t.err = t.w.Flush()
	}
	return wrap("perfetto", t.err)
}

func (t *Trace) text(s string) {
	if t.err == nil {
		_, t.err = t.w.WriteString(s)
	}
}

func (t *Trace) event(e traceEvent) {
	data, err := json.Marshal(e)
	if err != nil && t.err == nil {
		t.err = err
	}
	if !t.first {
		t.text(",")
	}
	t.first = false
	t.text("\n" + string(data))
}

// Trial adds a trial that was read with its series.
func (t *Trace) Trial(trial *memtrix.Trial) {
	name := "trial " + strconv.FormatInt(trial.ID, 10) + ": " + reports.OneLine(trial.Cell.Version.Name) + ", " + cellName(trial.Cell) + ": " + outcome(trial.Outcome)
	if trial.Simulated {
		name = "SIMULATED " + name
	}
	t.meta(trial.ID, 0, "process_name", name)
	t.meta(trial.ID, phasesThread, "thread_name", "phases")
	t.meta(trial.ID, nodesThread, "thread_name", "nodes")
	for _, s := range trial.Spans {
		t.span(trial.ID, s)
	}
	for _, s := range trial.Series {
		t.series(trial.ID, s)
	}
	for _, r := range trial.Readings {
		t.event(traceEvent{Name: string(r.Kind), Phase: "i", PID: trial.ID, TID: phasesThread, TS: micro(r.At), Scope: "t", Category: "reading"})
	}
	if trial.Outcome.Kind != memtrix.Pass {
		t.failure(trial)
	}
}

func (t *Trace) meta(pid, tid int64, kind, name string) {
	t.event(traceEvent{Name: kind, Phase: "M", PID: pid, TID: tid, Args: map[string]any{"name": name}})
}

func (t *Trace) span(pid int64, s memtrix.Span) {
	if s.End < s.Start {
		return
	}
	tid := int64(phasesThread)
	if s.Kind == memtrix.SpanNode {
		tid = nodesThread
	}
	args := map[string]any{}
	for _, p := range s.Peaks {
		args["peak "+p.Meter+" "+string(p.How)] = p.Value
	}
	if s.Prompt > 0 {
		args["prompt"] = s.Prompt
	}
	d := micro(s.End - s.Start)
	t.event(traceEvent{Name: reports.OneLine(s.Name()), Phase: "X", PID: pid, TID: tid, TS: micro(s.Start), Duration: &d, Category: string(s.Kind), Args: args})
}

func (t *Trace) series(pid int64, s memtrix.Series) {
	// A track is called by the counter's name and the value's: "ram.tree.rss bytes".
	name, unit := reports.OneLine(s.Meter.Name), string(s.Meter.Unit)
	if unit == "" {
		unit = "value"
	}
	for i := range min(len(s.T), len(s.V)) {
		t.event(traceEvent{Name: name, Phase: "C", PID: pid, TS: micro(s.T[i]), Args: map[string]any{unit: s.V[i]}})
	}
}

func (t *Trace) failure(trial *memtrix.Trial) {
	at := time.Duration(0)
	for _, s := range trial.Spans {
		if s.Kind.Work() {
			at = max(at, s.End)
		}
	}
	args := map[string]any{"message": reports.OneLine(trial.Outcome.Message)}
	for i, e := range trial.Outcome.Evidence {
		args["evidence "+strconv.Itoa(i+1)] = reports.OneLine(e)
	}
	t.event(traceEvent{Name: outcome(trial.Outcome), Phase: "i", PID: trial.ID, TID: phasesThread, TS: micro(at), Scope: "p", Category: "outcome", Args: args})
}

func micro(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }
