package recorders

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"memtrix"
	"memtrix/recorders/nvidia"
)

// script is a source that does what a test says.
type script struct {
	every time.Duration
	read  func(n int, put func(int, int64)) error
	n     int
	times []time.Duration
	shut  atomic.Int32
}

func (s *script) Meters() []memtrix.Meter {
	return []memtrix.Meter{{Name: "test.a"}, {Name: "test.b"}}
}
func (s *script) Every() time.Duration { return s.every }
func (s *script) Read(now time.Duration, put func(int, int64)) error {
	s.times = append(s.times, now)
	s.n++
	return s.read(s.n, put)
}
func (s *script) Close() error { s.shut.Add(1); return nil }

func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("%s did not come about", what)
}

func one(all []memtrix.Series, meter string) (memtrix.Series, bool) {
	for _, s := range all {
		if s.Meter.Name == meter {
			return s, true
		}
	}
	return memtrix.Series{}, false
}

func reasons(s *Sampler) map[string]string {
	m := map[string]string{}
	for _, a := range s.Absent() {
		m[a.Meter] = a.Reason
	}
	return m
}

// While a reading is stuck, ticks pass: they are counted and not made up for.
func TestSamplerCountsMissedTicks(t *testing.T) {
	src := &script{read: func(n int, put func(int, int64)) error {
		if n == 3 {
			time.Sleep(105 * time.Millisecond)
		}
		put(0, int64(n))
		return nil
	}}
	const every = 10 * time.Millisecond
	s := Start(Config{Epoch: time.Now(), Interval: every, Env: hidden, More: []Source{src}})
	waitFor(t, "the tenth reading", func() bool { return s.Now()["test.a"] >= 10 })
	all := s.Stop()
	missed, _ := one(all, memtrix.RecorderMissed)
	if got := missed.V[len(missed.V)-1]; got < 9 {
		t.Errorf("missed: want 9 or more of the 10 ticks in 105 ms, got %d", got)
	}
	// Ticks are at fixed times. A reading may be late by any time, the next one then
	// comes at once if its tick is not a whole interval ago, and the one after that when
	// it is due: however busy the machine, n readings take n-2 intervals at least.
	for i := range 10 {
		for j := i + 3; j < 10; j++ {
			if took := src.times[j] - src.times[i]; took <= time.Duration(j-i-2)*every {
				t.Errorf("readings %d to %d within %v: ticks were made up for: %v", i+1, j+1, took, src.times[:10])
			}
		}
	}
}

// A meter without values is absent with the reason; one that goes away is told of.
func TestSamplerAbsentAndWarnings(t *testing.T) {
	gone := errors.New("fell off the bus")
	src := &script{read: func(n int, put func(int, int64)) error {
		if n <= 3 {
			put(0, 7)
			return errors.New("b is hidden")
		}
		return gone
	}}
	s := Start(Config{Epoch: time.Now(), Interval: time.Millisecond, Env: hidden, More: []Source{src}})
	waitFor(t, "its going away", func() bool { _, ok := s.Now()["test.a"]; return !ok && reasons(s)["test.b"] == gone.Error() })
	all := s.Stop()
	a, ok := one(all, "test.a")
	if !ok || a.T[len(a.T)-1] != src.times[2] {
		t.Errorf("test.a: want its last point at %v, got %v %v", src.times[2], a.T, ok)
	}
	if _, ok := one(all, "test.b"); ok {
		t.Error("test.b has a series without a value")
	}
	if w := strings.Join(s.Warnings(), "\n"); !strings.Contains(w, "test.a went away") || !strings.Contains(w, gone.Error()) {
		t.Errorf("warnings: %q", w)
	}
	if src.shut.Load() != 1 {
		t.Errorf("closed %d times", src.shut.Load())
	}
	s.Stop()
	if src.shut.Load() != 1 {
		t.Error("closed again by the second Stop")
	}
	if _, ok := reasons(s)["test.a"]; ok {
		t.Error("test.a had values and is called absent")
	}
}

// One that fails once and comes back is told of as such, where that is more than one
// reading in fifty: after the third there is only Stop's.
func TestSamplerFailedReadings(t *testing.T) {
	src := &script{}
	src.read = func(n int, put func(int, int64)) error {
		switch n {
		case 2:
			return errors.New("once")
		case 3:
			src.every = time.Hour
		}
		put(0, int64(n))
		put(1, 1)
		return nil
	}
	s := Start(Config{Epoch: time.Now(), Interval: time.Millisecond, Env: hidden, More: []Source{src}})
	waitFor(t, "the third reading", func() bool { return s.Now()["test.a"] >= 3 })
	s.Stop()
	if w := s.Warnings(); len(w) != 1 || w[0] != "test.a: 1 readings failed" {
		t.Errorf("warnings: %q", w)
	}
}

// Each source has its own rate, and Stop reads all of them a last time.
func TestSamplerRates(t *testing.T) {
	fast := &script{read: func(n int, put func(int, int64)) error { put(0, int64(n)); return nil }}
	slow := &script{every: 50 * time.Millisecond, read: func(n int, put func(int, int64)) error { put(1, int64(n)); return nil }}
	s := Start(Config{Epoch: time.Now(), Interval: 5 * time.Millisecond, Env: hidden, More: []Source{fast, slow}})
	waitFor(t, "forty readings", func() bool { return s.Now()["test.a"] >= 40 })
	before := time.Since(s.epoch)
	s.Stop()
	// A busy machine misses ticks of both, and never reads the slow one more often than
	// it is due: a late reading moves none after it. The last one is Stop's.
	const every = 50 * time.Millisecond
	for i := 2; i < slow.n-1; i++ {
		if slow.times[i]-slow.times[i-2] < every {
			t.Errorf("three readings of the slow one within %v: %v", every, slow.times)
		}
	}
	if due := int((slow.times[slow.n-1] - slow.times[0]) / every); slow.n < 3 || slow.n > due+3 || fast.n < slow.n {
		t.Errorf("want %d readings of the slow one or so beside %d of the fast one, got %d", due, fast.n, slow.n)
	}
	for _, src := range []*script{fast, slow} {
		if last := src.times[len(src.times)-1]; last < before {
			t.Errorf("last reading at %v, before Stop at %v", last, before)
		}
	}
}

// hidden is the environment of a program that is to see no card.
func hidden(name string) (string, bool) { return "-1", name == "CUDA_VISIBLE_DEVICES" }

// Where there is no card every meter of it is absent, and nothing else is hurt.
func TestSamplerWithoutCard(t *testing.T) {
	s := Start(Config{Epoch: time.Now(), Env: hidden})
	waitFor(t, "a reading", func() bool { _, ok := s.Now()[memtrix.RecorderMissed]; return ok })
	s.Stop()
	why := reasons(s)
	for _, m := range []string{
		memtrix.VRAMDeviceUsed, memtrix.VRAMDeviceFree, memtrix.VRAMDeviceReserved,
		memtrix.VRAMTrialUsed, memtrix.VRAMTreeUsed, memtrix.VRAMOthersUsed,
	} {
		if !strings.Contains(why[m], "no NVIDIA card: ") {
			t.Errorf("%s: want a reason, got %q", m, why[m])
		}
	}
}

func writeCard(t *testing.T, path string, values ...int64) {
	t.Helper()
	var data []byte
	for _, v := range values {
		data = binary.LittleEndian.AppendUint64(data, uint64(v))
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// A simulated card appears when its file does, and is never taken for a real one.
func TestSimCard(t *testing.T) {
	path := filepath.Join(t.TempDir(), memtrix.SimCardFile)
	s := Start(Config{Epoch: time.Now(), Interval: time.Millisecond, SimCard: path})
	defer s.Stop()
	waitFor(t, "the reason", func() bool { return strings.Contains(reasons(s)[memtrix.VRAMDeviceUsed], "shown no card") })
	writeCard(t, path, 8000) // half written
	waitFor(t, "the other reason", func() bool { return strings.Contains(reasons(s)[memtrix.VRAMDeviceUsed], "not complete") })
	writeCard(t, path, 8000, 3000, 500)
	waitFor(t, "the card", func() bool { return s.Now()[memtrix.VRAMDeviceUsed] == 3000 })
	now := s.Now()
	for meter, want := range map[string]int64{
		memtrix.VRAMDeviceFree: 4500, memtrix.VRAMDeviceReserved: 500, memtrix.VRAMTrialUsed: 3000,
	} {
		if now[meter] != want {
			t.Errorf("%s: want %d, got %d", meter, want, now[meter])
		}
	}
	for _, se := range s.Stop() {
		if vram := strings.HasPrefix(se.Meter.Name, "vram."); vram != se.Meter.Simulated {
			t.Errorf("%s: simulated is %v", se.Meter.Name, se.Meter.Simulated)
		}
	}
}

// fakeCard answers as NVML did on some machine.
type fakeCard struct {
	memory func() (nvidia.Memory, error)
	list   func() ([]nvidia.Process, error)
}

func (c *fakeCard) Memory() (nvidia.Memory, error) { return c.memory() }
func (c *fakeCard) Processes(buf []nvidia.Process) ([]nvidia.Process, error) {
	list, err := c.list()
	return append(buf, list...), err
}

const gib = 1 << 30

func memoryOf(used int64) func() (nvidia.Memory, error) {
	return func() (nvidia.Memory, error) {
		return nvidia.Memory{Total: 140 * gib, Used: used, Free: 140*gib - used - gib/2, Reserved: gib / 2, Apart: true}, nil
	}
}

// Of the card's used memory the trial has what came on top of the baseline.
func TestTrialUsed(t *testing.T) {
	var used atomic.Int64
	used.Store(127 * gib) // a ballast
	card := &fakeCard{
		memory: func() (nvidia.Memory, error) { return memoryOf(used.Load())() },
		list:   func() ([]nvidia.Process, error) { return nil, nil },
	}
	s := Start(Config{Epoch: time.Now(), Interval: time.Millisecond, Card: card})
	waitFor(t, "the reason", func() bool { return reasons(s)[memtrix.VRAMTrialUsed] == errNoBaseline.Error() })
	s.SetBaseline(127 * gib)
	waitFor(t, "the first value", func() bool { v, ok := s.Now()[memtrix.VRAMTrialUsed]; return ok && v == 0 })
	used.Store(134 * gib)
	waitFor(t, "the trial's memory", func() bool { return s.Now()[memtrix.VRAMTrialUsed] == 7*gib })
	s.Stop()
	why := reasons(s)
	for _, m := range []string{memtrix.VRAMTreeUsed, memtrix.VRAMOthersUsed} {
		if why[m] != errHiddenProcesses.Error() {
			t.Errorf("%s: want the driver's silence as reason, got %q", m, why[m])
		}
	}
	if w := s.Warnings(); len(w) != 0 {
		t.Errorf("nothing was lost, but: %q", w)
	}
}

// Drivers before 510: used includes what is reserved, and the source says so.
func TestOldDriver(t *testing.T) {
	card := &fakeCard{
		memory: func() (nvidia.Memory, error) {
			return nvidia.Memory{Total: 10 * gib, Used: 2 * gib, Free: 8 * gib}, nil
		},
		list: func() ([]nvidia.Process, error) { return nil, nil },
	}
	base := int64(gib)
	s := Start(Config{Epoch: time.Now(), Card: card, Baseline: &base})
	waitFor(t, "a reading", func() bool { return s.Now()[memtrix.VRAMTrialUsed] == gib })
	used, _ := one(s.Stop(), memtrix.VRAMDeviceUsed)
	if !strings.Contains(used.Meter.Source, "v1 (includes") {
		t.Errorf("source: %q", used.Meter.Source)
	}
	if why := reasons(s)[memtrix.VRAMDeviceReserved]; !strings.Contains(why, "510") {
		t.Errorf("reserved: %q", why)
	}
}

// What the driver says of processes, and what may be believed of it.
func TestCardProcesses(t *testing.T) {
	me := os.Getpid()
	const nobody = 1 << 22 // above pid_max
	known := func(pid int, used int64) nvidia.Process { return nvidia.Process{PID: pid, Used: used, Known: true} }
	tr := newTree("/proc")
	tr.root.Store(int64(me))
	if f, ok := any(tr).(interface{ follow() error }); ok {
		if err := f.follow(); err != nil {
			t.Fatal(err)
		}
	}
	check := func(name string, used int64, list []nvidia.Process, listErr error, wantTree, wantOthers int64, want error) {
		t.Helper()
		card := &fakeCard{memory: memoryOf(used), list: func() ([]nvidia.Process, error) { return list, listErr }}
		got := map[int]int64{}
		err := newCardProcesses(card, tr, new(atomic.Bool)).Read(0, func(i int, v int64) { got[i] = v })
		if !errors.Is(err, want) {
			t.Errorf("%s: want error %v, got %v", name, want, err)
		}
		if err == nil && (got[0] != wantTree || got[1] != wantOthers || len(got) != 2) {
			t.Errorf("%s: want %d and %d, got %v", name, wantTree, wantOthers, got)
		}
		if err != nil && len(got) != 0 {
			t.Errorf("%s: values beside an error: %v", name, got)
		}
	}
	lost := errors.New("lost")
	check("empty card", 0, nil, nil, 0, 0, nil)
	check("hidden names", 5*gib, nil, nil, 0, 0, errHiddenProcesses)
	check("two", 5*gib, []nvidia.Process{known(me, 3*gib), known(1, gib)}, nil, 3*gib, gib, nil)
	check("hidden bytes", 5*gib, []nvidia.Process{{PID: me}}, nil, 0, 0, errHiddenBytes)
	check("another namespace", 5*gib, []nvidia.Process{known(nobody, 3*gib)}, nil, 0, 0, errForeignPIDs)
	check("failure", 5*gib, nil, lost, 0, 0, lost)
}

// A list that was told once and is empty now means that they have ended, not
// that they are hidden.
func TestCardProcessesEnd(t *testing.T) {
	list := []nvidia.Process{{PID: os.Getpid(), Used: gib, Known: true}}
	card := &fakeCard{memory: memoryOf(gib), list: func() ([]nvidia.Process, error) { return list, nil }}
	src := newCardProcesses(card, newTree("/proc"), new(atomic.Bool))
	for _, want := range []int64{gib, 0} {
		if err := src.Read(0, func(i int, v int64) {
			if i == 1 && v != want {
				t.Errorf("others: want %d, got %d", want, v)
			}
		}); err != nil {
			t.Errorf("want no error, got %v", err)
		}
		list = nil
	}
}

// A driver on which the call is slow is asked seldom; one slow call is forgiven.
func TestCardProcessesSlowsDown(t *testing.T) {
	var delay time.Duration
	card := &fakeCard{memory: memoryOf(0), list: func() ([]nvidia.Process, error) { time.Sleep(delay); return nil, nil }}
	src := newCardProcesses(card, newTree("/proc"), new(atomic.Bool))
	put := func(int, int64) {}
	delay = 5 * time.Millisecond
	src.Read(0, put)
	if got := src.Every(); got != Slow {
		t.Errorf("after one slow call: want %v, got %v", Slow, got)
	}
	src.Read(0, put)
	if got := src.Every(); got < time.Second {
		t.Errorf("after two: want 1 s or more, got %v", got)
	}
}

// An epoch that lies before the start is kept: all rooms share one clock.
func TestSamplerUsesTheTrialsClock(t *testing.T) {
	s := Start(Config{Epoch: time.Now().Add(-time.Hour), Env: hidden})
	waitFor(t, "a reading", func() bool { _, ok := s.Now()[memtrix.RecorderMissed]; return ok })
	for _, se := range s.Stop() {
		if se.T[0] < time.Hour || se.T[0] > time.Hour+time.Minute {
			t.Errorf("%s: first reading at %v", se.Meter.Name, se.T[0])
		}
	}
}
