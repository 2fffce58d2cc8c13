package probe

import (
	"maps"
	"slices"
	"strings"
	"time"

	"memtrix"
)

// seriesOf makes a series of each meter that the records tell, kept by change. Memory
// of the process is left out: recorders read that more often.
func seriesOf(records []record, c clock) []memtrix.Series {
	known := map[string]memtrix.Meter{}
	for _, m := range memtrix.ProbeMeters {
		known[m.Name] = m
	}
	all := map[string]*memtrix.Series{}
	last := map[string]time.Duration{}
	add := func(m memtrix.Meter, t time.Duration, v int64) {
		s, ok := all[m.Name]
		if !ok {
			s = &memtrix.Series{Meter: m}
			all[m.Name] = s
		}
		last[m.Name] = t
		if n := len(s.V); n > 0 && s.V[n-1] == v {
			return
		}
		s.T, s.V = append(s.T, t), append(s.V, v)
	}
	for _, r := range records {
		t := c.at(r.when())
		values := r.values()
		for name, v := range values {
			if m, ok := known[name]; ok {
				add(m, t, v)
			}
		}
		if _, card := values[memtrix.TorchReserved]; card && r.listsModels() {
			for name, v := range byClass(r.Models, all) {
				add(weightsMeter(name), t, v)
			}
		}
	}
	var list []memtrix.Series
	for _, name := range slices.Sorted(maps.Keys(all)) {
		// The last point says until when the meter was read.
		if s := all[name]; last[name] > s.T[len(s.T)-1] {
			s.T, s.V = append(s.T, last[name]), append(s.V, s.V[len(s.V)-1])
		}
		list = append(list, *all[name])
	}
	return list
}

// byClass sums resident weights by class; a model that was there and is not any more
// has none. Those of a text encoder that ComfyUI left on the processor (--novram) are in
// RAM.
func byClass(list []modelRecord, known map[string]*memtrix.Series) map[string]int64 {
	sums := map[string]int64{}
	for name := range known {
		if class, ok := strings.CutPrefix(name, memtrix.WeightsPrefix); ok {
			sums[class] = 0
		}
	}
	for _, m := range list {
		if m.Device != "cpu" {
			sums[m.Class] += m.Loaded
		}
	}
	return sums
}

func weightsMeter(class string) memtrix.Meter {
	return memtrix.Meter{Name: memtrix.WeightsPrefix + class, Unit: memtrix.UnitBytes, Source: "probe: loaded_size of models of class " + class}
}
