package recorders

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"memtrix"
)

// tree is a process with all that it started. Its members are found by scan
// (procscan_linux.go) ten times a second, so a child that lives shorter than
// that can be missed; the first process is there at once.
type tree struct {
	proc string       // "/proc"
	root atomic.Int64 // PID of the first process, 0 before it is known
	scan scanner

	procs   []member
	scanned time.Duration // when scan was last done, from far below 0
	rooted  int           // the root that procs belong to
	lost    error         // why it could not be followed, if so
	// faults of members that have ended: the sum must not fall.
	faultsGone int64
	buf        []byte
}

// member is one process of the tree with its kept files.
type member struct {
	pid                 int
	statm, status, stat procFile
	// The memory as last read, from status, when statm held this text.
	memory statusMemory
	text   []byte
	faults int64
}

func newTree(proc string) *tree {
	return &tree{proc: proc, buf: make([]byte, 16<<10), scan: newScanner(proc)}
}

func (t *tree) sources() []Source {
	return []Source{&treeMemory{t}, &treeFaults{t}}
}

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
	t.rooted, t.lost, t.scanned = pid, nil, math.MinInt64/2
	t.scan.reset(pid)
	if err := t.join(pid); err != nil {
		t.lost = fmt.Errorf("process %d cannot be followed: %w", pid, err)
	}
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
	t.procs = append(t.procs, member{pid: pid, statm: statm, status: status, stat: stat})
	return nil
}

func (t *tree) drop(i int) {
	m := t.procs[i]
	t.faultsGone += m.faults
	m.statm.close()
	m.status.close()
	m.stat.close()
	t.procs = append(t.procs[:i], t.procs[i+1:]...)
}

func (t *tree) clear() {
	for len(t.procs) > 0 {
		t.drop(len(t.procs) - 1)
	}
	t.faultsGone = 0
}

// grow takes in new members, at most ten times a second. It reports whether it
// was time to.
func (t *tree) grow(now time.Duration) bool {
	if now < t.scanned+Medium {
		return false
	}
	t.scanned = now
	for _, pid := range t.scan.newcomers() {
		t.join(pid) // one that has ended again is of no matter
	}
	return true
}

// holds reports whether a process is of the tree.
func (t *tree) holds(pid int) bool {
	for i := range t.procs {
		if t.procs[i].pid == pid {
			return true
		}
	}
	return false
}

// exists reports whether there is a process with this number here.
func (t *tree) exists(pid int) bool {
	return unix.Access(procDir(t.proc, pid)+"/stat", unix.F_OK) == nil
}

// treeMemory sums the memory of the tree; a page that two members share counts
// twice. Once the tree has ended its sums are truly 0.
type treeMemory struct{ *tree }

var treeMeters = []memtrix.Meter{
	bytesMeter(memtrix.RAMTreeRSS, "VmRSS of /proc/PID/status, summed"),
	bytesMeter(memtrix.RAMProcessRSS, "VmRSS of the first process"),
	bytesMeter(memtrix.RAMTreeAnon, "RssAnon of /proc/PID/status, summed"),
	bytesMeter(memtrix.RAMTreeFile, "RssFile of /proc/PID/status, summed"),
	bytesMeter(memtrix.RAMTreeShmem, "RssShmem of /proc/PID/status, summed"),
	bytesMeter(memtrix.SwapTreeUsed, "VmSwap of /proc/PID/status, summed"),
}

// errNoParts is for kernels (and sandboxes that imitate one) that tell less.
var errNoParts = errors.New("this kernel's /proc/PID/status does not tell it")

func (t *treeMemory) Meters() []memtrix.Meter { return treeMeters }

func (t *treeMemory) Every() time.Duration { return 0 }

func (t *treeMemory) Read(now time.Duration, put func(int, int64)) error {
	if err := t.follow(); err != nil {
		return err
	}
	all := t.grow(now)
	sum := statusMemory{hasParts: true, hasSwap: true}
	var first int64
	for i := 0; i < len(t.procs); {
		m := &t.procs[i]
		err := t.update(m, all)
		if err == unix.ESRCH {
			t.drop(i)
			continue
		}
		if err != nil {
			return fmt.Errorf("memory of process %d: %w", m.pid, err)
		}
		if m.pid == t.rooted {
			first = m.memory.rss
		}
		sum.plus(m.memory)
		i++
	}
	put(0, sum.rss)
	put(1, first)
	if sum.hasParts {
		put(2, sum.anon)
		put(3, sum.file)
		put(4, sum.shmem)
	}
	if sum.hasSwap {
		put(5, sum.swap)
	}
	if !sum.hasParts || !sum.hasSwap {
		return errNoParts
	}
	return nil
}

// plus adds a process. One without any memory (a zombie) lacks no parts.
func (s *statusMemory) plus(m statusMemory) {
	s.rss += m.rss
	s.anon += m.anon
	s.file += m.file
	s.shmem += m.shmem
	s.swap += m.swap
	if m.hasRSS {
		s.hasParts = s.hasParts && m.hasParts
		s.hasSwap = s.hasSwap && m.hasSwap
	}
}

// update reads a member's memory. Its status, which tells all, costs the kernel
// several times as much as its statm, which tells whether anything moved: it is
// read only when statm did, or on demand. ESRCH means that the process is gone.
func (t *tree) update(m *member, all bool) error {
	if m.statm >= 0 {
		text, err := m.statm.read(t.buf)
		if err != nil {
			return err
		}
		if !all && bytes.Equal(text, m.text) {
			return nil
		}
		m.text = append(m.text[:0], text...)
	}
	text, err := m.status.read(t.buf)
	if err != nil {
		return err
	}
	if len(text) == len(t.buf) { // a process in very many groups
		t.buf = make([]byte, 2*len(t.buf))
		return t.update(m, true)
	}
	m.memory = parseStatus(text)
	return nil
}

func (t *treeMemory) Close() error {
	t.clear()
	t.scan.close()
	return nil
}

// treeFaults counts the tree's major faults: pages that had to come from a disk.
type treeFaults struct{ *tree }

func (t *treeFaults) Meters() []memtrix.Meter {
	return []memtrix.Meter{countMeter(memtrix.FaultsTreeMajor, "majflt of /proc/PID/stat, summed")}
}

func (t *treeFaults) Every() time.Duration { return Slow }

func (t *treeFaults) Read(_ time.Duration, put func(int, int64)) error {
	if err := t.follow(); err != nil {
		return err
	}
	sum := t.faultsGone
	for i := range t.procs {
		m := &t.procs[i]
		if text, err := m.stat.read(t.buf); err == nil {
			if st, ok := parseStat(text); ok {
				m.faults = st.majorFaults
			}
		}
		sum += m.faults
	}
	put(0, sum)
	return nil
}

func (t *treeFaults) Close() error { return nil }
