package regress

import "math"

// The fewest points of a level that ends, and of one that lasts until today. Two
// new points tell of a change; what is over after a few is an outlier.
const (
	fewestBefore = 5
	fewestNew    = 2
)

// clipAt is how many standard deviations of noise a value may lie outside of the
// middle 70 % before it counts as lying there: a spike is then as large as a step
// must be, not larger.
const clipAt = 4

// A series of which more than a share of spikyFrom lies outside makes spikes as a
// habit, and a few of them together are no change: they are clipped closer. The
// last points are not asked, since they may be a new level.
const (
	spikyFrom   = 0.04
	spikesUntil = 5
	clipSpiky   = 2
)

// smallest is a spread below which a series is constant: its square is no number.
const smallest = 1e-100

func outside(y []float64, low, high float64) int {
	n := 0
	for _, v := range y {
		if v < low || v > high {
			n++
		}
	}
	return n
}

// window is a stretch of a series made ready for splitting: its values clipped,
// with running sums.
type window struct {
	y      []float64 // as they are
	x      []float64 // clipped, less the median
	sum    []float64
	sum2   []float64
	spikes int     // earlier points that were clipped
	grain  float64 // the least standard deviation that is believed
}

// split is where a window divides best.
type split struct {
	at  int     // first point of the new level
	z   float64 // difference of the means over its standard error, as a normal score
	bar float64 // what z must exceed
	phi float64 // autocorrelation of what is left
}

func (s split) sure() bool { return s.z > s.bar }

// The bars that a normal score must exceed, set by simulation (package calibrate)
// so that at most one series of a hundred without a change shows one. A level that
// began within the last newest points has few places to be in, and so a lower bar.
// Autocorrelation is known badly in short series, and the bar rises with it.
const (
	barWithin = 3.9
	barNewest = 3.45
	newest    = 10
	barHabit  = 10
	barSpikes = 0.3
	barSkew   = 0.5
)

func (w *window) bar(at int, phi float64) float64 {
	n := len(w.x)
	b := w.barSkewed(at)
	if w.spikes > 1 {
		b = max(b, barSpikes)
	}
	if n-at <= newest {
		return b + barNewest + barHabit*w.beyond(at, n) + 1.5*max(0, phi-0.35)
	}
	return b + barWithin + barWandering(n, phi)
}

func barWandering(n int, phi float64) float64 { return phi * (0.4 + 80/float64(n)) }

func (w *window) barSkewed(at int) float64 {
	return barSkew * min(max(w.skew(at)-skewOrdinary, 0), 1)
}

// skewOrdinary is a skewness that 40 points of normal noise show seldom.
const skewOrdinary = 0.7

// skew is the skewness of what is left when each side of a split has its own mean. Few
// points of a skewed distribution have a mean far off more often than the normal
// score says.
func (w *window) skew(at int) float64 {
	n := len(w.x)
	a, b := w.sum[at]/float64(at), (w.sum[n]-w.sum[at])/float64(n-at)
	var squares, cubes float64
	for i, v := range w.x {
		r := v - a
		if i >= at {
			r = v - b
		}
		squares += r * r
		cubes += r * r * r
	}
	if squares == 0 {
		return 0
	}
	return math.Abs(cubes) / float64(n) / math.Pow(squares/float64(n), 1.5)
}

// beyond is the share of the points outside of from to to that lie as far out as the
// median of those inside: what a habit of spikes or a second mode has shown before is
// no news.
func (w *window) beyond(from, to int) float64 {
	level := Median(w.y[from:to])
	a, b := w.sum[to]-w.sum[from], w.sum[len(w.x)]
	up := a*float64(len(w.x)) > b*float64(to-from)
	n := 0
	for i, v := range w.y {
		if (i < from || i >= to) && (up && v >= level || !up && v <= level) {
			n++
		}
	}
	return float64(n) / float64(len(w.y)-(to-from))
}

func newWindow(y []float64, grain float64) *window {
	n := len(y)
	buf := make([]float64, 2*n+2*(n+1))
	w := &window{y: y, x: buf[:n], sum: buf[n : 2*n+1], sum2: buf[2*n+1 : 3*n+2]}
	scratch := buf[3*n+2:]
	s := max(roughness(y, scratch[:0]), grain)
	sorted := sortedCopy(y)
	if s == 0 {
		// Nothing is known of the noise: the smallest step that the series takes.
		s = (sorted[n-1] - sorted[0]) / 16
	}
	mid := median(sorted)
	low, high := quantile(sorted, 0.15)-clipAt*s, quantile(sorted, 0.85)+clipAt*s
	if n >= 20 {
		w.spikes = outside(y[:n-spikesUntil], low, high)
	}
	if float64(w.spikes) > spikyFrom*float64(n) {
		low, high = quantile(sorted, 0.15)-clipSpiky*s, quantile(sorted, 0.85)+clipSpiky*s
	}
	w.grain = max(grain, s/8)
	for i, v := range y {
		if s > smallest {
			w.x[i] = min(max(v, low), high) - mid
		}
		w.sum[i+1] = w.sum[i] + w.x[i]
		w.sum2[i+1] = w.sum2[i] + w.x[i]*w.x[i]
	}
	return w
}

// best is the split that exceeds its bar by most.
func (w *window) best() split {
	n := len(w.x)
	if n < fewestBefore+fewestNew {
		return split{bar: math.Inf(1)}
	}
	best := w.bestOf(max(fewestBefore, n-newest), n-fewestNew)
	if n-newest > fewestBefore {
		if s := w.bestOf(fewestBefore, n-newest-1); s.z-s.bar > best.z-best.bar {
			best = s
		}
	}
	return best
}

// bestOf is the best split at from to last.
func (w *window) bestOf(from, last int) split {
	n := len(w.x)
	at := w.scan(from, last, nil)
	phi := w.correlation(at)
	if phi > 0 {
		cost := make([]float64, n)
		for k := 1; k < n; k++ {
			cost[k] = inflation(k, phi) / float64(k)
		}
		at = w.scan(from, last, cost)
		phi = w.correlation(at)
	}
	return w.judge(at, phi)
}

// judge gives the score of a split.
func (w *window) judge(at int, phi float64) split {
	n := len(w.x)
	k, m := float64(at), float64(n-at)
	a, b := w.sum[at]/k, (w.sum[n]-w.sum[at])/m
	within := (w.sum2[n]-k*a*a-m*b*b)/float64(n-2) + w.grain*w.grain
	cost := inflation(at, phi)/k + inflation(n-at, phi)/m
	t := 0.0
	if within > 0 {
		t = math.Abs(b-a) / math.Sqrt(within*cost)
	}
	// As many points as say something independent about what is least known: the
	// levels, or, of a level of a few points, the variance.
	df := float64(n-2) * (1 - phi) / (1 + phi)
	if n-at <= newest {
		df = float64(n-2) * (1 - phi*phi) / (1 + phi*phi)
	}
	return split{at: at, z: normalScore(t, df), bar: w.bar(at, phi), phi: phi}
}

// scan gives the split at from to last with the largest t; cost is the variance of a
// mean of k points, nil for 1/k.
func (w *window) scan(from, last int, cost []float64) int {
	n := len(w.x)
	best, at := -1.0, from
	total, total2, grain2 := w.sum[n], w.sum2[n], w.grain*w.grain
	for t := from; t <= last; t++ {
		k, m := float64(t), float64(n-t)
		a := w.sum[t] / k
		b := (total - w.sum[t]) / m
		within := (total2-k*a*a-m*b*b)/float64(n-2) + grain2
		c := 1/k + 1/m
		if cost != nil {
			c = cost[t] + cost[n-t]
		}
		if q := (b - a) * (b - a) / (within * c); q > best {
			best, at = q, t
		}
	}
	return at
}

// correlation is the autocorrelation from point to point that remains when each
// stretch between cuts has its own mean, with the bias of short series taken off
// (Kendall 1954, https://doi.org/10.1093/biomet/41.3-4.403). What may well be
// chance counts as none, since believing it would hide changes.
func (w *window) correlation(ats ...int) float64 {
	n := len(w.x)
	var products, squares, last float64
	from := 0
	for i := 0; i <= len(ats); i++ {
		to := n
		if i < len(ats) {
			to = ats[i]
		}
		mean := (w.sum[to] - w.sum[from]) / float64(to-from)
		for j := from; j < to; j++ {
			r := w.x[j] - mean
			if j > from {
				products += r * last
			}
			squares += r * r
			last = r
		}
		from = to
	}
	if squares == 0 {
		return 0
	}
	r := products / squares
	r += (float64(len(ats)+1) + 4*r) / float64(n)
	sure := r*math.Sqrt(float64(n)) - 1
	return min(max(r*min(max(sure, 0), 1), 0), 0.97)
}
