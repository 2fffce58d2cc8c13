package reports

import (
	"slices"
	"time"

	"memtrix"
)

// sample is one corner of a drawn line.
type sample struct {
	t time.Duration
	v int64
}

// thin makes the corners of a series' line between two times. A value holds
// until the next one. Of many values it keeps, for each of the columns that a
// picture has, the first, smallest, largest and last: no spike is lost, however
// short.
func thin(s memtrix.Series, from, to time.Duration, columns int) []sample {
	n := min(len(s.T), len(s.V))
	if n == 0 || to <= from || columns < 1 {
		return nil
	}
	start, _ := slices.BinarySearch(s.T[:n], from)
	var line []sample
	last, known := int64(0), false
	if start > 0 {
		last, known = s.V[start-1], true
		line = append(line, sample{from, last})
	}
	width := (to-from)/time.Duration(columns) + 1
	for i := start; i < n && s.T[i] <= to; {
		end := from + ((s.T[i]-from)/width+1)*width
		j := i + 1
		for j < n && s.T[j] < end && s.T[j] <= to {
			j++
		}
		if known {
			line = append(line, sample{s.T[i], last})
		}
		line = append(line, column4(s, i, j)...)
		last, known = s.V[j-1], true
		i = j
	}
	if known {
		line = append(line, sample{to, last})
	}
	return line
}

// column4 is what is drawn of the values i to j-1, which share a column.
func column4(s memtrix.Series, i, j int) []sample {
	low, high := i, i
	for k := i; k < j; k++ {
		if s.V[k] < s.V[low] {
			low = k
		}
		if s.V[k] > s.V[high] {
			high = k
		}
	}
	kept := slices.Compact(slices.Sorted(slices.Values([]int{i, low, high, j - 1})))
	line := make([]sample, 0, 2*len(kept))
	for n, k := range kept {
		if n > 0 {
			line = append(line, sample{s.T[k], s.V[kept[n-1]]})
		}
		line = append(line, sample{s.T[k], s.V[k]})
	}
	return line
}

// seriesOf finds a trial's series of a meter, false when it has none or an empty
// one.
func seriesOf(t *memtrix.Trial, meter string) (memtrix.Series, bool) {
	for _, s := range t.Series {
		if s.Meter.Name == meter && min(len(s.T), len(s.V)) > 0 {
			return s, true
		}
	}
	return memtrix.Series{}, false
}
