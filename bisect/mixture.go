package bisect

import (
	"math"
	"math/rand/v2"
)

// A mixture is a model of values beyond the normal one: outliers, and with modes a
// second mode too. Its posterior is a population of states that takes each run as it
// comes: weighted by how well it foretold the run; and where few states have the weight,
// drawn anew by it and moved by a Gibbs sweep each (N. Chopin, A sequential particle
// filter method for static models, 2002, doi 10.1093/biomet/89.3.539). How well all of
// them foretold all runs is the evidence for the model. Which segment holds the first bad
// one is summed over in that, not drawn.
type mixture struct {
	modes    bool
	rng      *rand.Rand
	states   []particle
	logs     []float64 // log weight of each state
	weight   []float64 // posterior of each segment
	evidence float64   // log, of the runs after those that it began with
}

const (
	population = 100
	firstMoves = 30 // of each state by the runs that it begins with
	moves      = 2  // of each state when the population was thinned
)

// particle is a state and what the runs are by it.
type particle struct {
	noise
	ratio []float64 // of each run: log of its likelihood as a good one over that as a bad one
	bad   float64   // log likelihood if all were bad
	log   float64   // log likelihood, summed over where the first bad one is
}

// see takes the runs that are new.
func (p *particle) see(v values) {
	for _, y := range v.y[len(p.ratio):] {
		bad := math.Log(p.density(y, 1))
		p.ratio = append(p.ratio, math.Log(p.density(y, 0))-bad)
		p.bad += bad
	}
}

// segments gives the posterior of each segment, into out.
func (p *particle) segments(g segments, v values, out []float64) {
	clear(out)
	for t, r := range p.ratio {
		out[v.segment[t]+1] += r // segments after this candidate have it on their good side
	}
	var run float64
	for j := range out {
		run += out[j]
		out[j] = math.Inf(-1)
		if g.mass[j] > 0 {
			out[j] = run + g.log[j]
		}
	}
	total := logSum(out)
	for j, l := range out {
		out[j] = math.Exp(l - total)
	}
	p.log = p.bad + total
}

// begin makes a population from the first runs.
func begin(g segments, v values, modes bool) *mixture {
	m := &mixture{modes: modes, rng: rand.New(rand.NewPCG(11, 1)), logs: make([]float64, population)}
	for range population {
		m.states = append(m.states, startOf(m.rng, v, len(g.mass), modes))
	}
	m.move(g, v, firstMoves)
	m.weigh(g, v)
	m.evidence = 0
	clear(m.logs)
	return m
}

// take adds a run; v has it already.
func (m *mixture) take(g segments, v values) {
	m.weigh(g, v)
	if m.thin() {
		m.move(g, v, moves)
		m.weigh(g, v)
	}
}

// weigh looks how likely the runs that are new are by each state, and averages over the
// states.
func (m *mixture) weigh(g segments, v values) {
	before := logSum(m.logs)
	each := make([]float64, len(m.states)*len(g.mass))
	of := func(i int) []float64 { return each[i*len(g.mass) : (i+1)*len(g.mass)] }
	for i := range m.states {
		p := &m.states[i]
		moved, old := p.ratio == nil, p.log
		p.see(v)
		p.segments(g, v, of(i))
		if !moved {
			m.logs[i] += p.log - old
		}
	}
	after := logSum(m.logs)
	m.evidence += after - before
	m.weight = make([]float64, len(g.mass))
	for i, l := range m.logs {
		w := math.Exp(l - after)
		for j, p := range of(i) {
			m.weight[j] += w * p
		}
	}
}

// thin draws the population anew by its weights where fewer than half of it count.
func (m *mixture) thin() bool {
	total := logSum(m.logs)
	var squares float64
	for _, l := range m.logs {
		w := math.Exp(l - total)
		squares += w * w
	}
	if 1/squares > population/2 {
		return false
	}
	m.states = m.draw(m.rng, population)
	clear(m.logs)
	return true
}

// move leaves the distribution of the states as it is.
func (m *mixture) move(g segments, v values, times int) {
	s := newSweep(m.rng, g, v, m.modes)
	for i := range m.states {
		for range times {
			m.states[i] = s.sweep(m.states[i])
		}
	}
}

// draw gives count states, each as likely (systematic resampling).
func (m *mixture) draw(rng *rand.Rand, count int) []particle {
	total := logSum(m.logs)
	var out []particle
	at, passed := rng.Float64(), 0.0
	for i, l := range m.logs {
		passed += math.Exp(l-total) * float64(count)
		for ; at < passed && len(out) < count; at++ {
			out = append(out, m.states[i])
		}
	}
	for len(out) < count { // rounding
		out = append(out, m.states[len(m.states)-1])
	}
	return out
}
