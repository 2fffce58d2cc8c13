package recorders

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"memtrix"
)

// treeMemory sums the memory of the tree; a page that two members share counts
// twice. Once the tree has ended its sums are truly 0.
type treeMemory struct {
	*tree
	cost, last time.Duration // of a reading: the smaller of the last two
	sum        int64         // resident memory in the reading before
}

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

// Every is every tick for a tree of some processes. One of hundreds is read less
// often: at most one part in a hundred of the time goes into it.
func (t *treeMemory) Every() time.Duration {
	if t.cost < 10*time.Microsecond {
		return 0
	}
	return 100 * t.cost
}

func (t *treeMemory) Read(now time.Duration, put func(int, int64)) error {
	if err := t.follow(); err != nil {
		return err
	}
	start := time.Now()
	t.grow(now)
	sum, first, err := t.add(now)
	if err != nil {
		return err
	}
	t.kernelPeaks(now, sum.rss)
	took := time.Since(start)
	t.cost, t.last = min(took, t.last), took
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

// add reads every member and gives their sum, and the first process's share.
func (t *treeMemory) add(now time.Duration) (sum statusMemory, first int64, err error) {
	sum = statusMemory{hasParts: true, hasSwap: true}
	all := now >= t.forced+Medium
	if all {
		t.forced = now
	}
	for i := 0; i < len(t.procs); {
		m := &t.procs[i]
		m.before = m.memory.rss
		err := t.update(m, all)
		if err == unix.ESRCH {
			t.drop(i)
			continue
		}
		if err != nil {
			return sum, 0, fmt.Errorf("memory of process %d: %w", m.pid, err)
		}
		if m.pid == t.rooted {
			first = m.memory.rss
		}
		sum.plus(m.memory)
		i++
	}
	return sum, first, nil
}

// kernelPeaks looks whether the kernel saw more of a member, since it was read
// before, than either reading did. The tree then held that much and what the
// others held at the same time: the smaller of what they held in both readings.
func (t *treeMemory) kernelPeaks(now time.Duration, sum int64) {
	for i := range t.procs {
		m := &t.procs[i]
		peak := m.memory.peak
		// One that is lower than before was set back (ResetPeak), and is new too.
		rose := (peak > m.mark+noise || peak < m.mark) && peak > max(m.before, m.memory.rss)+noise
		if m.full {
			m.mark = peak
		}
		if rose && !m.old {
			from := m.read
			others := max(min(t.sum-m.before, sum-m.memory.rss), 0)
			t.marks.add(KernelPeak{memtrix.RAMTreeRSS, from, now, peak + others})
			if m.pid == t.rooted {
				t.marks.add(KernelPeak{memtrix.RAMProcessRSS, from, now, peak})
			}
		}
		if m.full {
			m.read, m.old = now, false
		}
	}
	t.sum = sum
}

// noise is by how much the kernel's counters of one process may differ without
// anything having happened (see parseStatus).
const noise = 256 << 10

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
	m.full = false
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
	m.memory, m.full = parseStatus(text), true
	return nil
}

func (t *treeMemory) Close() error {
	t.clear()
	t.scan.close()
	return nil
}
