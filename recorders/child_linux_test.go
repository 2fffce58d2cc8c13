package recorders

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"memtrix"
)

// The test binary runs itself as the process that is measured. The child obeys
// lines on its standard input and answers each with "ok".
func TestMain(m *testing.M) {
	switch {
	case os.Getenv("RECORDERS_CHILD") != "":
		child()
		return
	case os.Getenv("RECORDERS_WATCH") != "":
		watchChild()
		return
	case os.Getenv("RECORDERS_SPIKES") != "":
		spikesChild()
		return
	}
	os.Exit(m.Run())
}

func child() {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		words := strings.Fields(in.Text())
		switch words[0] {
		case "hold": // MiB, milliseconds
			mib, _ := strconv.Atoi(words[1])
			ms, _ := strconv.Atoi(words[2])
			block := touch(mib)
			time.Sleep(time.Duration(ms) * time.Millisecond)
			unix.Munmap(block)
		case "keep": // MiB
			mib, _ := strconv.Atoi(words[1])
			touch(mib)
		case "fork": // a child of its own takes our place
			c := self()
			c.Stdin, c.Stdout = os.Stdin, os.Stdout
			c.Start()
			fmt.Println("ok", c.Process.Pid) // from now on it obeys, not we
			time.Sleep(time.Minute)
		case "orphan": // a child that keeps MiB and outlives us
			c := self()
			w, _ := c.StdinPipe()
			r, _ := c.StdoutPipe()
			c.Start()
			fmt.Fprintln(w, "keep "+words[1])
			bufio.NewReader(r).ReadString('\n')
			fmt.Println("ok", c.Process.Pid)
			fmt.Fprintln(w, "sleep") // its input ends with us
			os.Exit(0)
		case "burst": // that many children, eight at a time
			n, _ := strconv.Atoi(words[1])
			var running sync.WaitGroup
			room := make(chan struct{}, 8)
			for range n {
				room <- struct{}{}
				running.Go(func() {
					exec.Command("/bin/sh", "-c", "true").Run()
					<-room
				})
			}
			running.Wait()
		case "brief": // a child that holds MiB and ends
			c := self()
			c.Stdin = strings.NewReader("hold " + words[1] + " 5\n")
			c.Run()
		case "sleep":
			time.Sleep(20 * time.Second)
			os.Exit(0)
		case "serve":
			go serve(words[1] == "busy")
			eventuallyHolds(serverMiB << 20)
		case "zombie":
			c := self() // without input it ends at once
			c.Start()
		}
		fmt.Println("ok", os.Getpid())
	}
}

func self() *exec.Cmd {
	c := exec.Command("/proc/self/exe")
	c.Env = append(os.Environ(), "RECORDERS_CHILD=1")
	return c
}

// eventuallyHolds waits until so much is resident.
func eventuallyHolds(bytes int64) {
	for rss := int64(0); rss < bytes; time.Sleep(20 * time.Millisecond) {
		text, _ := os.ReadFile("/proc/self/status")
		rss = parseStatus(text).rss
	}
	time.Sleep(200 * time.Millisecond)
}

func touch(mib int) []byte {
	block, err := unix.Mmap(-1, 0, mib<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		panic(err)
	}
	for i := 0; i < len(block); i += 4096 {
		block[i] = 1
	}
	return block
}

// puppet is a child under control.
type puppet struct {
	t   testing.TB
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func startPuppet(t testing.TB) *puppet {
	t.Helper()
	cmd := self()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &puppet{t, cmd, in, bufio.NewReader(out)}
	t.Cleanup(func() {
		unix.Kill(-cmd.Process.Pid, unix.SIGKILL)
		cmd.Process.Kill()
		cmd.Wait()
	})
	return p
}

func (p *puppet) pid() int { return p.cmd.Process.Pid }

// do gives an order and waits until it is done.
func (p *puppet) do(order string) string {
	p.t.Helper()
	fmt.Fprintln(p.in, order)
	answer, err := p.out.ReadString('\n')
	if err != nil {
		p.t.Fatalf("%s: %v", order, err)
	}
	return strings.TrimSpace(answer)
}

func find(t *testing.T, all []memtrix.Series, meter string) memtrix.Series {
	t.Helper()
	for _, s := range all {
		if s.Meter.Name == meter {
			return s
		}
	}
	t.Fatalf("no series of %s", meter)
	return memtrix.Series{}
}

// noCard is the environment of a program that is to see no card.
func noCard(name string) (string, bool) { return "-1", name == "CUDA_VISIBLE_DEVICES" }

// within reports whether got is within a part in a hundred of want, and what the
// kernel's counters may be off: from Linux 6.2 on each processor keeps up to a batch
// of pages to itself (percpu_counter_batch in lib/percpu_counter.c).
func within(got, want int64, percent float64) bool {
	cpus := runtime.NumCPU()
	slack := float64(want)*percent/100 + float64(max(32, 2*cpus)*cpus*os.Getpagesize())
	d := float64(got - want)
	return d <= slack && -d <= slack
}

// settled gives what the tree holds once its youngest process obeys: one that has just
// been started has not even got its runtime.
func (p *puppet) settled(s *Sampler) int64 {
	p.t.Helper()
	p.do("nothing")
	reads := func() int64 {
		list := s.Costs()
		return list[slices.IndexFunc(list, func(c Cost) bool { return c.Source == "tree" })].Reads
	}
	before := reads()
	eventually(p.t, "a reading", func() bool { return reads() >= before+2 }) // one may be under way
	return s.Now()[memtrix.RAMTreeRSS]
}

// A block that lives for 30 ms is seen at 10 ms, to 1 % of what the kernel says;
// and ResetPeak brings the kernel's peak back between two spans.
func TestSampledPeakAgreesWithKernel(t *testing.T) {
	epoch := time.Now()
	s := Start(Config{Epoch: epoch, Env: noCard}) // before the process, as in a trial
	defer s.Stop()
	p := startPuppet(t)
	p.do("nothing")
	s.SetPID(p.pid())

	type span struct {
		mib      int
		from, to time.Duration
		kernel   int64
	}
	spans := []span{{mib: 300}, {mib: 50}, {mib: 120}}
	eventually(t, "a first reading", func() bool { return s.Now()[memtrix.RAMProcessRSS] > 0 })
	base := s.Now()[memtrix.RAMProcessRSS]
	for i := range spans {
		// A span begins with the value that was read last: let the release of
		// the block before be read, too.
		eventually(t, "the release", func() bool { return s.Now()[memtrix.RAMProcessRSS] < base+20<<20 })
		if err := ResetPeak(p.pid()); err != nil {
			t.Skip(err) // some containers forbid it
		}
		spans[i].from = time.Since(epoch)
		p.do(fmt.Sprintf("hold %d 30", spans[i].mib))
		spans[i].to = time.Since(epoch)
		kernel, err := PeakRSS(p.pid())
		if err != nil {
			t.Fatal(err)
		}
		spans[i].kernel = kernel
	}
	all := s.Stop()
	for _, meter := range []string{memtrix.RAMProcessRSS, memtrix.RAMTreeRSS} {
		rss := find(t, all, meter)
		for _, sp := range spans {
			peak, ok := PeakIn(rss, sp.from, sp.to)
			if ok && within(peak.Value, sp.kernel, 1) {
				continue
			}
			// A busy machine: no reading fell into the 30 ms, and the kernel's
			// own peak must have been noticed.
			seen := slices.ContainsFunc(s.KernelPeaks(), func(k KernelPeak) bool {
				return k.Meter == meter && k.From < sp.to && k.To > sp.from && within(k.Value, sp.kernel, 1)
			})
			if !seen {
				t.Errorf("%s, %d MiB: want %d (VmHWM) within 1 %%, got %+v %v and %v", meter, sp.mib, sp.kernel, peak, ok, s.KernelPeaks())
			}
			if sp.kernel < int64(sp.mib)<<20 || sp.kernel > int64(sp.mib+60)<<20 {
				t.Errorf("%d MiB: VmHWM %d is not of this span alone", sp.mib, sp.kernel)
			}
		}
	}
	if anon, ok := PeakIn(find(t, all, memtrix.RAMTreeAnon), spans[0].from, spans[0].to); !ok || anon.Value < 300<<20 {
		t.Errorf("anon: want 300 MiB at least, got %+v %v", anon, ok)
	}
}

// eventually waits for something that comes within some scans.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("%s did not come about", what)
}

// Grandchildren count, and when all have ended the tree truly holds nothing.
func TestTreeOfGrandchildren(t *testing.T) {
	p := startPuppet(t)
	s := Start(Config{Epoch: time.Now(), PID: p.pid(), Env: noCard})
	defer s.Stop()
	p.do("fork")
	p.do("fork")
	p.do("keep 200") // the grandchild does it
	var now map[string]int64
	eventually(t, "the grandchild's memory", func() bool {
		now = s.Now()
		return now[memtrix.RAMTreeRSS] > 200<<20
	})
	if now[memtrix.RAMProcessRSS] > 100<<20 {
		t.Errorf("the first process alone: want little, got %d", now[memtrix.RAMProcessRSS])
	}
	unix.Kill(-p.pid(), unix.SIGKILL)
	p.cmd.Wait()
	eventually(t, "the end of the tree", func() bool { return s.Now()[memtrix.RAMTreeRSS] == 0 })
	all := s.Stop()
	if peak, _ := PeakIn(find(t, all, memtrix.RAMTreeRSS), 0, time.Hour); peak.Value < 200<<20 {
		t.Errorf("peak: want 200 MiB at least, got %d", peak.Value)
	}
	if w := s.Warnings(); len(w) != 0 {
		t.Errorf("a tree that ends is no reason to warn: %q", w)
	}
}

// A child whose parent has ended is found by its process group.
func TestTreeOfOrphans(t *testing.T) {
	p := startPuppet(t)
	p.do("orphan 150")
	p.cmd.Wait()
	// Started late: by now nothing links the orphan to the first process but its group.
	q := newTree("/proc")
	q.root.Store(int64(p.pid()))
	q.scan.reset(p.pid())
	found := q.scan.newcomers(0)
	if len(found) != 1 {
		t.Fatalf("want the orphan of group %d, got %v", p.pid(), found)
	}
	if rss, err := PeakRSS(found[0]); err != nil || rss < 150<<20 {
		t.Errorf("the orphan: want 150 MiB at least, got %d, %v", rss, err)
	}
	q.scan.close()
}

// A zombie has no memory, and does not make anything absent.
func TestTreeWithZombie(t *testing.T) {
	p := startPuppet(t)
	tr := newTree("/proc")
	tr.root.Store(int64(p.pid()))
	memory, parts := tr.memory(), tr.parts()
	defer parts.Close()
	p.do("zombie")
	eventually(t, "the zombie", func() bool {
		readOnce(parts)
		return len(tr.procs) == 2
	})
	eventually(t, "its end", func() bool {
		text, _ := os.ReadFile(procDir("/proc", tr.procs[1].pid) + "/stat")
		return strings.Contains(string(text), ") Z ")
	})
	for _, src := range []Source{parts, memory} {
		if got, err := readOnce(src); err != nil || len(got) != len(src.Meters()) {
			t.Errorf("want all meters, got %v, %v", got, err)
		}
	}
}

// A spike of 5 ms in a child is in the tree's peak: where no reading saw it, the
// kernel's counter tells.
func TestShortSpikeInAChild(t *testing.T) {
	p := startPuppet(t)
	s := Start(Config{PID: p.pid(), Env: noCard})
	defer s.Stop()
	p.do("fork")
	eventually(t, "the child", func() bool { return s.Now()[memtrix.TreeProcesses] == 2 })
	base := p.settled(s)
	for range 5 {
		p.do("hold 300 5")
	}
	all := s.Stop() // the child is read once more
	peak, _ := PeakIn(find(t, all, memtrix.RAMTreeRSS), 0, time.Hour)
	for _, k := range KernelPeaksIn(s.KernelPeaks(), 0, time.Hour) {
		if k.Meter == memtrix.RAMTreeRSS && k.Value > peak.Value {
			peak = k
		}
	}
	if low, high := base+298<<20, base+340<<20; peak.Value < low || peak.Value > high {
		t.Errorf("peak: want %d to %d, got %+v", low, high, peak)
	}
}

// A burst of short-lived children does not break the tree, and what they held is
// not lost from its sum.
func TestBurstOfChildren(t *testing.T) {
	p := startPuppet(t)
	s := Start(Config{PID: p.pid(), Env: noCard})
	defer s.Stop()
	eventually(t, "a first look", func() bool { return s.Now()[memtrix.TreeProcesses] == 1 })
	files := openFiles(t)
	p.do("burst 200")
	eventually(t, "their end", func() bool { return len(*s.tree.members.Load()) == 1 })
	// Threads of the sampler that had not begun then may have opened some of their own.
	eventually(t, "the end of their files", func() bool { return openFiles(t) <= files+20 })
	if _, absent := reasons(s)[memtrix.TreeExits]; !absent {
		eventually(t, "the end of each", func() bool { return s.Now()[memtrix.TreeExits] >= 200 })
	}
	p.do("keep 100")
	eventually(t, "what came after", func() bool { return s.Now()[memtrix.RAMTreeRSS] > 100<<20 })
	most := 0
	for _, v := range find(t, s.Stop(), memtrix.RAMTreeRSS).V {
		if v < 0 {
			t.Fatalf("a sum of %d", v)
		}
		most = max(most, int(v))
	}
	if most > 4<<30 {
		t.Errorf("a peak of %d out of a burst of small processes", most)
	}
	if w := s.Warnings(); len(w) != 0 {
		t.Errorf("children that end are no reason to warn: %q", w)
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// A child that begins and ends between two looks is in the tree's peak where the
// kernel tells of ends.
func TestBriefChild(t *testing.T) {
	p := startPuppet(t)
	s := Start(Config{PID: p.pid(), Env: noCard})
	defer s.Stop()
	eventually(t, "a first look", func() bool { return s.Now()[memtrix.TreeProcesses] == 1 })
	if why, absent := reasons(s)[memtrix.TreeExits]; absent {
		t.Skip(why)
	}
	base := p.settled(s)
	p.do("brief 150")
	all := s.Stop() // what the kernel told of its end is taken once more
	if n := find(t, all, memtrix.TreeExits).V; n[len(n)-1] < 1 {
		t.Error("the kernel did not tell of its end")
	}
	peak, _ := PeakIn(find(t, all, memtrix.RAMTreeRSS), 0, time.Hour)
	for _, k := range KernelPeaksIn(s.KernelPeaks(), 0, time.Hour) {
		if k.Meter == memtrix.RAMTreeRSS && k.Value > peak.Value {
			peak = k
		}
	}
	// It is the same program as its parent, and counts once.
	if low, high := base+150<<20, 3*base+150<<20; peak.Value < low || peak.Value > high {
		t.Errorf("peak: want %d to %d beside %d, got %+v", low, high, base, peak)
	}
}

// Peaks of a stretch are its own: of the first process, and of a child.
func TestBoundary(t *testing.T) {
	epoch := time.Now()
	p := startPuppet(t)
	s := Start(Config{Epoch: epoch, PID: p.pid(), Env: noCard})
	defer s.Stop()
	p.do("fork")
	eventually(t, "the child", func() bool { return s.Now()[memtrix.TreeProcesses] == 2 })
	base := p.settled(s)
	at := func() time.Duration { return time.Since(epoch) }
	if _, err := s.Boundary(at()); err != nil {
		t.Skip(err)
	}
	var bounds []time.Duration
	for _, order := range []string{"hold 200 2", "hold 20 2", "hold 100 2"} {
		bounds = append(bounds, at())
		p.do(order) // the child does it
		if _, err := s.Boundary(at()); err != nil {
			t.Fatal(err)
		}
	}
	bounds = append(bounds, at())
	rss := find(t, s.Stop(), memtrix.RAMTreeRSS)
	for i, mib := range []int64{200, 20, 100} {
		peak, _ := PeakIn(rss, bounds[i], bounds[i+1])
		for _, k := range KernelPeaksIn(s.KernelPeaks(), bounds[i], bounds[i+1]) {
			if k.Meter == memtrix.RAMTreeRSS && k.Value > peak.Value {
				peak = k
			}
		}
		if peak.Value < base+(mib-2)<<20 || peak.Value > base+(mib+40)<<20 {
			t.Errorf("stretch of %d MiB beside %d: got %+v", mib, base, peak)
		}
	}
}
