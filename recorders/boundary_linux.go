package recorders

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"memtrix"
)

// boundary ends a stretch of the trial for all that the kernel counts by itself:
// it notes the peaks of the stretch, and sets them back. It gives that of the first
// process.
func (t *tree) boundary(at time.Duration) (int64, error) {
	if err := t.follow(); err != nil {
		return 0, err
	}
	t.groupPeaks(at)
	if _, err := t.look(at); err != nil {
		return 0, err
	}
	peak := int64(0)
	for i := range t.procs {
		if m := &t.procs[i]; m.pid == t.rooted {
			peak = m.memory.peak
		}
	}
	if peak == 0 {
		return 0, fmt.Errorf("kernel peak of process %d: %w", t.rooted, fs.ErrNotExist)
	}
	for i := range t.procs {
		m := &t.procs[i]
		if t.fixed != nil || !m.memory.hasRSS {
			continue
		}
		if err := resetPeak(t.proc, m.pid); err == nil {
			m.mark = m.memory.rss
		} else if m.pid == t.rooted {
			t.fixed = err
		}
	}
	return peak, t.fixed
}

// spanPeak is a file of a control group that counts a peak since it was opened or
// written to: that of this open file alone, so that nobody else's is disturbed
// (memory.peak, Linux 6.12, https://docs.kernel.org/admin-guide/cgroup-v2.html).
// Version 1 has one peak for everybody: that one is never set back.
type spanPeak struct {
	meter string
	from  time.Duration
	read  func() (int64, error)
	reset func() error
	close func()
}

// groupPeaks notes the peaks of the first process's group since the boundary before.
func (t *tree) groupPeaks(at time.Duration) {
	if !t.asked {
		t.asked = true
		t.spanPeaks = t.openSpanPeaks()
	}
	n := 0
	for _, p := range t.spanPeaks {
		if p.from > 0 {
			if v, err := p.read(); err == nil {
				t.marks.add(KernelPeak{p.meter, p.from, at, v})
			}
		}
		if p.reset() != nil { // an older kernel: its peak is that of all times
			p.close()
			continue
		}
		p.from = at
		t.spanPeaks[n] = p
		n++
	}
	t.spanPeaks = t.spanPeaks[:n]
}

func (t *tree) openSpanPeaks() []spanPeak {
	which, err := openProc(procDir(t.proc, t.rooted) + "/cgroup")
	if err != nil {
		return nil
	}
	defer which.close()
	groups, err := which.read(t.buf)
	if err != nil {
		return nil
	}
	dir, _, version, err := t.group(groups)
	if err != nil || version != 2 {
		return nil
	}
	var peaks []spanPeak
	for name, meter := range map[string]string{"memory.peak": memtrix.CgroupMemoryCurrent, "memory.swap.peak": memtrix.CgroupSwapCurrent} {
		fd, err := unix.Open(filepath.Join(dir, name), unix.O_RDWR|unix.O_CLOEXEC, 0)
		if err != nil {
			continue
		}
		f := procFile(fd)
		peaks = append(peaks, spanPeak{
			meter: meter,
			read: func() (int64, error) {
				var text [32]byte
				b, err := f.read(text[:])
				if err != nil {
					return 0, err
				}
				n, ok := cgroupNumber(b, "")
				if !ok {
					return 0, errors.New("not a number")
				}
				return n, nil
			},
			reset: func() error { _, err := unix.Pwrite(fd, []byte("reset"), 0); return err },
			close: f.close,
		})
	}
	return peaks
}
