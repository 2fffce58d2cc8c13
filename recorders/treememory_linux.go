package recorders

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"memtrix"
)

// treeMemory sums the resident memory of the tree; a page that two members share
// counts twice. Once the tree has ended its sums are truly 0. It is read often, so
// it reads no more than statm: a member's status, which tells all, costs the kernel
// several times as much.
type treeMemory struct {
	*tree
	cost, last time.Duration // of a reading: the smaller of the last two
}

var treeMeters = []memtrix.Meter{
	bytesMeter(memtrix.RAMTreeRSS, "resident of /proc/PID/statm, summed"),
	bytesMeter(memtrix.RAMProcessRSS, "resident of /proc/PID/statm of the first process"),
	bytesMeter(memtrix.RAMTreeAnon, "resident less shared of /proc/PID/statm, summed"),
}

// errNoParts is for kernels (and sandboxes that imitate one) that tell less.
var errNoParts = errors.New("this kernel's /proc/PID/status does not tell it")

func (t *treeMemory) Meters() []memtrix.Meter { return treeMeters }

// mostOfTime is how many times as long as a reading of the tree takes passes
// between two of them, at least: half a per cent of the time.
const mostOfTime = 200

// Every is every tick for a tree of some processes. One of hundreds is read less
// often.
func (t *treeMemory) Every() time.Duration {
	if t.cost < 50*time.Microsecond {
		return 0
	}
	return mostOfTime * t.cost
}

func (t *treeMemory) Read(now time.Duration, put func(int, int64)) error {
	if err := t.follow(); err != nil {
		return err
	}
	start := time.Now()
	var sum, anon, first int64
	parts := true
	for i := range t.procs {
		m := &t.procs[i]
		if err := t.resident(m); err != nil {
			return fmt.Errorf("memory of process %d: %w", m.pid, err)
		}
		if m.pid == t.rooted {
			first = m.resident
		}
		sum += m.resident
		anon += m.resident - m.shared
		// A kernel that does not split what is resident shares nothing in statm.
		parts = parts && (m.resident == 0 || m.known && m.memory.hasParts)
	}
	t.note(now, sum, first)
	took := time.Since(start)
	t.cost, t.last = min(took, t.last), took
	put(0, sum)
	put(1, first)
	if !parts {
		return errNoParts
	}
	put(2, anon)
	return nil
}

func (t *treeMemory) Close() error { return nil }

// note keeps a sum and the first process's part of it. What a look at the status of
// each saw, and neither this reading nor the one before, is noted as a peak: the
// thread may have stood still between the two, and what was held be gone.
func (t *tree) note(now time.Duration, sum, one int64) {
	g := t.glimpse
	if g.sum > max(sum, t.sum)+noise {
		t.marks.add(KernelPeak{memtrix.RAMTreeRSS, t.noted, g.at, g.sum})
	}
	if g.one > max(one, t.one)+noise {
		t.marks.add(KernelPeak{memtrix.RAMProcessRSS, t.noted, g.at, g.one})
	}
	t.noted, t.sum, t.one, t.glimpse = now, sum, one, glimpse{}
	t.most = max(t.most, sum)
}

var pageSize = int64(os.Getpagesize())

// resident reads how much memory a member has now. One that has ended has none.
func (t *tree) resident(m *member) error {
	if m.gone {
		return nil
	}
	if m.statm < 0 {
		return t.status(m)
	}
	text, err := m.statm.read(t.buf)
	switch {
	case err == unix.ESRCH:
		t.end(m)
		return nil
	case err != nil:
		return err
	}
	// size resident shared ...
	// (https://docs.kernel.org/filesystems/proc.html, table 1-3)
	_, rest, _ := parseNumber(text)
	resident, rest, ok := parseNumber(rest)
	shared, _, ok2 := parseNumber(rest)
	if !ok || !ok2 {
		return errNoParts
	}
	t.holdsNow(m, resident*pageSize, shared*pageSize)
	return nil
}

func (t *tree) holdsNow(m *member, resident, shared int64) {
	m.resident, m.shared = resident, shared
	m.most = max(m.most, resident)
}

// end is for a member that was found missing; parts drops it.
func (t *tree) end(m *member) {
	m.gone, m.resident, m.shared = true, 0, 0
	m.memory = statusMemory{}
}

// status reads all of a member's memory.
func (t *tree) status(m *member) error {
	if m.gone {
		return nil
	}
	text, err := m.status.read(t.buf)
	switch {
	case err == unix.ESRCH:
		t.end(m)
		return nil
	case err != nil:
		return err
	}
	if len(text) == len(t.buf) { // a process in very many groups
		t.buf = make([]byte, 2*len(t.buf))
		return t.status(m)
	}
	m.memory, m.known = parseStatus(text), true
	if m.statm < 0 {
		t.holdsNow(m, m.memory.rss, m.memory.rss-m.memory.anon)
	}
	m.most = max(m.most, m.memory.rss)
	return nil
}
