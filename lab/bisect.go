package lab

import (
	"context"
	"fmt"
	"maps"
	"slices"

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
	// Search has the number of candidates and what is known of them; its metric is
	// set here.
	Search bisect.Config
	// Try gives the repeat-th trial of a candidate (0 the first).
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
	Gaps      []Gap // of the ends, where values were looked at
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
	if _, err := bisect.New(b.config(bisect.Pass)); err != nil {
		return b.report, err
	}
	over, err := b.decide(ctx)
	if over || err != nil {
		return b.report, err
	}
	for {
		i, ok := b.search.Next(nil)
		if !ok {
			break
		}
		if err := b.run(ctx, i); err != nil {
			b.conclude()
			return b.report, err
		}
	}
	b.conclude()
	return b.report, nil
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
		for side, i := range []int{0, b.Search.N - 1} {
			a, run, err := b.attempt(ctx, i)
			if err != nil {
				return false, err
			}
			if a.Trial == nil {
				run.Result = RunUntestable
				b.add(run)
				b.report.Verdict, b.report.End, b.report.Result.Why = bisect.Untestable, i, run.Why
				return true, nil
			}
			b.add(run)
			b.ends[side] = append(b.ends[side], a.Trial)
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

// compared is what tells the ends apart after n runs of each, "" and why where nothing
// does.
func (b *bisection) compared(n int) (Measure, string) {
	if b.Measure != "" && b.Measure != MeasureOutcome {
		return b.Measure, "asked for"
	}
	b.sides = classesOf(b.ends[0], b.ends[1])
	// A good end that fails and a bad one that passes may be one failure by luck.
	odd := b.sides.bad == string(memtrix.Pass) && n < leastOddRuns
	if b.sides.differ() && !odd {
		return MeasureOutcome, fmt.Sprintf("good ends with %s, bad with %s", b.sides.good, b.sides.bad)
	}
	if b.Measure == MeasureOutcome || b.sides.good != string(memtrix.Pass) || odd {
		return "", fmt.Sprintf("good and bad do not differ: both end with %s (%s)", b.sides.good, failureOf(b.ends[0][0]))
	}
	b.report.Gaps = Gaps(b.ends[0], b.ends[1])
	if len(b.report.Gaps) == 0 {
		return "", "good and bad both pass, and nothing was measured of both"
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

// run runs a candidate and tells the search.
func (b *bisection) run(ctx context.Context, i int) error {
	a, run, err := b.attempt(ctx, i)
	if err != nil {
		return err
	}
	b.report.Runs = append(b.report.Runs, run)
	last := &b.report.Runs[len(b.report.Runs)-1]
	if err := b.judge(last, a.Trial); err != nil {
		return err
	}
	b.tell(*last)
	return nil
}

func (b *bisection) attempt(ctx context.Context, i int) (Attempt, BisectRun, error) {
	repeat := b.repeats[i]
	a, err := b.Try(ctx, i, repeat)
	if err != nil {
		return a, BisectRun{}, err
	}
	b.repeats[i]++
	run := BisectRun{Index: i, Repeat: repeat, Why: a.Untestable}
	if t := a.Trial; t != nil {
		run.Trial, run.Outcome, run.Message, run.Seconds = t.ID, t.Outcome.Kind, failureOf(t), t.Seconds
		b.report.Simulated = b.report.Simulated || t.Simulated
		if why := tell(t); why != nil {
			a.Trial, run.Why = nil, why.Error()
		}
	}
	return a, run, nil
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
