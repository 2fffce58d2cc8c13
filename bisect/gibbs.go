package bisect

import (
	"math"
	"math/rand/v2"
)

// sweep is a Gibbs sampler over the noise and which segment holds the first bad one
// (Gelman and others, Bayesian Data Analysis, 3rd ed., 11 and 22).
type sweep struct {
	rng   *rand.Rand
	g     segments
	v     values
	state noise
	modes bool
	logs  []float64
	part  []int // of each value: 0 its level, 1 the second mode, 2 an outlier
	side  []int
}

func newSweep(rng *rand.Rand, g segments, v values, modes bool) *sweep {
	return &sweep{rng: rng, g: g, v: v, modes: modes, logs: make([]float64, len(g.mass)),
		part: make([]int, len(v.y)), side: make([]int, len(v.y))}
}

// sweep moves a state once.
func (s *sweep) sweep(p particle) particle {
	s.state = p.noise
	p.ratio, p.bad = nil, 0
	p.see(s.v)
	p.segments(s.g, s.v, s.logs)
	s.segment()
	s.parts()
	s.levels()
	s.scatter()
	return particle{noise: s.state}
}

// segment draws the segment of the first bad one.
func (s *sweep) segment() {
	u, drawn := s.rng.Float64(), -1
	for j, p := range s.logs {
		u -= p
		if u < 0 && drawn < 0 {
			drawn = j
		}
	}
	for t := range s.side {
		s.side[t] = sideOf(s.v.segment[t], max(drawn, 0))
	}
}

// parts draws what each value is.
func (s *sweep) parts() {
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
func (s *sweep) levels() {
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
		n.level[side] = s.location(count[side], total[side], levelSD)
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
func (s *sweep) location(count, sum, before float64) float64 {
	precision := count/(s.state.sd*s.state.sd) + 1/(before*before)
	return sum/(s.state.sd*s.state.sd)/precision + s.rng.NormFloat64()/math.Sqrt(precision)
}

// scatter draws the standard deviation and the shares of modes and outliers.
func (s *sweep) scatter() {
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
	n.sd = math.Sqrt((pseudoRuns*pseudoSD*pseudoSD + squares) / 2 / gamma(s.rng, (pseudoRuns+regular)/2))
	n.odd = s.beta(oddBefore+odd, evenBefore+regular)
	if s.modes {
		for side := range 2 {
			n.second[side] = s.beta(1+parts[side][1], 1+parts[side][0])
		}
	}
}

func (s *sweep) beta(a, b float64) float64 {
	x, y := gamma(s.rng, a), gamma(s.rng, b)
	return x / (x + y)
}

// gamma draws from Gamma(a, 1) (Marsaglia and Tsang 2000, doi 10.1145/358407.358414).
func gamma(rng *rand.Rand, a float64) float64 {
	if a < 1 {
		return gamma(rng, a+1) * math.Pow(1-rng.Float64(), 1/a)
	}
	d := a - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		x := rng.NormFloat64()
		v := 1 + c*x
		if v <= 0 {
			continue
		}
		v = v * v * v
		if math.Log(1-rng.Float64()) < x*x/2+d-d*v+d*math.Log(v) {
			return max(d*v, 1e-12)
		}
	}
}
