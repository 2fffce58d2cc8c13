package bisect

import (
	"math"
	"math/rand/v2"
)

// sampler is a Gibbs sampler over the noise and which segment holds the first bad one
// (Gelman and others, Bayesian Data Analysis, 3rd ed., 11 and 22).
type sampler struct {
	rng   *rand.Rand
	g     segments
	v     values
	state noise
	modes bool
	logs  []float64
	part  []int // of each value: 0 its level, 1 the second mode, 2 an outlier
	side  []int
}

// sample runs a sampler from a state on.
func sample(rng *rand.Rand, g segments, v values, start noise, modes bool) fit {
	s := sampler{rng: rng, g: g, v: v, state: start, modes: modes, logs: make([]float64, len(g.mass)),
		part: make([]int, len(v.y)), side: make([]int, len(v.y))}
	f := fit{weight: make([]float64, len(g.mass)), best: math.Inf(-1)}
	for i := range burnIn + samples {
		total := s.segment()
		s.parts()
		f.best = max(f.best, total)
		if i >= burnIn {
			// The probabilities, not only the draw: less noise for nothing.
			for j, w := range s.logs {
				f.weight[j] += w / samples
			}
			if (i-burnIn)%(samples/kept) == 0 && len(f.states) < kept {
				f.states = append(f.states, s.state)
			}
		}
		s.levels()
		s.scatter()
	}
	return f
}

// segment draws the segment of the first bad one, and gives the log likelihood.
func (s *sampler) segment() float64 {
	var bad float64 // log likelihood if all were bad
	logs := s.logs
	for j := range logs {
		logs[j] = 0
	}
	for t, y := range s.v.y {
		lb := math.Log(s.state.density(y, 1))
		logs[s.v.segment[t]+1] += math.Log(s.state.density(y, 0)) - lb
		bad += lb
	}
	var run float64
	for j := range logs {
		run += logs[j]
		logs[j] = run + math.Log(s.g.mass[j])
	}
	total := logSum(logs)
	u, drawn := s.rng.Float64(), -1
	for j, l := range logs {
		logs[j] = math.Exp(l - total)
		u -= logs[j]
		if u < 0 && drawn < 0 {
			drawn = j
		}
	}
	for t := range s.side {
		s.side[t] = sideOf(s.v.segment[t], max(drawn, 0))
	}
	return total + bad
}

// parts draws what each value is.
func (s *sampler) parts() {
	n := &s.state
	for t, y := range s.v.y {
		side := s.side[t]
		first := (1 - n.odd) * (1 - n.second[side]) * normal(y-n.level[side], n.sd)
		second := 0.0
		if s.modes {
			second = (1 - n.odd) * n.second[side] * normal(y-n.level[side]-n.shift, n.sd)
		}
		odd := n.odd * outlier(y)
		switch u := s.rng.Float64() * (first + second + odd); {
		case u < first:
			s.part[t] = 0
		case u < first+second:
			s.part[t] = 1
		default:
			s.part[t] = 2
		}
	}
}

// levels draws the two levels and the shift of the second mode.
func (s *sampler) levels() {
	n := &s.state
	var count, total [2]float64
	for t, y := range s.v.y {
		if s.part[t] == 2 {
			continue
		}
		if s.part[t] == 1 {
			y -= n.shift
		}
		count[s.side[t]]++
		total[s.side[t]] += y
	}
	for side := range 2 {
		n.level[side] = s.location(count[side], total[side], s.v.wide)
	}
	if !s.modes {
		return
	}
	var c, sum float64
	for t, y := range s.v.y {
		if s.part[t] == 1 {
			c++
			sum += y - n.level[s.side[t]]
		}
	}
	n.shift = s.location(c, sum, shiftSD)
}

// location draws a mean of which count values with a sum are known.
func (s *sampler) location(count, sum, before float64) float64 {
	precision := count/(s.state.sd*s.state.sd) + 1/(before*before)
	return sum/(s.state.sd*s.state.sd)/precision + s.rng.NormFloat64()/math.Sqrt(precision)
}

// scatter draws the standard deviation and the shares of modes and outliers.
func (s *sampler) scatter() {
	n := &s.state
	var squares, regular, odd float64
	var parts [2][2]float64
	for t, y := range s.v.y {
		if s.part[t] == 2 {
			odd++
			continue
		}
		d := y - n.level[s.side[t]]
		if s.part[t] == 1 {
			d -= n.shift
		}
		squares += d * d
		regular++
		parts[s.side[t]][s.part[t]]++
	}
	n.sd = math.Sqrt((sdRuns*sdBefore*sdBefore + squares) / 2 / s.gamma((sdRuns+regular)/2))
	n.odd = s.beta(oddBefore+odd, evenBefore+regular)
	if s.modes {
		for side := range 2 {
			n.second[side] = s.beta(1+parts[side][1], 1+parts[side][0])
		}
	}
}

func (s *sampler) beta(a, b float64) float64 {
	x, y := s.gamma(a), s.gamma(b)
	return x / (x + y)
}

// gamma draws from Gamma(a, 1) (Marsaglia and Tsang 2000, doi 10.1145/358407.358414).
func (s *sampler) gamma(a float64) float64 {
	if a < 1 {
		return s.gamma(a+1) * math.Pow(1-s.rng.Float64(), 1/a)
	}
	d := a - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		x := s.rng.NormFloat64()
		v := 1 + c*x
		if v <= 0 {
			continue
		}
		v = v * v * v
		if math.Log(1-s.rng.Float64()) < x*x/2+d-d*v+d*math.Log(v) {
			return max(d*v, 1e-12)
		}
	}
}

// quantiles of a normal distribution by which values are spread that stand for a run.
var quantiles = []float64{-1.3830, -0.6745, 0, 0.6745, 1.3830} // its tenths 0.083 .. 0.917

// channel fills in what a run would tell: the information between a value and the
// side of its candidate, averaged over the states.
func (b *belief) channel(states []noise) {
	const steps = 32
	var curve [steps + 1]float64
	var says [2]float64
	for side := range 2 {
		var count float64
		for _, n := range states {
			for q, z := range quantiles {
				y := n.level[side] + z*n.sd
				if (float64(q)+0.5)/float64(len(quantiles)) < n.second[side] {
					y += n.shift
				}
				fg, fb := mixed(states, y)
				count++
				if fb > fg {
					says[side]++
				}
				for i := range curve {
					share := float64(i) / steps // P(bad)
					mix, p, own := share*fb+(1-share)*fg, share, fb
					if side == 0 {
						p, own = 1-share, fg
					}
					if p > 0 && own > 0 {
						curve[i] += p * math.Log2(own/mix) / float64(len(states)*len(quantiles))
					}
				}
			}
		}
		says[side] /= count
	}
	b.good, b.bad = says[0], says[1]
	var before float64
	for i := b.lo; i <= b.hi; i++ {
		before += b.p[i]
		x := min(before, 1) * steps
		j := min(int(x), steps-1)
		b.gain[i] = max(0, curve[j]+(x-float64(j))*(curve[j+1]-curve[j]))
	}
}

// mixed are the mean densities of a value on either side.
func mixed(states []noise, y float64) (good, bad float64) {
	for i := range states {
		good += states[i].density(y, 0)
		bad += states[i].density(y, 1)
	}
	return good, bad
}
