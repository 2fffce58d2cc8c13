package recorders

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"memtrix"
)

// meterState is one meter while it is recorded. The recording belongs to the
// thread that stores until the sampler is done; seen and last belong to the
// thread that reads; the rest may be read at any time.
type meterState struct {
	memtrix.Meter
	rec    recording
	last   int64         // the newest value that was stored or is on its way
	seen   time.Duration // of the newest reading
	any    bool          // last is a value
	fresh  bool          // it came with the latest reading of the source
	latest atomic.Int64
	has    atomic.Bool // latest is of the last time the source was read
	ever   atomic.Bool
}

// slot is a source on its thread.
type slot struct {
	name   string
	source Source
	lane   *lane
	meters []*meterState
	due    time.Duration
	now    time.Duration // of the reading under way
	put    func(i int, v int64)
	cost   cost
	seldom bool // read so seldom that a short recording may have no reading

	mu     sync.Mutex
	err    error         // of the last reading
	lost   bool          // it lacked a meter that there had been
	lostAt time.Duration // since when
	failed int           // such readings, all in all
}

// cost is what reading a source takes. Asking for the processor time costs as
// much as a quick reading, so of fast sources one reading in measuredEvery is
// measured and stands for all.
type cost struct {
	reads    atomic.Int64
	cpu      atomic.Int64 // ns, of all readings
	measured atomic.Int64
	wall     atomic.Int64 // ns, of the measured ones
	longest  atomic.Int64 // ns, of the measured ones
	every    atomic.Int64 // ns, as the source wants it now
}

const measuredEvery = 16

func newSlot(l *lane, name string, src Source) *slot {
	sl := &slot{name: name, source: src, lane: l, seldom: src.Every() >= Seldom}
	for _, m := range src.Meters() {
		sl.meters = append(sl.meters, &meterState{Meter: m, rec: recording{limit: maxChanges}})
	}
	sl.put = func(i int, v int64) { sl.take(sl.meters[i], v) }
	return sl
}

// take notes a value; only a change goes on to be stored.
func (sl *slot) take(m *meterState, v int64) {
	m.seen, m.fresh = sl.now, true
	if m.any && m.last == v {
		if !m.has.Load() {
			m.has.Store(true)
		}
		return
	}
	if sl.lane.ring == nil {
		m.rec.add(sl.now, v)
	} else if !sl.lane.ring.push(change{m, sl.now, v}) {
		sl.lane.lost.Add(1)
		return // tried again with the next reading
	}
	m.last, m.any = v, true
	m.latest.Store(v)
	m.has.Store(true)
	m.ever.Store(true)
}

func (sl *slot) read(now time.Duration) {
	sl.begin(now)
	every := sl.source.Every()
	sl.end(now, sl.measure(every, now))
	every = sl.source.Every()
	sl.cost.every.Store(int64(every))
	if every > 0 {
		sl.due += every
		if sl.due <= now {
			sl.due = now + every
		}
	}
}

// begin and end are around each reading.
func (sl *slot) begin(now time.Duration) {
	sl.now = now
	for _, m := range sl.meters {
		m.fresh = false
	}
}

func (sl *slot) end(now time.Duration, err error) {
	lost := false
	for _, m := range sl.meters {
		if !m.fresh {
			m.has.Store(false)
			lost = lost || m.ever.Load()
		}
	}
	sl.note(now, err, lost)
}

// measure reads the source, and its cost where that is due.
func (sl *slot) measure(every, now time.Duration) error {
	weight := int64(1)
	if every < Medium {
		weight = measuredEvery
	}
	n := sl.cost.reads.Add(1)
	if n%weight != weight/2 {
		return sl.source.Read(now, sl.put)
	}
	start := time.Now()
	before, failed := threadCPU()
	err := sl.source.Read(now, sl.put)
	if after, e := threadCPU(); e == nil && failed == nil {
		sl.cost.cpu.Add(weight * int64(after-before))
	}
	wall := int64(time.Since(start))
	sl.cost.measured.Add(1)
	sl.cost.wall.Add(wall)
	sl.cost.longest.Store(max(sl.cost.longest.Load(), wall))
	return err
}

func (sl *slot) note(now time.Duration, err error, lost bool) {
	sl.mu.Lock()
	defer sl.mu.Unlock()
	if lost && !sl.lost {
		sl.lostAt = now
	}
	if lost {
		sl.failed++
	}
	sl.err, sl.lost = err, lost
}

// absence says why a meter of the source has had no reading.
func (sl *slot) absence(m *meterState) Absence {
	sl.mu.Lock()
	defer sl.mu.Unlock()
	if sl.err == nil {
		return Absence{Meter: m.Name, Reason: "no reading was taken", Usual: sl.seldom}
	}
	usual := errors.Is(sl.err, errCgroupParts) || errors.Is(sl.err, errNoCgroup) || errors.Is(sl.err, errCardSilent) ||
		errors.Is(sl.err, errNoExits) || sl.seldom && (errors.Is(sl.err, errNotStarted) || errors.Is(sl.err, errNotFollowed))
	return Absence{Meter: m.Name, Reason: sl.err.Error(), Usual: usual}
}

func (sl *slot) warnings() []string {
	sl.mu.Lock()
	defer sl.mu.Unlock()
	if sl.failed == 0 {
		return nil
	}
	var list []string
	for _, m := range sl.meters {
		if m.ever.Load() && !m.has.Load() {
			list = append(list, fmt.Sprintf("%s went away %.1f s after the start: %v", m.Name, sl.lostAt.Seconds(), sl.err))
		}
	}
	// The driver lists a process a moment after it gives it memory: of readings
	// that came back, one in fifty may have failed without a word.
	if reads := sl.cost.reads.Load(); len(list) == 0 && int64(sl.failed)*50 > reads {
		list = append(list, fmt.Sprintf("%s: %d readings failed", sl.meters[0].Name, sl.failed))
	}
	return list
}
