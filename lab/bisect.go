package lab

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"memtrix"
	"memtrix/bisect"
)

// Attempt is one run of a candidate.
type Attempt struct {
	Trial *memtrix.Trial
	// Untestable is why there is no trial, in words: its packages cannot be
	// installed, its settings do not exist there. It says nothing for good or bad.
	Untestable string
}

// Bisection is a search for the first bad one of an ordered list of states.
type Bisection struct {
	// Measure is what is compared; "" is decided from the ends.
	Measure Measure
	// Failure is in the message of the failure that counts; "" counts any of its kind.
	Failure string
	// At says that all trials run with a size of this memory that lies between the floors
	// of the ends, "" for none: that it does not do is one outcome then, and that a good
	// end fails and a bad one passes, where the floor fell, no luck.
	At FloorMeter
	// Search has the number of candidates and what is known of them; its metric is
	// set here.
	Search bisect.Config
	// Jobs is how many candidates run at once, each on a card of its own; 0 is 1. Then
	// only that is compared in which the others have no part (see Measure.Alone). They
	// begin and are told together, so that the same trials lead to the same words
	// whichever ends first.
	Jobs int
	// Try gives the repeat-th trial of a candidate (0 the first). With Jobs it is called
	// from several goroutines.
	Try func(ctx context.Context, candidate, repeat int) (Attempt, error)
	// Told is called after each run; may be nil. now is empty until it is known what
	// is compared.
	Told func(r BisectRun, now bisect.Result)
	// Decided is called once with what is compared, and why; may be nil.
	Decided func(m Measure, why string)
}

// BisectRun is one run with what it told.
type BisectRun struct {
	Index   int                 `json:"index"`
	Repeat  int                 `json:"repeat"`
	Trial   int64               `json:"trial,omitempty"`
	Outcome memtrix.OutcomeKind `json:"outcome,omitempty"`
	// Message is how it failed, in words that do not name the version.
	Message string `json:"message,omitempty"`
	// Result is "good", "bad", "value" or "untestable"; "" where it is not known yet
	// what is compared.
	Result  string   `json:"result,omitempty"`
	Value   *float64 `json:"value,omitempty"`
	Why     string   `json:"why,omitempty"` // of untestable
	Seconds float64  `json:"seconds"`
}

// Results of runs.
const (
	RunGood       = "good"
	RunBad        = "bad"
	RunValue      = "value"
	RunUntestable = "untestable"
)

// BisectReport is what came out.
type BisectReport struct {
	bisect.Result
	Measure   Measure
	Why       string // this measure
	GoodClass string // outcomes that are compared
	BadClass  string
	At        string // the size with which all were tried, in words; "" for the spec's
	Gaps      []Gap  // of the ends, where values were looked at
	Runs      []BisectRun
	Simulated bool
}

// noValueRuns is how many runs without a value a candidate may have.
const noValueRuns = 2

// leastOddRuns is how many runs of the ends it takes to believe that the good end fails
// and the bad one does not.
const leastOddRuns = 3

type bisection struct {
	Bisection
	report  *BisectReport
	search  *bisect.Search
	sides   classes
	repeats map[int]int
	empty   map[int]int
	// ends are the trials of good and bad, until it is decided what is compared.
	ends [2][]*memtrix.Trial
}

// Bisect runs candidates until the first bad one is known. The report has what is known
// also beside an error. Asked again with the same tries it does the same: a search that
// was stopped goes on where it was when Try gives the trials that are stored.
func Bisect(ctx context.Context, o Bisection) (*BisectReport, error) {
	b := &bisection{Bisection: o, report: &BisectReport{Measure: o.Measure}, repeats: map[int]int{}, empty: map[int]int{}}
	b.report.Verdict = bisect.Open
	b.Jobs = max(b.Jobs, 1)
	if b.Jobs > 1 && b.Measure != "" && !b.Measure.Alone() {
		return b.report, fmt.Errorf("%s is not compared between trials that run at once: they share what it counts", b.Measure.Words())
	}
	if _, ok := b.Measure.Floor(); ok {
		return b.report, fmt.Errorf("%s is no value of one trial: the outcome at a size between the floors of the ends is compared (FloorEnds)", b.Measure.Words())
	}
	if _, err := bisect.New(b.config(bisect.Pass)); err != nil {
		return b.report, err
	}
	over, err := b.decide(ctx)
	if over || err != nil {
		return b.report, err
	}
	for err == nil {
		next := b.search.Proposals(b.Jobs, nil)
		if len(next) == 0 {
			break
		}
		if b.Search.Deterministic { // a second run beside the first one tells nothing
			slices.Sort(next)
			next = slices.Compact(next)
		}
		_, err = b.attempts(ctx, next, b.take)
	}
	b.conclude()
	return b.report, err
}

func (b *bisection) config(m bisect.Metric) bisect.Config {
	c := b.Search
	c.Metric = m
	return c
}

// conclude takes over what the search knows.
func (b *bisection) conclude() {
	b.report.Result = b.search.Result()
	b.report.Result.Runs = len(b.report.Runs)
}

// decide runs the ends until it is known what tells them apart. over is set when the
// search ends with that.
func (b *bisection) decide(ctx context.Context) (over bool, err error) {
	for n := 1; ; n++ {
		over, err := b.attempts(ctx, []int{0, b.Search.N - 1}, b.takeEnd)
		if over || err != nil {
			return over, err
		}
		m, why := b.compared(n)
		switch {
		case m != "":
			return false, b.begin(m, why)
		case n >= mostEndRuns:
			b.report.Verdict, b.report.Result.Why = bisect.Same, why
			return true, nil
		}
	}
}

// takeEnd notes a run of an end. The search is over when it cannot be tested.
func (b *bisection) takeEnd(a Attempt, run BisectRun) (over bool, err error) {
	side := 0
	if run.Index != 0 {
		side = 1
	}
	if a.Trial == nil {
		run.Result = RunUntestable
		b.add(run)
		b.report.Verdict, b.report.End, b.report.Result.Why = bisect.Untestable, run.Index, run.Why
		return true, nil
	}
	b.add(run)
	b.ends[side] = append(b.ends[side], a.Trial)
	return false, nil
}

// compared is what tells the ends apart after n runs of each, "" and why where nothing
// does.
func (b *bisection) compared(n int) (Measure, string) {
	if b.Measure != "" && b.Measure != MeasureOutcome {
		return b.Measure, "asked for"
	}
	b.sides = classesOf(b.At, b.ends[0], b.ends[1])
	// A good end that fails and a bad one that passes may be one failure by luck.
	odd := b.sides.bad == string(memtrix.Pass) && n < leastOddRuns && b.At == ""
	if b.sides.differ() && !odd {
		return MeasureOutcome, fmt.Sprintf("good ends with %s, bad with %s", b.sides.good, b.sides.bad)
	}
	if b.Measure == MeasureOutcome || b.sides.good != string(memtrix.Pass) || odd {
		return "", fmt.Sprintf("good and bad do not differ: both end with %s (%s)", b.sides.good, failureOf(b.ends[0][0]))
	}
	b.report.Gaps = Gaps(b.ends[0], b.ends[1])
	if b.Jobs > 1 {
		b.report.Gaps = slices.DeleteFunc(b.report.Gaps, func(g Gap) bool { return !g.Measure.Alone() })
	}
	if len(b.report.Gaps) == 0 {
		return "", "good and bad both pass, and nothing that can be compared was measured of both"
	}
	// Seconds count where no memory differs.
	for _, g := range b.report.Gaps {
		if bar, ok := clearly[n]; ok && g.Noise >= bar {
			return g.Measure, fmt.Sprintf("both ends pass, and of what was measured this differs most: %s at good, %s at bad, %.0f times the noise",
				g.Measure.Format(g.Good), g.Measure.Format(g.Bad), g.Noise)
		}
	}
	g := b.report.Gaps[0]
	return "", fmt.Sprintf("good and bad do not differ: both pass, and nothing that was measured differs by more than its noise; most of all %s (%s and %s, %.1f times the noise after %d runs of each)",
		g.Measure.Words(), g.Measure.Format(g.Good), g.Measure.Format(g.Bad), g.Noise, n)
}

// begin starts the search with the runs of the ends.
func (b *bisection) begin(m Measure, why string) error {
	b.report.Measure, b.report.Why = m, why
	metric := bisect.Value
	if m == MeasureOutcome {
		metric = bisect.Pass
		b.report.GoodClass, b.report.BadClass = b.sides.good, b.sides.bad
	}
	var err error
	if b.search, err = bisect.New(b.config(metric)); err != nil {
		return err
	}
	if b.Decided != nil {
		b.Decided(m, why)
	}
	for i := range b.report.Runs {
		r := &b.report.Runs[i]
		side := 0
		if r.Index != 0 {
			side = 1
		}
		if err := b.judge(r, b.ends[side][r.Repeat]); err != nil {
			return err
		}
	}
	return nil
}

// take tells the search of a run.
func (b *bisection) take(a Attempt, run BisectRun) (over bool, err error) {
	b.report.Runs = append(b.report.Runs, run)
	last := &b.report.Runs[len(b.report.Runs)-1]
	if err := b.judge(last, a.Trial); err != nil {
		return false, err
	}
	b.tell(*last)
	return false, nil
}

// attempts runs candidates, as many at once as there may be, and hands them to take in
// their order until it says that it is over.
func (b *bisection) attempts(ctx context.Context, list []int, take func(Attempt, BisectRun) (over bool, err error)) (over bool, err error) {
	for chunk := range slices.Chunk(list, b.Jobs) {
		tried := make([]Attempt, len(chunk))
		failed := make([]error, len(chunk))
		repeats := make([]int, len(chunk))
		var wg sync.WaitGroup
		for n, i := range chunk {
			repeats[n] = b.repeats[i]
			b.repeats[i]++
			wg.Go(func() { tried[n], failed[n] = b.Try(ctx, i, repeats[n]) })
		}
		wg.Wait()
		for n, i := range chunk {
			if failed[n] != nil {
				return false, failed[n]
			}
			a, run := b.noted(tried[n], BisectRun{Index: i, Repeat: repeats[n]})
			if over, err := take(a, run); over || err != nil {
				return over, err
			}
		}
	}
	return false, nil
}

// noted fills in what a trial was.
func (b *bisection) noted(a Attempt, run BisectRun) (Attempt, BisectRun) {
	run.Why = a.Untestable
	t := a.Trial
	if t == nil {
		return a, run
	}
	run.Trial, run.Outcome, run.Message, run.Seconds = t.ID, t.Outcome.Kind, failureOf(t), t.Seconds
	b.report.Simulated = b.report.Simulated || t.Simulated
	// A pack that is not imported, a setting that is not in force and a workflow that is
	// refused are outcomes: since when is what is asked.
	if t.Outcome.Kind == memtrix.NotApplicable {
		a.Trial, run.Why = nil, outcomeWords(t)
	}
	return a, run
}

// judge says what a run told, and tells the search. t is nil for none.
func (b *bisection) judge(r *BisectRun, t *memtrix.Trial) error {
	told := bisect.Run{Index: r.Index}
	switch {
	case t == nil:
		r.Result = RunUntestable
	case b.report.Measure == MeasureOutcome:
		bad, ok := b.sides.of(t, b.Failure)
		switch {
		case !ok:
			r.Result, r.Why = RunUntestable, fmt.Sprintf("it fails in another way than what is looked for: %s", outcomeWords(t))
		case bad:
			r.Result, told.Bad = RunBad, true
		default:
			r.Result = RunGood
		}
	default:
		v, ok := b.report.Measure.Of(t)
		if ok {
			r.Result, r.Value, told.Value = RunValue, &v, v
			break
		}
		r.Result, r.Why = RunUntestable, fmt.Sprintf("it has no %s: %s", b.report.Measure.Words(), outcomeWords(t))
		if b.empty[r.Index]++; b.empty[r.Index] < noValueRuns {
			return nil // it may have failed by luck
		}
	}
	told.Untestable = r.Result == RunUntestable
	return b.search.Add(told)
}

func (b *bisection) add(r BisectRun) {
	b.report.Runs = append(b.report.Runs, r)
	b.tell(r)
}

func (b *bisection) tell(r BisectRun) {
	if b.Told == nil {
		return
	}
	var now bisect.Result
	if b.search != nil {
		now = b.search.Result()
	}
	now.Runs = len(b.report.Runs)
	b.Told(r, now)
}

// Failures are the messages with which runs ended on the bad side, each with the first
// candidate that had it, in the order of the candidates: several mean several changes.
func (r *BisectReport) Failures() []BisectRun {
	first := map[string]BisectRun{}
	for _, run := range r.Runs {
		if run.Result != RunBad {
			continue
		}
		if was, ok := first[run.Message]; !ok || run.Index < was.Index {
			first[run.Message] = run
		}
	}
	return slices.SortedFunc(maps.Values(first), func(a, b BisectRun) int { return a.Index - b.Index })
}
