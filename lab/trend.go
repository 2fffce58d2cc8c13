package lab

import (
	"math"
	"slices"

	"memtrix/regress"
)

// slope is a growth a prompt with its interval of 95 %.
type slope struct{ mid, low, high float64 }

// theilSen is the median of the slopes between all pairs of readings, with the
// interval that Kendall's statistic gives. It assumes that what is left after the
// line is independent from reading to reading; up to a quarter of the readings may
// be far off. (Sen 1968, https://doi.org/10.1080/01621459.1968.10480934; the
// variance without ties: Hollander, Wolfe, Chicken, Nonparametric Statistical
// Methods, 9.3.) Ties make the interval wider than it need be, never narrower.
func theilSen(y []float64) slope {
	var pairs []float64
	for i := range y {
		for j := i + 1; j < len(y); j++ {
			pairs = append(pairs, (y[j]-y[i])/float64(j-i))
		}
	}
	slices.Sort(pairs)
	n := float64(len(y))
	const z = 1.959964 // 97.5 % of a normal distribution
	c := z * math.Sqrt(n*(n-1)*(2*n+5)/18)
	low := int(math.Floor((float64(len(pairs)) - c) / 2))
	low = max(low, 0)
	return slope{regress.Median(pairs), pairs[low], pairs[len(pairs)-1-low]}
}

// steps are the differences between neighbours.
func steps(y []float64) []float64 {
	d := make([]float64, 0, max(len(y)-1, 0))
	for i := 1; i < len(y); i++ {
		d = append(d, y[i]-y[i-1])
	}
	return d
}

// upByChance is how likely it is that so many of the steps go up when up and down
// are equally likely (sign test, one-sided; steps of 0 do not count). It holds
// whether readings scatter around a level or wander: a wandering one has steps in
// both directions, and Theil and Sen's interval alone would accuse it. One great
// step, or a few of them, say nothing.
func upByChance(d []float64) float64 {
	up, n := 0, 0
	for _, v := range d {
		if v > 0 {
			up++
		}
		if v != 0 {
			n++
		}
	}
	var p float64
	for k := up; k <= n; k++ {
		p += binomial(n, k)
	}
	return min(p*math.Pow(0.5, float64(n)), 1)
}

func binomial(n, k int) float64 {
	b := 1.0
	for i := range k {
		b *= float64(n-i) / float64(i+1)
	}
	return b
}

// keepsUp is the slope of the second half over that of the first: near 1 for what
// goes on growing, below for what comes to rest. Halves overlap a little, as they
// are short.
func keepsUp(y []float64) float64 {
	half := (len(y)*11 + 19) / 20 // 55 %, rounded up
	early, late := theilSen(y[:half]).mid, theilSen(y[len(y)-half:]).mid
	if early <= 0 {
		if late > 0 {
			return math.Inf(1)
		}
		return 0
	}
	return late / early
}

// scatter is a robust standard deviation of the steps around their median.
func scatter(d []float64) float64 {
	if len(d) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(d))
	m := regress.Median(s)
	for i, v := range s {
		s[i] = math.Abs(v - m)
	}
	slices.Sort(s)
	return 1.4826 * regress.Median(s)
}
