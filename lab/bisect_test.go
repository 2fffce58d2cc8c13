package lab

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"memtrix"
	"memtrix/bisect"
)

// history is a made-up list of states, with what a trial of each would show.
type history struct {
	n      int
	fails  func(i int, r *rand.Rand) (memtrix.OutcomeKind, string)
	peak   func(i int, r *rand.Rand) float64 // MiB
	broken map[int]string
	stored map[[2]int]*memtrix.Trial // as a results folder keeps them
	ran    int
	die    int // run that is cut off, 0 for none

	mu      *sync.Mutex
	now, at int // tries on their way, and the most at once
	slow    func(i int)
}

var errDied = errors.New("killed")

func (h *history) try(_ context.Context, i, repeat int) (Attempt, error) {
	h.mu.Lock()
	h.now++
	h.at = max(h.at, h.now)
	h.mu.Unlock()
	if h.slow != nil {
		h.slow(i)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now--
	if why := h.broken[i]; why != "" {
		return Attempt{Untestable: why}, nil
	}
	if t, ok := h.stored[[2]int{i, repeat}]; ok {
		return Attempt{Trial: t}, nil
	}
	h.ran++
	if h.ran == h.die {
		return Attempt{}, errDied
	}
	r := rand.New(rand.NewPCG(uint64(i), uint64(repeat)))
	t := &memtrix.Trial{ID: int64(1000*i + repeat + 1), Seconds: 30, Outcome: memtrix.Outcome{Kind: memtrix.Pass}}
	if h.fails != nil {
		t.Outcome.Kind, t.Outcome.Message = h.fails(i, r)
	}
	peak := 100.0
	if h.peak != nil {
		peak = h.peak(i, r)
	}
	t.Spans = []memtrix.Span{
		{Kind: memtrix.SpanStart, End: time.Second, Peaks: []memtrix.Peak{{Meter: memtrix.RAMTreeRSS, Value: 50 << 20}}},
		{Kind: memtrix.SpanPrompt, Prompt: 1, Peaks: []memtrix.Peak{{Meter: memtrix.RAMTreeRSS, Value: int64(peak * (1 << 20))}}},
	}
	t.Prompts = []memtrix.PromptResult{{Index: 1, Seconds: 2 + 0.01*r.NormFloat64(), Outcome: memtrix.Pass}}
	h.stored[[2]int{i, repeat}] = t
	return Attempt{Trial: t}, nil
}

func (h *history) search(o Bisection) (*BisectReport, error) {
	if h.stored == nil {
		h.stored = map[[2]int]*memtrix.Trial{}
	}
	h.mu = &sync.Mutex{}
	o.Search.N, o.Try = h.n, h.try
	return Bisect(context.Background(), o)
}

func step(first int, by float64) func(int, *rand.Rand) float64 {
	return func(i int, r *rand.Rand) float64 {
		v := 1000 + 2*r.NormFloat64()
		if i >= first {
			v += by
		}
		return v
	}
}

func failsFrom(first int, kind memtrix.OutcomeKind, message string) func(int, *rand.Rand) (memtrix.OutcomeKind, string) {
	return func(i int, _ *rand.Rand) (memtrix.OutcomeKind, string) {
		if i >= first {
			return kind, message
		}
		return memtrix.Pass, ""
	}
}

func TestBisectDecides(t *testing.T) {
	for _, c := range []struct {
		name    string
		h       history
		o       Bisection
		want    int
		measure Measure
	}{
		{"outcome", history{n: 60, fails: failsFrom(41, memtrix.StartupFailure, "no module")}, Bisection{}, 41, MeasureOutcome},
		{"outcome before value", history{n: 60, fails: failsFrom(41, memtrix.OOM, "x"), peak: step(11, 500)}, Bisection{}, 41, MeasureOutcome},
		{"value", history{n: 60, peak: step(23, 60)}, Bisection{}, 23, memtrix.RAMTreeRSS},
		{"value asked for", history{n: 60, peak: step(23, 20)}, Bisection{Measure: memtrix.RAMTreeRSS}, 23, memtrix.RAMTreeRSS},
		{"down", history{n: 60, peak: step(7, -300)}, Bisection{}, 7, memtrix.RAMTreeRSS},
	} {
		r, err := c.h.search(c.o)
		if err != nil || r.Verdict != bisect.Found || r.From != c.want || r.To != c.want || r.Measure != c.measure {
			t.Errorf("%s: got %v %d..%d by %q (%v), want %d by %q", c.name, r.Verdict, r.From, r.To, r.Measure, err, c.want, c.measure)
		}
		if len(r.Runs) != r.Result.Runs || r.Result.Runs > 40 {
			t.Errorf("%s: %d runs, %d told of", c.name, r.Result.Runs, len(r.Runs))
		}
	}
}

// Ends that do not differ end it at once, with a word that says what was looked at.
func TestBisectSame(t *testing.T) {
	for _, c := range []struct {
		name string
		h    history
		o    Bisection
		want string
	}{
		{"values", history{n: 60, peak: step(100, 0)}, Bisection{}, "nothing that was measured differs"},
		{"both fail", history{n: 60, fails: failsFrom(0, memtrix.OOM, "out of memory")}, Bisection{}, "both end with oom (out of memory)"},
		{"outcome asked for", history{n: 60, peak: step(30, 500)}, Bisection{Measure: MeasureOutcome}, "both end with pass"},
	} {
		r, err := c.h.search(c.o)
		if err != nil || r.Verdict != bisect.Same || !strings.Contains(r.Result.Why, c.want) || r.Posterior != nil {
			t.Errorf("%s: got %v %q (%v)", c.name, r.Verdict, r.Result.Why, err)
		}
		if len(r.Runs) > 2*mostEndRuns {
			t.Errorf("%s: %d runs", c.name, len(r.Runs))
		}
	}
}

// What cannot be tested, and what fails in another way, is on neither side.
func TestBisectUntestable(t *testing.T) {
	h := history{n: 50, broken: map[int]string{24: "does not install", 25: "does not install"}}
	h.fails = func(i int, _ *rand.Rand) (memtrix.OutcomeKind, string) {
		switch {
		case i >= 36 && i < 38:
			return memtrix.StartupFailure, "something else"
		case i >= 26:
			return memtrix.OOM, "out of memory"
		}
		return memtrix.Pass, ""
	}
	r, err := h.search(Bisection{})
	if err != nil || r.Verdict != bisect.Found || r.From != 24 || r.To != 26 {
		t.Errorf("got %v %d..%d (%v), want 24..26", r.Verdict, r.From, r.To, err)
	}
	h = history{n: 50, broken: map[int]string{49: "does not install"}}
	if r, err = h.search(Bisection{}); err != nil || r.Verdict != bisect.Untestable || r.End != 49 {
		t.Errorf("bad end: got %v of %d (%v)", r.Verdict, r.End, err)
	}
	// The text of a failure tells two of a kind apart.
	h = history{n: 50, fails: func(i int, _ *rand.Rand) (memtrix.OutcomeKind, string) {
		switch {
		case i >= 30:
			return memtrix.StartupFailure, "No module named 'b'"
		case i >= 10:
			return memtrix.StartupFailure, "No module named 'a'"
		}
		return memtrix.Pass, ""
	}}
	if r, err = h.search(Bisection{}); err != nil || r.From != 10 || r.To != 10 || len(r.Failures()) != 2 {
		t.Errorf("first failure: got %d..%d, %d failures (%v)", r.From, r.To, len(r.Failures()), err)
	}
	h.stored = nil
	if r, err = h.search(Bisection{Failure: "named 'B'"}); err != nil || r.From != 10 || r.To != 30 {
		t.Errorf("one failure: got %d..%d (%v), want 10..30, whose inside says neither", r.From, r.To, err)
	}
}

// A search that was cut off anywhere goes on by its stored trials, and ends the same
// with the same runs.
func TestBisectGoesOn(t *testing.T) {
	whole := history{n: 200, peak: step(77, 12)}
	want, err := whole.search(Bisection{})
	if err != nil || want.From != 77 {
		t.Fatalf("got %d (%v)", want.From, err)
	}
	for die := 1; die <= len(want.Runs); die += 3 {
		h := history{n: 200, peak: step(77, 12), die: die}
		if _, err := h.search(Bisection{}); !errors.Is(err, errDied) {
			t.Fatalf("died at %d: got %v", die, err)
		}
		got, err := h.search(Bisection{})
		if err != nil || fmt.Sprint(pathOf(got)) != fmt.Sprint(pathOf(want)) || got.Sure != want.Sure {
			t.Errorf("died at %d: got %v (%v), want %v", die, pathOf(got), err, pathOf(want))
		}
		if h.ran != len(want.Runs)+1 {
			t.Errorf("died at %d: %d runs in all, want %d", die, h.ran, len(want.Runs)+1)
		}
	}
}

// Several at once lead to the same words, whichever of them ends first, also when it was
// stopped in between; and what they share is not compared.
func TestBisectAtOnce(t *testing.T) {
	late := func(remainder int) func(int) {
		return func(i int) {
			time.Sleep(time.Duration(1+5*(i%2^remainder)) * time.Millisecond)
		}
	}
	fails := failsFrom(77, memtrix.OOM, "out of memory")
	whole := history{n: 200, fails: fails, slow: late(0)}
	want, err := whole.search(Bisection{Jobs: 3})
	if err != nil || want.From != 77 || want.To != 77 || want.Measure != MeasureOutcome {
		t.Fatalf("got %d..%d by %q (%v)", want.From, want.To, want.Measure, err)
	}
	if whole.at != 3 {
		t.Errorf("%d at once, want 3", whole.at)
	}
	h := history{n: 200, fails: fails, slow: late(1), die: 7}
	if _, err := h.search(Bisection{Jobs: 3}); !errors.Is(err, errDied) {
		t.Fatalf("got %v", err)
	}
	got, err := h.search(Bisection{Jobs: 3})
	if err != nil || fmt.Sprint(pathOf(got)) != fmt.Sprint(pathOf(want)) {
		t.Errorf("got %v (%v), want %v", pathOf(got), err, pathOf(want))
	}
	if h.ran != len(want.Runs)+1 {
		t.Errorf("%d runs in all, want %d", h.ran, len(want.Runs)+1)
	}
	h = history{n: 6, fails: failsFrom(2, memtrix.OOM, "out of memory")}
	once := Bisection{Jobs: 4}
	once.Search.Deterministic = true
	if r, err := h.search(once); err != nil || r.From != 2 || r.To != 2 || len(r.Runs) > 6 {
		t.Errorf("deterministic: got %d..%d by %v (%v)", r.From, r.To, pathOf(r), err)
	}
	h = history{n: 60, peak: step(23, 60)}
	if r, err := h.search(Bisection{Jobs: 2}); err != nil || r.Verdict != bisect.Same || !strings.Contains(r.Result.Why, "nothing that can be compared") {
		t.Errorf("memory of the host: got %v %q (%v)", r.Verdict, r.Result.Why, err)
	}
	if _, err := h.search(Bisection{Jobs: 2, Measure: memtrix.RAMTreeRSS}); err == nil || !strings.Contains(err.Error(), "they share what it counts") {
		t.Errorf("memory of the host, asked for: %v", err)
	}
	for m, alone := range map[Measure]bool{"outcome": true, "vram.trial.used": true, "rested:vram.device.used": true, "start:ram.tree.anon": false, "seconds": false, "start-seconds": false} {
		if m.Alone() != alone {
			t.Errorf("%s: alone %v", m, !alone)
		}
	}
}

func pathOf(r *BisectReport) []string {
	var out []string
	for _, run := range r.Runs {
		out = append(out, fmt.Sprintf("%d/%d %s", run.Index, run.Repeat, run.Result))
	}
	return out
}

// The same failure of two versions is told in the same words.
func TestFailureOf(t *testing.T) {
	trial := &memtrix.Trial{Cell: memtrix.Cell{Version: memtrix.Version{Name: "0.29.0"}}}
	trial.Outcome = memtrix.Outcome{Kind: memtrix.StartupFailure, Message: "0.29.0 does not start: exit status 1", Evidence: []string{
		"  Traceback (most recent call last):", "      import comfy_aimdo.control", "  ModuleNotFoundError: No module named 'comfy_aimdo'", "Install what this version needs:"}}
	if got, want := failureOf(trial), "ModuleNotFoundError: No module named 'comfy_aimdo'"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for message, want := range map[string]string{
		"custom node p is not in force: its import failed: No module named '/cache/nodes/bf7e9fe1/p.effects'": "custom node p is not in force: its import failed: No module named 'p.effects'",
		`cannot open C:\cache\trees\a8c44f9b\nodes.py`:                                                        "cannot open nodes.py",
		"a rate of 3/4 and 1/2": "a rate of 3/4 and 1/2",
	} {
		trial.Outcome = memtrix.Outcome{Kind: memtrix.NotInForce, Message: message}
		if got := failureOf(trial); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	trial.Outcome = memtrix.Outcome{Kind: memtrix.StartupFailure, Message: "0.29.0 does not start: exit status 1"}
	if got, want := failureOf(trial), "does not start: exit status 1"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestSides(t *testing.T) {
	v := func(x float64) *float64 { return &x }
	r := BisectReport{Measure: memtrix.RAMTreeRSS, Runs: []BisectRun{
		{Index: 0, Result: RunValue, Value: v(10)}, {Index: 0, Result: RunValue, Value: v(12)},
		{Index: 5, Result: RunValue, Value: v(20)}, {Index: 4, Result: RunUntestable},
	}}
	r.Posterior, r.From, r.To = make([]float64, 6), 3, 3
	good, bad := r.Sides()
	// The mean of two values lies within 12.706 standard errors (t, 1 degree of freedom).
	if good.Runs != 2 || *good.Mean != 11 || math.Abs(*good.Low-(11-12.706)) > 0.01 || bad.Runs != 1 || *bad.Mean != 20 || bad.Low != nil {
		t.Errorf("got %+v and %+v", good, bad)
	}
}

func TestParseMeasure(t *testing.T) {
	for _, ok := range []string{"", "outcome", "seconds", "start-seconds", "ram.tree.rss", "start:ram.tree.anon", "rested:vram.trial.used"} {
		if m, err := ParseMeasure(ok); err != nil || string(m) != ok {
			t.Errorf("%q: %q, %v", ok, m, err)
		}
	}
	for _, bad := range []string{"ram", "peak:ram.tree.rss", "start:", "outcomes"} {
		if m, err := ParseMeasure(bad); err == nil {
			t.Errorf("%q is taken as %q", bad, m)
		}
	}
}
