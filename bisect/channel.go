package bisect

import (
	"math"
	"slices"
)

// view is a state with the posterior of each segment by it.
type view struct {
	noise
	p []float64
}

// quantiles of a normal distribution at which densities are looked at.
var quantiles = []float64{-2.2, -1.2, -0.4, 0.4, 1.2, 2.2}

// values at which densities are looked at.
const gridPoints = 48

// grid are the values that may come, by all views, and what each stands for in a sum
// over values (trapezoids).
func grid(views []view) (y, width []float64) {
	var all []float64
	for _, n := range views {
		for side := range 2 {
			for _, z := range quantiles {
				all = append(all, n.level[side]+z*n.sd)
				if n.second[side] > 0.05 {
					all = append(all, n.level[side]+n.shift+z*n.sd)
				}
			}
		}
	}
	slices.Sort(all)
	for i := range gridPoints {
		y = append(y, all[i*(len(all)-1)/(gridPoints-1)])
	}
	width = make([]float64, len(y))
	for i := 1; i < len(y); i++ {
		half := (y[i] - y[i-1]) / 2
		width[i-1] += half
		width[i] += half
	}
	return y, width
}

// channel fills in what a run would tell: the mutual information of its value and of
// which segment, or which part of its own segment, holds the first bad one. Levels and
// noise are not known, and go along with where the first bad one is: a run may tell by
// what it says of them.
func (b *belief) channel(g segments, prior []float64, views []view) {
	y, width := grid(views)
	// joint[j][side] is the probability that segment j holds the first bad one and that
	// a run on a side gives value y.
	joint := make([][2][]float64, len(g.mass))
	mean := [2][]float64{make([]float64, len(y)), make([]float64, len(y))}
	for j := range joint {
		joint[j] = [2][]float64{make([]float64, len(y)), make([]float64, len(y))}
	}
	for i := range views {
		n := &views[i]
		for side := range 2 {
			for t := range y {
				d := n.density(y[t], side) * width[t] / float64(len(views))
				mean[side][t] += d
				for j, p := range n.p {
					if p > 1e-9 {
						joint[j][side][t] += p * d
					}
				}
			}
		}
	}
	b.good, b.bad = speaks(mean[0], mean[1]), speaks(mean[1], mean[0])
	b.inform(g, prior, joint, len(y))
}

// speaks is how often a value of a side is likelier on the bad side.
func speaks(of, other []float64) float64 {
	var more, all float64
	for t, d := range of {
		all += d
		if d > other[t] {
			more += d
		}
	}
	return more / all
}

// inform fills in the information of a run of each candidate.
func (b *belief) inform(g segments, prior []float64, joint [][2][]float64, points int) {
	n := len(joint)
	var mass, self [2][]float64 // of each segment: sums of joint and of joint*log(joint)
	for side := range 2 {
		mass[side], self[side] = make([]float64, n), make([]float64, n)
		for j := range joint {
			for _, p := range joint[j][side] {
				mass[side][j] += p
				self[side][j] += xlog(p)
			}
		}
	}
	// Sums over the segments before (on their bad side) and after (good).
	value := make([]float64, points)
	var known, which float64
	for j := 1; j < n; j++ {
		known += self[0][j]
		which += xlog(mass[0][j])
		for t, p := range joint[j][0] {
			value[t] += p
		}
	}
	j, before := 0, 0.0 // before: prior of the first bad ones of segment j up to i
	for i := b.lo; i <= b.hi; i++ {
		for j < len(g.at) && g.at[j] < i {
			// Segment j lies before now, and j+1 is the own one.
			known += self[1][j] - self[0][j+1]
			which += xlog(mass[1][j]) - xlog(mass[0][j+1])
			for t := range value {
				value[t] += joint[j][1][t] - joint[j+1][0][t]
			}
			j, before = j+1, 0
		}
		if i > b.lo {
			before += prior[i]
		}
		share := 0.0
		if g.mass[j] > 0 {
			share = min(1, before/g.mass[j])
		}
		// A part of a segment: p*share*log(p*share) summed.
		k := share*self[1][j] + xlog(share)*mass[1][j] + (1-share)*self[0][j] + xlog(1-share)*mass[0][j]
		w := xlog(share*mass[1][j]) + xlog((1-share)*mass[0][j])
		var all, out float64
		for t, v := range value {
			p := v + share*joint[j][1][t] + (1-share)*joint[j][0][t]
			all += p
			out += xlog(p)
		}
		if all > 0 {
			b.gain[i] = max(0, ((known+k)-(which+w)-out+xlog(all))/all/math.Ln2)
		}
	}
}

func xlog(p float64) float64 {
	if p <= 0 {
		return 0
	}
	return p * math.Log(p)
}
