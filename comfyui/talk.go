package comfyui

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"memtrix"
)

// talk is a conversation with one server. It may be ours alone, or one to which
// others send prompts, too.
type talk struct {
	client   *client
	socket   *socket
	clientID string
	now      clock
	record   *recorder
	emit     func(memtrix.Event)
	gone     <-chan struct{} // closed when the server process has ended
	how      func() string   // says how it ended

	// abandon lets go of a prompt that is given up, "" for one whose id is not
	// known; nil interrupts what runs, whosoever it is.
	abandon func(id string)
	// idle reports whether the server's queue is known to be empty; nil where only
	// memtrix could empty it.
	idle func() bool
	// lostPoll is the pace at which the history is asked without a socket; 0 is
	// the usual one.
	lostPoll time.Duration
}

const (
	// silence is how long the socket may be quiet before the history is asked.
	silence = 5 * time.Second
	// lostPoll is the pace at which the history is asked without a socket.
	lostPoll = 250 * time.Millisecond
	// writtenPoll is the pace between the end of the work and its history.
	writtenPoll = 10 * time.Millisecond
	// lateFrames is how long the last frames may come behind the history: some
	// releases collect garbage between the two.
	lateFrames = 2 * time.Second
	// lastWords is how long the frames of a dead server may take to be read.
	lastWords = 300 * time.Millisecond
)

// work is one prompt on its way.
type work struct {
	t      *talk
	n      int
	id     string
	graph  map[string]memtrix.GraphNode
	start  time.Duration
	result memtrix.PromptResult

	gap     bool // frames may have been missed
	offline bool
	known   bool // the outcome has come over the socket
	knownAt time.Duration
	done    bool // the last frame has come
	failed  bool // an error or interruption was reported
	refused bool // a branch was dropped

	entry   *entry
	entryAt time.Duration
	missed  int // answers without it while the queue was empty
}

// mayMiss is how often a prompt may be neither in the queue nor in the history:
// what was asked first may be answered last.
const mayMiss = 2

// errForgotten is a prompt that somebody took out of the queue, or whose server was
// started anew.
var errForgotten = errors.New("the server does not have it any more: its queue was cleared, or it was started anew")

// answer is what a question to the history brought.
type answer struct {
	entry *entry
	raw   json.RawMessage
	err   error
}

// do sends the n-th prompt and stays with it until it has ended. Times come from
// the socket, the truth from the history.
func (t *talk) do(ctx context.Context, n int, graph map[string]memtrix.GraphNode) (memtrix.PromptResult, error) {
	t.socket.take() // what came between prompts is in the record
	w := &work{t: t, n: n, graph: graph, start: t.now(), result: memtrix.PromptResult{Index: n}}
	w.offline = t.socket.isDown()
	w.gap = w.offline
	accepted, raw, err := t.client.submit(ctx, graph, t.clientID)
	if err != nil {
		return w.notAccepted(ctx, err)
	}
	w.id, w.result.ID = accepted.PromptID, accepted.PromptID
	t.record.write(w.start, "post_prompt", raw)
	t.emit(memtrix.Event{At: w.start, Kind: memtrix.EventPromptStart, Prompt: n})
	for _, f := range refusals(accepted.NodeErrors, graph, t.client.optionsOf(ctx)) {
		w.refused = true
		t.emit(memtrix.Event{At: w.start, Kind: memtrix.EventError, Prompt: n, Node: f.Node, Failure: &f})
	}
	if err := w.follow(ctx); err != nil {
		w.result.Seconds = (t.now() - w.start).Seconds()
		return w.result, err
	}
	w.finish()
	return w.result, nil
}

// notAccepted tells a refusal, which is a result, from a server that cannot be
// reached.
func (w *work) notAccepted(ctx context.Context, err error) (memtrix.PromptResult, error) {
	at := w.t.now()
	w.result.Seconds = (at - w.start).Seconds()
	var status *StatusError
	if !errors.As(err, &status) {
		if ctx.Err() != nil {
			w.t.giveUp("") // it may have been accepted all the same
		}
		return w.result, w.t.because(ctx, fmt.Errorf("send prompt %d: %w", w.n, err))
	}
	w.t.record.write(at, "post_prompt", map[string]any{"http": status.Status, "body": string(status.Body)})
	for _, f := range wholeRefusal(status, w.graph, w.t.client.optionsOf(ctx)) {
		w.t.emit(memtrix.Event{At: at, Kind: memtrix.EventError, Prompt: w.n, Node: f.Node, Failure: &f})
	}
	w.result.Outcome = memtrix.Error
	if status.Status == 400 {
		w.result.Outcome = memtrix.InvalidWorkflow
	}
	return w.result, nil
}

// because puts the death of the server, or the end of ctx, in front of what they
// caused.
func (t *talk) because(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	// A broken connection is seen a moment before the exit that broke it.
	select {
	case <-t.gone:
		return fmt.Errorf("%w (%s): %w", errEnded, t.how(), err)
	case <-time.After(500 * time.Millisecond):
		return err
	}
}

// follow takes what arrives until the history holds the prompt.
func (w *work) follow(ctx context.Context) error {
	answers := make(chan answer, 1)
	asking := false
	timer := time.NewTimer(w.pause())
	defer timer.Stop()
	ask := func() {
		if !asking && w.entry == nil {
			asking = true
			go func() {
				e, raw, err := w.t.client.history(ctx, w.id)
				answers <- answer{e, raw, err}
			}()
		}
	}
	for {
		select {
		case <-w.t.socket.wakeup:
			w.arrived()
			if w.known || w.gap && !w.offline {
				ask()
			}
		case a := <-answers:
			asking = false
			w.answered(a)
			if w.missed > mayMiss {
				return fmt.Errorf("prompt %d: %w", w.n, errForgotten)
			}
		case <-timer.C:
			ask()
		case <-w.t.gone:
			w.lastFrames()
			return fmt.Errorf("%w while prompt %d ran (%s)", errEnded, w.n, w.t.how())
		case <-ctx.Done():
			w.t.giveUp(w.id)
			return fmt.Errorf("prompt %d: %w", w.n, context.Cause(ctx))
		}
		if w.complete() {
			return nil
		}
		timer.Reset(w.pause())
	}
}

// lastFrames reports what a dead server still had sent, up to the end of the
// connection.
func (w *work) lastFrames() {
	timer := time.NewTimer(lastWords)
	defer timer.Stop()
	for w.arrived(); !w.offline; w.arrived() {
		select {
		case <-w.t.socket.wakeup:
		case <-timer.C:
			return
		}
	}
}

// giveUp lets go of a prompt. Where the server is ours nobody else is hurt.
func (t *talk) giveUp(id string) {
	if t.abandon != nil {
		t.abandon(id)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	// The server may be stuck; the caller goes on to stop it.
	_ = t.client.interrupt(ctx)
}

// pause is how long to wait for the socket before the history is asked (again).
func (w *work) pause() time.Duration {
	switch {
	case w.entry != nil:
		return max(w.entryAt+lateFrames-w.t.now(), time.Millisecond)
	case w.known && w.t.now()-w.knownAt < time.Second:
		return writtenPoll
	case w.known, w.offline:
		return max(lostPoll, w.t.lostPoll)
	}
	return silence
}

// complete: the history has the prompt, and the last frame has come or is not
// going to.
func (w *work) complete() bool {
	return w.entry != nil && (w.done || w.offline || w.t.now()-w.entryAt >= lateFrames)
}

func (w *work) answered(a answer) {
	// An error is a server too busy to answer or about to die; the next try or
	// the end of the process tells.
	if a.err != nil || a.entry == nil {
		if a.err == nil && w.t.idle != nil && w.t.idle() {
			w.missed++
		}
		return
	}
	w.entry, w.entryAt = a.entry, w.t.now()
	w.t.record.write(w.entryAt, "history", a.raw)
}

// arrived reports what the queue holds.
func (w *work) arrived() {
	for _, a := range w.t.socket.take() {
		switch a.state {
		case lost:
			w.gap, w.offline = true, true
			continue
		case back:
			w.offline = false
			w.t.emit(memtrix.Event{At: a.at, Kind: memtrix.EventReconnect, Prompt: w.n})
			continue
		}
		f, ok := parseFrame(a.raw)
		// What others send to the server is told to all, in part.
		if !ok || f.Data.PromptID != w.id {
			continue
		}
		w.frame(f, a)
	}
}

func (w *work) frame(f frame, a arrival) {
	switch f.mark() {
	case outcomeKnown:
		w.known, w.knownAt = true, a.at
		w.failed = w.failed || f.Type != "execution_success"
	case promptDone:
		w.done = true
		if !w.known { // releases of before 2024-07 have no other end
			w.known, w.knownAt = true, a.at
		}
	}
	switch {
	case f.Type == "execution_cached":
		w.result.Cached = appendNew(w.result.Cached, f.Data.Nodes.list...)
	case f.Type == "executing" && f.Data.Node != nil:
		w.result.Executed = appendNew(w.result.Executed, string(*f.Data.Node))
	}
	if e, ok := f.event(a.at, w.n, w.graph, a.raw); ok {
		w.t.emit(e)
	}
}

// finish judges by the history and reports what the socket missed.
func (w *work) finish() {
	v := w.entry.judge()
	end := w.entryAt
	if w.known {
		end = w.knownAt
	}
	if v.end != nil && !w.failed {
		if e, ok := v.end.event(end, w.n, w.graph, nil); ok {
			w.t.emit(e)
		}
	}
	w.result.Cached = appendNew(w.result.Cached, v.cached...)
	if w.gap {
		w.fillGap(v)
	}
	w.result.Outcome = v.outcome
	if w.refused && v.outcome == memtrix.Pass {
		w.result.Outcome = memtrix.InvalidWorkflow
	}
	w.result.Seconds = (end - w.start).Seconds()
	w.t.emit(memtrix.Event{At: end, Kind: memtrix.EventPromptEnd, Prompt: w.n})
}

// fillGap adds the nodes that must have run while the socket was away.
func (w *work) fillGap(v verdict) {
	if v.end != nil {
		w.result.Executed = appendNew(w.result.Executed, v.end.Data.Executed.list...)
		return
	}
	for _, id := range upstream(w.graph, w.entry.outputs()) {
		if !slices.Contains(w.result.Cached, id) {
			w.result.Executed = appendNew(w.result.Executed, id)
		}
	}
}

func appendNew(list []string, more ...string) []string {
	for _, s := range more {
		if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}
