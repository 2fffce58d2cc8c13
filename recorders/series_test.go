package recorders

import (
	"testing"
	"time"

	"memtrix"
)

// 10 000 readings of a memory that moves 20 times are 20 changes, and the last
// point says until when it was read.
func TestRecordingKeepsChangesOnly(t *testing.T) {
	r := recording{limit: maxChanges}
	for i := range 10_000 {
		r.add(time.Duration(i)*Fast, int64(i/500)*(1<<20))
	}
	s := r.series(memtrix.Meter{Name: "m"})
	if got, want := len(s.T), 21; got != want {
		t.Fatalf("want %d points, got %d", want, got)
	}
	if got, want := s.T[20], 9999*Fast; got != want {
		t.Errorf("last point: want %v, got %v", want, got)
	}
	// Every reading can be had back.
	for i := range 10_000 {
		want := int64(i/500) * (1 << 20)
		if got, ok := ValueAt(s, time.Duration(i)*Fast); !ok || got != want {
			t.Fatalf("reading %d: want %d, got %d %v", i, want, got, ok)
		}
	}
}

// A recording that changes without end stays bounded, and its peaks are exact.
func TestRecordingThins(t *testing.T) {
	r := recording{limit: 64}
	x := uint32(1)
	var peak int64
	var peakAt, last time.Duration
	for i := range 10_000 {
		x = x*1664525 + 1013904223
		v := int64(x >> 8)
		last = time.Duration(i) * Fast
		if v > peak {
			peak, peakAt = v, last
		}
		r.add(last, v)
		if len(r.v) > 64 {
			t.Fatalf("after %d readings: %d changes kept, limit 64", i, len(r.v))
		}
	}
	s := r.series(memtrix.Meter{Name: "m"})
	p, _ := PeakIn(s, 0, last+1)
	if p.Value != peak || p.At != peakAt {
		t.Errorf("peak: want %d at %v, got %d at %v", peak, peakAt, p.Value, p.At)
	}
	if s.T[0] != 0 || s.T[len(s.T)-1] != last {
		t.Errorf("ends: want 0 and %v, got %v and %v", last, s.T[0], s.T[len(s.T)-1])
	}
	for i := 1; i < len(s.T); i++ {
		if s.T[i] <= s.T[i-1] {
			t.Fatalf("times do not grow at %d: %v, %v", i, s.T[i-1], s.T[i])
		}
	}
	if r.thinned == 0 {
		t.Error("thinning was not counted")
	}
}
