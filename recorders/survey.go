package recorders

import (
	"os"
	"runtime"
	"time"

	"memtrix"
)

// Survey is what can be read on this machine, and what it takes.
type Survey struct {
	Meters []Surveyed
	// Wakes is what the machine takes for waking a thread alone.
	Wakes []Wake
	// CPU is the processor time of all recording threads in the second that they
	// ran for.
	CPU, Elapsed time.Duration
	Threads      []Thread
}

// Surveyed is one meter.
type Surveyed struct {
	memtrix.Meter
	// Reason says why it is not available, "" where it is.
	Reason string
	Value  int64
	// Group is the source that it is read with; what follows is of one reading of
	// that: how often, on which thread, processor time, wall time.
	Group, Thread      string
	Every              time.Duration
	CPU, Each, Longest time.Duration
}

// Wake is an empty loop: what it took of one core.
type Wake struct {
	Interval time.Duration
	How      string
	Share    float64
}

// Look reads everything that this machine has for a second, with our own process
// as the tree.
func Look() *Survey {
	s := Start(Config{PID: os.Getpid()})
	time.Sleep(time.Second)
	now := s.Now()
	series := s.Stop()
	v := &Survey{Elapsed: s.now(), Threads: s.Threads()}
	for _, t := range v.Threads {
		v.CPU += t.CPU
	}
	costs := map[string]Cost{}
	for _, c := range s.Costs() {
		for _, m := range c.Meters {
			costs[m] = c
		}
	}
	for _, se := range series {
		value, fresh := now[se.Meter.Name]
		if !fresh {
			value = se.V[len(se.V)-1]
		}
		v.Meters = append(v.Meters, surveyed(se.Meter, costs, value, ""))
	}
	known := map[string]memtrix.Meter{}
	for _, m := range s.meters {
		known[m.Name] = m.Meter
	}
	for _, a := range append(s.Absent(), probeOnly()...) {
		m, ok := known[a.Meter]
		if !ok {
			m = memtrix.Meter{Name: a.Meter}
		}
		v.Meters = append(v.Meters, surveyed(m, costs, 0, a.Reason))
	}
	v.Wakes = []Wake{wake(FastCard, true), wake(Fast, false)}
	return v
}

func surveyed(m memtrix.Meter, costs map[string]Cost, value int64, reason string) Surveyed {
	c := costs[m.Name]
	v := Surveyed{Meter: m, Reason: reason, Value: value, Group: c.Source, Thread: c.Thread, Every: c.Every, Each: c.Each, Longest: c.Longest}
	if c.Reads > 0 {
		v.CPU = c.CPU / time.Duration(c.Reads)
	}
	return v
}

// probeOnly are the meters that only code inside the server can tell.
func probeOnly() []Absence {
	var list []Absence
	for _, name := range []string{memtrix.TorchAllocated, memtrix.TorchReserved, memtrix.WeightsResident, memtrix.AimdoWeights, memtrix.RAMPinned} {
		list = append(list, Absence{Meter: name, Reason: "only code inside the server can tell; there is no probe in it"})
	}
	return list
}

// wake measures an empty loop for half a second.
func wake(interval time.Duration, inC bool) Wake {
	w := Wake{Interval: interval, How: "Go"}
	if inC {
		w.How = "C"
	}
	stop, spent := make(chan struct{}), make(chan time.Duration)
	start := time.Now()
	before := processCPU()
	go func() {
		EmptyLoop(stop, interval, inC)
		spent <- processCPU() - before
	}()
	time.Sleep(500 * time.Millisecond)
	close(stop)
	w.Share = (<-spent).Seconds() / time.Since(start).Seconds()
	return w
}

// CanRead says in a word which cards this build reads at all.
func CanRead() []string {
	if runtime.GOOS != "linux" {
		return []string{"no card on " + runtime.GOOS + " yet"}
	}
	return []string{
		"NVIDIA: through NVML, and from the page of shared data of drivers from 565 on",
		"AMD: through amdgpu's and ROCm's files (tested on files made after the kernel's documentation, not on a card)",
		"Intel: not read (its drivers tell what each of their clients holds, not how much of the card is in use)",
		"Apple: no memory of its own to read (it is the machine's)",
	}
}
