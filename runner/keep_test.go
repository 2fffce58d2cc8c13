package runner

import (
	"testing"
	"time"

	"memtrix"
)

func TestThin(t *testing.T) {
	dense := func(n int) (s memtrix.Series) {
		for i := range n {
			s.T = append(s.T, time.Duration(i)*time.Millisecond)
			s.V = append(s.V, int64(i%7))
		}
		return s
	}
	check := func(kind, expect memtrix.OutcomeKind, keep memtrix.Keep, n int, whole bool) {
		t.Helper()
		trial := &memtrix.Trial{Outcome: memtrix.Outcome{Kind: kind}, Expect: expect, Series: []memtrix.Series{dense(n)}}
		thin(trial, keep)
		if got := len(trial.Series[0].T); (got == n) != whole {
			t.Errorf("%s, expected %q, keep %q, %d points: %d left", kind, expect, keep, n, got)
		}
		if envelope := trial.Keep == memtrix.KeepEnvelope; envelope == whole {
			t.Errorf("%s, expected %q, keep %q: noted as %q", kind, expect, keep, trial.Keep)
		}
	}
	const much = mostWhole + 1
	check(memtrix.Pass, "", "", 1000, true) // until the next session
	check(memtrix.Pass, "", memtrix.KeepAuto, 1000, true)
	check(memtrix.Pass, memtrix.Pass, memtrix.KeepAuto, much, false)
	check(memtrix.Pass, memtrix.OOM, memtrix.KeepAuto, much, true)
	check(memtrix.OOM, memtrix.OOM, memtrix.KeepAuto, much, true)
	check(memtrix.OOM, "", memtrix.KeepAuto, much, true)
	check(memtrix.Interrupted, "", memtrix.KeepAuto, much, true)
	check(memtrix.Pass, "", memtrix.KeepFull, much, true)
	check(memtrix.Pass, "", memtrix.KeepEnvelope, 1000, false)
	check(memtrix.OOM, "", memtrix.KeepEnvelope, 1000, false)
}
