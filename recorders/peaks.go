package recorders

import (
	"sort"
	"strings"
	"time"

	"memtrix"
)

// ValueAt gives the value that a meter held at a time, or false before its first
// and after its last reading: the last point of a series says until when it was
// read.
func ValueAt(s memtrix.Series, at time.Duration) (int64, bool) {
	n := len(s.T)
	if n == 0 || at < s.T[0] || at > s.T[n-1] {
		return 0, false
	}
	return s.V[before(s, at)], true
}

// before is the index of the last point at or before a time that is not before
// the first point.
func before(s memtrix.Series, at time.Duration) int {
	return sort.Search(len(s.T), func(i int) bool { return s.T[i] > at }) - 1
}

// PeakIn gives the largest value that a meter held in [from, to), with the
// moment in it at which it was first held. The value that was already held when
// the interval began counts, at from; it was read up to one interval of the
// sampler earlier, so a span that begins right after a release can still show
// what was released. It gives false where the meter was not read
// at all in the interval: never, or only before or after it.
func PeakIn(s memtrix.Series, from, to time.Duration) (memtrix.Peak, bool) {
	return extreme(s, from, to, func(a, b int64) bool { return a > b })
}

// LowIn is PeakIn for the smallest value: for meters of what is free.
func LowIn(s memtrix.Series, from, to time.Duration) (memtrix.Peak, bool) {
	return extreme(s, from, to, func(a, b int64) bool { return a < b })
}

func extreme(s memtrix.Series, from, to time.Duration, better func(a, b int64) bool) (memtrix.Peak, bool) {
	peak := memtrix.Peak{Meter: s.Meter.Name, How: memtrix.PeakSampled}
	v, found := ValueAt(s, from)
	peak.Value, peak.At = v, from
	first := sort.Search(len(s.T), func(i int) bool { return s.T[i] > from })
	for i := first; i < len(s.T) && s.T[i] < to; i++ {
		if !found || better(s.V[i], peak.Value) {
			peak.Value, peak.At, found = s.V[i], s.T[i], true
		}
	}
	return peak, found
}

// Delta gives by how much a meter grew in [from, to]: for counters, whose value
// alone means nothing. Readings that began or ended within the interval count
// from their first or to their last; it gives false where fewer than two moments
// of it were read.
func Delta(s memtrix.Series, from, to time.Duration) (int64, bool) {
	n := len(s.T)
	if n == 0 {
		return 0, false
	}
	from, to = max(from, s.T[0]), min(to, s.T[n-1])
	if from >= to {
		return 0, false
	}
	return s.V[before(s, to)] - s.V[before(s, from)], true
}

// Peaks gives the sampled peak in [from, to) of every meter for which more is
// worse, in the order of the series. Left out are counters (see Delta), limits,
// meters of what is free (see Lows) and meters without a reading in the interval.
func Peaks(series []memtrix.Series, from, to time.Duration) []memtrix.Peak {
	var peaks []memtrix.Peak
	for _, s := range series {
		if s.Meter.Counter || lessIsWorse(s.Meter.Name) || isLimit(s.Meter.Name) {
			continue
		}
		if p, ok := PeakIn(s, from, to); ok {
			peaks = append(peaks, p)
		}
	}
	return peaks
}

// Lows gives the smallest value in [from, to) of every meter of what is free.
func Lows(series []memtrix.Series, from, to time.Duration) []memtrix.Peak {
	var lows []memtrix.Peak
	for _, s := range series {
		if !lessIsWorse(s.Meter.Name) {
			continue
		}
		if p, ok := LowIn(s, from, to); ok {
			lows = append(lows, p)
		}
	}
	return lows
}

// Deltas gives the growth in [from, to] of every counter, by meter.
func Deltas(series []memtrix.Series, from, to time.Duration) map[string]int64 {
	deltas := map[string]int64{}
	for _, s := range series {
		if !s.Meter.Counter {
			continue
		}
		if d, ok := Delta(s, from, to); ok {
			deltas[s.Meter.Name] = d
		}
	}
	return deltas
}

func lessIsWorse(meter string) bool {
	return meter == memtrix.RAMHostAvailable ||
		strings.HasPrefix(meter, "vram.") && strings.HasSuffix(meter, ".free")
}

// isLimit is for meters that have no peak.
func isLimit(meter string) bool {
	return meter == memtrix.CgroupMemoryLimit || meter == memtrix.CgroupSwapLimit
}
