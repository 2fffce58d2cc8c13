package recorders

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"memtrix/recorders/nvidia"
)

// Names of the threads.
const (
	laneCard    = "card"    // memory of the cards, at 1 kHz
	laneProcess = "process" // processes, host, control group
	laneDriver  = "driver"  // what may block in the card's driver
	laneMaps    = "maps"    // walks through whole page tables
)

// lane is one thread with the sources that it reads: one that blocks holds up
// nobody else's.
type lane struct {
	name     string
	interval time.Duration
	slots    []*slot
	ring     *ring         // nil: changes are stored at once
	watching *nvidia.Watch // nil: sources are read one by one
	store    func()        // passes on what waits in the ring, here or in C
	now      func() time.Duration
	stopping *atomic.Bool
	stop     <-chan struct{} // closed after stopping is set

	mu   sync.Mutex    // held while sources are read
	last time.Duration // of the newest reading

	ticks, missed atomic.Int64
	lost          atomic.Int64 // changes for which there was no room
	cpu           atomic.Int64 // of the thread since it is a lane's, as last looked at
	cpuBefore     time.Duration
	cpuDue        time.Duration
}

// run works until the sampler stops. Ticks are at fixed times from the first
// one, so that a late tick does not move those after it; ticks that passed while
// a reading was stuck are counted as missed and not made up for.
func (l *lane) run() {
	runtime.LockOSThread()       // not unlocked: the thread ends with the goroutine
	l.cpuBefore, _ = threadCPU() // Go may have used it before
	if !l.slow() {
		urgent()
	}
	next := l.now()
	for !l.stopping.Load() {
		l.tick(false)
		next += l.interval
		if late := l.now() - next; late >= l.interval {
			skip := late / l.interval
			l.missed.Add(int64(skip))
			next += skip * l.interval
		}
		if l.slow() {
			next = l.idle(next)
		}
		l.wait(next)
	}
	// What blocks or is dear is not worth keeping the trial waiting.
	l.tick(l.name == laneCard || l.name == laneProcess)
}

// idle gives the first tick at which anything is due: to wake up costs more than
// most readings do.
func (l *lane) idle(next time.Duration) time.Duration {
	first := l.slots[0].due
	for _, sl := range l.slots {
		first = min(first, sl.due)
	}
	if first <= next {
		return next
	}
	return next + (first-next+l.interval-1)/l.interval*l.interval
}

// maxSleep bounds how long Stop waits for a fast thread under a long interval.
const maxSleep = 20 * time.Millisecond

func (l *lane) wait(until time.Duration) {
	d := until - l.now()
	if l.slow() {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-l.stop:
		}
		return
	}
	for ; d > 0 && !l.stopping.Load(); d = until - l.now() {
		sleep(min(d, maxSleep))
	}
}

// slow reports whether the thread wakes so seldom that the way it waits costs
// nothing.
func (l *lane) slow() bool { return l.interval > maxSleep }

// sharedMoment is how far apart readings of one tick may be and still get the
// same moment, which is stored only once.
const sharedMoment = 200 * time.Microsecond

// tick reads the sources that are due, or all of them.
func (l *lane) tick(all bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := l.now()
	for _, sl := range l.slots {
		// The clock is read for each source: one before may have blocked.
		now := l.now()
		if now-at < sharedMoment {
			now = at
		} else {
			at = now
		}
		if all || now >= sl.due {
			sl.read(now)
			l.last = now
		}
	}
	l.ticks.Add(1)
	if all || at >= l.cpuDue {
		l.cpuDue = at + Slow
		if cpu, err := threadCPU(); err == nil {
			l.cpu.Store(int64(cpu - l.cpuBefore))
		}
	}
}

// close is for after the thread has ended.
func (l *lane) close() {
	if l.store != nil {
		l.store()
	}
	if l.watching != nil {
		l.watching.Close()
	}
}
