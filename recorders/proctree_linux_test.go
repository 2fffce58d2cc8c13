package recorders

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"memtrix"
)

const fixtures = "testdata/proc"

// readOnce gives what a source puts in one reading.
func readOnce(s Source) (map[string]int64, error) {
	values := map[string]int64{}
	meters := s.Meters()
	err := s.Read(0, func(i int, v int64) { values[meters[i].Name] = v })
	return values, err
}

func TestTreeSums(t *testing.T) {
	tr := newTree(fixtures)
	tr.root.Store(100)
	parts := tr.parts() // finds the members
	defer parts.Close()
	got, err := readOnce(parts)
	if err != nil {
		t.Fatal(err)
	}
	memory, err := readOnce(tr.memory())
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(got, memory)
	faults, err := readOnce(tr.counters())
	if err != nil {
		t.Fatal(err)
	}
	if got, want := faults[memtrix.DiskTreeRead], int64(7000064+4096); got != want {
		t.Errorf("read from disk: want %d, got %d", want, got)
	}
	if got, want := faults[memtrix.FaultsTreeMajor], int64(11+5+1+2+0+40); got != want {
		t.Errorf("faults: want %d, got %d", want, got)
	}
	var pids []int
	for _, m := range tr.procs {
		pids = append(pids, m.pid)
	}
	slices.Sort(pids)
	if want := []int{60, 61, 100, 101, 102, 205}; !slices.Equal(pids, want) {
		t.Errorf("members: want %v, got %v", want, pids)
	}
	want := map[string]int64{
		memtrix.RAMTreeRSS:    (2048000 + 1000 + 100 + 12 + 20) << 10,
		memtrix.RAMProcessRSS: 2048000 << 10,
		memtrix.RAMTreeAnon:   (1024000 + 600 + 60 + 12 + 20) << 10,
		memtrix.RAMTreeFile:   (1000000 + 300 + 40) << 10,
		memtrix.RAMTreeShmem:  (24000 + 100) << 10,
		memtrix.SwapTreeUsed:  (8 + 4) << 10,
		memtrix.TreeProcesses: 6,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("sums:\nwant %v\ngot  %v", want, got)
	}
}

// A kernel that tells less has the rest absent, not zero.
func TestTreeAbsentParts(t *testing.T) {
	tr := newTree(fixtures)
	tr.root.Store(300)
	got := map[string]int64{}
	parts := tr.parts()
	defer parts.Close()
	for _, src := range []Source{parts, tr.memory()} {
		values, err := readOnce(src)
		if !errors.Is(err, errNoParts) {
			t.Errorf("want %v, got %v", errNoParts, err)
		}
		maps.Copy(got, values)
	}
	want := map[string]int64{memtrix.RAMTreeRSS: 4000 << 10, memtrix.RAMProcessRSS: 4000 << 10, memtrix.TreeProcesses: 1}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("want %v, got %v", want, got)
	}
}

// A child that is about to execute a program has its parent's own memory until then;
// one that never does counts from the second look on. What was there at the first scan
// counts at once.
func TestScannerWaitsForPrograms(t *testing.T) {
	proc := t.TempDir()
	is := func(pid int, flags int) {
		dir := fmt.Sprintf("%s/%d", proc, pid)
		stat := fmt.Sprintf("%d (a) S 7 7 7 0 -1 %d 0 0 0 0", pid, flags)
		if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(dir+"/stat", []byte(stat), 0o644),
			os.WriteFile(dir+"/status", fmt.Appendf(nil, "Tgid:\t%d\n", pid), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	const ran, young = 4194304, 4194304 | forkNoExec
	is(7, ran)
	is(8, young)
	s := newScanner(proc)
	defer s.close()
	s.reset(7)
	check := func(want ...int) {
		t.Helper()
		if got := s.newcomers(0); !slices.Equal(got, want) {
			t.Errorf("want %v, got %v", want, got)
		}
	}
	check(8)
	is(9, young)
	is(10, young)
	is(11, young)
	check()
	is(9, ran)
	os.RemoveAll(proc + "/11")
	got := s.newcomers(0)
	slices.Sort(got)
	if want := []int{9, 10}; !slices.Equal(got, want) || len(s.young) != 0 {
		t.Errorf("want %v and none young, got %v, %v", want, got, s.young)
	}
	// The same by number, as where the kernel tells which it gave out last.
	is(12, young)
	s.before, s.lastPID = 11, 14
	for _, want := range [][]int{nil, {12}, {14}, nil} {
		s.found, s.fresh = s.found[:0], s.fresh[:0]
		s.lookUp()
		s.adopt()
		if !slices.Equal(s.found, want) {
			t.Errorf("by number: want %v, got %v", want, s.found)
		}
		s.before = s.lastPID
		is(14, young) // was being made, and is young when it is there
	}
	if len(s.absent) > 0 || len(s.young) > 0 {
		t.Errorf("by number: absent %v, young %v", s.absent, s.young)
	}
}

// A thread of the sampler may stand still between its look at what a process holds in
// all and its reading of resident memory: what only the look saw is a peak, whatever
// the kernel's own peak is taken for later.
func TestTreeBetweenTwoReadings(t *testing.T) {
	proc := t.TempDir()
	hold := func(mib, peak int) {
		for name, text := range map[string]string{
			"stat":   "7 (a) S 1 7 7 0 -1 4194304 0 0 0 0",
			"statm":  fmt.Sprintf("99999 %d 10 1 0 9 0\n", mib<<20/os.Getpagesize()),
			"status": fmt.Sprintf("VmHWM:\t%d kB\nVmRSS:\t%d kB\nRssAnon:\t%d kB\nRssFile:\t0 kB\nRssShmem:\t0 kB\nVmSwap:\t0 kB\n", peak<<10, mib<<10, mib<<10),
		} {
			if err := errors.Join(os.MkdirAll(proc+"/7", 0o755), os.WriteFile(proc+"/7/"+name, []byte(text), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
	}
	tr := newTree(proc)
	tr.root.Store(7)
	parts, memory := tr.parts(), tr.memory()
	defer parts.Close()
	read := func(src Source, at time.Duration) {
		if err := src.Read(at, func(int, int64) {}); err != nil {
			t.Fatal(err)
		}
	}
	hold(40, 40)
	read(parts, 10)
	read(memory, 10)
	hold(340, 340)
	read(parts, 30)
	hold(40, 340)
	read(memory, 30)
	for range 2 { // it is told once
		read(parts, 50)
		read(memory, 50)
	}
	want := []KernelPeak{{memtrix.RAMTreeRSS, 10, 30, 340 << 20}, {memtrix.RAMProcessRSS, 10, 30, 340 << 20}}
	if got := tr.marks.all(); !slices.Equal(got, want) {
		t.Errorf("want %v, got %v", want, got)
	}
	// What the reading after the look sees, too, is in the series.
	hold(640, 640)
	read(parts, 70)
	read(memory, 70)
	if got := tr.marks.all(); len(got) != 2 {
		t.Errorf("a peak that a reading saw: %v", got)
	}
}

func TestTreeWithoutProcess(t *testing.T) {
	lost := newTree(fixtures)
	lost.root.Store(9999)
	readOnce(lost.memory())
	for _, src := range []Source{lost.maps(), lost.cgroup()} {
		if got, err := readOnce(src); err == nil || len(got) != 0 {
			t.Errorf("%T: want an error and no values, got %v, %v", src, got, err)
		}
	}
	for _, tc := range []struct {
		pid  int
		want string
	}{
		{0, "had not started"},
		{9999, "process 9999 cannot be followed"},
	} {
		tr := newTree(fixtures)
		tr.root.Store(int64(tc.pid))
		for range 2 { // the second reading must not turn it into zeros
			for _, src := range []Source{tr.memory(), tr.parts(), tr.counters()} {
				got, err := readOnce(src)
				if err == nil || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("%d: want error with %q, got %v", tc.pid, tc.want, err)
				}
				if len(got) != 0 {
					t.Errorf("%d: want no values, got %v", tc.pid, got)
				}
			}
		}
	}
}

func TestParseStat(t *testing.T) {
	check := func(text string, want procStat, wantOK bool) {
		t.Helper()
		got, ok := parseStat([]byte(text))
		if got != want || ok != wantOK {
			t.Errorf("%q: want %+v %v, got %+v %v", text, want, wantOK, got, ok)
		}
	}
	check("61 (a) S 1 (b) S 7 205 90 0 -1 4194304 5120 900 12 7 120", procStat{7, 205, 90, 4194304, 12}, true)
	check("5 (x) Z 4 3 2 34816 -1 0 0 0 0", procStat{4, 3, 2, 0, 0}, true)
	check("", procStat{}, false)
	check("5 (x)", procStat{}, false)
	check("5 (x) S", procStat{}, false)
	check("5 (x) S 1 2", procStat{}, false)
	check("5 (x) S one 2 3 4 5 6 7 8 9", procStat{}, false)
}

func TestParseStatusOfStrangeText(t *testing.T) {
	for _, text := range []string{"", "\n\n", "VmRSS", "VmRSS:", "VmRSS:\tmany kB\n", ":::"} {
		if got := parseStatus([]byte(text)); got != (statusMemory{}) {
			t.Errorf("%q: want nothing, got %+v", text, got)
		}
	}
}

func TestHost(t *testing.T) {
	h, err := openHost(fixtures)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	got, err := readOnce(h)
	want := map[string]int64{
		memtrix.RAMHostAvailable: 23034712 << 10,
		memtrix.RAMHostCached:    5551224 << 10,
		memtrix.SwapHostUsed:     (8388604 - 8000000) << 10,
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("want %v, got %v, %v", want, got, err)
	}
}

func TestPSI(t *testing.T) {
	p, err := openPSI(fixtures)
	if err != nil {
		t.Fatal(err)
	}
	got, err := readOnce(p)
	want := map[string]int64{memtrix.PSIMemorySome: 1234567000, memtrix.PSIMemoryFull: 1000001000}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("want %v, got %v, %v", want, got, err)
	}
}

// A machine without these files has their meters absent, each with a reason.
func TestHostSourcesAbsent(t *testing.T) {
	sources, missing := hostSources(t.TempDir())
	if len(sources) != 0 {
		t.Errorf("want no sources, got %d", len(sources))
	}
	want := map[string]string{
		memtrix.RAMHostAvailable: "meminfo",
		memtrix.SwapHostUsed:     "meminfo",
		memtrix.PSIMemorySome:    "CONFIG_PSI",
		memtrix.PSIMemoryFull:    "CONFIG_PSI",
		memtrix.RAMHostCached:    "meminfo",
		memtrix.SwapHostIn:       "vmstat",
		memtrix.SwapHostOut:      "vmstat",
	}
	for _, a := range missing {
		if !strings.Contains(a.Reason, want[a.Meter]) {
			t.Errorf("%s: want a reason with %q, got %q", a.Meter, want[a.Meter], a.Reason)
		}
		delete(want, a.Meter)
	}
	if len(want) != 0 {
		t.Errorf("no reason for %v", want)
	}
}

func TestKernelPeak(t *testing.T) {
	if got, err := peakRSS(fixtures, 100); err != nil || got != 3000000<<10 {
		t.Errorf("want %d, got %d, %v", 3000000<<10, got, err)
	}
	for _, pid := range []int{102, 9999} { // a zombie, and nobody
		if _, err := peakRSS(fixtures, pid); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("process %d: want not-exist, got %v", pid, err)
		}
	}
	if err := resetPeak(fixtures, 9999); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("want not-exist, got %v", err)
	}
	// There, but the kernel has no clear_refs.
	if err := resetPeak(fixtures, 100); err == nil || !strings.Contains(err.Error(), "CONFIG_PROC_PAGE_MONITOR") {
		t.Errorf("want the kernel's lack named, got %v", err)
	}
}

func TestScannerTrustsOnlyTheKernelsLoadavg(t *testing.T) {
	s := newScanner(fixtures)
	defer s.close()
	if s.loadavg >= 0 {
		t.Error("a file that is not of procfs is trusted")
	}
	if _, err := os.Stat("/proc/loadavg"); err == nil {
		real := newScanner("/proc")
		defer real.close()
		if real.loadavg < 0 {
			t.Skip("this machine's /proc/loadavg is not the kernel's")
		}
		real.moved()
		if text, _ := os.ReadFile(filepath.Join("/proc", "loadavg")); real.lastPID <= 0 {
			t.Errorf("no last PID from %q", text)
		}
	}
}
