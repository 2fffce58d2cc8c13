package recorders

import (
	"reflect"
	"testing"
	"time"

	"memtrix"
)

func TestEnvelope(t *testing.T) {
	const ms = time.Millisecond
	check := func(name string, counter bool, in, want memtrix.Series) {
		t.Helper()
		in.Meter.Counter, want.Meter.Counter = counter, counter
		if got := Envelope(in, 100*ms); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: want %v %v, got %v %v", name, want.T, want.V, got.T, got.V)
		}
	}
	series := func(points ...int64) (s memtrix.Series) {
		for i := 0; i < len(points); i += 2 {
			s.T, s.V = append(s.T, time.Duration(points[i])*ms), append(s.V, points[i+1])
		}
		return s
	}
	check("empty", false, series(), series())
	check("few", false, series(0, 1, 50, 2), series(0, 1, 50, 2))
	check("rare changes", false, series(0, 1, 150, 2, 250, 3, 900, 3), series(0, 1, 150, 2, 250, 3, 900, 3))
	check("a spike in a bucket", false,
		series(0, 5, 101, 6, 105, 900, 106, 7, 120, 8, 199, 6, 200, 7),
		series(0, 5, 101, 6, 105, 900, 199, 6, 200, 7))
	check("lowest after highest", false,
		series(0, 5, 101, 6, 105, 900, 106, 1, 120, 8, 300, 8),
		series(0, 5, 105, 900, 106, 1, 120, 8, 300, 8))
	check("rising", false,
		series(0, 0, 1, 1, 2, 2, 3, 3, 101, 4, 102, 5, 103, 6),
		series(0, 0, 1, 1, 3, 3, 101, 4, 103, 6))
	check("counter", true,
		series(0, 0, 1, 1, 2, 2, 3, 3, 101, 4, 102, 5, 103, 6),
		series(0, 0, 3, 3, 103, 6))
}

// Whatever is thinned, peaks and lows over whole buckets stay what they were.
func TestEnvelopeKeepsPeaks(t *testing.T) {
	var s memtrix.Series
	x := uint32(7)
	for i := range 20_000 {
		x = x*1664525 + 1013904223
		s.T, s.V = append(s.T, time.Duration(i)*time.Millisecond), append(s.V, int64(x>>8))
	}
	e := Envelope(s, 100*time.Millisecond)
	if len(e.T) > 620 {
		t.Errorf("want 3 points in each of 200 buckets, got %d", len(e.T))
	}
	for from := time.Duration(0); from < 20*time.Second; from += 700 * time.Millisecond {
		to := from + 700*time.Millisecond
		want, _ := PeakIn(s, from, to)
		if got, _ := PeakIn(e, from, to); got != want {
			t.Errorf("peak from %v: want %+v, got %+v", from, want, got)
		}
		want, _ = LowIn(s, from, to)
		if got, _ := LowIn(e, from, to); got != want {
			t.Errorf("low from %v: want %+v, got %+v", from, want, got)
		}
		a, _ := ValueAt(s, to-1)
		if b, _ := ValueAt(e, to-1); a != b {
			t.Errorf("value before %v: want %d, got %d", to, a, b)
		}
	}
}
