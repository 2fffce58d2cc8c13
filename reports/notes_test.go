package reports

import (
	"slices"
	"testing"

	"memtrix"
)

// TestFailuresAlike: trials that failed alike are told together, though an amount in
// their lines differs; what differs in its message or advice stands alone.
func TestFailuresAlike(t *testing.T) {
	oom := func(id int64, message, line string, advice ...string) *memtrix.Trial {
		return fails(point(id, "a", nil, 10, 10, 10), memtrix.Outcome{Kind: memtrix.OOM, Memory: memtrix.MemoryRAM, Message: message, Evidence: []string{line}, Advice: advice})
	}
	g := grouped{ids: map[string][]int64{}, shown: map[string]string{}, several: map[string]bool{}}
	for _, trial := range []*memtrix.Trial{
		oom(11, "killed", "anonymous: 2.99 GiB", "raise the limit"), oom(12, "killed", "anonymous: 2.99 GiB", "raise the limit"),
		oom(14, "killed", "anonymous: 2.93 GiB", "raise the limit"), oom(15, "killed", "anonymous: 2.93 GiB", "close programs"),
		oom(16, "refused", "no", "raise the limit"), oom(17, "refused", "no", "raise the limit"),
	} {
		g.failed(trial)
	}
	want := []string{
		"trials 11-12, 14: killed (the lines are those of trial 11)", "    | anonymous: 2.99 GiB", "    > raise the limit",
		"trial 15: killed", "    | anonymous: 2.93 GiB", "    > close programs",
		"trials 16-17: refused", "    | no", "    > raise the limit",
	}
	if got := g.lines(); !slices.Equal(got, want) {
		t.Errorf("want %q, got %q", want, got)
	}
}
