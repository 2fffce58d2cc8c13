package recorders

import (
	"runtime"
	"time"

	"memtrix/recorders/nvidia"
)

// Thread is what one thread of a sampler did.
type Thread struct {
	Name     string
	Interval time.Duration
	// Samples are the ticks at which it read, Missed those that passed while a
	// reading was stuck.
	Samples, Missed int64
	// CPU is the processor time of the thread, as of its last quarter of a second.
	CPU time.Duration
}

// Threads tells of every thread that has something to read, the cards' first.
func (s *Sampler) Threads() []Thread {
	var list []Thread
	for _, l := range s.lanes {
		if len(l.slots) == 0 {
			continue
		}
		t := Thread{l.name, l.interval, l.ticks.Load(), l.missed.Load(), time.Duration(l.cpu.Load())}
		if l.name == laneCard {
			list = append([]Thread{t}, list...)
		} else {
			list = append(list, t)
		}
	}
	return list
}

// Cost is what reading one source takes.
type Cost struct {
	Source, Thread string
	Meters         []string
	// Every is how often it is read now.
	Every time.Duration
	Reads int64
	// CPU is the processor time of all readings, Each and Longest the wall time of
	// those that were measured, all of a slow source and one in 16 of a fast one.
	CPU, Each, Longest time.Duration
}

// Costs tells what each source took so far.
func (s *Sampler) Costs() []Cost {
	var list []Cost
	for _, sl := range s.slots {
		c := Cost{
			Source: sl.name, Thread: sl.lane.name, Reads: sl.cost.reads.Load(),
			CPU: time.Duration(sl.cost.cpu.Load()), Longest: time.Duration(sl.cost.longest.Load()),
			Every: max(time.Duration(sl.cost.every.Load()), sl.lane.interval),
		}
		if n := sl.cost.measured.Load(); n > 0 {
			c.Each = time.Duration(sl.cost.wall.Load() / n)
		}
		for _, m := range sl.meters {
			c.Meters = append(c.Meters, m.Name)
		}
		list = append(list, c)
	}
	return list
}

// EmptyLoop wakes a thread at an interval in the way in which cards are read (in
// C), or in which everything else is (in Go), and does nothing else, until stop is
// closed: what the machine takes for the waking alone. It gives the processor
// time of the thread; what Go takes to look after it comes on top of that.
func EmptyLoop(stop <-chan struct{}, interval time.Duration, c bool) time.Duration {
	runtime.LockOSThread()   // not unlocked: the thread ends with the goroutine
	before, _ := threadCPU() // Go may have used it before
	if c {
		if w := nvidia.NewWatch(nil, interval); w != nil {
			go func() { <-stop; w.Stop() }()
			w.Run()
			w.Close()
			cpu, _ := threadCPU()
			return cpu - before
		}
	}
	for next := time.Now(); ; {
		select {
		case <-stop:
			cpu, _ := threadCPU()
			return cpu - before
		default:
		}
		next = next.Add(interval)
		for d := time.Until(next); d > 0; d = time.Until(next) {
			sleep(d)
		}
	}
}
