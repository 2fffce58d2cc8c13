package recorders

import (
	"runtime"
	"time"

	"memtrix/recorders/nvidia"
)

// memoryReader is a source of the cards' thread that can also be fed with what
// was read for it.
type memoryReader interface {
	Source
	feed(m nvidia.Memory, put func(int, int64)) error
}

// watchable gives the cards of a lane when all of them can be watched in C, in
// the order of its slots.
func (l *lane) watchable() []*nvidia.Card {
	var cards []*nvidia.Card
	for _, sl := range l.slots {
		var card Card
		switch src := sl.source.(type) {
		case *cardMemory:
			card = src.card
		case *otherCard:
			card = src.Card
		}
		c, ok := card.(*nvidia.Card)
		if !ok {
			return nil
		}
		cards = append(cards, c)
	}
	return cards
}

// decouple puts a ring between the thread that reads cards and the one that
// stores: in C where all cards can be read there.
func (l *lane) decouple() {
	if cards := l.watchable(); cards != nil {
		l.watching = nvidia.NewWatch(cards, l.interval)
	}
	if l.watching != nil {
		l.store = newWatched(l).drain
		return
	}
	l.ring = newRing(ringSize)
	l.store = l.ring.drain
}

// watched is the other end of a thread that reads cards in C: a source of the
// processes' thread that stores what has come, ten times a second.
type watched struct {
	lane   *lane
	zero   int64 // of the sampler's clock, in CLOCK_MONOTONIC: Go uses that, too
	latest []nvidia.Change
}

func newWatched(l *lane) *watched {
	return &watched{lane: l, zero: monotonic() - int64(l.now()), latest: make([]nvidia.Change, len(l.slots))}
}

func (w *watched) at(ns int64) time.Duration {
	return time.Duration(ns - w.zero).Truncate(time.Microsecond)
}

// drain passes on what has come, and until when the rest stayed as it was.
func (w *watched) drain() {
	done := w.lane.watching.Watched()
	w.lane.watching.Drain(func(c nvidia.Change) {
		w.latest[c.Card] = c
		w.lane.slots[c.Card].fed(w.at(c.At), c)
	})
	for _, c := range w.latest {
		if c.At > 0 {
			w.lane.slots[c.Card].fed(w.at(max(done.Seen, c.At)), c)
		}
	}
	w.lane.account(done)
}

// runWatch is run for cards that are read in C.
func (l *lane) runWatch() {
	runtime.LockOSThread() // not unlocked: the thread ends with the goroutine
	urgent()
	l.watching.Run()
}

// fed takes a reading of the card's memory that was made in C.
func (sl *slot) fed(now time.Duration, c nvidia.Change) {
	sl.begin(now)
	err := c.Err
	if err == nil {
		err = sl.source.(memoryReader).feed(c.Memory, sl.put)
	}
	sl.end(now, err)
}

// account takes over what the loop in C counted.
func (l *lane) account(w nvidia.Watched) {
	l.ticks.Store(w.Ticks)
	l.missed.Store(w.Missed)
	l.lost.Store(w.Lost)
	l.cpu.Store(int64(w.Thread))
	// The cards are read together: each has its share.
	n := int64(len(l.slots))
	for _, sl := range l.slots {
		sl.cost.reads.Store(w.Ticks)
		sl.cost.measured.Store(w.Measured)
		sl.cost.cpu.Store(int64(w.CPU) / n)
		sl.cost.wall.Store(int64(w.Wall) / n)
		sl.cost.longest.Store(int64(w.Longest) / n)
	}
}
