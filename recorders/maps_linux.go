package recorders

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"memtrix"
)

// treeMaps are the tree's memory without double counting, from
// /proc/PID/smaps_rollup (Linux 4.14). The kernel walks through all page tables
// for it, so it has a thread of its own, is read once a second at most and takes
// at most one part in 2 x share of the time (but is read every other minute), and is
// left out once a reading would take longer than tooDear.
type treeMaps struct {
	*tree
	cost time.Duration // processor time of the last reading
	off  error
	told bool // a process was read: when all have ended, they truly hold nothing
	buf  [4096]byte
}

// tooDear is the longest reading: the kernel lets the process change its
// mappings meanwhile only now and then.
const tooDear = 300 * time.Millisecond

func (t *treeMaps) Meters() []memtrix.Meter {
	return []memtrix.Meter{
		bytesMeter(memtrix.RAMTreePSS, "Pss of /proc/PID/smaps_rollup, summed"),
		bytesMeter(memtrix.RAMTreeUSS, "Private_* of /proc/PID/smaps_rollup, summed"),
	}
}

func (t *treeMaps) Every() time.Duration { return affordable(2*t.cost, Seldom, 2*time.Minute) }

func (t *treeMaps) Read(_ time.Duration, put func(int, int64)) error {
	if t.off != nil {
		return t.off
	}
	pids := t.members.Load()
	if pids == nil {
		return errNotStarted
	}
	before, _ := threadCPU()
	var pss, uss int64
	for _, pid := range *pids {
		p, u, err := t.read(pid)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) {
			continue // it has ended
		}
		if err != nil {
			return fmt.Errorf("mappings of process %d: %w", pid, err)
		}
		pss, uss, t.told = pss+p, uss+u, true
	}
	after, _ := threadCPU()
	t.cost = after - before
	if !t.told {
		return errNotFollowed
	}
	put(0, pss)
	put(1, uss)
	if t.cost > tooDear {
		t.off = fmt.Errorf("a reading took %v, and would hold up the process", t.cost.Round(time.Millisecond))
	}
	return nil
}

func (t *treeMaps) read(pid int) (pss, uss int64, err error) {
	f, err := openProc(procDir(t.proc, pid) + "/smaps_rollup")
	if err != nil {
		return 0, 0, mapsError(t.proc, pid, err)
	}
	defer f.close()
	text, err := f.read(t.buf[:])
	if err != nil {
		return 0, 0, err
	}
	pss, _ = findKB(text, "Pss")
	for _, key := range []string{"Private_Clean", "Private_Dirty", "Private_Hugetlb"} {
		n, _ := findKB(text, key)
		uss += n
	}
	return pss, uss, nil
}

func mapsError(proc string, pid int, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		if _, e := os.Stat(procDir(proc, pid) + "/stat"); e == nil {
			return errors.New("the kernel has no smaps_rollup (Linux 4.14)")
		}
	}
	return err
}

func (t *treeMaps) Close() error { return nil }
