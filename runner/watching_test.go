package runner

import (
	"context"
	"strings"
	"testing"
	"time"

	"memtrix"
	"memtrix/diagnosis"
)

// shown is a Progress that keeps verdicts.
type shown struct {
	silent
	verdicts []memtrix.OutcomeKind
}

func (s *shown) Verdict(_ memtrix.PromptResult, o memtrix.Outcome) {
	s.verdicts = append(s.verdicts, o.Kind)
}

const oomText = "torch.OutOfMemoryError: Allocation on device 0 would exceed allowed memory. (out of memory)"

// watchOf watches a server whose user runs prompts, each of which does something.
func watchOf(t *testing.T, end func(cancel context.CancelFunc, i *fakeInstance), prompts ...func(i *fakeInstance, n int) memtrix.OutcomeKind) (*memtrix.Trial, *shown) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	target := &fakeTarget{make: func(memtrix.Job) *fakeInstance {
		return &fakeInstance{do: func(ctx context.Context, i *fakeInstance, n int) (memtrix.PromptResult, error) {
			if n > len(prompts) {
				end(cancel, i)
				select {
				case <-ctx.Done():
					return memtrix.PromptResult{}, ctx.Err()
				case <-i.exited:
					return memtrix.PromptResult{Index: n}, errDied
				}
			}
			kind := prompts[n-1](i, n)
			return memtrix.PromptResult{Index: n, Outcome: kind, Executed: []string{"5"}}, nil
		}}
	}}
	r, store := newRunner(t, target, Options{})
	progress := &shown{}
	r.Progress = progress
	cell := memtrix.Cell{Version: memtrix.Version{Name: "theirs", Target: memtrix.TargetComfyUI, Attached: &memtrix.Attached{Local: true}}, Workflow: memtrix.Watched("now")}
	trial, err := r.Watch(ctx, memtrix.Session{ID: 1}, memtrix.PlannedCell{Cell: cell})
	if err != nil {
		t.Fatal(err)
	}
	if len(store.trials) != 1 || !trial.Watched() {
		t.Fatalf("%d trials stored, watched %v", len(store.trials), trial.Watched())
	}
	return trial, progress
}

func well(*fakeInstance, int) memtrix.OutcomeKind { return memtrix.Pass }

func outOfVRAM(i *fakeInstance, n int) memtrix.OutcomeKind {
	i.job.Log(memtrix.LogLine{At: time.Since(i.job.Epoch), Text: "!!! Exception during processing !!! " + oomText})
	i.say(memtrix.Event{Kind: memtrix.EventError, Prompt: n, Node: &memtrix.Node{ID: "5", ClassType: "KSampler"},
		Failure: &memtrix.Failure{Type: "torch.OutOfMemoryError", Message: oomText, Node: &memtrix.Node{ID: "5", ClassType: "KSampler"}}})
	return memtrix.Error
}

func ctrlC(cancel context.CancelFunc, _ *fakeInstance) { cancel() }

// TestWatchOutcome ensures that a watch is about what failed, whatever ran before and
// after, and that each prompt has an outcome of its own.
func TestWatchOutcome(t *testing.T) {
	trial, progress := watchOf(t, ctrlC, well, outOfVRAM, well)
	o := trial.Outcome
	if o.Kind != memtrix.OOM || o.Memory != memtrix.MemoryVRAM || o.Phase != memtrix.PhaseSample || !strings.HasPrefix(o.Message, "prompt 2 of 4") {
		t.Errorf("outcome %+v", o)
	}
	want := []memtrix.OutcomeKind{memtrix.Pass, memtrix.OOM, memtrix.Pass}
	if len(trial.Prompts) != 3 || len(progress.verdicts) != 3 {
		t.Fatalf("%d prompts, %d verdicts", len(trial.Prompts), len(progress.verdicts))
	}
	for i, p := range trial.Prompts {
		if p.Outcome != want[i] || progress.verdicts[i] != want[i] {
			t.Errorf("prompt %d: %s, shown as %s, want %s", p.Index, p.Outcome, progress.verdicts[i], want[i])
		}
	}
	if trial.Outcome.Kind == memtrix.Interrupted {
		t.Error("Ctrl-C is how a watch ends")
	}
}

// TestWatchEnds tells the ways in which a watch ends.
func TestWatchEnds(t *testing.T) {
	dies := func(exit memtrix.Exit) func(context.CancelFunc, *fakeInstance) {
		return func(_ context.CancelFunc, i *fakeInstance) { i.exit = &exit; close(i.exited) }
	}
	trial, _ := watchOf(t, dies(memtrix.Exit{Signal: "KILL"}), well)
	if k := trial.Outcome.Kind; k != memtrix.Killed && k != memtrix.OOM {
		t.Errorf("killed: %+v", trial.Outcome)
	}
	// The prompt that runs is begun by the fake: a server that is told to end in the
	// midst of work is no ordinary end.
	trial, _ = watchOf(t, func(cancel context.CancelFunc, i *fakeInstance) { cancel() })
	if trial.Outcome.Kind != memtrix.Pass {
		t.Errorf("nothing ran: %+v", trial.Outcome)
	}
	if stoppedByUser(evidenceOf(memtrix.Exit{Signal: "KILL"}), false) || !stoppedByUser(evidenceOf(memtrix.Exit{Signal: "INT"}), false) ||
		stoppedByUser(evidenceOf(memtrix.Exit{Signal: "INT"}), true) || stoppedByUser(evidenceOf(memtrix.Exit{Unknown: true}), false) {
		t.Error("who ended the server")
	}
}

func evidenceOf(e memtrix.Exit) diagnosis.Evidence { return diagnosis.Evidence{Died: true, Exit: e} }
