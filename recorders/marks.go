package recorders

import (
	"errors"
	"runtime"
	"sync"
	"time"

	"memtrix"
)

// KernelPeak is a peak that no reading saw and the kernel's own counters tell:
// within (From, To] the meter reached Value.
//
// Of a control group it is exact. Of a tree, Value is never below what the process that peaked held
// alone, and it is exact where the tree has one process. With more, what the
// others held at that moment is taken from the readings before and after, the
// smaller one. Two processes that peak for an instant between the same two
// readings are not added up: the sum of what each held at its most is an upper
// bound that the tree may never have reached, so no peak is made of it. What a
// process held that ended before it was read once more is known where the kernel
// tells of ends (exits.tree); else only its parent (see the rusage of wait4) and its
// control group know.
type KernelPeak struct {
	Meter    string
	From, To time.Duration
	Value    int64
}

// maxMarks bounds the list. Peaks that are seen by no reading are rare.
const maxMarks = 1 << 14

type marks struct {
	mu   sync.Mutex
	list []KernelPeak
}

func (m *marks) add(k KernelPeak) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.list) == maxMarks {
		m.list = halved(m.list)
	}
	m.list = append(m.list, k)
}

// halved keeps the larger of each two neighbours.
func halved(list []KernelPeak) []KernelPeak {
	out := list[:0]
	for i := 0; i+1 < len(list); i += 2 {
		k := list[i]
		if list[i+1].Value > k.Value {
			k = list[i+1]
		}
		out = append(out, k)
	}
	return out
}

func (m *marks) all() []KernelPeak {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]KernelPeak(nil), m.list...)
}

// Boundary ends a stretch of the trial for what the kernel counts by itself: the
// peak of each process of the tree and, with control groups of version 2 on Linux
// 6.12, of the group. What they reached becomes KernelPeaks of this stretch, and they
// are set back. It gives the peak of the first process's resident memory (VmHWM) in
// the stretch; an error says why there is none, or why none can be set back.
//
// The tree's memory is read now, so that what the next stretch begins with is not
// what was held up to one interval earlier. It is put down at the boundary, at of
// the sampler's clock, which must be a moment ago.
func (s *Sampler) Boundary(at time.Duration) (int64, error) {
	runtime.LockOSThread() // for the cost of the reading
	defer runtime.UnlockOSThread()
	l := s.process
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.stopping.Load() {
		return 0, errStopped
	}
	peak, err := s.tree.boundary(at)
	l.last = max(at, l.last)
	s.memory.read(l.last)
	return peak, err
}

var errStopped = errors.New("the recording has ended")

// KernelPeaks are the peaks that fell between readings, in the order in which
// they were found.
func (s *Sampler) KernelPeaks() []KernelPeak { return s.tree.marks.all() }

// KernelPeaksIn gives for each meter the largest of the peaks in [from, to). One
// that fell between two readings on both sides of a boundary counts where the
// middle between them lies: it is wrong there by half an interval at most.
func KernelPeaksIn(list []KernelPeak, from, to time.Duration) []memtrix.Peak {
	var peaks []memtrix.Peak
next:
	for _, k := range list {
		if mid := k.From + (k.To-k.From)/2; mid < from || mid >= to {
			continue
		}
		p := memtrix.Peak{Meter: k.Meter, Value: k.Value, How: memtrix.PeakKernel, At: k.To}
		for i := range peaks {
			if peaks[i].Meter == k.Meter {
				if k.Value > peaks[i].Value {
					peaks[i] = p
				}
				continue next
			}
		}
		peaks = append(peaks, p)
	}
	return peaks
}
