package recorders

import (
	"errors"
	"time"

	"memtrix"
)

// treeCounters counts what the tree's members did: major faults are pages that
// had to come from a disk, and read_bytes what was really fetched from one.
type treeCounters struct{ *tree }

func (t *treeCounters) Meters() []memtrix.Meter {
	disk := countMeter(memtrix.DiskTreeRead, "read_bytes of /proc/PID/io, summed")
	disk.Unit = memtrix.UnitBytes
	return []memtrix.Meter{
		countMeter(memtrix.FaultsTreeMajor, "majflt of /proc/PID/stat, summed"),
		disk,
	}
}

// Every is slow: the kernel sums over all threads for both files.
func (t *treeCounters) Every() time.Duration { return 2 * Slow }

var errNoIO = errors.New("/proc/PID/io may be read by the process's own user only, and not in every container")

func (t *treeCounters) Read(_ time.Duration, put func(int, int64)) error {
	if err := t.follow(); err != nil {
		return err
	}
	faults, disk := t.faultsGone, t.readGone
	told := false
	for i := range t.procs {
		m := &t.procs[i]
		if text, err := m.stat.read(t.buf); err == nil {
			if st, ok := parseStat(text); ok {
				m.faults = st.majorFaults
			}
		}
		if m.io >= 0 {
			if text, err := m.io.read(t.buf); err == nil {
				if n, ok := findNumber(text, "read_bytes"); ok {
					m.disk, told = n, true
				}
			}
		}
		faults += m.faults
		disk += m.disk
	}
	put(0, faults)
	if !told && len(t.procs) > 0 {
		return errNoIO
	}
	put(1, disk)
	return nil
}

func (t *treeCounters) Close() error { return nil }
