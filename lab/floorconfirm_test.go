package lab

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"memtrix"
)

func TestConfirmFloor(t *testing.T) {
	now := &memtrix.Trial{Prompts: []memtrix.PromptResult{{Seconds: 9}}}
	for name, c := range map[string]struct {
		floor    int64 // as it is now, MiB
		fails    int64 // earlier, MiB; 0 for none
		outcomes map[int]memtrix.OutcomeKind
		move     FloorMove
		trials   int
		words    string
	}{
		"holds":               {3000, 2944, nil, FloorHolds, 2, "passes with 3088 MiB and not with 2928 MiB, earlier with 3072 MiB and not with 2944 MiB"},
		"rose":                {3300, 2944, nil, FloorRose, 2, "two trials failed with 3088 MiB, earlier it passed with 3072 MiB"},
		"fell":                {2500, 2944, nil, FloorFell, 2, "it passes with 2928 MiB, earlier not with 2944 MiB"},
		"at the border":       {3080, 2944, nil, FloorHolds, 2, "did not move"},
		"not sharp":           {3000, 2944, map[int]memtrix.OutcomeKind{1: memtrix.OOM}, FloorMixed, 2, "failed and passed"},
		"nothing less failed": {100, 0, nil, FloorHolds, 1, "did not rise"},
	} {
		m := &fakeMachine{t: t, floor: c.floor * mib, peak: 8 * gib, outcomes: c.outcomes}
		var limit time.Duration
		o := FloorOptions{Meter: FloorOfVRAM, Before: 3072 * mib, BeforeFails: c.fails * mib, Slower: 10, Limit: func(d time.Duration) { limit = d }}
		got, err := ConfirmFloor(context.Background(), o, aCell(), now, m.try)
		if err != nil || got.Move != c.move || len(m.ran) != c.trials || len(got.Tries) != c.trials || !strings.Contains(got.Words, c.words) {
			t.Errorf("%s: %v, %d trials, %+v", name, err, len(m.ran), got)
		}
		if limit != 90*time.Second {
			t.Errorf("%s: prompts are bound by %v", name, limit)
		}
		v, ok := got.Value(FloorOfVRAM, 7)
		if ok != (c.move == FloorHolds) || ok && (v.Value != 3072*mib || v.Trial != 7 || len(v.Trials) != c.trials) {
			t.Errorf("%s: value %+v, %t", name, v, ok)
		}
	}
	var settled Settled
	if _, err := ConfirmFloor(context.Background(), FloorOptions{Meter: FloorOfVRAM}, aCell(), now, nil); !errors.As(err, &settled) {
		t.Errorf("without an earlier floor: %v", err)
	}
}
