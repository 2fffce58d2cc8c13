package regress

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Growth is a drift in numbers: how fast, and when it began.
type Growth struct {
	// PerNight is the slope, in the unit of the values, Low and High its interval of 95 %.
	PerNight, Low, High float64
	// Nights is how long it has gone on, the newest included.
	Nights int
	// Earliest and Latest are the indexes of the nights between which it began (95 %).
	Earliest, Latest int

	always bool // a line through all that was looked at is not clearly worse
}

// What a drift must be to be told at a night. The bars are set by simulation, as those of
// Tonight are (package calibrate).
const (
	leastDriftNights = 21 // "over weeks"
	leastLevelNights = 7  // of a level before it, where it has one
	fewestNights     = 40 // that are looked at
	barDrift         = 4.6
	barDriftWanders  = 1.8 // more for each unit of what noise that wanders adds
	barDriftOnce     = 3.0
	driftOverSteps   = 6.0 // by how much it must fit better than steps
	overStepsWanders = 3   // more for each unit of autocorrelation
	mostSteps        = mostTogether
	clearlyWorse     = 15.0
	asGood           = 3.84 // no worse than that is not told from the best
	shortestGrowth   = 8    // of a line that is fitted at all
)

// drifting says whether a series has grown (or shrunk) slowly until its newest night. At of
// the change is where that began.
//
// A level that becomes a line is fitted to the last 180 nights. Its slope must be far from
// nothing by the noise that it leaves, autocorrelation reckoned in; the line must fit
// better than up to eight steps do (steps are what versions make, and Tonight's to
// tell); it must have gone on for three weeks, and have come to more than the floor.
// Spikes count three deviations at most.
func drifting(nights []float64, o Options) (Change, Growth, bool) {
	skipped := max(0, len(nights)-longestPast)
	d, ok := climb(nights[skipped:], o, toTell)
	if !ok || math.Abs(d.after-d.before) < o.Floor.least(d.before) {
		return Change{}, Growth{}, false
	}
	g := Growth{
		PerNight: d.slope, Low: d.slope - d.margin, High: d.slope + d.margin,
		Nights: d.points, Earliest: skipped + d.earliest, Latest: skipped + d.latest, always: d.always,
	}
	return Change{
		Kind: Drift, At: skipped + d.from, Before: d.before, After: d.after,
		Confidence: confidence(cut{z: d.z, bar: barDrift}), Reason: o.growth(d.drift, g),
	}, g, true
}

// Drifts reports whether a series moves in a direction, slowly or in steps, by a bar for one
// series that is looked at once because another one drifts: a machine's control, say.
func Drifts(nights []float64, up bool, o Options) bool {
	d, ok := climb(nights[max(0, len(nights)-longestPast):], o, alongside)
	return ok && (d.slope > 0) == up
}

// NoLevels reports whether a series drifts rather than having levels, sure or not.
func NoLevels(nights []float64, o Options) bool {
	_, ok := climb(nights[max(0, len(nights)-longestPast):], o, rather)
	return ok
}

// steadily is a drift with what is known of its slope.
type steadily struct {
	drift
	slope, margin    float64
	earliest, latest int
	always           bool
	z                float64
}

// asked is what a drift must be: how long, how far from nothing, and by how much better than
// steps (-Inf for however).
type asked struct {
	nights         int
	bar, overSteps float64
}

var (
	toTell    = asked{leastDriftNights, barDrift, driftOverSteps}
	rather    = asked{leastDriftNights, barDriftOnce, driftOverSteps}
	alongside = asked{leastDriftNights, barDriftOnce, math.Inf(-1)}
	toGoOn    = asked{shortestGrowth, 3.5, math.Inf(-1)}
)

// climb fits a drift that lasts until the end of y.
func climb(y []float64, o Options, ask asked) (steadily, bool) {
	n := len(y)
	if n < fewestNights {
		return steadily{}, false
	}
	grain := o.Floor.least(Median(y)) / 16
	x := smoothed(y, max(roughness(y, make([]float64, 0, n)), grain))
	h := hinges(x)
	from, rss := h.best(ask.nights)
	level, slope, _ := fitHinge(x, from)
	// With noise that is independent the score is greatest: mostly that is the end of it.
	if h.score(from, rss, slope, grain, 0) < ask.bar {
		return steadily{}, false
	}
	rest := make([]float64, n)
	for i := range rest {
		rest[i] = x[i] - level - slope*float64(max(i-from+1, 0))
	}
	w := newWindow(rest, grain)
	// What no reading can tell apart is no correlation.
	phi := 0.0
	if rss > 0 {
		phi = w.correlation() * rss / (rss + float64(n)*grain*grain)
	}
	z := h.score(from, rss, slope, grain, phi)
	if z -= barDriftWanders * barWandering(n, phi); z < ask.bar {
		return steadily{}, false
	}
	independent := float64(n) * (1 - phi) / (1 + phi)
	cost := func(rss float64, params int) float64 {
		return independent*math.Log(rss/float64(n)+grain*grain) + float64(params)*math.Log(float64(n))
	}
	worse := func(other float64) float64 { return cost(other, 0) - cost(rss, 0) }
	if _, shorter := h.best(shortestGrowth); worse(shorter) < -asGood {
		return steadily{}, false // it began later
	}
	params := 2
	if from > 0 {
		params = 3
	}
	if over := ask.overSteps + overStepsWanders*phi; !math.IsInf(over, -1) && cost(rss, params)+over > leastSteps(x, cost) {
		return steadily{}, false
	}
	d := steadily{drift: drift{from: from, points: n - from, before: level, after: level + slope*float64(n-from)}, slope: slope, z: z}
	df := max(float64(n-3)*(1-phi)/(1+phi), 1)
	d.margin = distuv.StudentsT{Sigma: 1, Nu: df}.Quantile(0.975) * h.standardError(from, rss, grain, phi)
	d.earliest, d.latest = h.began(worse)
	d.always = worse(h.residuals[0]) < clearlyWorse
	return d, true
}

// leastSteps is the cost of the best fit of one or several steps.
func leastSteps(x []float64, cost func(rss float64, params int) float64) float64 {
	w := &window{x: x, sum: make([]float64, len(x)+1), sum2: make([]float64, len(x)+1)}
	mid := Median(x)
	shifted := make([]float64, len(x))
	for i, v := range x {
		shifted[i] = v - mid // keeps squares small
		w.sum[i+1] = w.sum[i] + shifted[i]
		w.sum2[i+1] = w.sum2[i] + shifted[i]*shifted[i]
	}
	w.x = shifted
	least := math.Inf(1)
	for ats := range w.greedy(mostSteps) {
		var rss float64
		w.stretches(ats, func(a, b int) { rss += w.rss(a, b) })
		least = min(least, cost(max(rss, 0), 2*len(ats)+1))
	}
	return least
}

// hingeSums are what a fit of a hinge at any place needs, so that each takes no pass over
// the values.
type hingeSums struct {
	n         int
	mean      float64
	total     float64   // of squares about the mean
	cross     []float64 // of (i-from+1) times values less the mean, from i = from on
	from      []int     // places that are tried
	residuals []float64 // at each of them
}

func hinges(x []float64) *hingeSums {
	n := len(x)
	h := &hingeSums{n: n, cross: make([]float64, n+1)}
	for _, v := range x {
		h.mean += v / float64(n)
	}
	after := 0.0 // values from i on
	for i := n - 1; i >= 0; i-- {
		r := x[i] - h.mean
		h.total += r * r
		after += r
		h.cross[i] = h.cross[i+1] + after
	}
	for from := 0; from <= n-shortestGrowth; from++ {
		if from > 0 && from < leastLevelNights {
			continue
		}
		h.from = append(h.from, from)
		c := h.cross[from]
		h.residuals = append(h.residuals, max(h.total-c*c/h.squares(from), 0))
	}
	return h
}

// squares is the sum of squares of a hinge's coordinate about its mean.
func (h *hingeSums) squares(from int) float64 {
	m, n := float64(h.n-from), float64(h.n)
	sum, squares := m*(m+1)/2, m*(m+1)*(2*m+1)/6
	return squares - sum*sum/n
}

// best is the best place of those from which on there are so many nights.
func (h *hingeSums) best(nights int) (from int, rss float64) {
	rss = math.Inf(1)
	for i, r := range h.residuals {
		if r < rss && h.n-h.from[i] >= nights {
			from, rss = h.from[i], r
		}
	}
	return from, rss
}

func (h *hingeSums) standardError(from int, rss, grain, phi float64) float64 {
	variance := (rss/float64(h.n-3) + grain*grain) * (1 + phi) / (1 - phi)
	return math.Sqrt(variance / h.squares(from))
}

// mostScore is that of a line without noise.
const mostScore = 1e6

func (h *hingeSums) score(from int, rss, slope, grain, phi float64) float64 {
	if slope == 0 {
		return 0
	}
	t := min(math.Abs(slope)/h.standardError(from, rss, grain, phi), mostScore)
	return normalScore(t, float64(h.n-3)*(1-phi)/(1+phi))
}

// began are the places whose fit is not so much worse than the best one that they can be
// told from it: by the quantile of chi-squared with one degree of freedom.
func (h *hingeSums) began(worse func(rss float64) float64) (earliest, latest int) {
	earliest = -1
	for i, rss := range h.residuals {
		if worse(rss) <= asGood {
			if earliest < 0 {
				earliest = h.from[i]
			}
			latest = h.from[i]
		}
	}
	return max(earliest, 0), latest
}

// growth says a drift in words: "peak VRAM grows by 3.1 MiB a night, 95 % interval
// [2.8, 3.4], +190 MiB (+2.4 %) over 61 nights".
func (o Options) growth(d drift, g Growth) string {
	verb, low, high := "grows", g.Low, g.High
	if g.PerNight < 0 {
		verb, low, high = "falls", -g.High, -g.Low
	}
	rate, interval := o.rates(math.Abs(g.PerNight), low, high)
	return fmt.Sprintf("%s%s by %s a night, 95 %% interval %s, %s over %d nights", o.what(), verb, rate, interval, o.size(d.before, d.after), g.Nights)
}

// rates are a slope and its interval with their unit.
func (o Options) rates(mid, low, high float64) (rate, interval string) {
	unit := " MiB"
	switch o.Unit {
	case Bytes:
		mid, low, high = mid/(1<<20), low/(1<<20), high/(1<<20)
	case NoUnit:
		unit = ""
	}
	return fmt.Sprintf("%.3g%s", mid, unit), fmt.Sprintf("[%.3g, %.3g]", low, high)
}
