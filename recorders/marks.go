package recorders

import (
	"sync"
	"time"

	"memtrix"
)

// KernelPeak is a peak that no reading saw and the kernel's own counters tell:
// within (From, To] the meter reached Value.
//
// What it guarantees: Value is never below what the process that peaked held
// alone, and it is exact where the tree has one process. With more, what the
// others held at that moment is taken from the readings before and after, the
// smaller one. Two processes that peak for an instant between the same two
// readings are not added up. A process that was gone before it was read once more
// takes its last peak with it; only its parent (see the rusage of wait4) and its
// control group know that one.
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
