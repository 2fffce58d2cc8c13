package recorders

import (
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// tree is a process with all that it started. Its members are found by scan
// (procscan_linux.go) ten times a second; the first process is there at once. A
// child that lives shorter is missed by that, but not by what tells of ends
// (exits_linux.go).
type tree struct {
	proc string       // "/proc"
	root atomic.Int64 // PID of the first process, 0 before it is known
	// members are the processes as of the last change, for other threads.
	members atomic.Pointer[[]int]
	marks   marks

	// What follows belongs to who has the lock of the thread that reads processes.
	scan   scanner
	procs  []member
	first  bool  // nothing was scanned yet: who is found was there before
	rooted int   // the root that procs belong to
	lost   error // why it could not be followed, if so
	// The sum of resident memory in the newest reading; when every status was last
	// read; and the largest since then.
	sum, whole, most int64
	one              int64         // the first process's part of sum
	noted            time.Duration // when sum was read
	glimpse          glimpse       // what status told since
	fixed            error         // why peaks may not be set back here
	spanPeaks        []spanPeak
	asked            bool // for spanPeaks
	// Members that ended since the kernel's own word of ends was last read, which may
	// know more of their peaks; none where it says nothing.
	told bool
	left []member
	// Of members that have ended: sums must not fall.
	faultsGone, readGone int64
	buf                  []byte
}

// member is one process of the tree with its kept files.
type member struct {
	pid                     int
	statm, status, stat, io procFile
	resident, shared        int64 // bytes, as of the newest statm
	most                    int64 // the largest resident since status was read
	gone                    bool  // it has ended
	// The memory as last read from status.
	memory       statusMemory
	known        bool          // it was read
	before       int64         // resident memory in that reading
	read         time.Duration // when that was; before the first time, not yet born
	old          bool          // it was there before the recording, and not read yet
	mark         int64         // the kernel's peak in that reading
	faults, disk int64
}

// glimpse is the largest sum that a look at every status gave since resident memory
// was last read. It is in no series yet: what it saw may be gone when that is read.
type glimpse struct {
	at       time.Duration
	sum, one int64
}

func newTree(proc string) *tree {
	return &tree{proc: proc, buf: make([]byte, 16<<10), scan: newScanner(proc)}
}

// The sources of a tree. Those of its members want to be read in this order: an
// end is told before the process is found missing.
func (t *tree) exits() Source        { return newExits(t) }
func (t *tree) parts() Source        { return &treeParts{tree: t} }
func (t *tree) memory() Source       { return &treeMemory{tree: t} }
func (t *tree) counters() Source     { return &treeCounters{t} }
func (t *tree) cgroup() Source       { return &treeCgroup{tree: t, parts: groupMemory} }
func (t *tree) cgroupEvents() Source { return &treeCgroup{tree: t, parts: groupEvents} }
func (t *tree) maps() Source         { return &treeMaps{tree: t} }

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
	t.rooted, t.lost, t.first = pid, nil, true
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
	t.procs = append(t.procs, member{pid: pid, statm: statm, status: status, stat: stat, io: io, read: t.scan.at, old: t.first})
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
	if t.told {
		m.before = 0 // it is in no sum any more
		t.left = append(t.left, m)
	}
	t.publish()
}

func (t *tree) clear() {
	for len(t.procs) > 0 {
		t.drop(len(t.procs) - 1)
	}
	t.faultsGone, t.readGone, t.left = 0, 0, nil
	t.sum, t.one, t.noted, t.glimpse = 0, 0, 0, glimpse{}
	for _, p := range t.spanPeaks {
		p.close()
	}
	t.spanPeaks, t.asked, t.fixed = nil, false, nil
}

// grow takes in new members.
func (t *tree) grow(now time.Duration) {
	found := t.scan.newcomers(now)
	for _, pid := range found {
		t.join(pid) // one that has ended again is of no matter
	}
	if len(found) > 0 {
		t.publish()
	}
	t.first, t.scan.at = false, now
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
