package runner

import (
	"testing"
	"time"

	"memtrix"
)

func TestThin(t *testing.T) {
	var dense memtrix.Series
	for i := range 1000 {
		dense.T = append(dense.T, time.Duration(i)*time.Millisecond)
		dense.V = append(dense.V, int64(i%7))
	}
	check := func(kind, expect memtrix.OutcomeKind, keep, whole bool) {
		t.Helper()
		trial := &memtrix.Trial{Outcome: memtrix.Outcome{Kind: kind}, Expect: expect, Series: []memtrix.Series{dense}}
		thin(trial, keep)
		if n := len(trial.Series[0].T); (n == 1000) != whole {
			t.Errorf("%s, expected %q, keep %v: %d points left", kind, expect, keep, n)
		}
	}
	check(memtrix.Pass, "", false, false)
	check(memtrix.Pass, memtrix.Pass, false, false)
	check(memtrix.Pass, "", true, true)
	check(memtrix.Pass, memtrix.OOM, false, true)
	check(memtrix.OOM, memtrix.OOM, false, true)
	check(memtrix.OOM, "", false, true)
	check(memtrix.Interrupted, "", false, true)
}
