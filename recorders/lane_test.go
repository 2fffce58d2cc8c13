package recorders

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"memtrix"
	"memtrix/recorders/nvidia"
)

// A card that is stuck in its driver holds up nothing else.
func TestStuckCardDoesNotStopTheRest(t *testing.T) {
	stuck := make(chan struct{})
	var once atomic.Bool
	card := &fakeCard{
		memory: func() (nvidia.Memory, error) {
			if once.Swap(true) {
				<-stuck
			}
			return memoryOf(gib)()
		},
		list: func() ([]nvidia.Process, error) { <-stuck; return nil, nil },
	}
	n := &script{read: func(n int, put func(int, int64)) error { put(0, int64(n)); put(1, 1); return nil }}
	s := Start(Config{Interval: time.Millisecond, Card: card, More: []Source{n}})
	waitFor(t, "twenty readings", func() bool { return s.Now()["test.a"] >= 20 })
	if _, ok := s.Now()[memtrix.VRAMDeviceUsed]; ok {
		t.Error("the card was not stuck")
	}
	time.Sleep(20 * time.Millisecond)
	close(stuck)
	waitFor(t, "the card's return", func() bool { return s.Now()[memtrix.VRAMDeviceUsed] == gib })
	s.Stop()
	threads := s.Threads()
	if threads[0].Name != laneCard || threads[0].Missed < 10 {
		t.Errorf("want ten missed ticks or more of the card's thread first, got %+v", threads)
	}
	if i := slices.IndexFunc(threads, func(th Thread) bool { return th.Name == laneProcess }); i < 0 || threads[i].Samples < 20 {
		t.Errorf("the other thread: %+v", threads)
	}
}

// What the card's thread does with a reading takes no memory.
func TestCardReadingAllocatesNothing(t *testing.T) {
	used := int64(0)
	card := &fakeCard{memory: func() (nvidia.Memory, error) {
		used++
		return nvidia.Memory{Total: 140 * gib, Used: used, Free: gib - used, Apart: true}, nil
	}}
	var baseline atomic.Pointer[int64]
	baseline.Store(new(int64))
	memory, _ := newCardMemory(card, &baseline)
	l := &lane{name: laneCard, interval: FastCard, ring: newRing(ringSize)}
	sl := newSlot(l, "card", memory)
	now := time.Duration(0)
	if n := testing.AllocsPerRun(1000, func() { now += FastCard; sl.read(now) }); n != 0 {
		t.Errorf("a reading allocates %v times", n)
	}
	l.ring.drain()
	if n := len(sl.meters[cardUsed].rec.v); n != 1001 {
		t.Errorf("want 1001 changes, got %d", n)
	}
}

// What does not fit into the ring is counted, and the newest value comes later.
func TestRingOverflow(t *testing.T) {
	l := &lane{name: laneCard, interval: FastCard, ring: newRing(4)}
	src := &script{read: func(n int, put func(int, int64)) error { put(0, int64(min(n, 6))); return nil }}
	sl := newSlot(l, "card", src)
	for i := range 6 {
		sl.read(time.Duration(i) * FastCard)
	}
	if got := l.lost.Load(); got != 2 {
		t.Errorf("want 2 lost, got %d", got)
	}
	l.ring.drain()
	sl.read(6 * FastCard)
	l.ring.drain()
	if want, got := []int64{1, 2, 3, 4, 6}, sl.meters[0].rec.v; !slices.Equal(got, want) {
		t.Errorf("want %v, got %v", want, got)
	}
	if m := sl.meters[0]; m.seen != 6*FastCard || m.latest.Load() != 6 {
		t.Errorf("newest: %v at %v", m.latest.Load(), m.seen)
	}
}

// Readings of one tick share their moment, unless one of them took long.
func TestSharedMoments(t *testing.T) {
	now := time.Duration(0)
	l := &lane{now: func() time.Duration { now += 50 * time.Microsecond; return now }}
	put := func(_ int, put func(int, int64)) error { put(0, 1); return nil }
	quick, slow, last := &script{read: put}, &script{read: put}, &script{read: put}
	slow.read = func(_ int, put func(int, int64)) error { now += time.Millisecond; return nil }
	for _, src := range []*script{quick, slow, last} {
		l.slots = append(l.slots, newSlot(l, "test", src))
	}
	l.tick(false)
	if quick.times[0] != slow.times[0] || last.times[0] < quick.times[0]+time.Millisecond {
		t.Errorf("moments: %v %v %v", quick.times, slow.times, last.times)
	}
}

func TestAffordable(t *testing.T) {
	for _, tc := range []struct{ cost, want time.Duration }{
		{0, Seldom},
		{time.Millisecond, Seldom},
		{5 * time.Millisecond, 5 * time.Second},
		{time.Minute, time.Minute},
	} {
		if got := affordable(tc.cost, Seldom, time.Minute); got != tc.want {
			t.Errorf("%v: want %v, got %v", tc.cost, tc.want, got)
		}
	}
}

func TestKernelPeaksIn(t *testing.T) {
	list := []KernelPeak{
		{"a", 0, 10, 100}, {"a", 20, 30, 300}, {"b", 22, 30, 7}, {"a", 28, 34, 200},
	}
	check := func(from, to time.Duration, want ...memtrix.Peak) {
		t.Helper()
		if got := KernelPeaksIn(list, from, to); !slices.Equal(got, want) {
			t.Errorf("%v to %v: want %v, got %v", from, to, want, got)
		}
	}
	a := func(v int64, at time.Duration) memtrix.Peak {
		return memtrix.Peak{Meter: "a", Value: v, How: memtrix.PeakKernel, At: at}
	}
	check(0, 5)
	check(0, 6, a(100, 10))
	check(25, 40, a(300, 30), memtrix.Peak{Meter: "b", Value: 7, How: memtrix.PeakKernel, At: 30})
	check(30, 40, a(200, 34)) // the middle counts
}

// A list that is full keeps the largest.
func TestMarksAreBounded(t *testing.T) {
	var m marks
	for i := range 3 * maxMarks {
		v := int64(i % 100)
		if i == 777 {
			v = 1000
		}
		m.add(KernelPeak{"a", 0, 1, v})
	}
	list := m.all()
	if p := KernelPeaksIn(list, 0, 1); len(list) > maxMarks || p[0].Value != 1000 {
		t.Errorf("%d kept, the largest %v", len(list), p)
	}
}

// Every spike that lasts for a reading is in the series; at 1 kHz one of 2 ms has
// two. (Whether a busy machine reads in time is for TestGPUSpikes on a real one.)
func TestSpikesOfTwoMilliseconds(t *testing.T) {
	type moment struct {
		at   time.Time
		used int64
	}
	var used atomic.Int64
	var asked []moment // by the card's thread alone, until Stop
	card := &fakeCard{
		memory: func() (nvidia.Memory, error) {
			u := used.Load()
			asked = append(asked, moment{time.Now(), u})
			return memoryOf(gib + u)()
		},
		list: func() ([]nvidia.Process, error) { return []nvidia.Process{{PID: 1, Used: 1, Known: true}}, nil },
	}
	s := Start(Config{Epoch: time.Now(), Card: card, Env: hidden})
	type spike struct{ from, to time.Time }
	var spikes []spike
	for range 100 {
		time.Sleep(time.Duration(2+len(spikes)%5) * time.Millisecond)
		from := time.Now()
		used.Store(2 * gib)
		time.Sleep(2 * time.Millisecond) // a loop would keep the thread from the only processor
		used.Store(0)
		spikes = append(spikes, spike{from, time.Now()})
	}
	series, _ := one(s.Stop(), memtrix.VRAMDeviceUsed)
	read, seen := 0, 0
	for _, sp := range spikes {
		inside := slices.ContainsFunc(asked, func(m moment) bool {
			return m.used > 0 && m.at.After(sp.from) && m.at.Before(sp.to)
		})
		if !inside {
			continue
		}
		read++
		from, to := sp.from.Sub(s.epoch)-time.Millisecond, sp.to.Sub(s.epoch)+time.Millisecond
		if p, ok := PeakIn(series, from, to); ok && p.Value == 3*gib {
			seen++
		}
	}
	t.Logf("%d of 100 spikes of 2 ms were read, %d are in the series", read, seen)
	if seen != read || read == 0 {
		t.Errorf("%d spikes were read and %d are in the series", read, seen)
	}
}
