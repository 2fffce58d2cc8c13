package runner

import (
	"context"
	"testing"

	"memtrix"
)

// What memtrix itself holds of the card reaches the verdict, and so does what the
// server denied.
func TestGather(t *testing.T) {
	run := newTrialRun(&Runner{}, &fakeTarget{}, &memtrix.Trial{})
	run.evidence.Kept, run.evidence.Ready = 5, true
	run.denied = []string{"no"}
	e := run.gather(context.Background(), nil, false, nil, nil)
	if e.Kept != 5 || !e.Ready || len(e.NotInForce) != 1 {
		t.Errorf("got kept %d, ready %v, not in force %q", e.Kept, e.Ready, e.NotInForce)
	}
}
