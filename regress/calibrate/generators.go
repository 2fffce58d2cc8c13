// Package calibrate measures how often package regress is wrong, and simple rivals
// beside it: on series that are made here, with and without a change, and over the
// nights of a year of a whole suite. Nothing in it is a measurement of a program.
package calibrate

import (
	"math"
	"math/rand/v2"
)

// Sizes of the series, MiB: a peak of 8 GiB with a scatter of 64 MiB.
const (
	Level = 8192.0
	SD    = 64.0
	// Grain is the step in which an allocator takes memory.
	Grain = 2.0
)

// Generator makes noise with mean 0, in standard deviations of its core.
type Generator struct {
	Name string
	// Quantised rounds the values of a series to Grain.
	Quantised bool
	// Noise gives n values.
	Noise func(r *rand.Rand, n int) []float64
}

func each(draw func(r *rand.Rand) float64) func(*rand.Rand, int) []float64 {
	return func(r *rand.Rand, n int) []float64 {
		y := make([]float64, n)
		for i := range y {
			y[i] = draw(r)
		}
		return y
	}
}

func gauss(r *rand.Rand) float64 { return r.NormFloat64() }

// spiky gives a tenth of the points a spike whose height draw gives.
func spiky(share float64, height func(r *rand.Rand) float64) func(*rand.Rand, int) []float64 {
	return each(func(r *rand.Rand) float64 {
		v := r.NormFloat64()
		if r.Float64() < share {
			v += height(r)
		}
		return v
	})
}

// modes is a second level, apart by so many deviations, at a share of the points.
func modes(share, apart float64) func(*rand.Rand, int) []float64 {
	return each(func(r *rand.Rand) float64 {
		v := r.NormFloat64()
		if r.Float64() < share {
			v += apart
		}
		return v
	})
}

// autoregressive is AR(1) with a marginal deviation of 1, in its steady state from
// the first point on.
func autoregressive(phi float64) func(*rand.Rand, int) []float64 {
	return func(r *rand.Rand, n int) []float64 {
		y := make([]float64, n)
		last := r.NormFloat64()
		for i := range y {
			last = phi*last + math.Sqrt(1-phi*phi)*r.NormFloat64()
			y[i] = last
		}
		return y
	}
}

// Generators are the kinds of noise for which the bars hold.
func Generators() []Generator {
	return []Generator{
		{Name: "constant", Noise: func(_ *rand.Rand, n int) []float64 { return make([]float64, n) }},
		{Name: "gauss", Noise: each(gauss)},
		{Name: "gauss, 2 MiB", Quantised: true, Noise: each(gauss)},
		{Name: "10 % spiky", Noise: spiky(0.1, func(r *rand.Rand) float64 { return 5 + 10*r.Float64() })},
		{Name: "bimodal", Noise: modes(0.5, 6)},
		{Name: "AR(1) 0.7", Noise: autoregressive(0.7)},
	}
}

// Others are variants for which no bar was set: they show what lies beside it.
func Others() []Generator {
	both := func(r *rand.Rand) float64 { return 10 * r.NormFloat64() }
	return []Generator{
		{Name: "spikes of one height", Noise: spiky(0.1, func(*rand.Rand) float64 { return 10 })},
		{Name: "spikes both ways", Noise: spiky(0.1, both)},
		{Name: "spikes on a constant", Noise: func(r *rand.Rand, n int) []float64 {
			y := make([]float64, n)
			for i := range y {
				if r.Float64() < 0.1 {
					y[i] = 5 + 10*r.Float64()
				}
			}
			return y
		}},
		{Name: "spikes of chance", Noise: spiky(0.1, func(r *rand.Rand) float64 { return 5 * r.ExpFloat64() })},
		{Name: "5 % spiky", Noise: spiky(0.05, func(r *rand.Rand) float64 { return 5 + 10*r.Float64() })},
		{Name: "bimodal 20 %", Noise: modes(0.2, 6)},
		{Name: "bimodal 10 %", Noise: modes(0.1, 6)},
		{Name: "bimodal 3 sd", Noise: modes(0.5, 3)},
		{Name: "AR(1) 0.3", Noise: autoregressive(0.3)},
		{Name: "AR(1) 0.5", Noise: autoregressive(0.5)},
		{Name: "AR(1) 0.9", Noise: autoregressive(0.9)},
		{Name: "heavy tails (t3)", Noise: each(func(r *rand.Rand) float64 {
			v := r.NormFloat64()
			var c float64
			for range 3 {
				g := r.NormFloat64()
				c += g * g
			}
			return v / math.Sqrt(c/3)
		})},
		{Name: "exponential", Noise: each(func(r *rand.Rand) float64 { return r.ExpFloat64() - 1 })},
		{Name: "mostly constant", Quantised: true, Noise: each(func(r *rand.Rand) float64 {
			if r.Float64() < 0.2 {
				return 2 / SD
			}
			return 0
		})},
	}
}

// Series gives n values of a generator in MiB, with a step of so many deviations
// from index at on (at >= n: none).
func (g Generator) Series(r *rand.Rand, n, at int, step float64) []float64 {
	y := g.Noise(r, n)
	for i := range y {
		if i >= at {
			y[i] += step
		}
		y[i] = Level + SD*y[i]
		if g.Quantised {
			y[i] = math.Round(y[i]/Grain) * Grain
		}
	}
	return y
}
