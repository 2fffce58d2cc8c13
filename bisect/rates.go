package bisect

import "math"

// pair is one value of the rates at which runs fail on either side, with its weight.
type pair struct{ good, bad, weight float64 }

// points are the rates at which integrals are taken; never and always are among them,
// since most programs are like that.
var points = func() []float64 {
	p := []float64{0, 0.01, 0.03}
	for r := 0.06; r < 0.95; r += 0.04 {
		p = append(p, r)
	}
	return append(p, 0.97, 0.99, 1)
}()

// Before any run: a good side never fails with probability neverFails, else as
// Beta(1, 6), and a bad side always fails with probability alwaysFails, else as Beta(2, 1).
const (
	neverFails  = 0.7
	alwaysFails = 0.4
)

// learnt are the rates before any run. Bad fails more often than good by a tenth at
// least: with less nobody could tell them apart.
func learnt() []pair {
	n := len(points)
	good := masses(func(p float64) float64 { return math.Pow(1-p, 5) }, 0, neverFails)
	bad := masses(func(p float64) float64 { return p }, n-1, alwaysFails)
	var out []pair
	for i, g := range points {
		for j, b := range points {
			if b-g >= 0.1-1e-9 {
				out = append(out, pair{g, b, good[i] * bad[j]})
			}
		}
	}
	return out
}

// masses are the probabilities of points by a density, with an own weight on one of them.
func masses(density func(float64) float64, atom int, weight float64) []float64 {
	n := len(points)
	w := make([]float64, n)
	var total float64
	for i := range w {
		lo, hi := points[max(i-1, 0)], points[min(i+1, n-1)]
		w[i] = density(points[i]) * (hi - lo) / 2
		total += w[i]
	}
	for i := range w {
		w[i] *= (1 - weight) / total
	}
	w[atom] += weight
	return w
}

var learntRates = learnt()

// tally is how the runs of one candidate ended.
type tally struct{ fails, passes float64 }

// rateLogs are the logarithms of a rate of failing and of passing.
type rateLogs struct{ fail, pass float64 }

func logsOf(rate float64) rateLogs { return rateLogs{math.Log(rate), math.Log1p(-rate)} }

// chance is the logarithm of the probability of a tally at a rate of failing.
func (t tally) chance(rate float64) float64 { return t.chanceBy(logsOf(rate)) }

// chanceBy is chance where the logarithms are known: they take the time.
func (t tally) chanceBy(rate rateLogs) float64 {
	var l float64
	if t.fails > 0 {
		l += t.fails * rate.fail // -Inf at 0: impossible
	}
	if t.passes > 0 {
		l += t.passes * rate.pass
	}
	return l
}

func tallies(at []int, runs []Run) []tally {
	where := map[int]int{}
	for j, i := range at {
		where[i] = j
	}
	out := make([]tally, len(at))
	for _, r := range runs {
		if r.Bad {
			out[where[r.Index]].fails++
		} else {
			out[where[r.Index]].passes++
		}
	}
	return out
}

// ratesBelief is the posterior of outcomes.
func ratesBelief(lo, hi int, prior []float64, pairs []pair, runs []Run) *belief {
	g := cut(lo, hi, prior, runs)
	t := tallies(g.at, runs)
	logs := make([][]float64, len(pairs))
	top := math.Inf(-1)
	for i, q := range pairs {
		logs[i] = segmentLogs(t, q)
		for j := range logs[i] {
			logs[i][j] += math.Log(q.weight * g.mass[j])
			top = max(top, logs[i][j])
		}
	}
	if math.IsInf(top, -1) { // impossible at rates of 0 and 1: they are wrong, nothing is known
		for i, q := range pairs {
			for j := range logs[i] {
				logs[i][j] = math.Log(q.weight * g.mass[j])
				top = max(top, logs[i][j])
			}
		}
	}
	weight := make([]float64, len(g.mass))
	for i := range logs {
		for j, l := range logs[i] {
			logs[i][j] = math.Exp(l - top)
			weight[j] += logs[i][j]
		}
	}
	b := g.spread(lo, hi, prior, weight)
	b.good, b.bad = 0, 0
	for i, q := range pairs {
		share := sum(logs[i]) / sum(weight)
		b.good += share * q.good
		b.bad += share * q.bad
	}
	b.gainOfRates(g, pairs, logs, weight)
	return b
}

// segmentLogs is the log likelihood of each segment at given rates.
func segmentLogs(t []tally, q pair) []float64 {
	out := make([]float64, len(t)+1)
	good, bad := logsOf(q.good), logsOf(q.bad)
	var l float64
	for j := range t { // the good side grows
		out[j] = l
		l += t[j].chanceBy(good)
	}
	out[len(t)] = l
	l = 0
	for j := len(t) - 1; j >= 0; j-- {
		l += t[j].chanceBy(bad)
		out[j] += l
	}
	return out
}

// gainOfRates is the mutual information of which is the first bad one and of a run of
// each candidate. joint is the posterior of rates and segment, weight its sum over rates.
func (b *belief) gainOfRates(g segments, pairs []pair, joint [][]float64, weight []float64) {
	n := len(g.mass)
	good, bad := make([]float64, n), make([]float64, n) // expected rates in each segment
	for i, q := range pairs {
		for j, w := range joint[i] {
			good[j] += w * q.good
			bad[j] += w * q.bad
		}
	}
	for j, w := range weight {
		if w > 0 {
			good[j] /= w
			bad[j] /= w
		}
	}
	of := make([]int, len(b.p))
	var fails, doubt float64 // all first bad ones after i: candidate i is good
	for k, j := b.lo+1, 0; k <= b.hi; k++ {
		for j < len(g.at) && g.at[j] < k {
			j++
		}
		of[k] = j
		fails += b.p[k] * good[j]
		doubt += b.p[k] * entropy(good[j])
	}
	for i := b.lo; i <= b.hi; i++ {
		if i > b.lo { // first bad one i: candidate i is bad from here on
			j := of[i]
			fails += b.p[i] * (bad[j] - good[j])
			doubt += b.p[i] * (entropy(bad[j]) - entropy(good[j]))
		}
		b.gain[i] = max(0, entropy(fails)-doubt)
	}
}
