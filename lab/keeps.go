package lab

import (
	"fmt"
	"slices"

	"memtrix"
)

// keeps says what is known of what holds the growth: what the kernel sees from
// outside, and what POST /free changed.
func keeps(t *memtrix.Trial, r LeakReport) []string {
	words := inside(t, r)
	if !slices.Contains(r.Leaks, "RAM") {
		return words
	}
	grown := func(meter string) (float64, bool) {
		i := slices.IndexFunc(r.Meters, func(m MeterGrowth) bool { return m.Meter == meter })
		if i < 0 {
			return 0, false
		}
		return r.Meters[i].Slope, true
	}
	anon, ok := grown(memtrix.RAMTreeAnon)
	if ok {
		shmem, _ := grown(memtrix.RAMTreeShmem)
		file, _ := grown(memtrix.RAMTreeFile)
		words = append(words, fmt.Sprintf("of what is resident, the process's own memory (objects of Python and C) grows %s MiB a prompt, shared memory (with what CUDA pinned) %s, pages of files %s",
			mibs(anon), mibs(shmem), mibs(file)))
	}
	if swap, ok := grown(memtrix.SwapTreeUsed); ok && swap >= LeakLeast {
		words = append(words, fmt.Sprintf("%s MiB a prompt go to swap", mibs(swap)))
	}
	if size, ok := grown(memtrix.RAMProcessSize); ok && size >= LeakLeast {
		words = append(words, fmt.Sprintf("address space grows %s MiB a prompt", mibs(size)))
	}
	if w := freed(t, r); w != "" {
		words = append(words, w)
	}
	return words
}

// inside says what the probe's two inventories tell, where there are two.
func inside(t *memtrix.Trial, r LeakReport) []string {
	if len(r.Leaks) == 0 || t.Probe == nil || len(t.Probe.Inventories) < 2 {
		return nil
	}
	all := t.Probe.Inventories
	first, last := all[0], all[len(all)-1]
	n := 0
	for _, d := range t.Readings {
		if (d.Kind == memtrix.Between || d.Kind == memtrix.Rested) && d.At > first.At && d.At <= last.At {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return retained(first, last, n)
}

// freed says what POST /free gave back of what had grown: that is held by models or
// the node cache.
func freed(t *memtrix.Trial, r LeakReport) string {
	var before, after *memtrix.Reading
	for i, d := range t.Readings {
		switch d.Kind {
		case memtrix.Rested:
			before = &t.Readings[i]
		case memtrix.Freed:
			after = &t.Readings[i]
		}
	}
	readings := AtRest(t, memtrix.RAMTreeRSS)
	if before == nil || after == nil || len(readings) == 0 {
		return ""
	}
	i := slices.IndexFunc(r.Meters, func(m MeterGrowth) bool { return m.Meter == memtrix.RAMTreeRSS })
	from := r.Meters[i].From
	grown := readings[len(readings)-1] - readings[from-1]
	back := before.Values[memtrix.RAMTreeRSS] - after.Values[memtrix.RAMTreeRSS]
	back -= trimmed(t) // that was malloc_trim's doing
	if grown <= 0 {
		return ""
	}
	held := "so it is held by neither"
	if float64(back) >= 0.5*float64(grown) {
		held = "so one of them may hold it"
	}
	return fmt.Sprintf("POST /free (models, node cache) gave back %s MiB, and %s MiB had grown since prompt %d: %s", mibs(float64(max(back, 0))), mibs(float64(grown)), from, held)
}

// trimmed is what the last inventory gave back by malloc_trim, after the reading at
// rest and before POST /free.
func trimmed(t *memtrix.Trial) int64 {
	if t.Probe == nil || len(t.Probe.Inventories) == 0 {
		return 0
	}
	m := t.Probe.Inventories[len(t.Probe.Inventories)-1].Malloc
	if m == nil || m.Trimmed == nil {
		return 0
	}
	return *m.Trimmed
}
