package recorders

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"memtrix"
	"memtrix/recorders/nvidia"
)

// What one reading of each source costs. The card is a fake: add 5 us for a
// call of NVML.
func BenchmarkSource(b *testing.B) {
	tr := newTree("/proc")
	tr.root.Store(int64(unix.Getpid()))
	tree := tr.sources()
	hosts, _ := hostSources("/proc")
	card := &fakeCard{memory: memoryOf(gib), list: func() ([]nvidia.Process, error) { return nil, nil }}
	var missed int64
	all := append(tree, hosts...)
	all = append(all, newCardProcesses(card, tr), &selfSource{&missed})
	put := func(int, int64) {}
	for _, src := range all {
		b.Run(fmt.Sprintf("%T", src)[len("*recorders."):], func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				src.Read(0, put)
			}
		})
	}
}

// The cost of recording, as processor time of the whole program per second of
// wall time: compare BenchmarkSamplerAt10ms with BenchmarkEmptyLoop.
func BenchmarkEmptyLoop(b *testing.B) {
	measureCPU(b, func(stop <-chan struct{}) {
		runtime.LockOSThread()
		next := time.Now()
		for {
			select {
			case <-stop:
				return
			default:
			}
			next = next.Add(Fast)
			for d := time.Until(next); d > 0; d = time.Until(next) {
				sleep(d)
			}
		}
	})
}

func BenchmarkSamplerAt10ms(b *testing.B) {
	card := &fakeCard{memory: memoryOf(gib), list: func() ([]nvidia.Process, error) { return nil, nil }}
	measureCPU(b, func(stop <-chan struct{}) {
		s := Start(Config{Epoch: time.Now(), PID: unix.Getpid(), Card: card})
		<-stop
		all := s.Stop()
		cpu, _ := one(all, memtrix.RecorderCPU)
		last := len(cpu.T) - 1
		b.ReportMetric(100*float64(cpu.V[last])/float64(cpu.T[last]), "%thread")
	})
}

func BenchmarkSamplerAt1ms(b *testing.B) {
	card := &fakeCard{memory: memoryOf(gib), list: func() ([]nvidia.Process, error) { return nil, nil }}
	measureCPU(b, func(stop <-chan struct{}) {
		s := Start(Config{Epoch: time.Now(), Interval: time.Millisecond, PID: unix.Getpid(), Card: card})
		<-stop
		s.Stop()
	})
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

func processCPU() time.Duration {
	var r unix.Rusage
	unix.Getrusage(unix.RUSAGE_SELF, &r)
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
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
	s.Stop()
}

func BenchmarkSourceOnPID(b *testing.B) {
	pid := benchPID(b)
	tr := newTree("/proc")
	tr.root.Store(int64(pid))
	hosts, _ := hostSources("/proc")
	all := append(tr.sources(), hosts...)
	if card, err := nvidia.Open(ownEnv); err == nil {
		defer card.Close()
		var baseline atomic.Pointer[int64]
		memory, _ := newCardMemory(card, &baseline)
		all = append(all, memory, newCardProcesses(card, tr))
	}
	var now time.Duration
	put := func(int, int64) {}
	for _, src := range all {
		b.Run(fmt.Sprintf("%T", src)[len("*recorders."):], func(b *testing.B) {
			for b.Loop() {
				now += Fast
				src.Read(now, put)
			}
		})
	}
}

func benchPID(b *testing.B) int {
	pid, err := strconv.Atoi(os.Getenv("MEMTRIX_BENCH_PID"))
	if err != nil {
		b.Skip("MEMTRIX_BENCH_PID names no process")
	}
	return pid
}
