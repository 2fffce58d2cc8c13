package bisect

import (
	"math"
	"math/rand/v2"
	"slices"
)

// noise is one state of the model of values: each side has a level; a run scatters
// around it; with probability second (of its side) it lies shift away, in a second mode;
// and with probability odd it is an outlier, which tells nothing of the side.
type noise struct {
	level  [2]float64 // good, bad
	sd     float64
	shift  float64
	second [2]float64
	odd    float64
}

// Priors, in the unit of the spread of the values.
const (
	levelSD    = 5.0
	shiftSD    = 3.0
	sdRuns     = 1.0  // the noise is known beforehand as by one run (more of it makes
	sdBefore   = 0.25 // small steps look surer than they are)
	oddBefore  = 0.5  // outliers: Beta(0.5, 60)
	evenBefore = 60.0
	// Of each Gibbs sampler.
	burnIn  = 60
	samples = 260
	kept    = 20 // samples by which the next run is chosen
)

// values are runs in the order of the candidates, centred and in the unit of their
// spread, so that priors mean the same for bytes and for seconds.
type values struct {
	y       []float64
	segment []int // index of the candidate in segments.at
	centre  float64
	unit    float64
	wide    float64 // standard deviation of a level, before any run
}

func standardise(g segments, runs []Run) values {
	sorted := slices.Clone(runs)
	slices.SortStableFunc(sorted, func(a, b Run) int { return a.Index - b.Index })
	v := values{unit: 1}
	for _, r := range sorted {
		j, _ := slices.BinarySearch(g.at, r.Index)
		v.y, v.segment = append(v.y, r.Value), append(v.segment, j)
	}
	if len(v.y) == 0 {
		return v
	}
	order := slices.Clone(v.y)
	slices.Sort(order)
	n := len(order)
	v.centre = order[n/2]
	v.unit = order[(3*n)/4] - order[n/4]
	if v.unit <= (order[n-1]-order[0])*1e-9 {
		v.unit = order[n-1] - order[0]
	}
	if !(v.unit > 0) || !finite(v.unit) {
		v.unit = 1
	}
	for i := range v.y {
		v.y[i] = (v.y[i] - v.centre) / v.unit
	}
	v.wide = max(levelSD, 2*v.between(len(g.at)))
	return v
}

// between is how far the medians of the first and of the last candidate are apart: many
// units where most runs were on one side, whose noise is the unit then.
func (v values) between(candidates int) float64 {
	var first, last []float64
	for t, y := range v.y {
		if v.segment[t] == 0 {
			first = append(first, y)
		}
		if v.segment[t] == candidates-1 {
			last = append(last, y)
		}
	}
	return math.Abs(middle(last) - middle(first))
}

// outlier is the density of an outlier (Cauchy): anywhere, far away too.
func outlier(y float64) float64 { return 1 / (math.Pi * (1 + y*y)) }

// density of a value on a side.
func (n *noise) density(y float64, side int) float64 {
	d := (1 - n.second[side]) * normal(y-n.level[side], n.sd)
	if n.second[side] > 0 {
		d += n.second[side] * normal(y-n.level[side]-n.shift, n.sd)
	}
	return (1-n.odd)*d + n.odd*outlier(y)
}

const rootTwoPi = 2.5066282746310002

func normal(d, sd float64) float64 {
	z := d / sd
	if z > 38 || z < -38 {
		return 0
	}
	return math.Exp(-z*z/2) / (sd * rootTwoPi)
}

// levelsBelief is the posterior of values whose levels and noise are learnt.
func levelsBelief(lo, hi int, prior []float64, runs []Run) (*belief, fit) {
	g := cut(lo, hi, prior, runs)
	v := standardise(g, runs)
	// The same runs give the same answer, also after a restart.
	rng := rand.New(rand.NewPCG(uint64(len(runs)), 11))
	one := sample(rng, g, v, startOf(v, len(g.mass)), false)
	f := one
	if start, ok := twoModes(v, one); ok {
		two := sample(rng, g, v, start, true)
		// Schwarz: a second mode is three numbers more.
		odds := math.Exp(two.best - one.best - 1.5*math.Log(float64(len(v.y))))
		share := odds / (1 + odds)
		if math.IsInf(odds, 1) {
			share = 1
		}
		f = blend(one, two, share)
	}
	b := g.spread(lo, hi, prior, f.weight)
	b.channel(f.states)
	f.values, f.segments = v, g
	return b, f
}

// givenBelief is the posterior where levels and noise are known.
func givenBelief(lo, hi int, prior []float64, l Levels, runs []Run) *belief {
	g := cut(lo, hi, prior, runs)
	v := standardise(g, runs)
	n := noise{level: [2]float64{(l.Good - v.centre) / v.unit, (l.Bad - v.centre) / v.unit}, sd: l.SD / v.unit, odd: 0.002}
	weight := make([]float64, len(g.mass))
	likelihoods(g, v, &n, weight)
	normalise(weight)
	b := g.spread(lo, hi, prior, weight)
	b.channel([]noise{n})
	return b
}

// likelihoods is the log of prior times likelihood of each segment.
func likelihoods(g segments, v values, n *noise, out []float64) {
	for j := range out {
		out[j] = 0
	}
	for t, y := range v.y {
		// Segments after this candidate have it on their good side.
		out[v.segment[t]+1] += math.Log(n.density(y, 0)) - math.Log(n.density(y, 1))
	}
	var run float64
	for j := range out {
		run += out[j]
		out[j] = run + math.Log(g.mass[j])
	}
}

// normalise turns logs into probabilities.
func normalise(logs []float64) {
	total := logSum(logs)
	for j, l := range logs {
		logs[j] = math.Exp(l - total)
	}
}

// fit is what the sampler saw.
type fit struct {
	weight   []float64 // of each segment
	states   []noise   // some of its states, spread over the posterior
	best     float64   // the largest log likelihood, summed over the segments
	values   values
	segments segments
}

func blend(a, b fit, share float64) fit {
	out := fit{weight: make([]float64, len(a.weight)), best: max(a.best, b.best)}
	for j := range out.weight {
		out.weight[j] = (1-share)*a.weight[j] + share*b.weight[j]
	}
	n := int(math.Round(share * kept))
	out.states = append(slices.Clone(a.states[:kept-n]), b.states[:n]...)
	return out
}

// startOf begins with the medians of the first and the last candidate.
func startOf(v values, segments int) noise {
	var first, last []float64
	for t, y := range v.y {
		if v.segment[t] == 0 {
			first = append(first, y)
		}
		if v.segment[t] == segments-2 {
			last = append(last, y)
		}
	}
	n := noise{sd: 0.3, odd: 0.05}
	n.level = [2]float64{middle(first), middle(last)}
	return n
}

func middle(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	s := slices.Clone(v)
	slices.Sort(s)
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// twoModes looks whether values fall apart into two heaps around the level of their
// side, and gives a state to begin with.
func twoModes(v values, one fit) (noise, bool) {
	if len(v.y) < 6 {
		return noise{}, false
	}
	n := one.states[len(one.states)-1]
	top := 0
	for j, w := range one.weight {
		if w > one.weight[top] {
			top = j
		}
	}
	rest := make([]float64, len(v.y))
	for t, y := range v.y {
		rest[t] = y - n.level[sideOf(v.segment[t], top)]
	}
	slices.Sort(rest)
	gap, at := 0.0, 0
	all := deviation(rest, 0)
	for i := 2; i <= len(rest)-2; i++ {
		a, b := rest[:i], rest[i:]
		within := (deviation(a, 0)*float64(len(a)) + deviation(b, 0)*float64(len(b))) / float64(len(rest))
		if all > 0 && 1-within/all > gap {
			gap, at = 1-within/all, i
		}
	}
	// A normal distribution cut in the middle has 0.64.
	if gap < 0.72 {
		return noise{}, false
	}
	a, b := mean(rest[:at]), mean(rest[at:])
	n.shift = b - a
	n.level[0] += a
	n.level[1] += a
	n.second = [2]float64{0.5, 0.5}
	n.sd = math.Sqrt(max(all*(1-gap), 1e-6))
	return n, true
}

func sideOf(segment, j int) int {
	if segment < j {
		return 0
	}
	return 1
}
