package recorders

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"memtrix"
	"memtrix/recorders/nvidia"
)

// Config is what a sampler is to read.
type Config struct {
	// Epoch is the zero of the trial's clock.
	Epoch time.Time
	// Interval of the fast sources; 0 means Fast (10 ms).
	Interval time.Duration
	// PID is the first process of the tree; 0 where it is not started yet, see
	// SetPID.
	PID int
	// SimCard is the file of a simulated card (memtrix.SimCardFile in the trial's
	// folder). It need not exist yet. When it is set no real card is read.
	SimCard string
	// Card is the card to read; nil opens the one that a CUDA program with the
	// environment Env would use first.
	Card Card
	// Env is the environment of the server; nil means our own.
	Env nvidia.Lookup
	// Baseline is what was used on the card just before the server was started,
	// bytes; nil where it is not known yet, see SetBaseline.
	Baseline *int64
	// Proc is where the kernel's process files are; "" means /proc.
	Proc string
	// More are sources beside the built-in ones. The sampler closes them.
	More []Source
}

// Card is what the sampler needs of a card; *nvidia.Card is one.
type Card interface {
	// Memory of the card now.
	Memory() (nvidia.Memory, error)
	// Processes appends those that hold memory of the card to buf.
	Processes(buf []nvidia.Process) ([]nvidia.Process, error)
}

// Sampler reads meters until it is stopped.
type Sampler struct {
	epoch    time.Time
	interval time.Duration
	tree     *tree
	baseline atomic.Pointer[int64]
	slots    []*slot
	meters   []*meterState
	missing  []Absence // known at the start
	closers  []func() error

	missed   int64 // ticks without a reading; of the loop
	stopping atomic.Bool
	done     chan struct{}
	once     sync.Once
	result   []memtrix.Series
}

// meterState is one meter while it is recorded. The recording belongs to the
// loop until done is closed; the rest may be read at any time.
type meterState struct {
	memtrix.Meter
	rec    recording
	latest atomic.Int64
	has    atomic.Bool // latest is of the last time the source was read
	ever   atomic.Bool
}

// slot is a source in the loop.
type slot struct {
	source Source
	meters []*meterState
	due    time.Duration
	now    time.Duration // of the reading under way
	put    func(i int, v int64)

	mu            sync.Mutex
	err           error         // of the last reading
	lost          bool          // it lacked a meter that there had been
	lostAt        time.Duration // since when
	reads, failed int           // such readings, all in all
}

// Start opens the sources that this machine has and begins to read them. It
// never fails: what is not there is absent. Opening a card can take a second.
func Start(cfg Config) *Sampler {
	s := &Sampler{epoch: cfg.Epoch, interval: cfg.Interval, done: make(chan struct{})}
	if s.interval <= 0 {
		s.interval = Fast
	}
	if s.epoch.IsZero() {
		s.epoch = time.Now()
	}
	s.baseline.Store(cfg.Baseline)
	s.tree = newTree(procRoot(cfg.Proc))
	s.tree.root.Store(int64(cfg.PID))
	s.open(cfg)
	go s.loop()
	return s
}

func (s *Sampler) open(cfg Config) {
	s.add(s.tree.sources()...)
	sources, missing := hostSources(procRoot(cfg.Proc))
	s.add(sources...)
	s.missing = append(s.missing, missing...)
	s.openCard(cfg)
	s.add(cfg.More...)
	s.add(&selfSource{missed: &s.missed})
}

func (s *Sampler) openCard(cfg Config) {
	if cfg.SimCard != "" {
		s.add(&simCard{path: cfg.SimCard})
		return
	}
	card := cfg.Card
	if card == nil {
		env := cfg.Env
		if env == nil {
			env = ownEnv
		}
		c, err := nvidia.Open(env)
		if err != nil {
			s.missing = append(s.missing, absent(err, cardMeters(true)...)...)
			s.missing = append(s.missing, absent(err, cardProcessMeters...)...)
			return
		}
		s.closers = append(s.closers, c.Close)
		card = c
	}
	memory, missing := newCardMemory(card, &s.baseline)
	s.missing = append(s.missing, missing...)
	s.add(memory, newCardProcesses(card, s.tree))
}

func (s *Sampler) add(sources ...Source) {
	for _, src := range sources {
		sl := &slot{source: src}
		for _, m := range src.Meters() {
			state := &meterState{Meter: m, rec: recording{limit: maxChanges}}
			sl.meters = append(sl.meters, state)
			s.meters = append(s.meters, state)
		}
		sl.put = func(i int, v int64) { sl.meters[i].take(sl.now, v) }
		s.slots = append(s.slots, sl)
	}
}

// SetPID names the first process of the tree, for a sampler that was started
// before it.
func (s *Sampler) SetPID(pid int) { s.tree.root.Store(int64(pid)) }

// SetBaseline says how many bytes were used on the card just before the server
// was started; vram.trial.used counts from there.
func (s *Sampler) SetBaseline(used int64) { s.baseline.Store(&used) }

// Stop reads everything a last time and gives the series of all meters that had
// a reading, in a fixed order. It may be called again.
func (s *Sampler) Stop() []memtrix.Series {
	s.once.Do(func() {
		s.stopping.Store(true)
		<-s.done
		for _, m := range s.meters {
			if len(m.rec.t) > 0 {
				s.result = append(s.result, m.rec.series(m.Meter))
			}
		}
		for _, sl := range s.slots {
			sl.source.Close()
		}
		for _, c := range s.closers {
			c()
		}
	})
	return s.result
}

// Absent lists the meters without any reading so far, with the reason of each.
func (s *Sampler) Absent() []Absence {
	list := append([]Absence(nil), s.missing...)
	for _, sl := range s.slots {
		for _, m := range sl.meters {
			if !m.ever.Load() {
				list = append(list, Absence{m.Name, sl.reason()})
			}
		}
	}
	return list
}

// Now gives the newest value of each meter, for progress and readings at rest.
// Meters whose last reading failed are left out.
func (s *Sampler) Now() map[string]int64 {
	values := make(map[string]int64, len(s.meters))
	for _, m := range s.meters {
		if m.has.Load() {
			values[m.Name] = m.latest.Load()
		}
	}
	return values
}

// Warnings says which meters went away or had failed readings after they had
// been read, and which were thinned. Ask after Stop.
func (s *Sampler) Warnings() []string {
	var list []string
	for _, sl := range s.slots {
		list = append(list, sl.warnings()...)
	}
	select {
	case <-s.done:
	default:
		return list
	}
	for _, m := range s.meters {
		if m.rec.thinned > 0 {
			list = append(list, fmt.Sprintf("%s: too many changes to keep; every second one was dropped %d times (peaks are exact)", m.Name, m.rec.thinned))
		}
	}
	return list
}

// loop runs until Stop. Ticks are at fixed times from the first one, so that a
// late tick does not move those after it; ticks that passed while a reading was
// stuck are counted as missed and not made up for.
func (s *Sampler) loop() {
	defer close(s.done)
	runtime.LockOSThread() // not unlocked: the thread ends with the goroutine
	next := s.now()
	for !s.stopping.Load() {
		s.tick(false)
		next += s.interval
		if late := s.now() - next; late >= s.interval {
			skip := late / s.interval
			s.missed += int64(skip)
			next += skip * s.interval
		}
		s.wait(next)
	}
	s.tick(true)
}

// maxSleep bounds how long Stop waits under a long interval.
const maxSleep = 20 * time.Millisecond

func (s *Sampler) wait(until time.Duration) {
	for d := until - s.now(); d > 0 && !s.stopping.Load(); d = until - s.now() {
		sleep(min(d, maxSleep))
	}
}

func (s *Sampler) now() time.Duration { return time.Since(s.epoch) }

// tick reads the sources that are due, or all of them.
func (s *Sampler) tick(all bool) {
	for _, sl := range s.slots {
		// The clock is read for each source: one before may have blocked.
		if now := s.now(); all || now >= sl.due {
			sl.read(now)
		}
	}
}

func (sl *slot) read(now time.Duration) {
	sl.now = now
	for _, m := range sl.meters {
		m.rec.fresh = false
	}
	err := sl.source.Read(now, sl.put)
	lost := false
	for _, m := range sl.meters {
		if !m.rec.fresh {
			m.has.Store(false)
			lost = lost || m.ever.Load()
		}
	}
	sl.note(now, err, lost)
	if every := sl.source.Every(); every > 0 {
		sl.due += every
		if sl.due <= now {
			sl.due = now + every
		}
	}
}

func (m *meterState) take(now time.Duration, v int64) {
	m.rec.add(now, v)
	m.latest.Store(v)
	m.has.Store(true)
	m.ever.Store(true)
}

func (sl *slot) note(now time.Duration, err error, lost bool) {
	sl.mu.Lock()
	defer sl.mu.Unlock()
	if lost && !sl.lost {
		sl.lostAt = now
	}
	sl.reads++
	if lost {
		sl.failed++
	}
	sl.err, sl.lost = err, lost
}

func (sl *slot) reason() string {
	sl.mu.Lock()
	defer sl.mu.Unlock()
	if sl.err == nil {
		return "no reading was taken"
	}
	return sl.err.Error()
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
	if len(list) == 0 && sl.failed*50 > sl.reads {
		list = append(list, fmt.Sprintf("%s: %d readings failed", sl.meters[0].Name, sl.failed))
	}
	return list
}
