package bisect

import (
	"math"
	"math/rand/v2"
)

// The normal model of values, solved in closed form: of a run of a candidate on side s
// (0 good, 1 bad) the value is mu + sd*(delta*s + e), e standard normal. mu is flat, sd
// flat in its logarithm but for a weak pseudo-run, and delta normal with deviation tau,
// a mixture over tau: steps of one standard deviation and of thousands are possible.
// This is the t test of J. Rouder and others (2009, doi 10.3758/PBR.16.2.225) and of
// A. Zellner and A. Siow (1980), summed over where the step may be.
type normalFit struct {
	same   float64   // log evidence of no step at all
	differ float64   // log evidence of one step, averaged over where
	weight []float64 // posterior of each segment
	joint  [][len(steps)]float64
	sums   []sums
	n      float64
}

// steps are the values of tau with their prior weights.
var steps = [...]struct{ tau, weight float64 }{{1, 0.25}, {3, 0.35}, {10, 0.2}, {100, 0.1}, {1e4, 0.1}}

const (
	pseudoRuns = 0.5  // how much is known beforehand of the noise, in runs
	pseudoSD   = 0.02 // and its size, in the unit of values
)

// sums are the statistics of one way to part the runs in good and bad.
type sums struct {
	nu     float64 // n0*n1/n
	mean   float64 // of all
	share  float64 // n1/n
	d      float64 // difference of the means
	total  float64 // sum of squares around the mean
	within float64 // and around the mean of each side
}

// residual is the sum of squares that a step of prior deviation tau leaves, the
// pseudo-run included.
func (s sums) residual(tau float64) float64 {
	return pseudoRuns*pseudoSD*pseudoSD + s.within + s.nu*s.d*s.d/(1+tau*tau*s.nu)
}

func partings(g segments, v values) []sums {
	n := len(v.y)
	out := make([]sums, len(g.mass))
	var all, mean float64
	for _, y := range v.y {
		mean += y / float64(n)
	}
	for _, y := range v.y {
		all += (y - mean) * (y - mean)
	}
	count, total := make([]float64, len(out)), make([]float64, len(out))
	for t, y := range v.y {
		count[v.segment[t]+1]++
		total[v.segment[t]+1] += y - mean
	}
	var n0, s0 float64 // of the runs on the good side
	for j := range out {
		n0 += count[j]
		s0 += total[j]
		n1 := float64(n) - n0
		out[j] = sums{mean: mean, total: all, within: all, share: n1 / float64(n)}
		if n0 > 0 && n1 > 0 {
			s := &out[j]
			s.nu = n0 * n1 / float64(n)
			s.d = -s0/n1 - s0/n0
			s.within = max(0, all-s.nu*s.d*s.d)
		}
	}
	return out
}

// solve is the posterior of the normal model.
func solve(g segments, v values) normalFit {
	n := float64(len(v.y))
	f := normalFit{n: n, sums: partings(g, v), weight: make([]float64, len(g.mass)), joint: make([][len(steps)]float64, len(g.mass))}
	power := (n - 1 + pseudoRuns) / 2
	// What does not depend on where the step is.
	gamma, _ := math.Lgamma(power)
	constant := gamma + power*math.Ln2 - (n-1)/2*math.Log(2*math.Pi) - math.Log(n)/2
	logs := make([]float64, 0, len(g.mass)*len(steps))
	for j, s := range f.sums {
		for i, t := range steps {
			l := g.log[j] + math.Log(t.weight) - 0.5*math.Log1p(t.tau*t.tau*s.nu) - power*math.Log(s.residual(t.tau))
			f.joint[j][i] = l
			logs = append(logs, l)
		}
	}
	top := logSum(logs)
	f.differ = constant + top
	f.same = constant - power*math.Log(f.sums[0].residual(0))
	for j := range f.joint {
		for i, l := range f.joint[j] {
			f.joint[j][i] = math.Exp(l - top)
			f.weight[j] += f.joint[j][i]
		}
	}
	return f
}

// noDifference is the probability that there is no step, where it was before before.
func (f normalFit) noDifference(before float64) float64 {
	return 1 / (1 + (1-before)/before*math.Exp(f.differ-f.same))
}

// draw gives count states of the posterior, each as likely.
func (f normalFit) draw(rng *rand.Rand, count int) []particle {
	var out []particle
	var passed float64
	at := rng.Float64()
	for j := range f.joint {
		for i, w := range f.joint[j] {
			passed += w * float64(count)
			for ; at < passed && len(out) < count; at++ {
				out = append(out, f.state(rng, f.sums[j], steps[i].tau))
			}
		}
	}
	for len(out) < count { // rounding
		out = append(out, out[len(out)-1])
	}
	return out
}

func (f normalFit) state(rng *rand.Rand, s sums, tau float64) particle {
	v := s.residual(tau) / 2 / gamma(rng, (f.n-1+pseudoRuns)/2)
	sd := math.Sqrt(v)
	shrink := tau * tau / (1 + tau*tau*s.nu)
	step := s.d*shrink*s.nu + sd*math.Sqrt(shrink)*rng.NormFloat64()
	good := s.mean - s.share*step + sd/math.Sqrt(f.n)*rng.NormFloat64()
	return particle{noise: noise{level: [2]float64{good, good + step}, sd: sd, odd: 1e-9}}
}
