package lab

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"memtrix"
)

// leakTrial has readings at rest of which some meters grow, MiB a prompt.
func leakTrial(prompts int, grows map[string]float64) *memtrix.Trial {
	t := &memtrix.Trial{ID: 7, Outcome: memtrix.Outcome{Kind: memtrix.Pass}}
	for i := range prompts {
		d := memtrix.Reading{Kind: memtrix.Between, At: time.Duration(i+1) * time.Minute, Values: map[string]int64{}}
		if i == prompts-1 {
			d.Kind = memtrix.Rested
		}
		for _, m := range []string{memtrix.VRAMTrialUsed, memtrix.RAMTreeRSS, memtrix.RAMTreeAnon, memtrix.RAMTreeShmem, memtrix.RAMTreeFile} {
			d.Values[m] = int64(500*mib + grows[m]*float64(i)*mib)
		}
		t.Readings = append(t.Readings, d)
	}
	return t
}

func TestLeakReport(t *testing.T) {
	trial := leakTrial(15, map[string]float64{memtrix.RAMTreeRSS: 5, memtrix.RAMTreeAnon: 5})
	last := trial.Readings[len(trial.Readings)-1].Values
	trial.Readings = append(trial.Readings, memtrix.Reading{Kind: memtrix.Freed, Values: map[string]int64{memtrix.RAMTreeRSS: last[memtrix.RAMTreeRSS] - mib}})
	r, err := Leak(trial)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"RAM grows 5.0 MiB a prompt [5.0, 5.0] from prompt 4 on (ram.tree.anon)",
		"VRAM does not grow: 0.0 MiB a prompt [0.0, 0.0] from prompt 4 on (vram.trial.used)",
	}
	if strings.Join(r.Verdict, "\n") != strings.Join(want, "\n") || strings.Join(r.Leaks, " ") != "RAM" {
		t.Errorf("%v %q", r.Leaks, r.Verdict)
	}
	keeps := strings.Join(r.Keeps, "\n")
	for _, part := range []string{"the process's own memory (objects of Python and C) grows 5.0", "gave back 1.0 MiB, and 55.0 MiB had grown", "held by neither"} {
		if !strings.Contains(keeps, part) {
			t.Errorf("%q lacks %q", keeps, part)
		}
	}
	if values := r.Values(); len(values) != len(r.Meters) || values[1].Meter != "leak.ram.tree.anon" || values[1].Value != 5*mib {
		t.Errorf("%+v", values)
	}
}

// What moves between the kinds of memory leaks in neither; VRAM and RAM are told apart.
func TestLeakKinds(t *testing.T) {
	for name, c := range map[string]struct {
		grows map[string]float64
		leaks string
	}{
		"none":   {nil, ""},
		"pinned": {map[string]float64{memtrix.RAMTreeShmem: 3, memtrix.RAMTreeRSS: 3}, "RAM"},
		"vram":   {map[string]float64{memtrix.VRAMTrialUsed: 4}, "VRAM"},
		"both":   {map[string]float64{memtrix.VRAMTrialUsed: 4, memtrix.RAMTreeAnon: 2}, "RAM VRAM"},
		"files":  {map[string]float64{memtrix.RAMTreeFile: 4}, ""},
	} {
		r, err := Leak(leakTrial(20, c.grows))
		if err != nil || strings.Join(r.Leaks, " ") != c.leaks {
			t.Errorf("%s: %v %v, want %s", name, r.Leaks, err, c.leaks)
		}
	}
	if _, err := Leak(leakTrial(FewestPrompts-1, nil)); err == nil {
		t.Error("too few prompts are judged")
	}
}

// The probe's inventories name the holder.
func TestRetainers(t *testing.T) {
	trial := leakTrial(15, map[string]float64{memtrix.RAMTreeRSS: 5, memtrix.RAMTreeAnon: 5})
	tensors := func(mibs int64, count int64) memtrix.TensorBytes {
		b := memtrix.BytesCount{Bytes: mibs * mib, Count: count}
		return memtrix.TensorBytes{BytesCount: b, Owners: []memtrix.TensorOwner{{Name: "model SDXL", BytesCount: memtrix.BytesCount{Bytes: 9 * gib}}, {Name: "global /x/nodes/1/leaky-node.KEPT", BytesCount: b}}}
	}
	trimmed := int64(3 * mib)
	trial.Probe = &memtrix.Probe{Inventories: []memtrix.Inventory{
		{At: 3*time.Minute + 1, CPU: tensors(15, 3), Malloc: &memtrix.Malloc{Used: gib}, Objects: 1000},
		{At: 15*time.Minute + 1, CPU: tensors(75, 15), Malloc: &memtrix.Malloc{Used: gib, Mapped: 60 * mib, Free: mib, Trimmed: &trimmed}, Objects: 1100},
	}}
	r, err := Leak(trial)
	if err != nil {
		t.Fatal(err)
	}
	keeps := strings.Join(r.Keeps, "\n")
	for _, part := range []string{"CPU tensors grow 5.0 MiB a prompt, 1 more each time, held by global leaky-node.KEPT 5.0", "glibc's allocator (Python and C code) grow 5.0", "malloc_trim gave 3.0 MiB back"} {
		if !strings.Contains(keeps, part) {
			t.Errorf("%q lacks %q", keeps, part)
		}
	}
	if strings.Contains(keeps, "model SDXL") || strings.Contains(keeps, "Python objects more") {
		t.Errorf("%q names what did not grow", keeps)
	}
}

// bench is a runner and a store for Bench.
type bench struct {
	trials []*memtrix.Trial
	kinds  []memtrix.OutcomeKind // of the trials that are run
	runs   int
}

func (b *bench) Run(_ context.Context, s memtrix.Session, plan *memtrix.Plan) ([]*memtrix.Trial, error) {
	c := plan.Cells[0]
	t := &memtrix.Trial{ID: int64(len(b.trials) + 1), Session: s.ID, Cell: c.Cell, Repeat: c.Repeats - 1, Outcome: memtrix.Outcome{Kind: b.kinds[b.runs], Message: "m"}}
	b.runs++
	b.trials = append(b.trials, t)
	return nil, nil
}

func (b *bench) Trials(context.Context, int64) ([]*memtrix.Trial, error) { return b.trials, nil }

func (b *bench) SaveValue(context.Context, memtrix.Value) error { return errors.New("not asked for") }

// A trial that is there is not run again; one that was not measured is, once.
func TestBench(t *testing.T) {
	b := &bench{kinds: []memtrix.OutcomeKind{memtrix.HarnessFailure, memtrix.Pass, memtrix.HarnessFailure, memtrix.HarnessFailure}}
	made := &Bench{Runner: b, Store: b, Session: memtrix.Session{ID: 1}}
	for range 2 {
		got, err := made.Try(context.Background(), aCell(), 0)
		if err != nil || got.ID != 2 || b.runs != 2 {
			t.Fatalf("%+v %v after %d runs", got, err, b.runs)
		}
	}
	if _, err := made.Try(context.Background(), aCell(), 1); err == nil || b.runs != 4 {
		t.Errorf("%v after %d runs", err, b.runs)
	}
}

// A trial that failed is told with where and what to do, whether its memory can be judged
// or not; it is never clean.
func TestLeakOfFailure(t *testing.T) {
	o := memtrix.Outcome{
		Kind: memtrix.OOM, Memory: memtrix.MemoryVRAM, How: memtrix.HowException, Phase: memtrix.PhaseSample,
		Node: &memtrix.Node{ID: "5", ClassType: "KSampler"}, Message: "out of memory", Advice: []string{"less"},
	}
	for _, c := range []struct {
		prompts, meters int
		verdict         string
	}{
		{0, 0, "whether memory grows is not told: there are readings at rest after 0 prompts, and 10 or more tell start-up from growth"},
		{15, 5, "RAM does not grow"},
	} {
		trial := leakTrial(c.prompts, nil)
		trial.Outcome = o
		trial.Prompts = []memtrix.PromptResult{{Index: 1, Outcome: memtrix.Pass}, {Index: 2, Outcome: memtrix.OOM}}
		r, err := Leak(trial)
		if err != nil {
			t.Fatal(err)
		}
		if f := r.Failure; f == nil || f.Memory != o.Memory || f.Node != o.Node || f.Prompt != 2 || f.Message != o.Message || len(f.Advice) != 1 {
			t.Errorf("%d prompts: failure %+v", c.prompts, r.Failure)
		}
		if r.Clean() || len(r.Meters) != c.meters || !strings.HasPrefix(r.Verdict[0], c.verdict) {
			t.Errorf("%d prompts: clean %v, %d meters, %q", c.prompts, r.Clean(), len(r.Meters), r.Verdict)
		}
	}
	trial := leakTrial(15, nil)
	if r, err := Leak(trial); err != nil || !r.Clean() || r.Failure != nil {
		t.Errorf("%+v %v, want a clean one", r, err)
	}
}

// What the same session would only say again is settled; what going on may get over is not.
func TestSettled(t *testing.T) {
	settled := func(err error) bool { return errors.As(err, new(Settled)) }
	if _, err := Leak(leakTrial(3, nil)); !settled(err) {
		t.Errorf("too few readings: %v", err)
	}
	for _, kind := range []memtrix.OutcomeKind{memtrix.NotApplicable, memtrix.NotInForce, memtrix.InvalidWorkflow} {
		if _, err := Leak(&memtrix.Trial{Outcome: memtrix.Outcome{Kind: kind}}); !settled(err) {
			t.Errorf("%s: %v", kind, err)
		}
	}
	b := &bench{kinds: []memtrix.OutcomeKind{memtrix.HarnessFailure, memtrix.HarnessFailure}}
	made := &Bench{Runner: b, Store: b, Session: memtrix.Session{ID: 1}}
	if _, err := made.Try(context.Background(), aCell(), 0); err == nil || settled(err) {
		t.Errorf("not measured: %v, and settled: %v", err, settled(err))
	}
}
