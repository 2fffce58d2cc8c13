package results

import (
	"errors"
	"testing"
	"time"

	"memtrix"
)

// Ensure that the series of passed trials are thinned by the session after, and that
// those of failed, marked and wholly kept ones are not.
func TestThin(t *testing.T) {
	db := mustOpen(t, t.TempDir())
	defer mustClose(t, db)
	var dense memtrix.Series
	dense.Meter = memtrix.Meter{Name: "m", Unit: memtrix.UnitBytes}
	for i := range 100 {
		dense.T, dense.V = append(dense.T, time.Duration(i)*time.Millisecond), append(dense.V, int64(i%7))
	}
	first := mustStart(t, db, "nightly", "one")
	save := func(kind, expect memtrix.OutcomeKind, keep memtrix.Keep) int64 {
		t.Helper()
		trial := &memtrix.Trial{Session: first.ID, Expect: expect, Keep: keep, Series: []memtrix.Series{dense}}
		trial.Outcome.Kind = kind
		mustSave(t, db, trial)
		return trial.ID
	}
	passed := save(memtrix.Pass, "", memtrix.KeepAuto)
	whole := []int64{
		save(memtrix.OOM, memtrix.OOM, memtrix.KeepAuto),
		save(memtrix.Pass, memtrix.OOM, memtrix.KeepAuto),
		save(memtrix.Pass, "", memtrix.KeepFull),
		save(memtrix.Pass, "", ""), // of an older memtrix
	}
	marked := save(memtrix.Pass, "", memtrix.KeepAuto)
	if m, err := db.Mark(t.Context(), marked, true); err != nil || m.Thinned {
		t.Fatalf("mark: %+v, %v", m, err)
	}
	if _, err := db.Mark(t.Context(), 999, true); !errors.Is(err, ErrNotFound) {
		t.Errorf("a trial that is not there: %v", err)
	}
	points := func(id int64) int {
		t.Helper()
		trial, err := db.Trial(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		return len(trial.Series[0].T)
	}
	smaller := func(s memtrix.Series) memtrix.Series {
		return memtrix.Series{Meter: s.Meter, T: s.T[:3], V: s.V[:3]}
	}
	if n, err := db.Thin(t.Context(), first.ID, smaller); n != 0 || err != nil {
		t.Errorf("within its own session: %d, %v", n, err)
	}
	second := mustStart(t, db, "nightly", "two")
	if n, err := db.Thin(t.Context(), second.ID, smaller); n != 1 || err != nil {
		t.Errorf("want one trial thinned, got %d, %v", n, err)
	}
	if got := points(passed); got != 3 {
		t.Errorf("a trial that passed: %d points", got)
	}
	for _, id := range append(whole, marked) {
		if got := points(id); got != 100 {
			t.Errorf("trial %d is to be whole: %d points", id, got)
		}
	}
	if trial, err := db.Trial(t.Context(), marked); err != nil || !trial.Marked || trial.Keep != memtrix.KeepAuto {
		t.Errorf("the mark: %+v, %v", trial, err)
	}
	if m, err := db.Mark(t.Context(), passed, true); err != nil || !m.Thinned {
		t.Errorf("a mark that comes too late: %+v, %v", m, err)
	}
	if n, err := db.Thin(t.Context(), second.ID, smaller); n != 0 || err != nil {
		t.Errorf("again: %d, %v", n, err)
	}
	if _, err := db.Mark(t.Context(), marked, false); err != nil {
		t.Fatal(err)
	}
	if n, err := db.Thin(t.Context(), second.ID, smaller); n != 1 || err != nil {
		t.Errorf("a mark that was taken away: %d, %v", n, err)
	}
}
