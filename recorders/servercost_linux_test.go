package recorders

import (
	"cmp"
	"runtime"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// What a server of the usual size looks like to the kernel.
const (
	serverMiB     = 6 << 10 // resident, in pages of 4 KiB: the most page tables
	serverThreads = 60
	serverMaps    = 600
)

// serve becomes such a server; a busy one changes its memory all the time.
func serve(busy bool) {
	block, err := unix.Mmap(-1, 0, serverMiB<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		panic(err)
	}
	unix.Madvise(block, unix.MADV_NOHUGEPAGE)
	for i := 0; i < len(block); i += 4096 {
		block[i] = 1
	}
	for i := range serverMaps {
		// Neighbours of one kind would become one mapping.
		unix.Mmap(-1, 0, 4096, []int{unix.PROT_READ, unix.PROT_READ | unix.PROT_WRITE}[i%2], unix.MAP_PRIVATE|unix.MAP_ANON)
	}
	for range serverThreads {
		go func() {
			runtime.LockOSThread()
			unix.Pause()
		}()
	}
	for busy {
		b := touch(8)
		time.Sleep(3 * time.Millisecond)
		unix.Munmap(b)
	}
}

// BenchmarkServer is what recording a server of the usual size takes without a
// card, each round beside an empty loop at the same rate: what the machine takes
// for waking up alone. Of the rounds, the middle one counts.
func BenchmarkServer(b *testing.B) {
	for _, kind := range []string{"quiet", "busy"} {
		b.Run(kind, func(b *testing.B) {
			p := startPuppet(b)
			p.do("serve " + kind)
			var empty, full, above, reads []float64
			var s *Sampler
			var walk float64
			for range 7 {
				e := measure(func(stop <-chan struct{}) { EmptyLoop(stop, Fast, false) })
				s = Start(Config{PID: p.pid(), Env: hidden})
				// The walk through the page tables, which takes as much as everything
				// else in seconds, is made once a minute here: it has a figure of its own.
				walk = walked(s)
				f := measure(func(stop <-chan struct{}) { <-stop })
				s.Stop()
				var cpu time.Duration
				for _, c := range s.Costs() {
					cpu += c.CPU
				}
				empty, full, above, reads = append(empty, e), append(full, f), append(above, f-e), append(reads, 100*cpu.Seconds()/s.now().Seconds())
			}
			b.ReportMetric(middle(empty), "%empty")
			b.ReportMetric(middle(full), "%recording")
			b.ReportMetric(middle(above), "%above")
			b.ReportMetric(middle(reads), "%reading")
			b.ReportMetric(walk, "%walk")
			b.ReportMetric(0, "ns/op")
			reportCosts(b, s)
		})
	}
}

// walked waits for the first walk through the page tables and gives what they take
// from then on, in per cent of a core.
func walked(s *Sampler) float64 {
	for ; ; time.Sleep(50 * time.Millisecond) {
		for _, c := range s.Costs() {
			if c.Source == "maps" && c.Longest > time.Millisecond {
				time.Sleep(200 * time.Millisecond)
				return 100 * c.Longest.Seconds() / c.Every.Seconds()
			}
		}
	}
}

// measure is the processor time of the whole program while something runs, in per
// cent of a core.
func measure(run func(stop <-chan struct{})) float64 {
	stop, done := make(chan struct{}), make(chan struct{})
	before, start := processCPU(), time.Now()
	go func() { defer close(done); run(stop) }()
	time.Sleep(4 * time.Second)
	close(stop)
	<-done
	return 100 * (processCPU() - before).Seconds() / time.Since(start).Seconds()
}

func middle(list []float64) float64 {
	list = slices.SortedFunc(slices.Values(list), cmp.Compare)
	return list[len(list)/2]
}
