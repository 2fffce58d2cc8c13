package runner

import (
	"sync"
	"time"

	"memtrix"
)

// kernelPeaks keeps the kernel's own peak of resident memory (VmHWM) for each
// stretch between two boundaries. The kernel misses nothing, however short.
type kernelPeaks struct {
	boundaries bounder

	mu       sync.Mutex
	from     time.Duration
	segments []segment
	broken   bool
}

type segment struct {
	from, to time.Duration
	peak     int64
}

// bounder is a sampler that cuts what the kernel counts by itself at a moment, of all
// processes of the tree, and gives the peak of the first one since the moment before.
type bounder interface {
	Boundary(at time.Duration) (int64, error)
}

// newKernelPeaks gives nil where the meters cannot be cut.
func newKernelPeaks(meters any) *kernelPeaks {
	b, ok := meters.(bounder)
	if !ok {
		return nil
	}
	return &kernelPeaks{boundaries: b}
}

// boundary closes the stretch that has run so far and begins the next.
func (k *kernelPeaks) boundary(at time.Duration) {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.broken {
		return
	}
	peak, err := k.boundaries.Boundary(at)
	if peak > 0 {
		k.segments = append(k.segments, segment{k.from, at, peak})
	}
	// The process is gone, or the kernel does not let us: no kernel peaks from
	// here on, and sampled ones remain.
	k.broken = err != nil
	k.from = at
}

// peaks gives the kernel's peak within a span that begins and ends at
// boundaries, or nothing where it is not known for the whole of it.
func (k *kernelPeaks) peaks(from, to time.Duration) []memtrix.Peak {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	var best memtrix.Peak
	covered := time.Duration(0)
	for _, s := range k.segments {
		if s.from < from || s.to > to {
			continue
		}
		covered += s.to - s.from
		if s.peak > best.Value {
			best = memtrix.Peak{Meter: memtrix.RAMProcessRSS, Value: s.peak, How: memtrix.PeakKernel, At: s.to}
		}
	}
	if best.Value == 0 || covered < to-from {
		return nil
	}
	return []memtrix.Peak{best}
}
