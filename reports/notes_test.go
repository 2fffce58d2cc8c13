package reports

import (
	"slices"
	"testing"

	"memtrix"
)

// What did not run, and one trial from inside, say of which machine they are.
func TestMachineNamed(t *testing.T) {
	trial := fails(point(3, "a", nil, 10, 10, 10), memtrix.Outcome{Kind: memtrix.OOM})
	trial.Cell.Hardware = memtrix.Hardware{Name: "ram-3g", RAM: 3 << 30}
	if got, want := probeTitle(trial), "trial 3: a, "+trial.Cell.Workflow.Name+", default, ram-3g: oom"; got != want {
		t.Errorf("want %q, got %q", want, got)
	}
	rows := []row{{entry: entry{cell: trial.Cell, planned: &memtrix.PlannedCell{Cell: trial.Cell, Status: memtrix.StatusLeftOut, Reason: "no time"}}}}
	if got, want := notes(Session{Plan: memtrix.Plan{}}, rows)[0], "a, default, ram-3g: left-out, no time"; got != want {
		t.Errorf("want %q, got %q", want, got)
	}
}

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
