package bisect

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Metric is what a run gives.
type Metric string

// The metrics.
const (
	Pass  Metric = "pass"  // a run fails or passes
	Value Metric = "value" // a run gives a number
)

// Find is which change is looked for where there are several.
type Find string

// Changes to look for. Largest is of values; outcomes have no size, and the first is
// taken for it.
const (
	Largest Find = "largest"
	First   Find = "first"
	Last    Find = "last"
)

// Rates are how often a run fails on either side.
type Rates struct{ Good, Bad float64 }

// Levels are the mean values of either side and the standard deviation of a run.
type Levels struct{ Good, Bad, SD float64 }

// Config is what to look for.
type Config struct {
	N      int // candidates; 0 is known to be good, N-1 to be bad
	Metric Metric
	// Sure is the probability at which the search stops; 0 is 0.95.
	Sure float64
	// Deterministic: every run of a candidate ends the same.
	Deterministic bool
	Rates         *Rates  // how often runs fail, where that is known; the ends are not run then
	Levels        *Levels // the same for values
	// Prior is how likely each candidate is to be the first bad one, before any run
	// and up to a factor; nil: all alike. That of candidate 0 is not used. One of 0 is
	// never found.
	Prior []float64
	// Cost is what a run of candidate i costs now, in any unit; nil: all alike.
	Cost func(i int) float64
	Find Find
	// Most is the number of runs after which the search gives up; 0 is 1000.
	Most int
}

// Run is what one execution told.
type Run struct {
	Index      int     // of the candidate
	Untestable bool    // nothing is known of it, and it is not tried again
	Bad        bool    // Metric Pass
	Value      float64 // Metric Value; finite
}

// Verdict is where a search stands.
type Verdict string

// Verdicts.
const (
	Open       Verdict = "open"       // more runs are needed
	Found      Verdict = "found"      // the interval is as short as can be
	Same       Verdict = "same"       // good and bad do not differ
	Reversed   Verdict = "reversed"   // good fails more often than bad
	Untestable Verdict = "untestable" // an end cannot be tested
	GaveUp     Verdict = "gave-up"    // Config.Most runs, or more runs would not help
)

// Result is what is known.
type Result struct {
	Verdict  Verdict
	FirstBad int // the most likely one
	// From and To are the smallest run of candidates, both included, that holds the
	// first bad one with Config.Sure at least; Sure is the probability that it does.
	From, To  int
	Sure      float64
	Runs      int
	Posterior []float64 // of each candidate, to be the first bad one
	Several   []Change  // others that were noticed, in the order of the candidates
	End       int       // Untestable: which end
	Why       string    // the reason for a verdict other than Found
}

// StandsOut reports whether the most likely candidate is at least twice as likely as any
// other: else its name says nothing.
func (r Result) StandsOut() bool {
	if r.Posterior == nil {
		return false
	}
	for k, p := range r.Posterior {
		if k != r.FirstBad && r.Posterior[r.FirstBad] < 2*p {
			return false
		}
	}
	return true
}

// Answers reports whether there is something to tell: the first bad one, or of a search
// that gave up at most half of the candidates that it could have been.
func (r Result) Answers() bool {
	switch {
	case r.Posterior == nil:
		return false
	case r.Verdict == Found:
		return true
	}
	return r.Verdict == GaveUp && 2*(r.To-r.From+1) <= len(r.Posterior)-1
}

// Search is a search in progress. Its methods are not for several goroutines at once.
type Search struct {
	cfg        Config
	prior      []float64
	runs       []Run
	untestable []bool
	lo, hi     int // the ends of the part that is searched
	several    []Change
	belief     *belief
	pairs      []pair // by which belief was made, of outcomes
	fit        *fit   // of values whose noise is learnt
	verdict    Verdict
	why        string
	end        int
}

// New begins a search, or says what is wrong with its configuration.
func New(cfg Config) (*Search, error) {
	if cfg.Sure == 0 {
		cfg.Sure = 0.95
	}
	if cfg.Most == 0 {
		cfg.Most = 1000
	}
	if err := cfg.check(); err != nil {
		return nil, err
	}
	s := &Search{cfg: cfg, hi: cfg.N - 1, untestable: make([]bool, cfg.N), verdict: Open}
	s.prior = slices.Clone(cfg.Prior)
	if s.prior == nil {
		s.prior = slices.Repeat([]float64{1}, cfg.N)
	}
	s.prior[0] = 0
	s.update()
	return s, nil
}

func (c Config) check() error {
	switch {
	case c.N < 2:
		return fmt.Errorf("%d candidates: a search takes two at least, a good one and a bad one", c.N)
	case c.Metric != Pass && c.Metric != Value:
		return fmt.Errorf("metric %q: there are pass and value", c.Metric)
	case !(c.Sure > 0.5 && c.Sure < 1):
		return fmt.Errorf("sureness %v: it lies between 0.5 and 1", c.Sure)
	case c.Rates != nil && (c.Metric != Pass || !(0 <= c.Rates.Good && c.Rates.Good < c.Rates.Bad && c.Rates.Bad <= 1)):
		return fmt.Errorf("rates %v and %v: good fails less often than bad, both between 0 and 1, of metric pass", c.Rates.Good, c.Rates.Bad)
	case c.Levels != nil && (c.Metric != Value || c.Levels.Good == c.Levels.Bad || !(c.Levels.SD > 0) ||
		!finite(c.Levels.Good) || !finite(c.Levels.Bad) || !finite(c.Levels.SD)):
		return errors.New("levels: good and bad differ, the standard deviation is above 0, and the metric is value")
	case c.Deterministic && (c.Rates != nil || c.Levels != nil):
		return errors.New("deterministic: there are no rates and no noise to be given")
	case c.Prior != nil && len(c.Prior) != c.N:
		return fmt.Errorf("prior of %d candidates for %d", len(c.Prior), c.N)
	case c.Find != "" && c.Find != Largest && c.Find != First && c.Find != Last:
		return fmt.Errorf("find %q: there are largest, first and last", c.Find)
	}
	return c.checkPrior()
}

func (c Config) checkPrior() error {
	if c.Prior == nil {
		return nil
	}
	var sum float64
	for i, p := range c.Prior[1:] {
		if !(p >= 0) || !finite(p) {
			return fmt.Errorf("prior of candidate %d: %v", i+1, p)
		}
		sum += p
	}
	if !(sum > 0) || !finite(sum) {
		return errors.New("prior: no candidate is possible")
	}
	return nil
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// Add tells of a run. One of a candidate outside the list, or a value that is not
// finite, is an error, and is not counted.
func (s *Search) Add(r Run) error {
	if r.Index < 0 || r.Index >= s.cfg.N {
		return fmt.Errorf("run of candidate %d of %d", r.Index, s.cfg.N)
	}
	if s.cfg.Metric == Value && !r.Untestable && !finite(r.Value) {
		return fmt.Errorf("run of candidate %d: value %v", r.Index, r.Value)
	}
	s.runs = append(s.runs, r)
	if r.Untestable {
		s.untestable[r.Index] = true
	}
	s.update()
	return nil
}

// Runs are those that were told of, in order.
func (s *Search) Runs() []Run { return s.runs }

// update thinks again after a run.
func (s *Search) update() {
	if s.verdict != Open {
		return // runs that were on their way when it ended
	}
	s.belief = nil
	for _, end := range []int{s.lo, s.hi} {
		if s.untestable[end] {
			s.verdict, s.end = Untestable, end
			return
		}
	}
	s.follow()
	ends := s.judgeEnds()
	if ends.verdict != Open {
		s.verdict, s.why = ends.verdict, ends.why
		return
	}
	if !ends.enough {
		if len(s.runs) >= s.cfg.Most {
			s.giveUp("whether good and bad differ is not known yet")
		}
		return
	}
	s.belief = s.think()
	if s.split() {
		s.update() // the part that holds the change asked for
		return
	}
	from, to, _ := s.belief.interval(s.cfg.Sure)
	switch {
	case s.atomic(from, to) && s.confirmed(from, to):
		s.verdict = Found
	case len(s.runs) >= s.cfg.Most:
		s.giveUp("more candidates remain possible")
	}
}

func (s *Search) giveUp(why string) {
	s.verdict, s.why = GaveUp, fmt.Sprintf("after %d runs: %s", len(s.runs), why)
}

// atomic reports whether no candidate that can be tested would tell those of an
// interval apart.
func (s *Search) atomic(from, to int) bool {
	for i := from; i < to; i++ {
		if !s.untestable[i] {
			return false
		}
	}
	return true
}

// Result is what is known now.
func (s *Search) Result() Result {
	r := Result{Verdict: s.verdict, Runs: len(s.runs), Several: s.several, End: s.end, Why: s.why}
	if s.verdict == Same || s.verdict == Reversed || s.verdict == Untestable {
		return r
	}
	b := s.belief
	if b == nil { // the ends are not through
		b = newBelief(s.lo, s.hi, slices.Clone(s.prior))
	}
	r.Posterior = b.p
	r.From, r.To, r.Sure = b.interval(s.cfg.Sure)
	r.FirstBad = r.From
	for k := r.From; k <= r.To; k++ {
		if b.p[k] > b.p[r.FirstBad] {
			r.FirstBad = k
		}
	}
	return r
}

// inside are the runs that tell something of the part that is searched.
func (s *Search) inside() []Run {
	var out []Run
	for _, r := range s.runs {
		if !r.Untestable && r.Index >= s.lo && r.Index <= s.hi {
			out = append(out, r)
		}
	}
	return out
}
