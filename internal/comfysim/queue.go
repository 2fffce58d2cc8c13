package comfysim

import (
	"context"
	"slices"
	"sync"
	"time"
)

// queueItem is one prompt that was accepted.
type queueItem struct {
	number  float64
	serial  int // order of arrival
	id      string
	prompt  object
	graph   *graph
	extra   object
	outputs []string
	client  string
}

// public is the item as /queue and /history show it.
func (q *queueItem) public() []any {
	return []any{q.number, q.id, q.prompt, q.extra, q.outputs}
}

// queueFlags are what POST /free asked for.
type queueFlags struct{ unload, free bool }

// queue holds prompts that wait, the one that runs, and the history.
type queue struct {
	mu      sync.Mutex
	pending []*queueItem
	running *queueItem
	history object
	flags   queueFlags
	number  int // the next one
	serial  int // of the last item
	wake    chan struct{}
	changed func(remaining int) // called with mu held
}

func newQueue() *queue { return &queue{wake: make(chan struct{}, 1), history: object{}} }

func (q *queue) notify() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

func (q *queue) remaining() int {
	n := len(q.pending)
	if q.running != nil {
		n++
	}
	return n
}

// takeNumber gives the next number of the queue.
func (q *queue) takeNumber() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.number++
	return q.number - 1
}

func (q *queue) takeSerial() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.serial++
	return q.serial
}

func (q *queue) put(item *queueItem) {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := 0
	for i < len(q.pending) && q.pending[i].number <= item.number {
		i++
	}
	q.pending = slices.Insert(q.pending, i, item)
	q.changed(q.remaining())
	q.notify()
}

// next waits for a prompt or for flags, at most as long as wait.
func (q *queue) next(ctx context.Context, wait time.Duration) (*queueItem, queueFlags) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		q.mu.Lock()
		flags := q.flags
		var item *queueItem
		if len(q.pending) > 0 {
			item = q.pending[0]
			q.pending = q.pending[1:]
			q.running = item
			q.changed(q.remaining())
		} else if flags != (queueFlags{}) {
			q.flags = queueFlags{}
		}
		q.mu.Unlock()
		switch {
		case item != nil:
			return item, queueFlags{} // flags act when no prompt runs
		case flags != (queueFlags{}):
			return nil, flags
		}
		select {
		case <-ctx.Done():
			return nil, queueFlags{}
		case <-timer.C:
			return nil, queueFlags{}
		case <-q.wake:
		}
	}
}

// done writes a prompt's history and tells that the queue is shorter.
func (q *queue) done(item *queueItem, result outcome) {
	status := "error"
	if result.ok {
		status = "success"
	}
	entry := object{{"prompt", item.public()}, {"outputs", result.outputs},
		{"status", object{{"status_str", status}, {"completed", result.ok}, {"messages", result.messages}}},
		{"meta", result.meta}}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.history = append(q.history, pair{item.id, entry})
	if len(q.history) > 10000 {
		q.history = q.history[1:]
	}
	q.running = nil
	q.changed(q.remaining())
}

func (q *queue) setFlags(f queueFlags) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.flags.unload = q.flags.unload || f.unload
	q.flags.free = q.flags.free || f.free
	q.notify()
}

// view is what GET /queue shows.
func (q *queue) view() object {
	q.mu.Lock()
	defer q.mu.Unlock()
	running, pending := []any{}, []any{}
	if q.running != nil {
		running = append(running, q.running.public())
	}
	for _, item := range q.pending {
		pending = append(pending, item.public())
	}
	return object{{"queue_running", running}, {"queue_pending", pending}}
}

// delete takes waiting prompts out; all of them when ids is nil.
func (q *queue) delete(ids []string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.pending = slices.DeleteFunc(q.pending, func(item *queueItem) bool {
		return ids == nil || slices.Contains(ids, item.id)
	})
	q.changed(q.remaining())
}

// past is GET /history: all of it, or the last max, or one prompt.
func (q *queue) past(id string, max, offset int) object {
	q.mu.Lock()
	defer q.mu.Unlock()
	if id != "" {
		if entry, ok := q.history.get(id); ok {
			return object{{id, entry}}
		}
		return object{}
	}
	all := q.history
	if offset < 0 && max > 0 {
		offset = len(all) - max
	}
	offset = min(len(all), clampLow(offset))
	end := len(all)
	if max > 0 {
		end = min(end, offset+max)
	}
	return slices.Clone(all[offset:end])
}

func clampLow(n int) int {
	if n < 0 {
		return 0
	}
	return n
}

// forget takes entries out of the history; all of them when ids is nil.
func (q *queue) forget(ids []string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.history = slices.DeleteFunc(q.history, func(p pair) bool {
		return ids == nil || slices.Contains(ids, p.key)
	})
}

func (q *queue) runningID() string {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.running == nil {
		return ""
	}
	return q.running.id
}

func (q *queue) count() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.remaining()
}
