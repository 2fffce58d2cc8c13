package recorders

import (
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// tree is a process with all that it started. Its members are found by scan
// (procscan_linux.go) ten times a second, and sooner where a scan is cheap, so a
// child that lives shorter than that can be missed; the first process is there at
// once. It belongs to one thread but for root and what asks members.
type tree struct {
	proc string       // "/proc"
	root atomic.Int64 // PID of the first process, 0 before it is known
	scan scanner
	// members are the processes as of the last change, for other threads.
	members atomic.Pointer[[]int]
	marks   marks

	procs   []member
	scanned time.Duration // when scan was last done, from far below 0
	first   bool          // nothing was scanned yet: who is found was there before
	cost    time.Duration // of a scan that found the list of processes moved
	forced  time.Duration // when every member was last read in full
	rooted  int           // the root that procs belong to
	lost    error         // why it could not be followed, if so
	// Of members that have ended: sums must not fall.
	faultsGone, readGone int64
	buf                  []byte
}

// member is one process of the tree with its kept files.
type member struct {
	pid                     int
	statm, status, stat, io procFile
	// The memory as last read, from status, when statm held this text.
	memory       statusMemory
	full         bool          // status was read in this reading
	read         time.Duration // when it was read before; before that, not yet born
	old          bool          // it was there before the recording, and not read yet
	before       int64         // resident memory in the reading before
	mark         int64         // the kernel's peak in that reading
	text         []byte
	faults, disk int64
}

func newTree(proc string) *tree {
	return &tree{proc: proc, buf: make([]byte, 16<<10), scan: newScanner(proc)}
}

// memory, counters, cgroup and maps are the sources of a tree.
func (t *tree) memory() Source   { return &treeMemory{tree: t} }
func (t *tree) counters() Source { return &treeCounters{t} }
func (t *tree) cgroup() Source   { return &treeCgroup{tree: t} }
func (t *tree) maps() Source     { return &treeMaps{tree: t} }

// follow makes sure that the first process is among the members.
func (t *tree) follow() error {
	pid := int(t.root.Load())
	if pid == 0 {
		return errNotStarted
	}
	if pid == t.rooted {
		return t.lost
	}
	t.clear()
	t.rooted, t.lost, t.scanned, t.first = pid, nil, math.MinInt64/2, true
	t.scan.reset(pid)
	if err := t.join(pid); err != nil {
		t.lost = fmt.Errorf("process %d cannot be followed: %w", pid, err)
	}
	t.publish()
	return t.lost
}

// join opens a process's files; it may have ended already.
func (t *tree) join(pid int) error {
	dir := procDir(t.proc, pid)
	status, err := openProc(dir + "/status")
	if err != nil {
		return err
	}
	stat, err := openProc(dir + "/stat")
	if err != nil {
		status.close()
		return err
	}
	statm, _ := openProc(dir + "/statm") // without it status is read every time
	io, _ := openProc(dir + "/io")       // other people's may not be read
	t.procs = append(t.procs, member{pid: pid, statm: statm, status: status, stat: stat, io: io, read: t.scanned, old: t.first})
	return nil
}

// publish tells other threads who belongs.
func (t *tree) publish() {
	pids := make([]int, len(t.procs))
	for i := range t.procs {
		pids[i] = t.procs[i].pid
	}
	t.members.Store(&pids)
}

func (t *tree) drop(i int) {
	m := t.procs[i]
	t.faultsGone += m.faults
	t.readGone += m.disk
	m.statm.close()
	m.status.close()
	m.stat.close()
	m.io.close()
	t.procs = append(t.procs[:i], t.procs[i+1:]...)
	t.publish()
}

func (t *tree) clear() {
	for len(t.procs) > 0 {
		t.drop(len(t.procs) - 1)
	}
	t.faultsGone, t.readGone = 0, 0
}

// grow takes in new members: at every reading while a scan takes at most one
// part in share of the time, at least ten times a second.
func (t *tree) grow(now time.Duration) {
	if now < t.scanned+min(share*t.cost, Medium) {
		return
	}
	start := time.Now()
	found, moved := t.scan.newcomers()
	for _, pid := range found {
		t.join(pid) // one that has ended again is of no matter
	}
	if len(found) > 0 {
		t.publish()
	}
	t.first = false
	if moved {
		t.cost = time.Since(start)
	}
	t.scanned = now
}

// holds reports whether a process is of the tree.
func (t *tree) holds(pid int) bool {
	pids := t.members.Load()
	return pids != nil && slices.Contains(*pids, pid)
}

// exists reports whether there is a process with this number here.
func (t *tree) exists(pid int) bool {
	return unix.Access(procDir(t.proc, pid)+"/stat", unix.F_OK) == nil
}
