package regress

import "gonum.org/v1/gonum/stat/distuv"

// Rate is the interval of the rate at which trials fail, of failed in n: the exact one
// of Clopper and Pearson (1934, https://doi.org/10.1093/biomet/26.4.404), which is
// wide rather than wrong. It assumes independent trials at one rate. Of none at all
// the rate may be anything.
func Rate(failed, n int, confidence float64) (low, high float64) {
	if n <= 0 {
		return 0, 1
	}
	tail := (1 - confidence) / 2
	a, b := float64(failed), float64(n-failed)
	high = 1
	if failed > 0 {
		low = distuv.Beta{Alpha: a, Beta: b + 1}.Quantile(tail)
	}
	if failed < n {
		high = distuv.Beta{Alpha: a + 1, Beta: b}.Quantile(1 - tail)
	}
	return low, high
}
