package regress

import (
	"math"
	"slices"
)

// cut is a change of level inside a series of values.
type cut struct {
	at     int
	z, bar float64
}

// cuts divides a series at its changes of level: binary segmentation (Scott and Knott
// 1974) with circular segmentation for what rose and fell again (Olshen et al.
// 2004, https://doi.org/10.1093/biostatistics/kxh008), each place then moved to where
// it fits best between its neighbours, and tested there once more.
func cuts(y []float64, grain float64) []cut {
	var found []cut
	var divide func(from, to int)
	divide = func(from, to int) {
		w := newWindow(y[from:to], grain)
		if s := w.best(); s.sure() {
			found = append(found, cut{from + s.at, s.z, s.bar})
			divide(from, from+s.at)
			divide(from+s.at, to)
			return
		} else if i, j, z := w.excursion(); z > barExcursion {
			found = append(found, cut{from + i, z, barExcursion}, cut{from + j, z, barExcursion})
			divide(from, from+i)
			divide(from+i, from+j)
			divide(from+j, to)
			return
		} else if i, j, z := w.pair(s.phi); z > barExcursion {
			found = append(found, cut{from + i, z, barExcursion}, cut{from + j, z, barExcursion})
			divide(from, from+i)
			divide(from+i, from+j)
			divide(from+j, to)
			return
		} else if at, z := w.jump(s.phi); z > barJump {
			found = append(found, cut{from + at, z, barJump})
			divide(from, from+at)
			divide(from+at, to)
		}
	}
	divide(0, len(y))
	slices.SortFunc(found, func(a, b cut) int { return a.at - b.at })
	return settle(y, found, grain)
}

// An excursion must last so long, and its bar is high: there are as many of them as
// pairs of points.
const (
	fewestExcursion  = 6
	longestExcursion = 60
	barExcursion     = 5.0
	barShort         = 40 // over the length of the series
)

// excursion is the stretch inside a window that differs most from the rest of it.
func (w *window) excursion() (from, to int, z float64) {
	n := len(w.x)
	if n < 2*fewestBefore+fewestExcursion {
		return 0, 0, 0
	}
	from, to, _ = w.arc(0)
	phi := w.correlation(from, to)
	if phi > 0 {
		from, to, _ = w.arc(phi)
		phi = w.correlation(from, to)
	}
	t := w.arcScore(from, to, phi)
	df := float64(n-2) * (1 - phi) / (1 + phi)
	z = normalScore(t, df)
	return from, to, z - barHabit*w.beyond(from, to) - 2*barWandering(n, phi) - w.barSkewed(from) - barShort/float64(n)
}

// arc is the stretch with the largest score.
func (w *window) arc(phi float64) (from, to int, t float64) {
	n := len(w.x)
	total := w.sum[n]
	best := -1.0
	for k := fewestExcursion; k <= min(longestExcursion, n/2); k++ {
		share := total * float64(k) / float64(n)
		largest, at := -1.0, 0
		for i := fewestBefore; i+k <= n-fewestBefore; i++ {
			// Of one length, the distance from the average is all that differs.
			d := w.sum[i+k] - w.sum[i] - share
			if d *= d; d > largest {
				largest, at = d, i
			}
		}
		if largest < 0 {
			break
		}
		if q := w.arcScore(at, at+k, phi); q > best {
			best, from, to = q, at, at+k
		}
	}
	return from, to, best
}

func (w *window) arcScore(from, to int, phi float64) float64 {
	n, k := len(w.x), to-from
	in, out := float64(k), float64(n-k)
	s := w.sum[to] - w.sum[from]
	a, b := s/in, (w.sum[n]-s)/out
	within := (w.sum2[n]-in*a*a-out*b*b)/float64(n-2) + w.grain*w.grain
	cost := inflation(k, phi)/in + inflation(n-k, phi)/out
	return math.Abs(a-b) / math.Sqrt(within*cost)
}

// fewestBetween is how many points a level must last between two others.
const fewestBetween = 3

// pair is the two cuts, one found after the other, that make three levels of a window,
// and the lesser of their scores. It is for windows in which one cut alone leaves what
// looks like autocorrelation.
func (w *window) pair(phi float64) (i, j int, z float64) {
	n := len(w.x)
	if phi < 0.3 || n < fewestBefore+fewestBetween+fewestNew {
		return 0, 0, 0
	}
	first := w.scan(fewestBefore, n-fewestNew, nil)
	best := math.Inf(1)
	for second := fewestBefore; second <= n-fewestNew; second++ {
		a, b := min(first, second), max(first, second)
		if b-a < fewestBetween {
			continue
		}
		if rss := w.rss(0, a) + w.rss(a, b) + w.rss(b, n); rss < best {
			best, i, j = rss, a, b
		}
	}
	if i == 0 {
		return 0, 0, 0
	}
	phi = w.correlation(i, j)
	within := best/float64(n-3) + w.grain*w.grain
	df := float64(n-3) * (1 - phi) / (1 + phi)
	score := func(a, at, b int) float64 {
		left, right := (w.sum[at]-w.sum[a])/float64(at-a), (w.sum[b]-w.sum[at])/float64(b-at)
		cost := inflation(at-a, phi)/float64(at-a) + inflation(b-at, phi)/float64(b-at)
		return normalScore(math.Abs(right-left)/math.Sqrt(within*cost), df)
	}
	return i, j, min(score(0, i, j), score(i, j, n)) - 2*barWandering(n, phi)
}

// rss is what is left of a stretch when its mean is taken off, squared and summed.
func (w *window) rss(from, to int) float64 {
	s := w.sum[to] - w.sum[from]
	return w.sum2[to] - w.sum2[from] - s*s/float64(to-from)
}

// A jump is looked for only where the noise wanders so that levels say nothing.
const (
	wanders    = 0.3
	barJump    = 8 // a score of its own, in deviations of a difference
	jumpSide   = 5 // points on each side that must keep to their level, but one
	jumpKept   = 0.7
	jumpNewest = 3 // and the fewest of a level that lasts until today
)

// jump is the place where a series that wanders (a slow wave, a random walk, a stair of
// constants) leaps: the difference of two neighbours is many times what neighbours
// differ by, and the points on both sides keep most of it.
func (w *window) jump(phi float64) (at int, z float64) {
	n := len(w.y)
	if phi < wanders {
		return 0, 0
	}
	scale := max(roughness(w.y, nil)*math.Sqrt2, w.grain)
	if scale == 0 {
		return 0, 0
	}
	for t := jumpSide; t <= n-jumpNewest; t++ {
		leap := w.y[t] - w.y[t-1]
		if math.Abs(leap)/scale <= max(z, barJump) {
			continue
		}
		strays := 0
		after := w.y[t:min(t+jumpSide, n)]
		for _, v := range after {
			if (v-w.y[t-1])/leap < jumpKept {
				strays++
			}
		}
		for _, v := range w.y[t-jumpSide : t] {
			if (v-w.y[t-1])/leap > 1-jumpKept {
				strays++
			}
		}
		if strays == 0 || strays == 1 && len(after) == jumpSide {
			at, z = t, math.Abs(leap)/scale
		}
	}
	return at, z
}

// settle moves each cut to its best place between its neighbours, and drops those
// that are not sure there, the least sure first.
func settle(y []float64, found []cut, grain float64) []cut {
	edge := func(i int) int {
		switch {
		case i < 0:
			return 0
		case i >= len(found):
			return len(y)
		}
		return found[i].at
	}
	for range 3 {
		moved := false
		for i := range found {
			from, to := edge(i-1), edge(i+1)
			at := from + place(y[from:to], found[i].at-from, grain)
			moved = moved || at != found[i].at
			found[i].at = at
		}
		found = slices.CompactFunc(found, func(a, b cut) bool { return a.at == b.at })
		if !moved {
			break
		}
	}
	for len(found) > 1 {
		worst, least := -1, 0.0
		for i, c := range found {
			from, to := edge(i-1), edge(i+1)
			if c.bar == barJump {
				continue
			}
			s := local(y, from, c.at, to, grain)
			if margin := s.z - s.bar; margin < least {
				worst, least = i, margin
			}
			found[i].z, found[i].bar = s.z, s.bar
		}
		if worst < 0 {
			break
		}
		found = slices.Delete(found, worst, worst+1)
	}
	return found
}

// local is the score of a cut between its neighbours, or in a smaller window about it
// where that is clearer: further off, something that is too small to be told may be
// in the way.
func local(y []float64, from, at, to int, grain float64) split {
	best := split{z: math.Inf(-1)}
	for side := max(at-from, to-at); ; side /= 2 {
		a, b := max(from, at-side), min(to, at+side)
		w := newWindow(y[a:b], grain)
		if s := w.judge(at-a, w.correlation(at-a)); s.z-s.bar > best.z-best.bar || math.IsInf(best.z, -1) {
			best = s
		}
		if side < 4*fewestBefore {
			return best
		}
	}
}

// place is where two levels meet at the least cost; values far off count no more
// than three deviations.
func place(y []float64, at int, grain float64) int {
	n := len(y)
	a, b := medianOf(y[:at]), medianOf(y[at:])
	s := max(spread(y[:at], a), spread(y[at:], b), grain, math.Abs(b-a)/100)
	cost := func(v, level float64) float64 {
		d := min(math.Abs(v-level)/s, 3)
		return d * d
	}
	least, last := min(at, fewestBefore), max(at, n-fewestNew)
	// The cost of a cut, less that of one at the first place allowed.
	sum, lowest, where := 0.0, 0.0, least
	for t := least; t < last; t++ {
		sum += cost(y[t], a) - cost(y[t], b)
		if sum < lowest {
			lowest, where = sum, t+1
		}
	}
	return where
}

// spread is the standard deviation about a level, of half the points.
func spread(y []float64, level float64) float64 {
	d := make([]float64, len(y))
	for i, v := range y {
		d[i] = math.Abs(v - level)
	}
	return medianOf(d) * madToSD
}
