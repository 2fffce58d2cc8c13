package recorders

import (
	"time"

	"memtrix"
)

// maxChanges bounds one series: 8 MiB of times and values.
const maxChanges = 1 << 19

// recording is a series while it grows. It stores a value only when it differs
// from the one before.
type recording struct {
	t     []time.Duration
	v     []int64
	last  time.Duration // of the newest reading, stored or not
	limit int           // changes kept before thinning
	// thinned counts how often half of the changes were dropped.
	thinned int
}

// add takes a reading. Readings come in the order of time.
func (r *recording) add(t time.Duration, v int64) {
	r.last = t
	if n := len(r.v); n > 0 && r.v[n-1] == v {
		return
	}
	if len(r.v) >= r.limit {
		r.thin()
	}
	r.t = append(r.t, t)
	r.v = append(r.v, v)
}

// thin drops the smaller of each two changes, so that the largest values stay
// with their true times. The first and the newest change always stay.
func (r *recording) thin() {
	n := len(r.v)
	out := 1
	i := 1
	for ; i+1 < n-1; i += 2 {
		keep := i
		if r.v[i+1] > r.v[i] {
			keep = i + 1
		}
		r.t[out], r.v[out] = r.t[keep], r.v[keep]
		out++
	}
	for ; i < n; i++ {
		r.t[out], r.v[out] = r.t[i], r.v[i]
		out++
	}
	r.t, r.v = r.t[:out], r.v[:out]
	r.thinned++
}

// series copies the recording. Its last point is the newest reading, also when
// the value did not change: it says until when the meter was read.
func (r *recording) series(m memtrix.Meter) memtrix.Series {
	s := memtrix.Series{
		Meter: m,
		T:     append(make([]time.Duration, 0, len(r.t)+1), r.t...),
		V:     append(make([]int64, 0, len(r.v)+1), r.v...),
	}
	if n := len(s.T); n > 0 && s.T[n-1] < r.last {
		s.T = append(s.T, r.last)
		s.V = append(s.V, s.V[n-1])
	}
	return s
}
