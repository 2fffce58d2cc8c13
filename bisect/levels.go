package bisect

import (
	"math"
	"math/rand/v2"
	"slices"
)

// noise is one state of the models of values: each side has a level; a run scatters
// around it; with probability second (of its side) it lies shift away, in a second mode;
// and with probability odd it is an outlier, which tells nothing of the side.
type noise struct {
	level  [2]float64 // good, bad
	sd     float64
	shift  float64
	second [2]float64
	odd    float64
}

// Priors, in the unit of values.
const (
	levelSD    = 5.0
	shiftSD    = 3.0
	oddBefore  = 1.0 // outliers: Beta(1, 20)
	evenBefore = 20.0
	// How likely each model is, before any run. What is neither normal nor bimodal has outliers.
	priorNormal = 0.6
	priorModes  = 0.2
	kept        = 40 // states by which the next run is chosen
)

// values are runs in the order in which they came, in a unit in which priors mean the same
// for bytes and for seconds.
type values struct {
	y       []float64
	segment []int // index of the candidate in segments.at
	scale
}

// scale is where the first runs lie: the middle and the width of what they cover.
type scale struct{ centre, unit float64 }

func scaleOf(runs []Run) scale {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, r := range runs {
		lo, hi = min(lo, r.Value), max(hi, r.Value)
	}
	c := scale{centre: lo + (hi-lo)/2, unit: hi - lo}
	if !(c.unit > 0) || !finite(c.unit) {
		c.unit = 1
	}
	return c
}

func (c scale) values(g segments, runs []Run) values {
	v := values{scale: c}
	for _, r := range runs {
		j, _ := slices.BinarySearch(g.at, r.Index)
		v.y, v.segment = append(v.y, (r.Value-c.centre)/c.unit), append(v.segment, j)
	}
	return v
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

// fit is what is known of values whose levels and noise are learnt: the models take
// each run as it comes.
type fit struct {
	values   values
	segments segments
	runs     []Run // those that were taken
	mixtures []*mixture
	before   float64 // log evidence of the normal model when the mixtures began
	normal   normalFit
	share    []float64 // of the normal model and of each mixture
	states   []noise   // of all models, each as likely
}

// take adds the next run of the part (lo, hi].
func (f *fit) take(lo, hi int, prior []float64, r Run) {
	f.runs = append(f.runs, r)
	if f.mixtures == nil {
		f.values.scale = scaleOf(f.runs)
	}
	f.segments = cut(lo, hi, prior, f.runs)
	f.values = f.values.scale.values(f.segments, f.runs)
	if !slices.ContainsFunc(f.runs, func(r Run) bool { return r.Index == hi }) {
		return // no first bad one can be told yet
	}
	f.normal = solve(f.segments, f.values)
	for _, m := range f.mixtures {
		m.take(f.segments, f.values)
	}
	if f.mixtures == nil && f.ready(lo, hi) {
		f.before = f.normal.differ
		for _, modes := range []bool{false, true} {
			f.mixtures = append(f.mixtures, begin(f.segments, f.values, modes))
		}
	}
}

// ready: two runs of each end, and some noise or difference in them.
func (f *fit) ready(lo, hi int) bool {
	var n [2]int
	for _, r := range f.runs {
		switch r.Index {
		case lo:
			n[0]++
		case hi:
			n[1]++
		}
	}
	return n[0] > 1 && n[1] > 1 && slices.Max(f.values.y) > slices.Min(f.values.y)
}

// belief averages over the models, each by its evidence.
func (f *fit) belief(lo, hi int, prior []float64) *belief {
	rng := rand.New(rand.NewPCG(uint64(len(f.runs)), 11))
	logs := []float64{math.Log(priorNormal) + f.normal.differ - f.before}
	for _, m := range f.mixtures {
		p := 1 - priorNormal - priorModes
		if m.modes {
			p = priorModes
		}
		logs = append(logs, math.Log(p)+m.evidence)
	}
	total := logSum(logs)
	weight := make([]float64, len(f.segments.mass))
	var draws []particle
	f.states, f.share = nil, nil
	var passed float64
	for i, l := range logs {
		share := math.Exp(l - total)
		f.share = append(f.share, share)
		passed += share
		count := int(math.Round(passed*kept)) - len(draws)
		of := f.normal.weight
		if i == 0 {
			draws = append(draws, f.normal.draw(rng, count)...)
		} else {
			of = f.mixtures[i-1].weight
			draws = append(draws, f.mixtures[i-1].draw(rng, count)...)
		}
		for j, w := range of {
			weight[j] += share * w
		}
	}
	b := f.segments.spread(lo, hi, prior, weight)
	views := make([]view, len(draws))
	for i := range draws {
		draws[i].see(f.values)
		views[i] = view{draws[i].noise, make([]float64, len(weight))}
		draws[i].segments(f.segments, f.values, views[i].p)
		f.states = append(f.states, draws[i].noise)
	}
	b.channel(f.segments, prior, views)
	return b
}

// givenBelief is the posterior where levels and noise are known.
func givenBelief(lo, hi int, prior []float64, l Levels, runs []Run) *belief {
	g := cut(lo, hi, prior, runs)
	c := scale{centre: l.Good, unit: l.SD}
	v := c.values(g, runs)
	n := noise{level: [2]float64{0, (l.Bad - l.Good) / l.SD}, sd: 1, odd: 0.002}
	p := particle{noise: n}
	p.see(v)
	weight := make([]float64, len(g.mass))
	p.segments(g, v, weight)
	b := g.spread(lo, hi, prior, weight)
	b.channel(g, prior, []view{{n, weight}})
	return b
}

// startOf is a state to begin with: the levels are those of a run of each end, the rest
// is drawn widely.
func startOf(rng *rand.Rand, v values, segments int, modes bool) particle {
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
	n.level = [2]float64{first[rng.IntN(len(first))], last[rng.IntN(len(last))]}
	if modes {
		n.shift = shiftSD * rng.NormFloat64() / 2
		n.second = [2]float64{rng.Float64(), rng.Float64()}
	}
	return particle{noise: n}
}

func middle(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	s := slices.Clone(v)
	slices.Sort(s)
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

func sideOf(segment, j int) int {
	if segment < j {
		return 0
	}
	return 1
}
