package recorders

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"memtrix"
)

func TestFindCgroup(t *testing.T) {
	const (
		mount2  = "29 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
		hybrid  = "35 30 0:30 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
		memory1 = "36 30 0:31 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
		cpu1    = "37 30 0:32 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
		docker1 = "36 30 0:31 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n"
	)
	check := func(name, groups, mounts, wantDir, wantMount string, wantVersion int) {
		t.Helper()
		dir, mount, version := findCgroup(groups, mounts)
		if dir != wantDir || mount != wantMount || version != wantVersion {
			t.Errorf("%s: want %q %q %d, got %q %q %d", name, wantDir, wantMount, wantVersion, dir, mount, version)
		}
	}
	check("version 2", "0::/user.slice/a.scope\n", mount2, "/sys/fs/cgroup/user.slice/a.scope", "/sys/fs/cgroup", 2)
	check("root of 2", "0::/\n", mount2, "/sys/fs/cgroup", "/sys/fs/cgroup", 2)
	check("both, memory in 1", "4:memory:/a\n1:cpu,cpuacct:/b\n0::/c\n", cpu1+hybrid+memory1, "/sys/fs/cgroup/memory/a", "/sys/fs/cgroup/memory", 1)
	check("both, memory in 2", "1:cpu,cpuacct:/b\n0::/c\n", cpu1+hybrid, "/sys/fs/cgroup/unified/c", "/sys/fs/cgroup/unified", 2)
	check("container, whole path", "4:memory:/docker/abc/x\n", docker1, "/sys/fs/cgroup/memory/x", "/sys/fs/cgroup/memory", 1)
	check("container, another path", "4:memory:/elsewhere\n", docker1, "/sys/fs/cgroup/memory", "/sys/fs/cgroup/memory", 1)
	check("none", "", mount2, "", "", 0)
	check("not mounted", "0::/a\n", "", "", "", 0)
	check("strange", "x\n1:2\n", "a - b\n - \n", "", "", 0)
}

// group makes a control group's files and a process in it, and reads its meters.
func group(t *testing.T, mountinfo, cgroup string, files map[string]string) (map[string]int64, *treeCgroup, string) {
	t.Helper()
	root := t.TempDir()
	write := func(path, text string) {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("proc/7/cgroup", cgroup)
	write("proc/self/mountinfo", "29 23 0:26 / "+root+"/cg rw - "+mountinfo+"\n")
	for path, text := range files {
		write("cg/"+path, text)
	}
	tr := newTree(root + "/proc")
	tr.root.Store(7)
	src, events := tr.cgroup().(*treeCgroup), tr.cgroupEvents()
	t.Cleanup(func() { src.Close(); events.Close() })
	got := map[string]int64{}
	for _, s := range []Source{src, events} {
		values, err := readOnce(s)
		if err != errCgroupParts && err != errNoCgroup && err != nil {
			t.Fatal(err)
		}
		maps.Copy(got, values)
	}
	return got, src, root
}

func TestCgroupVersion2(t *testing.T) {
	got, src, root := group(t, "cgroup2 cgroup2 rw", "0::/slice/trial\n", map[string]string{
		"slice/trial/memory.current":      "5000\n",
		"slice/trial/memory.peak":         "9000\n",
		"slice/trial/memory.max":          "max\n",
		"slice/memory.max":                "20000\n",
		"slice/trial/memory.swap.current": "300\n",
		"slice/trial/memory.swap.peak":    "400\n",
		"slice/trial/memory.swap.max":     "max\n",
		"slice/trial/memory.events":       "low 0\nhigh 0\nmax 895486\noom 3\noom_kill 2\noom_group_kill 0\n",
	})
	want := map[string]int64{
		memtrix.CgroupMemoryCurrent: 5000, memtrix.CgroupMemoryPeak: 9000, memtrix.CgroupMemoryLimit: 20000,
		memtrix.CgroupSwapCurrent: 300, memtrix.CgroupSwapPeak: 400,
		memtrix.CgroupEventsMax: 895486, memtrix.CgroupEventsOOM: 3, memtrix.CgroupEventsOOMKill: 2,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("want %v\ngot  %v", want, got)
	}
	if marks := src.marks.all(); len(marks) != 0 {
		t.Errorf("a peak from before is none of this recording: %v", marks)
	}
	// The kernel saw more between two readings.
	os.WriteFile(root+"/cg/slice/trial/memory.peak", []byte("15000\n"), 0o644)
	src.Read(Medium, func(int, int64) {})
	if marks := src.marks.all(); len(marks) != 1 || marks[0] != (KernelPeak{memtrix.CgroupMemoryCurrent, 0, Medium, 15000}) {
		t.Errorf("peak between readings: %v", marks)
	}
}

func TestCgroupVersion1(t *testing.T) {
	got, src, root := group(t, "cgroup cgroup rw,memory", "4:memory:/a\n0::/\n", map[string]string{
		"a/memory.usage_in_bytes":       "5000\n",
		"a/memory.max_usage_in_bytes":   "9000\n",
		"a/memory.memsw.usage_in_bytes": "5300\n",
		"a/memory.limit_in_bytes":       "9223372036854771712\n",
		"memory.limit_in_bytes":         "7000\n",
		"a/memory.failcnt":              "12\n",
		"a/memory.oom_control":          "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n",
		"b/memory.usage_in_bytes":       "77\n",
	})
	want := map[string]int64{
		memtrix.CgroupMemoryCurrent: 5000, memtrix.CgroupMemoryPeak: 9000, memtrix.CgroupMemoryLimit: 7000,
		memtrix.CgroupSwapCurrent: 300, memtrix.CgroupEventsMax: 12, memtrix.CgroupEventsOOMKill: 1,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("want %v\ngot  %v", want, got)
	}
	// It ends: without memory it is in the root for a moment, and that is no move.
	os.WriteFile(root+"/proc/7/statm", []byte("0 0 0 0 0 0 0\n"), 0o644)
	os.WriteFile(root+"/proc/7/cgroup", []byte("4:memory:/\n0::/\n"), 0o644)
	last := int64(-1)
	err := src.Read(2*Seldom, func(i int, v int64) {
		if i == cgroupCurrent {
			last = v
		}
	})
	if last != 5000 || err != nil && err != errCgroupParts {
		t.Errorf("after the end: want 5000, got %d, %v", last, err)
	}
	// It is put into another group.
	os.WriteFile(root+"/proc/7/statm", []byte("100 50 20 1 0 9 0\n"), 0o644)
	os.WriteFile(root+"/proc/7/cgroup", []byte("4:memory:/b\n0::/\n"), 0o644)
	src.Read(4*Seldom, func(i int, v int64) {
		if i == cgroupCurrent && v != 77 {
			t.Errorf("after the move: want 77, got %d", v)
		}
	})
}

// What befell the groups of a process is counted on when it is put into another one,
// whatever that has seen before, and when somebody sets a counter back.
func TestCgroupCountersNeverFall(t *testing.T) {
	_, _, root := group(t, "cgroup cgroup rw,memory", "4:memory:/a\n0::/\n", map[string]string{
		"a/memory.usage_in_bytes": "5000\n",
		"a/memory.failcnt":        "12\n",
		"a/memory.oom_control":    "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n",
		"b/memory.usage_in_bytes": "77\n",
		"b/memory.failcnt":        "900\n",
		"b/memory.oom_control":    "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n",
	})
	tr := newTree(root + "/proc")
	tr.root.Store(7)
	src := tr.cgroupEvents()
	defer src.Close()
	os.WriteFile(root+"/proc/7/statm", []byte("100 50 20 1 0 9 0\n"), 0o644)
	check := func(at time.Duration, path, text string, want ...int64) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(root, path), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		got := map[int]int64{}
		src.Read(at, func(i int, v int64) { got[i+cgroupLimit] = v })
		if got[cgroupMax] != want[0] || got[cgroupOOMKill] != want[1] {
			t.Errorf("after %s of %s: want %v, got %v", text, path, want, got)
		}
	}
	check(0, "cg/a/memory.failcnt", "12\n", 12, 3)
	check(2*Seldom, "cg/a/memory.failcnt", "14\n", 14, 3)
	check(4*Seldom, "proc/7/cgroup", "4:memory:/b\n0::/\n", 14, 3)
	check(6*Seldom, "cg/b/memory.failcnt", "905\n", 19, 3)
	check(8*Seldom, "cg/b/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n", 19, 4)
	check(10*Seldom, "cg/b/memory.failcnt", "0\n", 19, 4)
	check(12*Seldom, "cg/b/memory.failcnt", "2\n", 21, 4)
}

func TestCgroupNone(t *testing.T) {
	tr := newTree(fixtures)
	tr.root.Store(100)
	src := tr.cgroup()
	for range 2 {
		if got, err := readOnce(src); err == nil || len(got) != 0 {
			t.Errorf("want an error and nothing else, got %v, %v", got, err)
		}
	}
	if got, _, _ := group(t, "tmpfs tmpfs rw", "0::/\n", nil); len(got) != 0 {
		t.Errorf("no control group, and %v", got)
	}
}

// The peaks of a group are cut at boundaries; where they cannot be set back they
// say nothing about a stretch.
func TestGroupPeaksOfStretches(t *testing.T) {
	tr := newTree(fixtures)
	value, shut, refuse := int64(0), 0, error(nil)
	tr.asked = true
	tr.spanPeaks = []spanPeak{{
		meter: memtrix.CgroupMemoryCurrent,
		read:  func() (int64, error) { return value, nil },
		reset: func() error { return refuse },
		close: func() { shut++ },
	}}
	for i, v := range []int64{900, 500, 700} {
		value = v
		tr.groupPeaks(time.Duration(i+1) * time.Second)
	}
	refuse = errors.New("no")
	tr.groupPeaks(4 * time.Second)
	tr.groupPeaks(5 * time.Second)
	want := []KernelPeak{
		{memtrix.CgroupMemoryCurrent, 1 * time.Second, 2 * time.Second, 500},
		{memtrix.CgroupMemoryCurrent, 2 * time.Second, 3 * time.Second, 700},
		{memtrix.CgroupMemoryCurrent, 3 * time.Second, 4 * time.Second, 700},
	}
	if got := tr.marks.all(); !slices.Equal(got, want) || shut != 1 {
		t.Errorf("want %v\ngot  %v, closed %d times", want, got, shut)
	}
}
