package recorders

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"memtrix"
	"memtrix/internal/mountinfo"
)

// treeCgroup is the control group with a memory controller that the first
// process is in when it becomes known
// (https://docs.kernel.org/admin-guide/cgroup-v2.html, .../cgroup-v1/memory.html).
type treeCgroup struct {
	*tree
	parts  groupParts
	of     int      // the process whose group is open
	which  procFile // tells its groups
	groups []byte   // as of then
	looked time.Duration
	files  []cgroupFile
	err    error
	peak   int64 // of memory, as last read; 0 before
	read   time.Duration
	counts [cgroupOOMKill + 1 - cgroupMax]groupCount
	text   [1024]byte
}

// groupParts is what is read of a group: what it holds, or what befell it.
type groupParts struct {
	meters []memtrix.Meter
	first  int // the index of the first one
	every  time.Duration
}

var (
	groupMemory = groupParts{cgroupMeters[:cgroupLimit], 0, Slow}
	groupEvents = groupParts{cgroupMeters[cgroupLimit:], cgroupLimit, Seldom}
)

// cgroupFile is an open file of the group and the meters in it.
type cgroupFile struct {
	procFile
	meters []cgroupMeter
}

// cgroupMeter is where a meter is in a file: the line that begins with key, or
// the whole file.
type cgroupMeter struct {
	index int
	key   string
}

const (
	cgroupCurrent = iota
	cgroupPeak
	cgroupSwap
	cgroupSwapPeak
	cgroupLimit // from here on groupEvents
	cgroupSwapLimit
	cgroupMax
	cgroupOOM
	cgroupOOMKill
)

var cgroupMeters = []memtrix.Meter{
	bytesMeter(memtrix.CgroupMemoryCurrent, "memory.current (v1: memory.usage_in_bytes)"),
	growing(bytesMeter(memtrix.CgroupMemoryPeak, "memory.peak (v1: memory.max_usage_in_bytes), since the group was made")),
	bytesMeter(memtrix.CgroupSwapCurrent, "memory.swap.current (v1: memsw.usage less usage)"),
	growing(bytesMeter(memtrix.CgroupSwapPeak, "memory.swap.peak, since the group was made")),
	bytesMeter(memtrix.CgroupMemoryLimit, "memory.max (v1: memory.limit_in_bytes), the smallest up to the root"),
	bytesMeter(memtrix.CgroupSwapLimit, "memory.swap.max, the smallest up to the root"),
	countMeter(memtrix.CgroupEventsMax, "max of memory.events (v1: memory.failcnt)"),
	countMeter(memtrix.CgroupEventsOOM, "oom of memory.events"),
	countMeter(memtrix.CgroupEventsOOMKill, "oom_kill of memory.events (v1: of memory.oom_control)"),
}

// growing marks a meter that never falls: its value says nothing about a span.
func growing(m memtrix.Meter) memtrix.Meter {
	m.Counter = true
	return m
}

func (t *treeCgroup) Meters() []memtrix.Meter { return t.parts.meters }

func (t *treeCgroup) Every() time.Duration { return t.parts.every }

func (t *treeCgroup) Read(now time.Duration, put func(int, int64)) error {
	pid := int(t.root.Load())
	if pid == 0 {
		return errNotStarted
	}
	if t.moved(pid, now) {
		t.open(pid)
	}
	if t.err != nil {
		return t.err
	}
	usage, both, n := int64(-1), int64(-1), 0
	for _, f := range t.files {
		text, err := f.read(t.text[:])
		if err != nil {
			return fmt.Errorf("control group of process %d: %w", pid, err)
		}
		for _, m := range f.meters {
			v, ok := cgroupNumber(text, m.key)
			switch {
			case !ok:
				continue
			case m.index == memsw:
				both = v
				continue
			case m.index == cgroupCurrent:
				usage = v
			case m.index == cgroupPeak:
				t.rise(now, v, usage)
			case m.index >= cgroupMax:
				v = t.counts[m.index-cgroupMax].next(v)
			}
			put(m.index-t.parts.first, v)
			n++
		}
	}
	if both >= 0 && usage >= 0 { // version 1 counts both together
		put(cgroupSwap, max(both-usage, 0))
		n++
	}
	if n < len(t.parts.meters) {
		return errCgroupParts
	}
	return nil
}

// groupCount is what befell a process's groups, which never falls: it goes on from where
// it was when the process is put into a group that has counted otherwise, and when
// somebody sets a counter of version 1 back.
type groupCount struct {
	last, offset int64
	known, moved bool
}

func (c *groupCount) next(v int64) int64 {
	if c.known && (c.moved || v+c.offset < c.last) {
		c.offset = c.last - v
	}
	c.last, c.known, c.moved = v+c.offset, true, false
	return c.last
}

// moved reports whether the process was put into another group, looking once a
// second.
func (t *treeCgroup) moved(pid int, now time.Duration) bool {
	if pid != t.of {
		return true
	}
	if now < t.looked+Seldom {
		return false
	}
	t.looked = now
	text, err := t.which.read(t.text[:])
	// One that has ended is in none, or in the root on its way there; its group's last
	// readings still count.
	return err == nil && !bytes.Equal(text, t.groups) && t.hasMemory(pid)
}

// hasMemory is false of a process that ends: the kernel takes its memory away before
// it takes it out of its groups (do_exit in kernel/exit.c).
func (t *treeCgroup) hasMemory(pid int) bool {
	text, err := os.ReadFile(procDir(t.proc, pid) + "/statm")
	n, _, ok := parseNumber(text)
	return err == nil && ok && n > 0
}

// memsw stands for the memory and swap of version 1, which is no meter.
const memsw = -1

// rise notes that the kernel saw a new peak since the reading before.
func (t *treeCgroup) rise(now time.Duration, peak, usage int64) {
	if t.peak > 0 && peak > t.peak && peak > usage {
		t.marks.add(KernelPeak{memtrix.CgroupMemoryCurrent, t.read, now, peak})
	}
	t.peak, t.read = peak, now
}

func cgroupNumber(text []byte, key string) (int64, bool) {
	if key != "" {
		return findNumber(text, key)
	}
	n, _, ok := parseNumber(text) // "max" is none
	return n, ok && n < unlimited
}

// unlimited is from where on a limit is none: version 1 writes 2^63 less a page.
const unlimited = 1 << 60

// open finds the group of a process and opens its files.
func (t *treeCgroup) open(pid int) {
	t.closeFiles()
	t.of, t.err, t.peak = pid, nil, 0
	for i := range t.counts {
		t.counts[i].moved = true
	}
	if t.which, t.err = openProc(procDir(t.proc, pid) + "/cgroup"); t.err != nil {
		return
	}
	text, err := t.which.read(t.text[:])
	if err != nil {
		t.err = fmt.Errorf("control group of process %d: %w", pid, err)
		return
	}
	t.groups = bytes.Clone(text)
	dir, mount, version, err := t.group(text)
	if err != nil {
		t.err = err
		return
	}
	switch {
	case version == 1 && t.parts.first == 0:
		t.file(dir, "memory.usage_in_bytes", cgroupMeter{index: cgroupCurrent})
		t.file(dir, "memory.max_usage_in_bytes", cgroupMeter{index: cgroupPeak})
		t.file(dir, "memory.memsw.usage_in_bytes", cgroupMeter{index: memsw})
	case version == 1:
		t.file(dir, "memory.failcnt", cgroupMeter{index: cgroupMax})
		t.file(dir, "memory.oom_control", cgroupMeter{cgroupOOMKill, "oom_kill"})
		t.limit(dir, mount, "memory.limit_in_bytes", cgroupLimit)
	case version == 2 && t.parts.first == 0:
		t.file(dir, "memory.current", cgroupMeter{index: cgroupCurrent})
		t.file(dir, "memory.peak", cgroupMeter{index: cgroupPeak})
		t.file(dir, "memory.swap.current", cgroupMeter{index: cgroupSwap})
		t.file(dir, "memory.swap.peak", cgroupMeter{index: cgroupSwapPeak})
	case version == 2:
		t.file(dir, "memory.events", cgroupMeter{cgroupMax, "max"}, cgroupMeter{cgroupOOM, "oom"}, cgroupMeter{cgroupOOMKill, "oom_kill"})
		t.limit(dir, mount, "memory.max", cgroupLimit)
		t.limit(dir, mount, "memory.swap.max", cgroupSwapLimit)
	}
	if version == 0 || len(t.files) == 0 && t.parts.first == 0 {
		t.err = errNoCgroup
	}
}

// group finds the folder of a group that a process's file tells.
func (t *tree) group(groups []byte) (dir, mount string, version int, err error) {
	mounts, err := os.ReadFile(t.proc + "/self/mountinfo")
	if err != nil {
		return "", "", 0, fmt.Errorf("control groups: %w", err)
	}
	dir, mount, version = findCgroup(string(groups), string(mounts))
	return dir, mount, version, nil
}

func (t *treeCgroup) file(dir, name string, meters ...cgroupMeter) {
	if f, err := openProc(filepath.Join(dir, name)); err == nil {
		t.files = append(t.files, cgroupFile{f, meters})
	}
}

// limit opens the file of the smallest limit on the way to the root.
func (t *treeCgroup) limit(dir, mount, name string, index int) {
	least, where := int64(math.MaxInt64), ""
	for {
		if data, err := os.ReadFile(filepath.Join(dir, name)); err == nil {
			if n, ok := cgroupNumber(data, ""); ok && n < least {
				least, where = n, dir
			}
		}
		if dir == mount || len(dir) <= len(mount) {
			break
		}
		dir = filepath.Dir(dir)
	}
	if where != "" {
		t.file(where, name, cgroupMeter{index: index})
	}
}

// findCgroup gives the folder of the group of a process that counts memory, the
// folder under which groups are mounted, and the version; 0 for none. The first
// text is /proc/PID/cgroup, the second /proc/self/mountinfo
// (https://man7.org/linux/man-pages/man5/proc_pid_mountinfo.5.html). Where both
// versions are mounted, memory is counted by the one that has the controller.
func findCgroup(groups, mounts string) (dir, mount string, version int) {
	one, two := "", ""
	for line := range strings.Lines(groups) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		if parts[0] == "0" && parts[1] == "" {
			two = parts[2]
		} else if strings.Contains(","+parts[1]+",", ",memory,") {
			one = parts[2]
		}
	}
	for m := range mountinfo.Mounts(mounts) {
		switch {
		case m.Kind == "cgroup" && one != "" && m.HasOption("memory"):
			return below(m.Point, m.Root, one), m.Point, 1
		case m.Kind == "cgroup2" && one == "" && two != "":
			dir, mount, version = below(m.Point, m.Root, two), m.Point, 2
		}
	}
	return dir, mount, version
}

// Group is the control group that counts a process's memory.
type Group struct {
	Dir     string
	Version int // 0: there is none
	// Writable is set where groups may be made below it.
	Writable bool
}

// GroupOf finds the control group of a process (0: our own).
func GroupOf(pid int) Group {
	if pid == 0 {
		pid = os.Getpid()
	}
	groups, _ := os.ReadFile(procDir("/proc", pid) + "/cgroup")
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	dir, _, version := findCgroup(string(groups), string(mounts))
	return Group{dir, version, version > 0 && unix.Access(dir, unix.W_OK) == nil}
}

// below is where a group is seen when root of the hierarchy is mounted at a
// folder: in a container, the group's path may be that of the machine.
func below(at, root, group string) string {
	if root != "/" {
		if rest, ok := strings.CutPrefix(group, root); ok {
			group = rest
		} else {
			group = "/"
		}
	}
	return filepath.Join(at, group)
}

func (t *treeCgroup) closeFiles() {
	for _, f := range t.files {
		f.close()
	}
	t.files = nil
	if t.of != 0 {
		t.which.close()
		t.of = 0
	}
}

func (t *treeCgroup) Close() error {
	t.closeFiles()
	return nil
}
