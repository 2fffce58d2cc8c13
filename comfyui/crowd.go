package comfyui

import (
	"sync"
	"time"
)

// crowd counts who works on a server that others use, too, by the length of its
// queue: the server tells that to every socket, unasked, each time it changes
// (server.py, queue_updated).
type crowd struct {
	now clock

	mu      sync.Mutex
	left    int  // prompts that run or wait
	known   bool // left is told by a connection that stands
	own     bool // a prompt of ours is among them
	running bool // and it has begun
	over    bool // the length of the queue may not count it any more
	behind  bool // there was more than ours in the queue before it began
	noted   bool // others in front of it are counted
	posted  time.Duration
	waited  time.Duration // longest that a prompt of ours stood behind others
	open    bool          // the trial's first prompt was sent
	others  bool          // somebody else's prompt runs, as far as is known
	times   int           // stretches in which that was so
	first   time.Duration // when it was so first
	changed chan struct{} // holds one token after a change
}

func newCrowd(now clock) *crowd { return &crowd{now: now, changed: make(chan struct{}, 1)} }

// own prompts begin within this time on an idle server; what lasts longer is
// waiting for others.
const atOnce = 500 * time.Millisecond

// do changes the state and looks what it means.
func (c *crowd) do(change func()) {
	c.mu.Lock()
	change()
	c.behind = c.own && !c.running && (c.behind || c.known && c.left > 1)
	others := c.othersRun()
	if others && !c.others {
		c.count(c.now())
	}
	c.noted = c.own && (c.noted || others)
	c.others = others
	c.mu.Unlock()
	select {
	case c.changed <- struct{}{}:
	default:
	}
}

// count notes a stretch in which others' prompts ran.
func (c *crowd) count(since time.Duration) {
	if c.times++; c.times == 1 {
		c.first = since
	}
}

// othersRun: one prompt runs at a time, so others' run when ours does not.
func (c *crowd) othersRun() bool {
	switch {
	case !c.open || !c.known:
		return false
	case c.own && c.running:
		return false
	case c.own:
		return c.left > 1 && c.now()-c.posted > atOnce
	}
	return c.left > 0
}

// told is the length of the queue; lost is said of a connection.
func (c *crowd) told(left int) {
	c.do(func() {
		c.over = c.over || c.running && left < c.left
		c.left, c.known = left, true
	})
}

func (c *crowd) lost() { c.do(func() { c.known, c.over = false, true }) }

// sent, begun and ended are a prompt of ours.
func (c *crowd) sent() {
	c.do(func() { c.open, c.own, c.running, c.over, c.posted = true, true, false, false, c.now() })
}

func (c *crowd) begun() {
	c.do(func() {
		// Of one that came between our look and our prompt nothing is told after the
		// first moment, until it has ended.
		if w := c.now() - c.posted; c.own && !c.running && w > atOnce && (c.others || c.behind) {
			c.waited = max(c.waited, w)
			if !c.noted {
				c.count(c.posted)
			}
		}
		c.running = true
	})
}

// givenUp is said when a prompt of ours is given up: what runs from here on may be it,
// and is not counted.
func (c *crowd) givenUp() { c.do(func() { c.open = false }) }

func (c *crowd) ended() {
	c.do(func() {
		// The history may have told it before the length of the queue did.
		if c.running && !c.over && c.left > 0 {
			c.left--
		}
		c.own, c.running = false, false
	})
}

// idle reports whether the queue is known to be empty; works whether a prompt of
// ours runs.
func (c *crowd) idle() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known && c.left == 0
}

func (c *crowd) works() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.own && c.running
}

// queued is the length of the queue, false where it is not known just now.
func (c *crowd) queued() (int, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.left, c.known
}

// met is what there was of others.
func (c *crowd) met() (times int, first, waited time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.times, c.first, c.waited
}
