package regress

import (
	"cmp"
	"math"
	"slices"
)

// Levels are the shifts and slopes of the values of a series, in order.
//
// It assumes that between changes the values scatter about a level: independently, or
// with autocorrelation of the first order up to 0.7 or so, which is estimated; that
// not more than a tenth are spikes, or that several levels alternate at random; and
// that a reading comes every night: gaps count as no time. It needs seven points at
// least, and says nothing about a single new point.
func Levels(points []Point, o Options) []Change {
	var y []float64
	var at []int
	for i, p := range points {
		if p.Known && math.Abs(p.Value) < largest {
			y, at = append(y, p.Value), append(at, i)
		}
	}
	if len(y) < fewestBefore+fewestNew {
		return nil
	}
	grain := o.Floor.least(Median(y)) / 16
	found := large(y, cuts(y, grain), o.Floor)
	runs := drifts(y, found, grain, o)
	var all []Change
	edge := 0
	// What lies between two changes may drift too steadily for a cut to be sure.
	between := func(to int) {
		if run, z, ok := trend(y[edge:to], grain, o); ok {
			run.from += edge
			if math.Abs(run.after-run.before) >= o.Floor.least(run.before) {
				all = append(all, o.slope(at, run, confidence(cut{z: z, bar: barTrend})))
			}
		}
		edge = to
	}
	for i := 0; i < len(found); i++ {
		if run, ok := runs[i]; ok {
			if math.Abs(run.after-run.before) >= o.Floor.least(run.before) {
				all = append(all, o.slope(at, run.drift, confidence(found[i])))
			}
			i = run.last
			edge = run.from + run.points
			continue
		}
		between(found[i].at)
		all = append(all, o.shift(y, at, found, i))
	}
	between(len(y))
	return all
}

// largest is more than anything that can be measured; squares of what is larger are no
// numbers.
const largest = 1e100

// large drops changes below the floor, the smallest first.
func large(y []float64, found []cut, f Floor) []cut {
	for len(found) > 0 {
		level := levels(y, found)
		worst, least := -1, 1.0
		for i := range found {
			size, floor := math.Abs(level[i+1]-level[i]), f.least(level[i])
			if floor == 0 {
				continue
			}
			if share := size / floor; share < least {
				worst, least = i, share
			}
		}
		if worst < 0 {
			break
		}
		found = slices.Delete(found, worst, worst+1)
	}
	return found
}

// mostSure is the greatest confidence that is told: no model of noise is true to more
// digits.
const mostSure = 0.9999

// confidence is 1 less the share of series in which a score exceeds its bar by as
// much: 0.01 at the bar, falling as the tail of a normal distribution does.
func confidence(c cut) float64 {
	if c.bar == barJump {
		return mostSure
	}
	tail := func(z float64) float64 { return math.Erfc(z / math.Sqrt2) }
	bar := min(c.bar, 30) // beyond, a tail is no number
	return min(1-0.01*min(tail(max(c.z, bar))/tail(bar), 1), mostSure)
}

func sortByPlace(all []Change) {
	slices.SortStableFunc(all, func(a, b Change) int { return cmp.Compare(a.At, b.At) })
}
