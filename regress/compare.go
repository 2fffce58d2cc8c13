package regress

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"golang.org/x/perf/benchmath"
)

// Side is one of two things that are compared: the repeats of one cell.
type Side struct {
	Name   string
	Values []float64 // of the trials that passed
	// Trials is how many there were, Failed how many of them did not pass.
	Trials, Failed int
	// Conditions are what must be alike on both sides for the difference to mean
	// something: card, driver, probe.
	Conditions map[string]string
}

// Verdict of a comparison.
type Verdict string

const (
	// Differs: the difference is not chance, and large enough to matter.
	Differs Verdict = "differs"
	// Same: a difference that matters would have been seen.
	Same Verdict = "same"
	// TooSmall: there is a difference, which does not matter.
	TooSmall Verdict = "too-small"
	// Unclear: too few repeats to tell.
	Unclear Verdict = "unclear"
)

// Interval is a median with its interval of 95 % or more.
type Interval struct {
	Median, Low, High float64
	// Confidence that the interval has; few repeats cannot give more.
	Confidence float64
}

// Comparison is what two sides come to.
type Comparison struct {
	// A and B are of the sides' values. The interval of a side without any is zero, its
	// confidence too: what such a side is must be shown as absent.
	A, B    Interval
	Verdict Verdict
	// P is the probability of such a difference by chance (Mann and Whitney), or of
	// the failures (Fisher), whichever decided.
	P float64
	// More is how many more repeats a side are needed to tell, 0 where it is told, -1
	// where no number that anybody would run is enough.
	More int
	// Unlike are conditions that differ: the sides cannot be compared, or only with
	// this said.
	Unlike []string
	// Warnings are about too few or equal values.
	Warnings []string
	Reason   string
}

const (
	// Alpha is the probability by chance below which two sides differ.
	Alpha = 0.05
	// FewestRepeats a side can give it at all: the U test's least p of four against four is
	// 2/70, of three against three 2/20.
	FewestRepeats = 4
	// FewestPoints of a series are what Levels can tell a change of.
	FewestPoints = fewestBefore + fewestNew
)

// Levels and limits of a comparison.
const (
	alpha       = Alpha
	power       = 0.8
	mostRepeats = 1000
)

// Compare tells whether B differs from A. Like benchstat it takes medians with intervals
// from order statistics and the U test of Mann and Whitney (golang.org/x/perf/benchmath),
// which assume that repeats are independent and nothing of their distribution. How
// many more repeats are needed is an estimate after Noether (1987,
// https://doi.org/10.1080/01621459.1987.10478478) from normal distributions with the
// spread seen, at 80 % power: for the difference that was seen, or for the least that
// matters when that is larger. Failures are compared first, by Fisher's exact test:
// an out-of-memory has no value, and a side that fails is not smaller for it.
func Compare(a, b Side, o Options) Comparison {
	var c Comparison
	c.Unlike = unlike(a.Conditions, b.Conditions)
	if a.Trials > 0 && b.Trials > 0 && a.Failed+b.Failed > 0 {
		if c.P = fisher(a.Failed, a.Trials, b.Failed, b.Trials); c.P < alpha {
			c.Verdict = Differs
		}
	}
	failures := fmt.Sprintf("%d of %d failed, %d of %d before", b.Failed, b.Trials, a.Failed, a.Trials)
	sa, sb := sample(a), sample(b)
	c.A, c.B = c.interval(a.Name, sa), c.interval(b.Name, sb)
	if len(a.Values) == 0 || len(b.Values) == 0 {
		if c.Verdict != Differs {
			c.Verdict = Unclear
			c.More = moreFailures(a, b)
		}
		c.Reason = failures
		return c
	}
	if c.Verdict == Differs {
		c.Reason = failures
		return c
	}
	test := benchmath.AssumeNothing.Compare(sa, sb)
	for _, w := range test.Warnings {
		c.warn("%s", w.Error())
	}
	c.P = test.P
	c.judge(sa.Values, sb.Values, o)
	if a.Failed+b.Failed > 0 {
		c.Reason += "; " + failures
	}
	return c
}

func (c *Comparison) judge(a, b []float64, o Options) {
	size, floor := math.Abs(c.B.Median-c.A.Median), o.Floor.least(c.A.Median)
	s := math.Hypot(spread(a, c.A.Median), spread(b, c.B.Median)) / math.Sqrt2
	s = max(s, floor/16)
	what := o.what() + o.size(c.A.Median, c.B.Median) + ", " + position(a, b)
	have := min(len(a), len(b))
	switch {
	case c.P < alpha && size >= floor:
		c.Verdict, c.Reason = Differs, what
	case c.P < alpha:
		c.Verdict, c.Reason = TooSmall, what+"; less than what matters"
	default:
		need := repeats(max(size, floor), s)
		if size < floor && have >= need {
			c.Verdict, c.Reason = Same, what+"; a difference that matters would have been seen"
			return
		}
		c.Verdict = Unclear
		if c.More = max(need-have, 1); need > mostRepeats {
			c.More = -1
			c.Reason = what + fmt.Sprintf("; more than %d repeats a side would be needed to tell", mostRepeats)
			return
		}
		c.Reason = what + fmt.Sprintf("; about %d more repeats a side are needed to tell", c.More)
	}
}

func sample(s Side) *benchmath.Sample {
	return benchmath.NewSample(slices.Clone(s.Values), &benchmath.DefaultThresholds)
}

func (c *Comparison) interval(name string, s *benchmath.Sample) Interval {
	if len(s.Values) == 0 {
		return Interval{}
	}
	sum := benchmath.AssumeNothing.Summary(s, 0.95)
	for _, w := range sum.Warnings {
		c.warn("%s: %s", name, w.Error())
	}
	return Interval{sum.Center, sum.Lo, sum.Hi, sum.Confidence}
}

func (c *Comparison) warn(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if !slices.Contains(c.Warnings, text) {
		c.Warnings = append(c.Warnings, text)
	}
}

// repeats is how many a side tell a difference at all (4, the least for which the U test
// can give 5 %) and with the power that is asked for.
func repeats(size, sd float64) int {
	const least = FewestRepeats
	switch {
	case size == 0:
		return mostRepeats + 1
	case size > 3*sd:
		// The least of four values of B then exceeds the greatest of four of A in four
		// of five runs, and that is all that the test asks of four.
		return least
	}
	// The probability that a value of B exceeds one of A.
	p := math.Erfc(-size/sd/2) / 2
	z := (1.959964 + 0.841621) / (p - 0.5)
	return max(least, int(math.Ceil(z*z/6)))
}

// moreFailures is how many more trials a side tell a difference in failures, if they
// go on to fail as they do.
func moreFailures(a, b Side) int {
	if a.Trials == 0 || b.Trials == 0 {
		return -1
	}
	n := min(a.Trials, b.Trials)
	for k := n; k <= mostRepeats; k++ {
		fa := int(math.Round(float64(a.Failed) * float64(k) / float64(a.Trials)))
		fb := int(math.Round(float64(b.Failed) * float64(k) / float64(b.Trials)))
		if fisher(fa, k, fb, k) < alpha {
			return k - n
		}
	}
	return -1
}

func unlike(a, b map[string]string) []string {
	keys := map[string]bool{}
	for k := range a {
		keys[k] = true
	}
	for k := range b {
		keys[k] = true
	}
	var all []string
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		if a[k] != b[k] {
			all = append(all, fmt.Sprintf("%s: %s against %s", k, orNothing(a[k]), orNothing(b[k])))
		}
	}
	return all
}

func orNothing(s string) string {
	if s == "" {
		return "nothing"
	}
	return s
}
