package recorders

import (
	"cmp"
	"fmt"
	"slices"
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
	// Interval at which processes are read; 0 means Fast (20 ms), and more than a
	// second means a second.
	Interval time.Duration
	// CardInterval is that of the cards' memory; 0 means FastCard (1 ms), or
	// Interval where that is shorter.
	CardInterval time.Duration
	// CalmInterval is that of the cards' memory while nothing works (see Busy);
	// 0 means CardInterval at all times.
	CalmInterval time.Duration
	// PID is the first process of the tree; 0 where it is not started yet, see
	// SetPID.
	PID int
	// SimCard is the file of a simulated card (memtrix.SimCardFile in the trial's
	// folder). It need not exist yet. When it is set no real card is read.
	SimCard string
	// Card is the card to read; nil opens the one that a CUDA program with the
	// environment Env would use first.
	Card Card
	// Others are further cards whose memory is read beside the first one's.
	Others []NamedCard
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

// Sampler reads meters until it is stopped.
type Sampler struct {
	epoch    time.Time
	tree     *tree
	baseline atomic.Pointer[int64]
	lanes    []*lane
	process  *lane // reads the tree
	memory   *slot // the tree's
	slots    []*slot
	meters   []*meterState
	missing  []Absence     // known at the start
	watching *nvidia.Watch // that knows of calm times; nil without one
	closers  []func() error

	calm     atomic.Bool // see Busy; false where that changes nothing
	stopping atomic.Bool
	stop     chan struct{}
	running  sync.WaitGroup
	done     chan struct{}
	once     sync.Once
	result   []memtrix.Series
}

// Start opens the sources that this machine has and begins to read them. It
// never fails: what is not there is absent. Opening a card can take a second.
func Start(cfg Config) *Sampler {
	s := &Sampler{epoch: cfg.Epoch, stop: make(chan struct{}), done: make(chan struct{})}
	cfg.Interval = min(cmp.Or(max(cfg.Interval, 0), Fast), Seldom)
	cfg.CardInterval = cmp.Or(max(cfg.CardInterval, 0), min(cfg.Interval, FastCard))
	if s.epoch.IsZero() {
		s.epoch = time.Now()
	}
	s.baseline.Store(cfg.Baseline)
	s.tree = newTree(procRoot(cfg.Proc))
	s.tree.root.Store(int64(cfg.PID))
	s.open(cfg)
	for _, l := range s.lanes {
		s.start(l)
	}
	return s
}

// start starts a lane that has something to read.
func (s *Sampler) start(l *lane) {
	switch {
	case len(l.slots) == 0:
	case l.watching != nil:
		s.running.Go(l.runWatch)
	default:
		s.running.Go(l.run)
	}
}

func (s *Sampler) open(cfg Config) {
	process := s.lane(laneProcess, cfg.Interval)
	s.process = process
	s.memory = s.add(process, "tree", s.tree.memory())
	s.add(process, "tree.parts", s.tree.parts())
	s.add(process, "tree.exits", s.tree.exits())
	slices.Reverse(process.slots) // in which they want to be read
	s.add(process, "tree.counters", s.tree.counters())
	sources, missing := hostSources(procRoot(cfg.Proc))
	for _, src := range sources {
		s.add(process, src.name, src.Source)
	}
	s.missing = append(s.missing, missing...)
	s.add(process, "cgroup", s.tree.cgroup())
	s.add(process, "cgroup.events", s.tree.cgroupEvents())
	s.openCards(cfg, process)
	s.add(s.lane(laneMaps, Seldom), "maps", s.tree.maps())
	for _, src := range cfg.More {
		s.add(process, "more", src)
	}
	s.add(process, "self", newSelf(s))
}

func (s *Sampler) lane(name string, interval time.Duration) *lane {
	l := &lane{name: name, interval: interval, now: s.now, stopping: &s.stopping, stop: s.stop}
	s.lanes = append(s.lanes, l)
	return l
}

// openCards gives the cards a thread of their own, and another one to the calls
// that can block in the driver.
func (s *Sampler) openCards(cfg Config, process *lane) {
	fast, driver := s.lane(laneCard, cfg.CardInterval), s.lane(laneDriver, Slow)
	if cfg.SimCard != "" {
		s.add(fast, "card", &simCard{path: cfg.SimCard})
	} else if card, err := s.firstCard(cfg); err != nil {
		s.missing = append(s.missing, absent(err, cardMeters(true)...)...)
		s.missing = append(s.missing, absent(err, cardProcessMeters...)...)
		s.missing = append(s.missing, absent(err, loadMeters...)...)
		return
	} else {
		s.addCard(fast, driver, card)
	}
	for _, other := range cfg.Others {
		s.add(fast, "card."+other.Name, newOtherCard(other))
	}
	fast.decouple()
	if check := newCardCheck(fast); check != nil {
		s.add(driver, "card.check", check)
	}
	if fast.watching != nil && cfg.CalmInterval > cfg.CardInterval {
		fast.watching.Calm(cfg.CalmInterval)
		s.watching = fast.watching
		s.calm.Store(true)
	}
	s.add(process, "store", &drain{fast})
}

func (s *Sampler) addCard(fast, driver *lane, card Card) {
	memory, missing := newCardMemory(card, &s.baseline)
	s.missing = append(s.missing, missing...)
	s.add(fast, "card", memory)
	s.add(driver, "card.processes", newCardProcesses(card, s.tree, &s.calm))
	s.add(driver, "card.load", newCardLoad(card))
	s.add(driver, "card.pcie", newCardTraffic(card))
}

func (s *Sampler) firstCard(cfg Config) (Card, error) {
	if cfg.Card != nil {
		return cfg.Card, nil
	}
	card, closeCard, err := OpenCard(cfg.Env)
	if err != nil {
		return nil, err
	}
	s.closers = append(s.closers, closeCard)
	return card, nil
}

func (s *Sampler) add(l *lane, name string, src Source) *slot {
	sl := newSlot(l, name, src)
	l.slots = append(l.slots, sl)
	s.slots = append(s.slots, sl)
	s.meters = append(s.meters, sl.meters...)
	return sl
}

// SetPID names the first process of the tree, for a sampler that was started
// before it.
func (s *Sampler) SetPID(pid int) { s.tree.root.Store(int64(pid)) }

// SetBaseline says how many bytes were used on the card just before the server
// was started; vram.trial.used counts from there.
func (s *Sampler) SetBaseline(used int64) { s.baseline.Store(&used) }

// Busy says whether the observed program works now. While it does not (it starts,
// it rests), a real card is read at Config.CalmInterval, and more seldom while
// calls have to wait for the driver, as they do while CUDA is initialised. Without
// a CalmInterval it changes nothing. It may be called until Stop.
func (s *Sampler) Busy(busy bool) {
	if s.watching != nil {
		s.calm.Store(!busy)
		s.watching.Busy(busy)
	}
}

// Stop reads everything a last time and gives the series of all meters that had
// a reading, in a fixed order. It may be called again.
func (s *Sampler) Stop() []memtrix.Series {
	s.once.Do(func() {
		s.stopping.Store(true)
		close(s.stop)
		for _, l := range s.lanes {
			if l.watching != nil {
				l.watching.Stop()
			}
		}
		s.running.Wait()
		s.process.mu.Lock() // of Boundary
		defer s.process.mu.Unlock()
		for _, l := range s.lanes {
			l.close()
		}
		for _, m := range s.meters {
			if m.any {
				m.rec.last = max(m.rec.last, m.seen)
				s.result = append(s.result, m.rec.series(m.Meter))
			}
		}
		close(s.done)
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
				list = append(list, sl.absence(m))
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
	for _, l := range s.lanes {
		if n := l.lost.Load(); n > 0 {
			list = append(list, fmt.Sprintf("%d readings of the %s thread were not kept: the thread that stores them stood still too long", n, l.name))
		}
	}
	for _, m := range s.meters {
		if m.rec.thinned > 0 {
			list = append(list, fmt.Sprintf("%s: too many changes to keep; every second one was dropped %d times (peaks are exact)", m.Name, m.rec.thinned))
		}
	}
	return list
}

// now is the trial's clock, in whole microseconds: finer ones cost bytes in the
// store and mean nothing.
func (s *Sampler) now() time.Duration { return time.Since(s.epoch).Truncate(time.Microsecond) }
