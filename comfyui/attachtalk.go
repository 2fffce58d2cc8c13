package comfyui

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"memtrix"
)

// heard makes lines of what a server writes, write by write.
type heard struct {
	line func(memtrix.LogLine)

	mu    sync.Mutex
	text  strings.Builder
	since time.Duration
}

func (h *heard) add(at time.Duration, text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for text != "" {
		if h.text.Len() == 0 {
			h.since = at
		}
		part, rest, ended := strings.Cut(text, "\n")
		h.text.WriteString(part)
		if text = rest; ended || h.text.Len() > maxLine {
			h.say()
		}
	}
}

func (h *heard) say() {
	h.line(memtrix.LogLine{At: h.since, Stream: "server", Text: h.text.String()})
	h.text.Reset()
}

// flush says what has no end yet.
func (h *heard) flush(time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.text.Len() > 0 {
		h.say()
	}
}

// line keeps a line of the server's. Only what it says while a prompt of ours runs
// is about the trial: an error of somebody else's prompt is none of ours.
func (i *Attachment) line(l memtrix.LogLine) {
	i.log.write([]byte(l.Text + "\n"))
	i.log.line(l)
	i.mu.Lock()
	i.banner.read(l.Text)
	i.mu.Unlock()
	if (i.crowd.works() || i.follow != nil) && i.job.Log != nil {
		i.job.Log(l)
	}
	if i.follow != nil {
		i.follow.line(l)
	}
}

// tap sees each frame when it comes, also between prompts.
func (i *Attachment) tap(at time.Duration, raw []byte) (taken bool) {
	if raw == nil {
		i.crowd.lost()
		i.follow.lost(at)
		return false
	}
	var f struct {
		Type string `json:"type"`
		Data struct {
			Status struct {
				Info struct {
					Left *int `json:"queue_remaining"`
				} `json:"exec_info"`
			} `json:"status"`
			Entries []logEntry `json:"entries"`
		} `json:"data"`
	}
	// The data of other types may be of any form.
	if json.Unmarshal(raw, &f) != nil {
		return false
	}
	switch f.Type {
	case "status":
		if left := f.Data.Status.Info.Left; left != nil {
			i.crowd.told(*left)
			i.follow.queue(at, *left)
		}
	case "execution_start", "executing": // sent to whose prompt it is alone
		i.crowd.begun()
		i.follow.frame(at, raw)
	case "logs":
		for _, e := range f.Data.Entries {
			i.output.add(at, e.Text)
			i.follow.text(at, e.Text)
		}
		return true
	default:
		i.follow.frame(at, raw)
	}
	return false
}

// Paces of waiting for one's turn. The length of the queue comes over the socket
// unasked; who is in it costs the server time that grows with it.
const (
	frontPace = 10 * time.Second
	frontMost = 50 // prompts in a queue that is still asked for
)

// AwaitTurn waits until the queue is empty, see memtrix.Sharer.
func (i *Attachment) AwaitTurn(ctx context.Context, limit time.Duration, say func(string)) error {
	begin := time.Now()
	var late <-chan time.Time
	if limit > 0 {
		timer := time.NewTimer(limit)
		defer timer.Stop()
		late = timer.C
	}
	tick := time.NewTicker(frontPace)
	defer tick.Stop()
	said, asked, told := "", begin, false
	for !i.free() {
		n, known := i.crowd.queued()
		if now := time.Now(); known && !told || now.Sub(asked) >= frontPace {
			asked, told = now, told || known
			front := ""
			if known {
				front = i.front(ctx, n)
			} else if front = i.unheard(ctx); front == "" {
				return nil
			}
			if front != said {
				said = front
				say(fmt.Sprintf("waiting for %s: %s", i.at.URL, front))
			}
		}
		select {
		case <-i.crowd.changed:
		case <-tick.C:
		case <-late:
			if _, known := i.crowd.queued(); !known {
				return fmt.Errorf("%s: waited %v for a connection that lasts: a proxy in between may not let WebSockets through; %s", i.at.URL, time.Since(begin).Round(time.Second), said)
			}
			return fmt.Errorf("%s: waited %v: %w: %s", i.at.URL, time.Since(begin).Round(time.Second), memtrix.ErrBusy, said)
		case <-i.gone:
			return fmt.Errorf("%w (%s)", errEnded, i.how())
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// free reports whether it is our turn. A connection that has just been made is
// told the length of the queue in its first frame.
func (i *Attachment) free() bool {
	n, known := i.crowd.queued()
	return known && n == 0
}

// unheard says what is known of the queue while there is no connection that would
// tell; "" is an empty one.
func (i *Attachment) unheard(ctx context.Context) string {
	v, err := i.client.queueItems(ctx)
	switch n := len(v.Running) + len(v.Pending); {
	case err != nil:
		return fmt.Sprintf("it does not say what is in its queue: %v", err)
	case n == 0:
		return ""
	default:
		return fmt.Sprintf("the connection is lost; prompts in its queue: %d", n)
	}
}

// front says who is in front.
func (i *Attachment) front(ctx context.Context, n int) string {
	text := fmt.Sprintf("%d prompts are in front", n)
	if n == 1 {
		text = "1 prompt is in front"
	}
	if n > frontMost {
		return text
	}
	v, err := i.client.queueItems(ctx)
	if err != nil || len(v.Running) == 0 {
		return text
	}
	return text + "; " + v.Running[0].String() + " runs"
}

// abandonLimit bounds the way out of a prompt: the server may stand still.
const abandonLimit = 5 * time.Second

// abandon takes a prompt of ours out of the queue. One that runs goes on, unless
// the spec allows to interrupt it.
func (i *Attachment) abandon(id string) {
	ctx, cancel := context.WithTimeout(context.Background(), abandonLimit)
	defer cancel()
	defer i.crowd.givenUp()
	if id == "" {
		// The answer that would have told it did not come.
		v, err := i.client.queueItems(ctx)
		if err != nil {
			i.remark("a prompt may have been left in the queue of %s: %v", i.at.URL, err)
			return
		}
		for _, q := range append(v.Pending, v.Running...) {
			if q.client == i.talk.clientID {
				id = q.id
			}
		}
		if id == "" {
			return
		}
	}
	// Only a prompt that waits is taken out by this.
	if err := i.client.dequeue(ctx, id); err != nil {
		i.remark("prompt %s may have been left in the queue of %s: %v", id, i.at.URL, err)
		return
	}
	v, err := i.client.queueItems(ctx)
	runs := err == nil && holdsPrompt(v.Running, id)
	switch {
	case err != nil:
		i.remark("prompt %s may still run on %s: %v", id, i.at.URL, err)
	case !runs && !i.crowd.works():
		i.remark("prompt %s, which waited in the queue of %s, was taken out of it", id, i.at.URL)
	case !runs: // it ended meanwhile
	case !i.at.Interrupt:
		i.remark("prompt %s still runs on %s and was left to end by itself (interrupt: own beside url: lets memtrix end it)", id, i.at.URL)
	default:
		if err := i.client.interruptOne(ctx, id); err != nil {
			i.remark("prompt %s still runs on %s: %v", id, i.at.URL, err)
			return
		}
		i.remark("prompt %s was interrupted on %s", id, i.at.URL)
	}
}

func holdsPrompt(items []queueItem, id string) bool {
	for _, q := range items {
		if q.id == id {
			return true
		}
	}
	return false
}
