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

// watchFor is how long the loop in C goes on before its answers are passed on:
// Now is late by that much.
const watchFor = 40 * time.Millisecond

// watch is run for cards that are read in C.
func (l *lane) watch(w *nvidia.Watch) {
	runtime.LockOSThread() // not unlocked: the thread ends with the goroutine
	urgent()
	// Both clocks are CLOCK_MONOTONIC with different zeros.
	zero := monotonic() - int64(l.now())
	at := func(ns int64) time.Duration { return time.Duration(ns - zero).Truncate(time.Microsecond) }
	latest := make([]nvidia.Change, len(l.slots))
	got := func(c nvidia.Change) {
		latest[c.Card] = c
		l.slots[c.Card].fed(at(c.At), c)
	}
	for !l.stopping.Load() {
		w.Run(monotonic()+int64(watchFor), got)
		done := w.Watched()
		for _, c := range latest { // unchanged since, and still so
			l.slots[c.Card].fed(at(done.Seen), c)
		}
		l.account(done)
	}
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
	if cpu, err := threadCPU(); err == nil {
		l.cpu.Store(int64(cpu))
	}
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
