package recorders

import (
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"memtrix/recorders/nvidia"
)

// testSources are all sources on a process, by name.
func testSources(pid int, card Card) (*tree, []namedSource) {
	tr := newTree("/proc")
	tr.root.Store(int64(pid))
	all, _ := hostSources("/proc")
	all = append(all,
		namedSource{"tree.exits", tr.exits()}, namedSource{"tree.parts", tr.parts()},
		namedSource{"tree", tr.memory()}, namedSource{"tree.counters", tr.counters()},
		namedSource{"cgroup", tr.cgroup()}, namedSource{"cgroup.events", tr.cgroupEvents()}, namedSource{"maps", tr.maps()})
	if card != nil {
		var baseline atomic.Pointer[int64]
		memory, _ := newCardMemory(card, &baseline)
		all = append(all, namedSource{"card", memory}, namedSource{"card.processes", newCardProcesses(card, tr, new(atomic.Bool))},
			namedSource{"card.load", newCardLoad(card)}, namedSource{"card.pcie", newCardTraffic(card)})
	}
	return tr, all
}

// What one reading of each source costs. The card is a fake: add 5 us for a
// call of NVML.
func BenchmarkSource(b *testing.B) {
	card := &fakeCard{memory: memoryOf(gib), list: func() ([]nvidia.Process, error) { return nil, nil }}
	_, all := testSources(unix.Getpid(), card)
	benchSources(b, all)
}

func benchSources(b *testing.B, all []namedSource) {
	var now time.Duration
	put := func(int, int64) {}
	for _, src := range all {
		b.Run(src.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				now += Fast
				src.Read(now, put)
			}
		})
	}
}

// The cost of recording, as processor time of the whole program per second of
// wall time, beside that of threads which only wake up at the same rates.
func BenchmarkEmptyLoop(b *testing.B) {
	b.Run("20ms", func(b *testing.B) {
		measureCPU(b, func(stop <-chan struct{}) { EmptyLoop(stop, Fast, false) })
	})
	b.Run("1ms", func(b *testing.B) {
		measureCPU(b, func(stop <-chan struct{}) { EmptyLoop(stop, FastCard, false) })
	})
	b.Run("1ms-in-C", func(b *testing.B) {
		measureCPU(b, func(stop <-chan struct{}) { EmptyLoop(stop, FastCard, true) })
	})
	b.Run("1ms+20ms", func(b *testing.B) {
		measureCPU(b, func(stop <-chan struct{}) { emptyLoops(stop, false) })
	})
	b.Run("1ms-in-C+20ms", func(b *testing.B) {
		measureCPU(b, func(stop <-chan struct{}) { emptyLoops(stop, true) })
	})
}

// emptyLoops wakes the two threads that a sampler wakes often, and gives their
// processor time.
func emptyLoops(stop <-chan struct{}, c bool) (cpu time.Duration) {
	var w sync.WaitGroup
	var card, process time.Duration
	w.Go(func() { card = EmptyLoop(stop, FastCard, c) })
	w.Go(func() { process = EmptyLoop(stop, Fast, false) })
	w.Wait()
	return card + process
}

// BenchmarkSampler is to be held against BenchmarkEmptyLoop: 1ms+20ms is the
// sampler as it is used, with a card that answers at once.
func BenchmarkSampler(b *testing.B) {
	used := atomic.Int64{}
	card := &fakeCard{
		memory: func() (nvidia.Memory, error) { return memoryOf(used.Add(1 << 21))() }, // changes at each reading
		list:   func() ([]nvidia.Process, error) { return nil, nil },
	}
	for name, cfg := range map[string]Config{
		"20ms":     {Env: hidden},
		"1ms+20ms": {Card: card},
		"1ms+1ms":  {Card: card, Interval: time.Millisecond},
	} {
		b.Run(name, func(b *testing.B) {
			cfg.PID = unix.Getpid()
			s := Start(cfg)
			time.Sleep(100 * time.Millisecond)
			measureCPU(b, func(stop <-chan struct{}) { <-stop })
			reportThreads(b, s)
		})
	}
}

// reportThreads stops a sampler and reports what its threads and sources took.
func reportThreads(b *testing.B, s *Sampler) {
	s.Stop()
	var own time.Duration
	for _, th := range s.Threads() {
		own += th.CPU
		b.ReportMetric(float64(th.Missed), th.Name+"-missed")
	}
	b.ReportMetric(100*float64(own)/float64(s.now()), "%threads")
	reportCosts(b, s)
}

// reportCosts logs what each source of a stopped sampler took.
func reportCosts(b *testing.B, s *Sampler) {
	for _, c := range s.Costs() {
		if c.Reads > 0 {
			b.Logf("%-16s %-8s %8d readings, %8v each, longest %8v, %.3f %% of a core", c.Source, c.Thread, c.Reads, c.Each, c.Longest, 100*c.CPU.Seconds()/s.now().Seconds())
		}
	}
}

// measureCPU runs something for 3 s, whatever b.N is.
func measureCPU(b *testing.B, run func(stop <-chan struct{})) {
	stop, done := make(chan struct{}), make(chan struct{})
	before, start := processCPU(), time.Now()
	go func() { defer close(done); run(stop) }()
	time.Sleep(3 * time.Second)
	close(stop)
	<-done
	cpu, wall := processCPU()-before, time.Since(start)
	b.ReportMetric(float64(cpu)/wall.Seconds(), "cpu-ns/s")
	b.ReportMetric(100*float64(cpu)/float64(wall), "%core")
	b.ReportMetric(0, "ns/op")
}

// The same with a real card and a real server, whose first process is named by
// MEMTRIX_BENCH_PID: the figures that count, taken beside BenchmarkEmptyLoop.
//
//	MEMTRIX_BENCH_PID=PID go test -run xxx -bench 'EmptyLoop|OnPID' -benchtime 1x -count 5 ./recorders
func BenchmarkSamplerOnPID(b *testing.B) {
	pid := benchPID(b)
	s := Start(Config{Epoch: time.Now(), PID: pid})
	time.Sleep(500 * time.Millisecond) // to open a card is no part of recording
	measureCPU(b, func(stop <-chan struct{}) { <-stop })
	reportThreads(b, s)
}

func BenchmarkSourceOnPID(b *testing.B) {
	pid := benchPID(b)
	card, closeCard, err := OpenCard(nil)
	if err == nil {
		defer closeCard()
	}
	_, all := testSources(pid, card)
	benchSources(b, all)
}

func benchPID(b testing.TB) int {
	pid, err := strconv.Atoi(os.Getenv("MEMTRIX_BENCH_PID"))
	if err != nil {
		b.Skip("MEMTRIX_BENCH_PID names no process")
	}
	return pid
}
