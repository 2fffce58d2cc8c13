package recorders

import (
	"sync/atomic"
	"time"
)

// ringSize is how many changes wait for the slower thread: at 1 kHz and three
// meters that all change at each reading, ten seconds. 768 KiB.
const ringSize = 1 << 15

// change is one new value of a meter.
type change struct {
	meter *meterState
	t     time.Duration
	v     int64
}

// ring carries changes from the thread that reads a card to one that may take
// its time to store them: the first one must never wait, nor allocate. One
// thread writes and one reads.
type ring struct {
	buf        []change
	head, tail atomic.Uint64 // written and read so far
}

func newRing(size int) *ring { return &ring{buf: make([]change, size)} }

// push reports whether there was room.
func (r *ring) push(c change) bool {
	head := r.head.Load()
	if head-r.tail.Load() == uint64(len(r.buf)) {
		return false
	}
	r.buf[head%uint64(len(r.buf))] = c
	r.head.Store(head + 1)
	return true
}

// drain stores what has come since the last call.
func (r *ring) drain() {
	for tail, head := r.tail.Load(), r.head.Load(); tail < head; tail++ {
		c := r.buf[tail%uint64(len(r.buf))]
		c.meter.rec.add(c.t, c.v)
		r.tail.Store(tail + 1)
	}
}
