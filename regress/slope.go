package regress

import (
	"math"
	"slices"
)

// A drift must last so many points, and fit so much better than steps do, to be called
// one: steps are what versions make.
const (
	fewestDrift = 14
	driftMargin = 6
)

// drift is a stretch that is level until from and then a line to its end.
type drift struct {
	from          int
	points        int
	before, after float64
	cost          float64 // Bayes's criterion; less is better
}

// hinge fits a level that becomes a line, by least squares on values clipped about the
// steps that were found (residual at most three deviations), and gives the place that
// fits best. Steps and hinge are compared by Schwarz's criterion
// (https://doi.org/10.1214/aos/1176344136), which assumes independent normal
// residuals: it decides only between two names for a change that was found by
// other means.
func hinge(y []float64) drift {
	n := len(y)
	best := drift{cost: math.Inf(1)}
	step := max(1, n/60)
	try := func(from int) {
		if from < 0 || n-from < fewestDrift || from > 0 && from < fewestBefore {
			return
		}
		level, slope, rss := fitHinge(y, from)
		params := 1.0
		if from > 0 {
			params = 2
		}
		if c := criterion(rss, n, params); c < best.cost {
			best = drift{from: from, points: n - from, before: level, after: level + slope*float64(n-from), cost: c}
		}
	}
	for from := 0; from < n; from += step {
		try(from)
	}
	for from, middle := best.from-step, best.from; from <= middle+step; from++ {
		if middle > 0 {
			try(from)
		}
	}
	return best
}

// fitHinge is the level and the growth a point from index from on.
func fitHinge(y []float64, from int) (level, slope, rss float64) {
	n := float64(len(y))
	var sx, sxx, sy, sxy float64
	for i, v := range y {
		x := float64(max(i-from+1, 0))
		sx += x
		sxx += x * x
		sy += v
		sxy += x * v
	}
	if d := n*sxx - sx*sx; d > 0 {
		slope = (n*sxy - sx*sy) / d
	}
	level = (sy - slope*sx) / n
	for i, v := range y {
		r := v - level - slope*float64(max(i-from+1, 0))
		rss += r * r
	}
	return level, slope, rss
}

func criterion(rss float64, n int, params float64) float64 {
	return float64(n)*math.Log(max(rss, 1e-300)/float64(n)) + params*math.Log(float64(n))
}

// clipped are values that lie at most three deviations from the steps, and what is
// left of them (the sum of squares). Cuts are relative to y.
func clipped(y []float64, ats []int, grain float64) (x []float64, rss float64) {
	x = make([]float64, len(y))
	from := 0
	for i := 0; i <= len(ats); i++ {
		to := len(y)
		if i < len(ats) {
			to = ats[i]
		}
		level := Median(y[from:to])
		s := max(spread(y[from:to], level), grain)
		var mean float64
		for j := from; j < to; j++ {
			x[j] = min(max(y[j], level-3*s), level+3*s)
			mean += x[j] / float64(to-from)
		}
		for j := from; j < to; j++ {
			rss += (x[j] - mean) * (x[j] - mean)
		}
		from = to
	}
	return x, rss
}

// drifts says which runs of cuts in one direction are a drift rather than steps: run
// i to j (inclusive) of found.
func drifts(y []float64, found []cut, grain float64, o Options) map[int]driftRun {
	runs := map[int]driftRun{}
	level := levels(y, found)
	for i := 0; i < len(found); {
		j := i
		up := level[i+1] > level[i]
		for j+1 < len(found) && (level[j+2] > level[j+1]) == up {
			j++
		}
		if d, ok := driftOf(y, found, i, j, up, grain, o); ok {
			runs[i] = driftRun{j, d}
		}
		i = j + 1
	}
	return runs
}

type driftRun struct {
	last int
	drift
}

func driftOf(y []float64, found []cut, i, j int, up bool, grain float64, o Options) (drift, bool) {
	from, to := 0, len(y)
	if i > 0 {
		from = found[i-1].at
	}
	if j+1 < len(found) {
		to = found[j+1].at
	}
	if to-from < fewestBefore+fewestDrift {
		return drift{}, false
	}
	var ats []int
	for _, c := range found[i : j+1] {
		if c.bar == barJump {
			return drift{}, false // a leap is no drift
		}
		ats = append(ats, c.at-from)
	}
	x, rss := clipped(y[from:to], ats, grain)
	// What no reading can tell apart is no misfit: else a constant fits anything.
	least := grain * grain * float64(to-from)
	d := hinge(x)
	steps := criterion(rss+least, to-from, 2*float64(len(ats)))
	_, _, line := fitHinge(x, d.from)
	params := 1.0
	if d.from > 0 {
		params = 2
	}
	ok := criterion(line+least, to-from, params) < steps-driftMargin && (d.after > d.before) == up
	if !ok {
		// As a night would tell it: a greater bar, and steps that are found for this.
		var c steadily
		if c, ok = climb(y[from:to], o, toTell); ok && (c.slope > 0) == up {
			d = c.drift
		}
	}
	d.from += from
	return d, ok && (d.after > d.before) == up
}

// barTrend is what the score of a trend must exceed.
const barTrend = 5.0

// trend is a drift in a stretch in which no cut was found, and its score: the slope of
// the hinge in standard errors, with the autocorrelation that it leaves. A steady drift
// looks like strong autocorrelation to whoever looks for levels, and so to cuts.
func trend(y []float64, grain float64, o Options) (drift, float64, bool) {
	n := len(y)
	if n < fewestBefore+fewestDrift {
		return drift{}, 0, false
	}
	if c, ok := climb(y, o, toTell); ok {
		return c.drift, barTrend + c.z - barDrift, true
	}
	if w := newWindow(y, grain); w.correlation() < wanders {
		return drift{}, 0, false // it has levels
	}
	x := smoothed(y, max(roughness(y, nil), grain))
	d := hinge(x)
	if d.points == 0 {
		return drift{}, 0, false
	}
	level, slope, rss := fitHinge(x, d.from)
	rest := make([]float64, n)
	var mean, squares float64
	for i := range rest {
		at := float64(max(i-d.from+1, 0))
		rest[i] = x[i] - level - slope*at
		mean += at / float64(n)
	}
	for i := range rest {
		at := float64(max(i-d.from+1, 0)) - mean
		squares += at * at
	}
	w := newWindow(rest, grain)
	phi := w.correlation()
	spare := float64(n-3) * (1 - phi) / (1 + phi)
	variance := (rss/float64(n-3) + grain*grain) * (1 + phi) / (1 - phi)
	z := normalScore(math.Abs(slope)*math.Sqrt(squares/variance), spare) - 2*barWandering(n, phi)
	return d, z, z > barTrend
}

// smoothed clips values to three deviations about the median of the nine around them.
func smoothed(y []float64, s float64) []float64 {
	const side = 4
	x := make([]float64, len(y))
	var near [2*side + 1]float64
	for i, v := range y {
		around := near[:copy(near[:], y[max(0, i-side):min(len(y), i+side+1)])]
		slices.Sort(around)
		mid := median(around)
		x[i] = min(max(v, mid-3*s), mid+3*s)
	}
	return x
}

// levels are the medians between cuts.
func levels(y []float64, found []cut) []float64 {
	var all []float64
	from := 0
	for _, c := range found {
		all = append(all, Median(y[from:c.at]))
		from = c.at
	}
	return append(all, Median(y[from:]))
}
