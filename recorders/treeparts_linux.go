package recorders

import (
	"cmp"
	"fmt"
	"time"

	"memtrix"
)

// treeParts looks for new members, drops those that have ended, and reads what the
// status of each tells: of what its memory is made, and the largest resident memory
// that the kernel has seen.
type treeParts struct {
	*tree
	cost, last time.Duration // of a reading: the smaller of the last two
}

var partMeters = []memtrix.Meter{
	bytesMeter(memtrix.RAMTreeFile, "RssFile of /proc/PID/status, summed"),
	bytesMeter(memtrix.RAMTreeShmem, "RssShmem of /proc/PID/status, summed"),
	bytesMeter(memtrix.SwapTreeUsed, "VmSwap of /proc/PID/status, summed"),
	{Name: memtrix.TreeProcesses, Unit: memtrix.UnitCount, Source: "processes in /proc that the first one started"},
}

func (t *treeParts) Meters() []memtrix.Meter { return partMeters }

func (t *treeParts) Every() time.Duration {
	return min(max(Medium, mostOfTime*t.cost), Seldom)
}

func (t *treeParts) Read(now time.Duration, put func(int, int64)) error {
	if err := t.follow(); err != nil {
		return err
	}
	start := time.Now()
	t.grow(now)
	sum, err := t.look(now)
	if err != nil {
		return err
	}
	took := time.Since(start)
	t.cost, t.last = min(took, t.last), took
	put(3, int64(len(t.procs)))
	if sum.hasParts {
		put(0, sum.file)
		put(1, sum.shmem)
	}
	if sum.hasSwap {
		put(2, sum.swap)
	}
	if !sum.hasParts || !sum.hasSwap {
		return errNoParts
	}
	return nil
}

// look reads every member's status, drops those that have ended, and notes peaks
// that no reading saw.
func (t *tree) look(now time.Duration) (statusMemory, error) {
	sum, one := statusMemory{hasParts: true, hasSwap: true}, int64(0)
	for i := 0; i < len(t.procs); {
		m := &t.procs[i]
		if err := t.status(m); err != nil {
			return sum, fmt.Errorf("memory of process %d: %w", m.pid, err)
		}
		if m.gone {
			t.drop(i)
			continue
		}
		sum.plus(m.memory)
		if m.pid == t.rooted {
			one = m.memory.rss
		}
		i++
	}
	t.kernelPeaks(now, sum.rss)
	t.glimpsed(now, sum.rss, one)
	return sum, nil
}

func (t *tree) glimpsed(now time.Duration, sum, one int64) {
	t.noted = cmp.Or(t.noted, now)
	if sum > t.glimpse.sum {
		t.glimpse.at, t.glimpse.sum = now, sum
	}
	t.glimpse.one = max(t.glimpse.one, one)
}

// kernelPeaks looks whether the kernel saw more of a member, since its status was
// read before, than any reading did. The tree then held that much and what the
// others held at the same time: the smaller of what they held before and after.
func (t *tree) kernelPeaks(now time.Duration, sum int64) {
	for i := range t.procs {
		m := &t.procs[i]
		if !m.memory.hasRSS { // a zombie: what is told of its end is since it was read alive
			m.before = 0
			continue
		}
		if !m.old {
			t.peaked(m, now, m.memory.peak, sum-m.memory.rss)
		}
		m.read, m.old, m.mark = now, false, m.memory.peak
		m.before, m.most = m.memory.rss, m.memory.rss
	}
	t.whole, t.most = sum, sum
}

// peaked notes the kernel's peak of a member where it is news; others is what the
// rest of the tree holds now.
func (t *tree) peaked(m *member, now time.Duration, peak, others int64) {
	// A peak that is lower than before was set back (ResetPeak), and is new too.
	if peak <= m.most+noise || peak >= m.mark && peak <= m.mark+noise {
		return
	}
	others = max(min(t.whole-m.before, others), 0)
	t.marks.add(KernelPeak{memtrix.RAMTreeRSS, m.read, now, peak + others})
	if m.pid == t.rooted {
		t.marks.add(KernelPeak{memtrix.RAMProcessRSS, m.read, now, peak})
	}
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

func (t *treeParts) Close() error {
	t.clear()
	t.scan.close()
	return nil
}
