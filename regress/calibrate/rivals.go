package calibrate

import (
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"memtrix/regress"
)

// Detector gives the indexes at which a series changed, in order.
type Detector struct {
	Name string
	Find func(y []float64) []int
}

// Detectors are package regress and what people use instead.
func Detectors() []Detector {
	return []Detector{
		{"memtrix", Memtrix},
		{"fixed 5 %", FixedShare},
		{"z-score over 30", ZScore},
		{"t-test, 30 and 10", TTest},
	}
}

// Memtrix is regress.Levels with the default floor. Values are MiB.
func Memtrix(y []float64) []int {
	points := make([]regress.Point, len(y))
	for i, v := range y {
		points[i] = regress.Point{Outcome: "pass", Value: v, Known: true}
	}
	var at []int
	for _, c := range regress.Levels(points, regress.Options{Floor: regress.DefaultFloor(regress.MiB), Unit: regress.MiB}) {
		at = append(at, c.At)
	}
	return at
}

// past is how many points before are the history of a rival, and fewest the least of
// them.
const (
	past   = 30
	fewest = 10
)

// FixedShare calls a point that is 5 % off the mean of the 30 before a change.
func FixedShare(y []float64) []int {
	return pointwise(y, func(v, mean, _ float64) bool { return math.Abs(v-mean) > 0.05*math.Abs(mean) })
}

// ZScore calls a point that is more than three standard deviations off the mean of
// the 30 before a change.
func ZScore(y []float64) []int {
	return pointwise(y, func(v, mean, sd float64) bool { return math.Abs(v-mean) > 3*max(sd, 1e-9) })
}

func pointwise(y []float64, odd func(v, mean, sd float64) bool) []int {
	var at []int
	for i := fewest; i < len(y); i++ {
		mean, sd := stat.MeanStdDev(y[max(0, i-past):i], nil)
		if odd(y[i], mean, sd) {
			at = append(at, i)
		}
	}
	return at
}

// TTest compares the 30 points before each point with the 10 from it on (fewer at the
// end, two at least) by Welch's t-test at 0.1 %.
func TTest(y []float64) []int {
	const window = 10
	var at []int
	for i := fewest; i+2 <= len(y); i++ {
		a, b := y[max(0, i-past):i], y[i:min(i+window, len(y))]
		if welch(a, b) < 0.001 {
			at = append(at, i)
		}
	}
	return at
}

func welch(a, b []float64) float64 {
	ma, va := stat.MeanVariance(a, nil)
	mb, vb := stat.MeanVariance(b, nil)
	na, nb := float64(len(a)), float64(len(b))
	sa, sb := va/na, vb/nb
	if sa+sb == 0 {
		if ma == mb {
			return 1
		}
		return 0
	}
	df := (sa + sb) * (sa + sb) / (sa*sa/(na-1) + sb*sb/(nb-1))
	t := math.Abs(ma-mb) / math.Sqrt(sa+sb)
	return 2 * distuv.StudentsT{Mu: 0, Sigma: 1, Nu: df}.Survival(t)
}
