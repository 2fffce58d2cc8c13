package comfyui

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"memtrix"
)

// WatchTarget implements memtrix.Target for servers at which memtrix only looks: their
// users work, and nothing is sent for them. See Watching.
type WatchTarget struct{ AttachTarget }

var _ memtrix.Target = (*WatchTarget)(nil)

// Start begins to watch a server. Nothing is started.
func (t *WatchTarget) Start(ctx context.Context, job memtrix.Job) (memtrix.Instance, error) {
	if a := job.Cell.Version.Attached; a != nil && a.URL == "" {
		return newBystander(job, a.PID)
	}
	a, err := t.attach(ctx, job)
	if err != nil {
		return nil, err
	}
	a.follow = newFollower()
	w := &Watching{Attachment: a, graphs: map[int]map[string]memtrix.GraphNode{}}
	w.spare = &sparing{now: a.now, busy: mainThread(a.at.PID)}
	return w, nil
}

// Watching is a trial's time beside a server that its user works with. It listens to
// what the server tells everybody, and asks for as little as can be: for the running
// prompt when one begins, and for what the history says of it when it has ended; each
// only when what was asked before is less than a thousandth of the time since (see
// sparing). It implements memtrix.Instance, memtrix.Checker and memtrix.Sharer.
type Watching struct {
	*Attachment
	spare *sparing

	left    int // length of the queue as it was told last
	known   bool
	quiet   bool          // the log cannot be heard
	unasked int           // prompts of which the history was not read
	last    time.Duration // when a prompt ended last
	graphs  map[int]map[string]memtrix.GraphNode
	asksAt  time.Duration
}

var (
	_ memtrix.Instance = (*Watching)(nil)
	_ memtrix.Checker  = (*Watching)(nil)
	_ memtrix.Sharer   = (*Watching)(nil)
)

// The last lines of a prompt come a moment after the length of the queue, and its
// history is there by then.
const (
	afterEnd = 400 * time.Millisecond
	// patient is how long the history of a prompt that has ended is waited for, to
	// spare the server.
	patient = 20 * time.Second
)

// WatchedFile is the name of the file in which the n-th watched prompt is kept, in API
// format.
func WatchedFile(n int) string { return fmt.Sprintf("prompt-%d.json", n) }

// watchedPrompt is one prompt of the server's user.
type watchedPrompt struct {
	n      int
	id     string
	start  time.Duration
	graph  map[string]memtrix.GraphNode
	node   nodeID
	result memtrix.PromptResult
	failed bool // by the log
	fell   bool // the queue became shorter since it began
	bar    [2]int
}

// Ready joins the server, see Attachment.
func (w *Watching) Ready(ctx context.Context) error {
	begin, ok := w.spare.busy()
	if err := w.Attachment.Ready(ctx); err != nil {
		return err
	}
	if end, still := w.spare.busy(); ok && still {
		w.asksAt = end - begin
	}
	w.mu.Lock()
	w.quiet = len(w.remarks) > 0
	w.mu.Unlock()
	return nil
}

// Do follows the next prompt of the server's user, the n-th since the watching began.
// A result without Index is none: nothing ran when ctx ended or the server went away.
func (w *Watching) Do(ctx context.Context, n int) (memtrix.PromptResult, error) {
	p := &watchedPrompt{n: n}
	for !w.known || w.left == 0 {
		e, err := w.hear(ctx)
		if err != nil {
			return memtrix.PromptResult{}, err
		}
		w.count(e)
		p.start = e.at
	}
	if p.start == 0 { // the one that waited behind the last
		p.start = w.last
	}
	p.result = memtrix.PromptResult{Index: n}
	w.emit(memtrix.Event{At: p.start, Kind: memtrix.EventPromptStart, Prompt: n})
	w.begun(ctx, p)
	end, err := w.until(ctx, p)
	if err != nil {
		p.result.Seconds = (w.now() - p.start).Seconds()
		return p.result, err
	}
	w.last = end
	w.outcome(ctx, p, end)
	p.result.Seconds = (end - p.start).Seconds()
	w.emit(memtrix.Event{At: end, Kind: memtrix.EventPromptEnd, Prompt: n})
	return p.result, nil
}

// hear waits for the next note.
func (w *Watching) hear(ctx context.Context) (note, error) {
	for {
		w.talk.socket.take() // all of it is in the record
		if e, ok := w.follow.next(); ok {
			return e, nil
		}
		select {
		case <-w.follow.wakeup:
		case <-w.gone:
			return note{}, fmt.Errorf("%w (%s)", errEnded, w.how())
		case <-ctx.Done():
			return note{}, context.Cause(ctx)
		}
	}
}

func (w *Watching) count(e note) {
	switch e.kind {
	case noteQueue:
		w.left, w.known = e.left, true
	case noteLost:
		w.known = false
	}
}

// until follows a prompt to its end.
func (w *Watching) until(ctx context.Context, p *watchedPrompt) (end time.Duration, err error) {
	for {
		e, err := w.hear(ctx)
		if err != nil {
			return 0, err
		}
		before := w.left
		w.count(e)
		switch {
		case e.kind == noteQueue && e.left == 0:
			w.lastWords(ctx, p)
			return e.at, nil
		case e.kind == noteQueue && w.quiet && e.left < before:
			return e.at, nil // or one that waited was taken out; nothing tells which
		case e.kind == noteExecuted && p.fell: // else it is a late word of the one before
			return e.at, nil
		}
		p.fell = p.fell || e.kind == noteQueue && e.left < before
		w.told(p, e)
	}
}

// told takes over what a note says of the prompt.
func (w *Watching) told(p *watchedPrompt, e note) {
	switch e.kind {
	case noteFailed:
		p.failed = true
	case noteNode:
		if e.node == p.node || p.id != "" && e.prompt != "" && e.prompt != p.id {
			return
		}
		p.id = cmp.Or(p.id, e.prompt)
		p.node, p.bar = e.node, [2]int{}
		p.result.Executed = appendNew(p.result.Executed, string(e.node))
		w.emit(memtrix.Event{At: e.at, Kind: memtrix.EventNodeStart, Prompt: p.n, Node: nodeOf(p.graph, string(e.node), "", "")})
	case noteBar:
		if bar := [2]int{e.value, e.max}; bar != p.bar {
			p.bar = bar // a bar is told twice where no client is named
			w.emit(memtrix.Event{At: e.at, Kind: memtrix.EventProgress, Prompt: p.n, Value: e.value, Max: e.max})
		}
	}
}

// lastWords takes what is said of a prompt after the length of the queue.
func (w *Watching) lastWords(ctx context.Context, p *watchedPrompt) {
	if w.quiet {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, afterEnd)
	defer cancel()
	for {
		e, err := w.hear(ctx)
		if err != nil {
			return
		}
		w.count(e)
		if e.kind == noteExecuted || e.kind == noteQueue && e.left > 0 {
			return
		}
		w.told(p, e)
	}
}

// begun asks who runs, if it is time for a question: then the nodes have names, also
// when the server dies.
func (w *Watching) begun(ctx context.Context, p *watchedPrompt) {
	if w.left > frontMost {
		return
	}
	var v struct {
		Running [][]json.RawMessage `json:"queue_running"`
	}
	asked, err := w.spare.ask(func() error { return w.client.get(ctx, "/queue", &v) })
	if !asked || err != nil || len(v.Running) == 0 {
		return
	}
	p.id, p.graph = itemOf(v.Running[0])
	p.result.ID = p.id
	w.keepGraph(p)
}

// itemOf reads id and graph of a queue item.
func itemOf(item []json.RawMessage) (id string, graph map[string]memtrix.GraphNode) {
	if len(item) < 3 {
		return "", nil
	}
	// What others queued may have any form.
	_ = json.Unmarshal(item[1], &id)
	_ = json.Unmarshal(item[2], &graph)
	return id, graph
}

// keepGraph writes the prompt into the trial's folder.
func (w *Watching) keepGraph(p *watchedPrompt) {
	if len(p.graph) == 0 {
		return
	}
	w.graphs[p.n] = p.graph
	data, err := json.MarshalIndent(p.graph, "", "  ")
	if err == nil {
		err = os.WriteFile(filepath.Join(w.job.Dir, WatchedFile(p.n)), append(data, '\n'), 0o644)
	}
	if err != nil {
		w.remark("prompt %d could not be kept: %v", p.n, err)
	}
}

// outcome asks the history for the prompt. Where the server is to be spared, or does
// not know it any more, the log has the last word.
func (w *Watching) outcome(ctx context.Context, p *watchedPrompt, end time.Duration) {
	p.result.Outcome = memtrix.Pass
	if p.failed {
		p.result.Outcome = memtrix.Error
	}
	e, raw := w.history(ctx, p)
	if e == nil {
		w.unasked++
		return
	}
	w.record.write(w.now(), "history", raw)
	id, graph := itemOf(e.Prompt)
	p.id, p.result.ID = id, id
	if len(p.graph) == 0 && len(graph) > 0 {
		p.graph = graph
		w.keepGraph(p)
	}
	v := e.judge()
	p.result.Outcome, p.result.Cached = v.outcome, v.cached
	if v.end != nil {
		if ev, ok := v.end.event(end, p.n, p.graph, nil); ok {
			w.emit(ev)
		}
		p.result.Executed = appendNew(p.result.Executed, v.end.Data.Executed.list...)
		return
	}
	for _, node := range upstream(p.graph, e.outputs()) {
		if !slices.Contains(v.cached, node) {
			p.result.Executed = appendNew(p.result.Executed, node)
		}
	}
}

// history is the newest entry, if it is that of the prompt. The newest alone costs the
// server least: of one that is named it makes a copy first (execution.py, get_history).
func (w *Watching) history(ctx context.Context, p *watchedPrompt) (*entry, json.RawMessage) {
	wait := w.spare.wait()
	if wait > patient || wait > 0 && w.left > 0 {
		return nil, nil // the next prompt is not kept waiting
	}
	select {
	case <-time.After(wait):
	case <-w.gone:
		return nil, nil
	case <-ctx.Done():
		return nil, nil
	}
	var all map[string]*entry
	var raw json.RawMessage
	asked, err := w.spare.ask(func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerLimit)
		defer cancel()
		var err error
		raw, err = w.client.do(ctx, "GET", "/history?max_items=1", nil)
		return err
	})
	if !asked || err != nil || json.Unmarshal(raw, &all) != nil {
		return nil, nil
	}
	for id, e := range all {
		if e != nil && (p.id == "" || p.id == id) {
			return e, raw
		}
	}
	return nil, nil
}

// Graph is the n-th prompt, nil where it is not known. It is for after the watching.
func (w *Watching) Graph(n int) map[string]memtrix.GraphNode { return w.graphs[n] }

// Free is never asked for.
func (w *Watching) Free(context.Context) error {
	return fmt.Errorf("POST /free: %w", memtrix.ErrUnsupported)
}

// Told is nothing: asking would cost the server time.
func (w *Watching) Told(context.Context) map[string]int64 { return nil }

// AwaitTurn waits for nobody: nothing is sent.
func (w *Watching) AwaitTurn(context.Context, time.Duration, func(string)) error { return nil }

// Facts are what the server and its process told, and what watching cost it.
func (w *Watching) Facts() memtrix.Environment {
	facts := w.Attachment.Facts()
	asked, spent := w.spare.total()
	maps.Copy(facts, memtrix.Environment{
		"watch.questions": fmt.Sprint(asked), "watch.questions.ms": fmt.Sprintf("%.1f", spent.Seconds()*1000),
	})
	if w.asksAt > 0 {
		facts["watch.joining.ms"] = fmt.Sprintf("%.1f", w.asksAt.Seconds()*1000)
	}
	return facts
}

// Remarks are what was odd, see memtrix.Sharer.
func (w *Watching) Remarks() []string {
	all := w.Attachment.Remarks()
	if w.unasked > 0 {
		all = append(all, fmt.Sprintf("of %d prompts only the log tells how they ended: their history was not read, to spare the server, or it had forgotten them", w.unasked))
	}
	return all
}
