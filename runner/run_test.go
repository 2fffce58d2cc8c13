package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"memtrix"
)

// fakeTarget starts fakeInstances. Its process is the test itself, so that there
// is something to record.
type fakeTarget struct {
	prepare error
	hangs   bool    // in Prepare
	start   []error // of each start, nil where there is none left
	starts  int
	make    func(memtrix.Job) *fakeInstance
}

func (f *fakeTarget) Argv(memtrix.Cell) ([]string, string) { return nil, "" }

func (f *fakeTarget) Prepare(ctx context.Context, _ memtrix.Version, _ func(string)) error {
	if f.hangs {
		<-ctx.Done()
		return context.Cause(ctx)
	}
	return f.prepare
}

func (f *fakeTarget) Start(_ context.Context, job memtrix.Job) (memtrix.Instance, error) {
	f.starts++
	if len(f.start) >= f.starts && f.start[f.starts-1] != nil {
		return nil, f.start[f.starts-1]
	}
	i := f.make(job)
	i.job, i.exited = job, make(chan struct{})
	return i, nil
}

type fakeInstance struct {
	job     memtrix.Job
	exited  chan struct{}
	ready   func(context.Context) error
	do      func(ctx context.Context, i *fakeInstance, n int) (memtrix.PromptResult, error)
	free    error
	stuck   bool // POST /free is never answered
	files   error
	exit    *memtrix.Exit // how it ended by itself
	stopped int
}

func (f *fakeInstance) PID() int                { return os.Getpid() }
func (f *fakeInstance) Exited() <-chan struct{} { return f.exited }

func (f *fakeInstance) Ready(ctx context.Context) error {
	if f.ready == nil {
		return nil
	}
	return f.ready(ctx)
}

func (f *fakeInstance) Do(ctx context.Context, n int) (memtrix.PromptResult, error) {
	f.say(memtrix.Event{Kind: memtrix.EventPromptStart, Prompt: n})
	f.say(memtrix.Event{Kind: memtrix.EventNodeStart, Prompt: n, Node: &memtrix.Node{ID: "5"}})
	r, err := f.do(ctx, f, n)
	if err == nil {
		f.say(memtrix.Event{Kind: memtrix.EventPromptEnd, Prompt: n})
	}
	return r, err
}

func (f *fakeInstance) say(e memtrix.Event) {
	e.At = time.Since(f.job.Epoch)
	f.job.Event(e)
}

func (f *fakeInstance) FilesError() error { return f.files }

func (f *fakeInstance) Free(ctx context.Context) error {
	if f.stuck {
		<-ctx.Done()
		return fmt.Errorf("POST /free: %w", ctx.Err())
	}
	return f.free
}

func (f *fakeInstance) Stop(context.Context) memtrix.Exit {
	f.stopped++
	if f.exit != nil {
		return *f.exit
	}
	return memtrix.Exit{Asked: true, BySignal: "INT"}
}

func passes(_ context.Context, _ *fakeInstance, n int) (memtrix.PromptResult, error) {
	return memtrix.PromptResult{Index: n, Outcome: memtrix.Pass, Executed: []string{"5"}}, nil
}

// hangs is a prompt that never ends by itself.
func hangs(ctx context.Context, _ *fakeInstance, n int) (memtrix.PromptResult, error) {
	<-ctx.Done()
	return memtrix.PromptResult{Index: n}, ctx.Err()
}

type fakeStore struct {
	trials []*memtrix.Trial
	done   map[string]map[int]memtrix.OutcomeKind
	full   error
	busy   int // how many times saving fails for now
}

func (s *fakeStore) SaveTrial(_ context.Context, t *memtrix.Trial) error {
	if s.full != nil {
		return s.full
	}
	if s.busy > 0 {
		s.busy--
		return fmt.Errorf("database is locked: %w", memtrix.ErrAgain)
	}
	kept := *t
	s.trials = append(s.trials, &kept)
	return nil
}

func (s *fakeStore) Done(context.Context, int64) (map[string]map[int]memtrix.OutcomeKind, error) {
	return s.done, nil
}

type silent struct {
	said    []string
	started []int
}

func (s *silent) CellStart(i int, _ string) { s.started = append(s.started, i) }
func (*silent) Event(memtrix.Event)         {}
func (*silent) Memory(map[string]int64)     {}
func (*silent) CellEnd(string, float64)     {}
func (*silent) Left(time.Duration)          {}
func (s *silent) Say(text string)           { s.said = append(s.said, text) }

func newRunner(t *testing.T, target *fakeTarget, o Options) (*Runner, *fakeStore) {
	t.Helper()
	if target.make == nil {
		target.make = func(memtrix.Job) *fakeInstance { return &fakeInstance{do: passes} }
	}
	store := &fakeStore{}
	return &Runner{
		Targets:     map[memtrix.TargetKind]memtrix.Target{memtrix.TargetComfyUI: target},
		Store:       store,
		Progress:    &silent{},
		Options:     o,
		Dir:         t.TempDir(),
		Environment: func(context.Context, memtrix.Version) memtrix.Environment { return nil },
	}, store
}

func onePlan(names ...string) *memtrix.Plan {
	plan := &memtrix.Plan{}
	for _, n := range names {
		c := planned(n, memtrix.StatusRun, 1)
		c.Cell.Version.Target = memtrix.TargetComfyUI
		c.Cell.Workflow.Graph = map[string]memtrix.GraphNode{"5": {ClassType: "KSampler"}}
		plan.Cells = append(plan.Cells, c)
	}
	return plan
}

// TestTrialOutcomes runs one trial for each way in which it can go.
func TestTrialOutcomes(t *testing.T) {
	check := func(name string, target *fakeTarget, o Options, kind memtrix.OutcomeKind, message string) *memtrix.Trial {
		t.Helper()
		r, store := newRunner(t, target, o)
		if _, err := r.Run(t.Context(), memtrix.Session{ID: 1}, onePlan("a")); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(store.trials) != 1 {
			t.Fatalf("%s: %d trials saved, want 1", name, len(store.trials))
		}
		got := store.trials[0]
		if got.Outcome.Kind != kind || !strings.Contains(got.Outcome.Message, message) {
			t.Errorf("%s: outcome %s %q, want %s %q", name, got.Outcome.Kind, got.Outcome.Message, kind, message)
		}
		return got
	}
	with := func(do func(context.Context, *fakeInstance, int) (memtrix.PromptResult, error)) *fakeTarget {
		return &fakeTarget{make: func(memtrix.Job) *fakeInstance { return &fakeInstance{do: do} }}
	}

	pass := check("pass", with(passes), Options{Prompts: 2}, memtrix.Pass, "")
	var names []string
	for _, s := range pass.Spans {
		names = append(names, s.Name())
	}
	want := "start idle prompt 1 KSampler (5) prompt 2 KSampler (5) settle stop"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("spans: %s, want %s", got, want)
	}
	if pass.OwnSeconds >= pass.Seconds || pass.OwnSeconds <= 0 {
		t.Errorf("own seconds %v of %v", pass.OwnSeconds, pass.Seconds)
	}

	check("prepare fails", &fakeTarget{prepare: errors.New("torch is missing")}, Options{Prompts: 1}, memtrix.StartupFailure, "torch is missing")
	check("prepare hangs", &fakeTarget{hangs: true}, Options{Prompts: 1, Timeouts: Timeouts{Start: time.Millisecond}}, memtrix.StartupFailure, "not become ready in time (3ms")
	check("start fails", &fakeTarget{start: []error{errors.New("no such program")}}, Options{Prompts: 1}, memtrix.HarnessFailure, "no such program")
	check("start works the third time", &fakeTarget{start: []error{memtrix.ErrAgain, memtrix.ErrAgain}}, Options{Prompts: 1}, memtrix.Pass, "")
	check("start never works", &fakeTarget{start: []error{memtrix.ErrAgain, memtrix.ErrAgain, memtrix.ErrAgain}}, Options{Prompts: 1}, memtrix.HarnessFailure, "another try")
	check("start too slow", &fakeTarget{make: func(memtrix.Job) *fakeInstance {
		return &fakeInstance{ready: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }}
	}}, Options{Prompts: 1, Timeouts: Timeouts{Start: 10 * time.Millisecond}}, memtrix.Hang, "not ready in time")
	check("silence", with(hangs), Options{Prompts: 1, Timeouts: Timeouts{Silence: 10 * time.Millisecond}}, memtrix.Hang, "")
	check("prompt too slow", with(hangs), Options{Prompts: 1, Timeouts: Timeouts{Prompt: 10 * time.Millisecond}}, memtrix.Hang, "")
	check("nothing done", with(func(_ context.Context, _ *fakeInstance, n int) (memtrix.PromptResult, error) {
		return memtrix.PromptResult{Index: n, Outcome: memtrix.Pass, Cached: []string{"5"}}, nil
	}), Options{Prompts: 1}, memtrix.Error, "cache")
	check("oom", with(func(_ context.Context, i *fakeInstance, n int) (memtrix.PromptResult, error) {
		node := &memtrix.Node{ID: "5", ClassType: "KSampler"}
		i.say(memtrix.Event{Kind: memtrix.EventError, Prompt: n, Node: node, Failure: &memtrix.Failure{
			Type: "torch.OutOfMemoryError", Node: node,
			Message: "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 7.79 GiB of which 1.00 GiB is free.",
		}})
		return memtrix.PromptResult{Index: n, Outcome: memtrix.Error}, nil
	}), Options{Prompts: 2}, memtrix.OOM, "")
	freed := check("free does nothing", with(passes), Options{Prompts: 1, Free: true, Timeouts: Timeouts{Free: 100 * time.Millisecond}}, memtrix.Pass, "")
	// What is measured is this test itself, whose memory moves on a busy machine.
	if len(freed.Readings) != 1 || !strings.Contains(freed.Readings[0].Note, "no memory was given back") && !strings.Contains(freed.Readings[0].Note, "still moving") {
		t.Errorf("readings: %+v, want one with a note that nothing was given back", freed.Readings)
	}
}

// TestInterrupt checks that a trial that is cut short is kept as interrupted,
// that its server is stopped, and that nothing is begun after it.
// With a rest between prompts there is a reading at rest after each of them.
func TestReadingsBetweenPrompts(t *testing.T) {
	r, store := newRunner(t, &fakeTarget{make: func(memtrix.Job) *fakeInstance { return &fakeInstance{do: passes} }},
		Options{Prompts: 3, Between: 20 * time.Millisecond, Rest: 20 * time.Millisecond})
	if _, err := r.Run(context.Background(), memtrix.Session{ID: 1}, onePlan("a")); err != nil {
		t.Fatal(err)
	}
	var got []string
	trial := store.trials[0]
	for _, d := range trial.Readings {
		got = append(got, string(d.Kind))
		if d.Values[memtrix.RAMProcessSize] == 0 {
			t.Errorf("%s: no address space: %v", d.Kind, d.Values)
		}
	}
	if want := "between between rested"; strings.Join(got, " ") != want {
		t.Errorf("readings %v, want %s", got, want)
	}
	for i, p := range trial.Spans {
		if p.Kind == memtrix.SpanPrompt && i > 0 && p.Prompt > 1 && p.Start-trial.Readings[p.Prompt-2].At < 0 {
			t.Errorf("prompt %d began before the reading", p.Prompt)
		}
	}
}

func TestInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var instance *fakeInstance
	target := &fakeTarget{make: func(memtrix.Job) *fakeInstance {
		instance = &fakeInstance{do: func(ctx context.Context, i *fakeInstance, n int) (memtrix.PromptResult, error) {
			cancel()
			return hangs(ctx, i, n)
		}}
		return instance
	}}
	r, store := newRunner(t, target, Options{Prompts: 1})
	_, err := r.Run(ctx, memtrix.Session{ID: 1}, onePlan("a", "b"))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
	if len(store.trials) != 1 || store.trials[0].Outcome.Kind != memtrix.Interrupted {
		t.Errorf("saved %s, want one interrupted trial", kinds(store.trials))
	}
	if instance.stopped != 1 {
		t.Errorf("the server was stopped %d times, want once", instance.stopped)
	}
}

// A session that goes on counts on where it stopped.
func TestGoesOn(t *testing.T) {
	r, store := newRunner(t, &fakeTarget{}, Options{Prompts: 1})
	plan := onePlan("a", "b", "c")
	store.done = map[string]map[int]memtrix.OutcomeKind{plan.Cells[0].Cell.ID(): {0: memtrix.Pass}}
	if _, err := r.Run(t.Context(), memtrix.Session{ID: 1}, plan); err != nil {
		t.Fatal(err)
	}
	if got, want := r.Progress.(*silent).started, []int{2, 3}; !slices.Equal(got, want) {
		t.Errorf("started as numbers %v, want %v", got, want)
	}
}

// TestStoreFull checks that a trial that cannot be saved ends the session.
func TestStoreFull(t *testing.T) {
	r, store := newRunner(t, &fakeTarget{}, Options{Prompts: 1})
	store.full = errors.New("disk full")
	_, err := r.Run(t.Context(), memtrix.Session{ID: 1}, onePlan("a", "b"))
	if !errors.Is(err, store.full) {
		t.Errorf("error %v, want %v", err, store.full)
	}
}

// TestStoreBusy checks that a trial is saved when the store can be written again,
// and that a person can end the waiting.
func TestStoreBusy(t *testing.T) {
	r, store := newRunner(t, &fakeTarget{}, Options{Prompts: 1})
	store.busy = 1
	trials, err := r.Run(t.Context(), memtrix.Session{ID: 1}, onePlan("a"))
	if err != nil || len(store.trials) != 1 {
		t.Errorf("saved %s, error %v; want one trial", kinds(store.trials), err)
	}
	if said := r.Progress.(*silent).said; len(said) != 1 || !strings.Contains(said[0], "not saved yet") {
		t.Errorf("said %q", said)
	}
	if len(store.trials[0].Series) == 0 || trials[0].Series != nil {
		t.Error("series belong into the store and not into memory")
	}

	ctx, cancel := context.WithCancel(t.Context())
	store.busy = 1 << 30
	r.Progress = &saysAndStops{stop: cancel}
	if _, err := r.Run(ctx, memtrix.Session{ID: 1}, onePlan("b")); !errors.Is(err, memtrix.ErrAgain) {
		t.Errorf("want the store's error, got %v", err)
	}
}

type saysAndStops struct {
	silent
	stop func()
}

func (s *saysAndStops) Say(string) { s.stop() }

// TestNoRoom checks that no trial is begun on a full disk.
func TestNoRoom(t *testing.T) {
	r, store := newRunner(t, &fakeTarget{}, Options{Prompts: 1})
	full := errors.New("no room")
	r.Room = func() error {
		if len(store.trials) == 1 {
			return full
		}
		return nil
	}
	if _, err := r.Run(t.Context(), memtrix.Session{ID: 1}, onePlan("a", "b")); !errors.Is(err, full) || len(store.trials) != 1 {
		t.Errorf("saved %s, error %v; want one trial and %v", kinds(store.trials), err, full)
	}
}

// TestRawFilesFull checks that a failure on a full disk is not the server's.
func TestRawFilesFull(t *testing.T) {
	check := func(do func(context.Context, *fakeInstance, int) (memtrix.PromptResult, error), want memtrix.OutcomeKind) {
		t.Helper()
		target := &fakeTarget{make: func(memtrix.Job) *fakeInstance {
			return &fakeInstance{do: do, files: &fs.PathError{Op: "write", Path: "log.txt", Err: syscall.ENOSPC}}
		}}
		r, store := newRunner(t, target, Options{Prompts: 1})
		if _, err := r.Run(t.Context(), memtrix.Session{ID: 1}, onePlan("a")); err != nil {
			t.Fatal(err)
		}
		got := store.trials[0]
		if got.Outcome.Kind != want || !slices.ContainsFunc(got.Warnings, func(w string) bool { return strings.Contains(w, "raw files are incomplete: write log.txt") }) {
			t.Errorf("want %s and a warning, got %v and %q", want, got.Outcome, got.Warnings)
		}
	}
	check(passes, memtrix.Pass)
	check(func(_ context.Context, _ *fakeInstance, n int) (memtrix.PromptResult, error) {
		return memtrix.PromptResult{Index: n, Outcome: memtrix.Error}, nil
	}, memtrix.HarnessFailure)
}

// TestFreeNotAnswered checks that a server that stands still at rest does not keep
// its trial from ending.
func TestFreeNotAnswered(t *testing.T) {
	target := &fakeTarget{make: func(memtrix.Job) *fakeInstance { return &fakeInstance{do: passes, stuck: true} }}
	r, store := newRunner(t, target, Options{Prompts: 1, Free: true, Timeouts: Timeouts{Free: 50 * time.Millisecond}})
	if _, err := r.Run(t.Context(), memtrix.Session{ID: 1}, onePlan("a")); err != nil {
		t.Fatal(err)
	}
	got := store.trials[0]
	if got.Outcome.Kind != memtrix.Pass || !slices.ContainsFunc(got.Warnings, func(w string) bool { return strings.Contains(w, "not answered in time") }) {
		t.Errorf("want a pass with a warning, got %v and %q", got.Outcome, got.Warnings)
	}
}

// TestFoldersAreKept checks that a trial that is done again leaves the files of
// the first try alone.
func TestFoldersAreKept(t *testing.T) {
	r, store := newRunner(t, &fakeTarget{}, Options{Prompts: 1})
	for range 2 {
		if _, err := r.Run(t.Context(), memtrix.Session{ID: 1}, onePlan("a")); err != nil {
			t.Fatal(err)
		}
	}
	if a, b := store.trials[0].Dir, store.trials[1].Dir; a == b {
		t.Errorf("both trials wrote to %s", a)
	}
}

func kinds(trials []*memtrix.Trial) string {
	var out []string
	for _, t := range trials {
		out = append(out, string(t.Outcome.Kind))
	}
	return fmt.Sprint(out)
}
