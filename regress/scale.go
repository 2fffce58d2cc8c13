package regress

import (
	"math"
	"slices"
)

// median of sorted numbers; 0 of none.
func median(sorted []float64) float64 {
	n := len(sorted)
	if n == 0 {
		return 0
	}
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// Median of numbers in any order, which stay as they are; 0 of none.
func Median[T ~int64 | ~float64](y []T) float64 {
	s := make([]float64, len(y))
	for i, v := range y {
		s[i] = float64(v)
	}
	slices.Sort(s)
	return median(s)
}

func sortedCopy(y []float64) []float64 {
	s := slices.Clone(y)
	slices.Sort(s)
	return s
}

// quantile of sorted numbers, the nearest rank.
func quantile(sorted []float64, q float64) float64 {
	return sorted[int(q*float64(len(sorted)-1)+0.5)]
}

// mad to standard deviation for a normal distribution.
const madToSD = 1.482602

// roughness is the standard deviation of the noise, taken from the differences of
// neighbours: half of them may be anything (spikes, steps), and a slow drift does
// not count. It assumes noise that is independent from point to point; with
// autocorrelation it comes out too small, and is used for clipping only.
func roughness(y, scratch []float64) float64 {
	if len(y) < 2 {
		return 0
	}
	d := scratch[:0]
	for i := 1; i < len(y); i++ {
		d = append(d, math.Abs(y[i]-y[i-1]))
	}
	slices.Sort(d)
	return median(d) * madToSD / math.Sqrt2
}

// inflation is by how much more the mean of k points of an AR(1) series scatters
// than that of independent ones (variance; Priestley, Spectral Analysis and Time
// Series, 5.3.2).
func inflation(k int, phi float64) float64 {
	if phi <= 0 || k < 2 {
		return 1
	}
	n := float64(k)
	return (1+phi)/(1-phi) - 2*phi*(1-math.Pow(phi, n))/(n*(1-phi)*(1-phi))
}

// normalScore turns a t statistic into one of a normal distribution with the same
// tail (Wallace 1959, https://doi.org/10.1214/aoms/1177706096, as used in the
// approximation 26.7.8 ff. of Abramowitz and Stegun).
func normalScore(t, df float64) float64 {
	df = max(df, 1)
	return (8*df + 1) / (8*df + 3) * math.Sqrt(df*math.Log1p(t*t/df))
}
