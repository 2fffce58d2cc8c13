package recorders

import (
	"time"

	"memtrix"
)

// Envelope thins a series: of each bucket of time it keeps the smallest, the
// largest and the last value with their true moments, of a counter only the last.
// The first and the last point always stay. So a level, its extremes and how long
// they held within a bucket's width survive, and a spike of one reading does, too.
// A series that changes less often than that comes back as it is.
func Envelope(s memtrix.Series, bucket time.Duration) memtrix.Series {
	n := len(s.T)
	if n < 3 || bucket <= 0 {
		return s
	}
	out := memtrix.Series{Meter: s.Meter}
	keep := func(i int) {
		out.T = append(out.T, s.T[i])
		out.V = append(out.V, s.V[i])
	}
	keep(0)
	for i := 1; i < n; {
		end := s.T[i] - s.T[i]%bucket + bucket
		low, high, j := i, i, i
		for ; j < n && s.T[j] < end; j++ {
			if s.V[j] < s.V[low] {
				low = j
			}
			if s.V[j] > s.V[high] {
				high = j
			}
		}
		last := j - 1
		if !s.Meter.Counter {
			first, second := min(low, high), max(low, high)
			if first != last {
				keep(first)
			}
			if second != first && second != last {
				keep(second)
			}
		}
		keep(last)
		i = j
	}
	return out
}
