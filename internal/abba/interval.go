package abba

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// middle is the estimate of Hodges and Lehmann of where numbers lie, the median of
// the means of all pairs, with the interval that belongs to Wilcoxon's signed-rank test
// (M. Hollander, D. A. Wolfe, Nonparametric Statistical Methods, 3.2 to 3.4). It assumes
// that numbers lie symmetrically about the truth, and nothing of how far: a unit that
// something else on the machine held up moves it little. With fewer numbers than such an
// interval needs (six for 95 %), low and high are NaN.
func middle(numbers []float64, confidence float64) (at, low, high float64) {
	var pairs []float64
	for i, a := range numbers {
		for _, b := range numbers[i:] {
			pairs = append(pairs, (a+b)/2)
		}
	}
	if len(pairs) == 0 {
		return math.NaN(), math.NaN(), math.NaN()
	}
	slices.Sort(pairs)
	n := len(pairs)
	at, low, high = (pairs[(n-1)/2]+pairs[n/2])/2, math.NaN(), math.NaN()
	if k := cut(len(numbers), (1-confidence)/2); k > 0 {
		low, high = pairs[k-1], pairs[n-k]
	}
	return at, low, high
}

// cut is how many of the pairs' means, from either side, are left out of the interval,
// plus one: the largest k for which Wilcoxon's statistic of n numbers is below k with a
// probability of tail at most; 0 where there is none.
func cut(n int, tail float64) int {
	const exact = 60
	if n > exact {
		mean, sd := float64(n*(n+1))/4, math.Sqrt(float64(n*(n+1)*(2*n+1))/24)
		return max(0, int(mean+distuv.UnitNormal.Quantile(tail)*sd))
	}
	// probability[w]: the ranks with a positive sign add up to w.
	probability := make([]float64, n*(n+1)/2+1)
	probability[0] = 1
	for rank := 1; rank <= n; rank++ {
		for w := len(probability) - 1; w >= 0; w-- {
			probability[w] /= 2
			if w >= rank {
				probability[w] += probability[w-rank] / 2
			}
		}
	}
	below := 0.0
	for k, p := range probability {
		if below += p; below > tail {
			return k
		}
	}
	return 0
}

// average is the mean with Student's interval. One number has no interval.
func average(numbers []float64, confidence float64) (at, low, high float64) {
	if len(numbers) < 2 {
		return math.NaN(), math.NaN(), math.NaN()
	}
	mean, sd := stat.MeanStdDev(numbers, nil)
	n := float64(len(numbers))
	half := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.Quantile(0.5+confidence/2) * sd / math.Sqrt(n)
	return mean, mean - half, mean + half
}
