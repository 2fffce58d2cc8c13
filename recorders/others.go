//go:build !linux

package recorders

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"memtrix"
)

func procRoot(root string) string { return root }

// hostSources has nothing here yet, and says so.
func hostSources(string) ([]namedSource, []Absence) {
	err := errUnsupported(runtime.GOOS)
	var missing []Absence
	for _, name := range []string{
		memtrix.RAMHostAvailable, memtrix.RAMHostCached, memtrix.SwapHostUsed, memtrix.SwapHostIn, memtrix.SwapHostOut,
		memtrix.PSIMemorySome, memtrix.PSIMemoryFull,
	} {
		missing = append(missing, Absence{Meter: name, Reason: err.Error()})
	}
	return nil, missing
}

// tree is a process with all that it started; here its memory is not read yet.
type tree struct {
	root  atomic.Int64
	marks marks
}

func newTree(string) *tree { return &tree{} }

func (t *tree) memory() Source {
	return missingHere{
		memtrix.RAMTreeRSS, memtrix.RAMProcessRSS, memtrix.RAMTreeAnon,
	}
}

func (t *tree) parts() Source {
	return missingHere{memtrix.RAMTreeFile, memtrix.RAMTreeShmem, memtrix.SwapTreeUsed, memtrix.TreeProcesses}
}

func (t *tree) exits() Source { return missingHere{memtrix.TreeExits} }

func (t *tree) counters() Source { return missingHere{memtrix.FaultsTreeMajor, memtrix.DiskTreeRead} }

func (t *tree) cgroup() Source { return missingHere{memtrix.CgroupMemoryCurrent} }

func (t *tree) cgroupEvents() Source { return missingHere{memtrix.CgroupMemoryLimit} }

// boundary has nothing to do here.
func (t *tree) boundary(time.Duration) (int64, error) {
	return 0, fmt.Errorf("kernel peaks: %w on %s", errors.ErrUnsupported, runtime.GOOS)
}

func (t *tree) maps() Source { return missingHere{memtrix.RAMTreePSS, memtrix.RAMTreeUSS} }

func (t *tree) holds(pid int) bool { return int64(pid) == t.root.Load() }

func (t *tree) exists(int) bool { return true }

// missingHere are meters that are missing on this system.
type missingHere []string

func (m missingHere) Meters() []memtrix.Meter {
	var meters []memtrix.Meter
	for _, name := range m {
		meters = append(meters, memtrix.Meter{Name: name})
	}
	return meters
}

func (missingHere) Every() time.Duration { return time.Hour }

func (missingHere) Read(time.Duration, func(int, int64)) error { return errUnsupported(runtime.GOOS) }

func (missingHere) Close() error { return nil }

// ResetPeak fails here.
func ResetPeak(pid int) error {
	return fmt.Errorf("reset kernel peak of process %d: %w on %s", pid, errors.ErrUnsupported, runtime.GOOS)
}

// PeakRSS fails here.
func PeakRSS(pid int) (int64, error) {
	return 0, fmt.Errorf("kernel peak of process %d: %w on %s", pid, errors.ErrUnsupported, runtime.GOOS)
}

// AddressSpace fails here.
func AddressSpace(pid int) (int64, error) {
	return 0, fmt.Errorf("address space of process %d: %w on %s", pid, errors.ErrUnsupported, runtime.GOOS)
}

// Group is the control group that counts a process's memory.
type Group struct {
	Dir      string
	Version  int
	Writable bool
}

// GroupOf finds none here.
func GroupOf(int) Group { return Group{} }
