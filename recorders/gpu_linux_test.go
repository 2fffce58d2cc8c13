//go:build cgo

package recorders

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"
	"time"

	"memtrix"
	"memtrix/hardware"
	"memtrix/recorders/nvidia"
	"memtrix/results"
)

// Tests on a real card; they are skipped where MEMTRIX_GPU is not set.
func needCard(t testing.TB) {
	if os.Getenv("MEMTRIX_GPU") == "" {
		t.Skip("MEMTRIX_GPU is not set: no card to test on")
	}
}

const (
	spikeSize  = 2 << 30
	spikeHold  = 2 * time.Millisecond
	spikeCount = 100
)

// spikesChild makes the spikes and tells when they were, in CLOCK_MONOTONIC.
func spikesChild() {
	offset := monotonic() - time.Now().UnixNano()
	spikes, err := hardware.Spikes(spikeSize, spikeHold, spikeCount, func() time.Duration {
		return time.Duration(5_000_000 + rand.Int64N(40_000_000))
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	var list [][2]int64
	for _, s := range spikes {
		list = append(list, [2]int64{s.From.UnixNano() + offset, s.To.UnixNano() + offset})
	}
	json.NewEncoder(os.Stdout).Encode(list)
}

// A 2 GiB allocation of another process that lives for 2 ms is seen.
func TestGPUSpikes(t *testing.T) {
	needCard(t)
	s := Start(Config{Epoch: time.Now(), PID: os.Getpid()})
	zero := monotonic() - int64(time.Since(s.epoch))
	time.Sleep(100 * time.Millisecond)
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), "RECORDERS_SPIKES=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var list [][2]int64
	if err := json.Unmarshal(out, &list); err != nil {
		t.Fatal(err)
	}
	used := find(t, s.Stop(), memtrix.VRAMDeviceUsed)
	seen := 0
	for _, sp := range list {
		from, to := time.Duration(sp[0]-zero), time.Duration(sp[1]-zero)
		// What is used without the spike is what is used at its sides.
		base, _ := LowIn(used, from-4*time.Millisecond, to+4*time.Millisecond)
		// The driver counts the block some time before cuMemAlloc returns and
		// after cuMemFree is called.
		if p, ok := PeakIn(used, from-time.Millisecond, to+time.Millisecond); ok && p.Value >= base.Value+spikeSize*9/10 {
			seen++
		}
	}
	t.Logf("%d of %d spikes of 2 GiB and 2 ms were seen", seen, len(list))
	for _, th := range s.Threads() {
		t.Logf("thread %-8s every %v: %d ticks, %d missed, %.2f %% of a core", th.Name, th.Interval, th.Samples, th.Missed, 100*th.CPU.Seconds()/s.now().Seconds())
	}
	if seen < 99 {
		t.Errorf("want 99 or more, got %d", seen)
	}
}

// sideBySide runs the recorder and the empty loops at the same time, so that
// whatever else happens on the machine happens to both.
func sideBySide(t *testing.T, pid int, long time.Duration) {
	s := Start(Config{Epoch: time.Now(), PID: pid})
	time.Sleep(500 * time.Millisecond)
	before := ownThreads(s)
	stop, empty := make(chan struct{}), make(chan time.Duration)
	start := time.Now()
	go func() { empty <- emptyLoops(stop, true) }()
	time.Sleep(long)
	recording, wall := ownThreads(s)-before, time.Since(start)
	close(stop)
	loops := <-empty
	s.Stop()
	share := func(d time.Duration) float64 { return 100 * d.Seconds() / wall.Seconds() }
	t.Logf("side by side, threads: empty loops 1 ms + 20 ms %.2f %%, recording %.2f %%, above the empty loops %.2f %% of a core", share(loops), share(recording), share(recording-loops))
}

func ownThreads(s *Sampler) (cpu time.Duration) {
	for _, th := range s.Threads() {
		cpu += th.CPU
	}
	return cpu
}

// What recording a busy program takes, beside an empty loop in the same run, and
// what its series take in the store. The program is named by MEMTRIX_BENCH_PID.
func TestGPUCost(t *testing.T) {
	needCard(t)
	pid := benchPID(t)
	const long = 6 * time.Second
	cpu := func(run func(stop <-chan struct{})) float64 {
		stop, done := make(chan struct{}), make(chan struct{})
		before, start := processCPU(), time.Now()
		go func() { defer close(done); run(stop) }()
		time.Sleep(long)
		close(stop)
		<-done
		return 100 * (processCPU() - before).Seconds() / time.Since(start).Seconds()
	}
	for round := range 2 {
		empty := cpu(func(stop <-chan struct{}) { emptyLoops(stop, true) })
		emptyGo := cpu(func(stop <-chan struct{}) { emptyLoops(stop, false) })
		s := Start(Config{Epoch: time.Now(), PID: pid})
		time.Sleep(500 * time.Millisecond) // to open a card is no part of recording
		full := cpu(func(stop <-chan struct{}) { <-stop })
		wall := s.now().Seconds() // before what follows makes it longer
		all := s.Stop()
		t.Logf("round %d, whole program: empty loops 1 ms + 20 ms %.2f %% (both in Go %.2f %%), recording %.2f %%, above the empty loops %.2f %% of a core", round+1, empty, emptyGo, full, full-empty)
		sideBySide(t, pid, long)
		for _, th := range s.Threads() {
			t.Logf("thread %-8s every %v: %d ticks, %d missed, %.2f %% of a core", th.Name, th.Interval, th.Samples, th.Missed, 100*th.CPU.Seconds()/wall)
		}
		samples, changes := int64(0), 0
		for _, c := range s.Costs() {
			samples += c.Reads * int64(len(c.Meters))
			t.Logf("%-15s %-8s %6d readings, %9v each, longest %9v, %.3f %% of a core", c.Source, c.Thread, c.Reads, c.Each, c.Longest, 100*c.CPU.Seconds()/wall)
		}
		for _, se := range all {
			changes += len(se.V)
		}
		size, err := results.SeriesSize(all)
		if err != nil {
			t.Fatal(err)
		}
		var thinned []memtrix.Series
		for _, se := range all {
			thinned = append(thinned, Envelope(se, 100*time.Millisecond))
		}
		small, _ := results.SeriesSize(thinned)
		t.Logf("store: %d readings, %d changes, %d bytes: %.3f a reading, %.2f a change; envelope %d bytes", samples, changes, size, float64(size)/float64(samples), float64(size)/float64(changes), small)
		for _, a := range s.Absent() {
			t.Logf("absent: %s: %s", a.Meter, a.Reason)
		}
		for _, w := range s.Warnings() {
			t.Log(w)
		}
	}
}

// The page that is read in NVML's place says the same as NVML while another process
// takes and gives back 2 GiB a hundred times, and to read it makes no holder of us.
func TestGPUPage(t *testing.T) {
	needCard(t)
	card, err := nvidia.Open(os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	defer card.Close()
	if !card.Paged() {
		t.Skip("this driver has no page that memtrix reads")
	}
	w := nvidia.NewWatch([]*nvidia.Card{card}, time.Millisecond)
	ended := make(chan struct{})
	go func() { w.Run(); close(ended) }()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), "RECORDERS_SPIKES=1")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	spiking := make(chan struct{})
	go func() { cmd.Wait(); close(spiking) }()
	checks, unlike, gaveUp, changes := 0, 0, false, 0
	for done := false; !done; time.Sleep(time.Millisecond) {
		select {
		case <-spiking:
			done = true
		default:
		}
		unlike, gaveUp = w.Check(0)
		checks++
		w.Drain(func(nvidia.Change) { changes++ })
	}
	holders, err := card.Processes(nil)
	if err != nil {
		t.Error(err)
	}
	for _, h := range holders {
		if h.PID == os.Getpid() {
			t.Errorf("reading the page made this process a holder of the card: %+v", h)
		}
	}
	w.Stop()
	<-ended
	did := w.Watched()
	w.Close()
	t.Logf("%d checks against NVML, %d unlike; %d changes in %d ticks, %d missed; thread %v", checks, unlike, changes, did.Ticks, did.Missed, did.Thread)
	if unlike > 0 || gaveUp || changes < 2*spikeCount-20 {
		t.Errorf("want no check unlike and about %d changes", 2*spikeCount)
	}
}
