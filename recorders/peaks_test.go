package recorders

import (
	"reflect"
	"testing"
	"time"

	"memtrix"
)

func series(name string, counter bool, tv ...int64) memtrix.Series {
	s := memtrix.Series{Meter: memtrix.Meter{Name: name, Counter: counter}}
	for i := 0; i < len(tv); i += 2 {
		s.T = append(s.T, time.Duration(tv[i]))
		s.V = append(s.V, tv[i+1])
	}
	return s
}

func TestPeakIn(t *testing.T) {
	s := series("m", false, 10, 5, 20, 9, 30, 2, 40, 7, 50, 7)
	check := func(from, to, wantAt, wantV int64, wantOK bool) {
		t.Helper()
		p, ok := PeakIn(s, time.Duration(from), time.Duration(to))
		if ok != wantOK {
			t.Errorf("[%d,%d): want %v, got %v", from, to, wantOK, ok)
			return
		}
		want := memtrix.Peak{Meter: "m", Value: wantV, How: memtrix.PeakSampled, At: time.Duration(wantAt)}
		if ok && p != want {
			t.Errorf("[%d,%d): want %+v, got %+v", from, to, want, p)
		}
	}
	check(0, 100, 20, 9, true)
	check(0, 10, 0, 0, false)   // before the first reading; the end is not in it
	check(0, 11, 10, 5, true)   // the first reading only
	check(25, 28, 25, 9, true)  // nothing changed in it: carried in
	check(25, 45, 25, 9, true)  // carried in, larger than what came
	check(30, 45, 40, 7, true)  // a value that began at from
	check(32, 40, 32, 2, true)  // the end is not in it
	check(32, 41, 40, 7, true)  // but what comes just before it is
	check(50, 60, 50, 7, true)  // at the last reading
	check(51, 60, 0, 0, false)  // after the last reading nothing is known
	check(20, 20, 20, 9, true)  // an empty interval has what was held then
	check(45, 40, 45, 7, true)  // a span whose end was never seen
	check(-10, 15, 10, 5, true) // begins before all
	if _, ok := PeakIn(memtrix.Series{}, 0, 10); ok {
		t.Error("an empty series has a peak")
	}
}

func TestLowIn(t *testing.T) {
	s := series("m", false, 10, 5, 20, 9, 30, 2, 40, 7)
	if p, ok := LowIn(s, 12, 30); !ok || p.Value != 5 || p.At != 12 {
		t.Errorf("want 5 at 12, got %+v %v", p, ok)
	}
	if p, ok := LowIn(s, 12, 31); !ok || p.Value != 2 || p.At != 30 {
		t.Errorf("want 2 at 30, got %+v %v", p, ok)
	}
}

func TestDelta(t *testing.T) {
	s := series("c", true, 10, 100, 20, 130, 30, 200)
	check := func(from, to, want int64, wantOK bool) {
		t.Helper()
		got, ok := Delta(s, time.Duration(from), time.Duration(to))
		if got != want || ok != wantOK {
			t.Errorf("[%d,%d]: want %d %v, got %d %v", from, to, want, wantOK, got, ok)
		}
	}
	check(10, 30, 100, true)
	check(0, 100, 100, true) // what lies outside is not known, and not made up
	check(15, 25, 30, true)
	check(21, 29, 0, true) // read at both ends, did not grow
	check(0, 10, 0, false)
	check(30, 40, 0, false)
	check(25, 15, 0, false)
}

// Counters have differences, what is free has lows, and the rest has peaks.
func TestPeaksLowsDeltas(t *testing.T) {
	all := []memtrix.Series{
		series(memtrix.VRAMDeviceUsed, false, 0, 1, 10, 3, 20, 3),
		series(memtrix.VRAMDeviceFree, false, 0, 9, 10, 7, 20, 7),
		series(memtrix.FaultsTreeMajor, true, 0, 50, 10, 60, 20, 61),
		series(memtrix.SwapTreeUsed, false, 90, 1),
	}
	wantPeaks := []memtrix.Peak{{Meter: memtrix.VRAMDeviceUsed, Value: 3, How: memtrix.PeakSampled, At: 10}}
	if got := Peaks(all, 5, 20); !reflect.DeepEqual(got, wantPeaks) {
		t.Errorf("peaks: want %+v, got %+v", wantPeaks, got)
	}
	wantLows := []memtrix.Peak{{Meter: memtrix.VRAMDeviceFree, Value: 7, How: memtrix.PeakSampled, At: 10}}
	if got := Lows(all, 5, 20); !reflect.DeepEqual(got, wantLows) {
		t.Errorf("lows: want %+v, got %+v", wantLows, got)
	}
	wantDeltas := map[string]int64{memtrix.FaultsTreeMajor: 11}
	if got := Deltas(all, 5, 20); !reflect.DeepEqual(got, wantDeltas) {
		t.Errorf("deltas: want %v, got %v", wantDeltas, got)
	}
}
