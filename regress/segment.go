package regress

import (
	"iter"
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
		} else if ats, z := w.together(s.phi); len(ats) > 0 {
			for _, at := range ats {
				found = append(found, cut{from + at, z, barExcursion})
			}
			w.stretches(ats, func(a, b int) { divide(from+a, from+b) })
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

// fewestBetween is how many points a level must last when it is one of several that are
// found together, and mostTogether how many cuts are.
const (
	fewestBetween = 3
	mostTogether  = 8
	barTogether   = 0.5 // more for each cut beyond two
)

// together are the cuts that make several levels of a window, none of which is sure
// alone: one cut of many leaves what looks like autocorrelation. They are taken greedily
// by what they explain, each then moved to its best place, and all must exceed a
// high bar with the autocorrelation that all of them leave. Of the numbers of cuts, the
// one with the clearest margin is taken.
func (w *window) together(phi float64) (ats []int, z float64) {
	n := len(w.x)
	if phi < wanders || n < fewestBefore+2*fewestBetween {
		return nil, 0
	}
	least := 0.0
	for tried := range w.greedy(min(mostTogether, n/fewestBefore)) {
		k := len(tried)
		if k < 2 {
			continue
		}
		bar := barExcursion + barTogether*float64(k-2)
		if score := w.weakest(tried); score-bar > least {
			least, z = score-bar, barExcursion+score-bar
			ats = slices.Clone(tried)
		}
	}
	return ats, z
}

// greedy gives one cut, two and so on, up to most: each time the one that explains most
// beside those before it is added, and all are moved to their best places. What it gives
// is good until the next.
func (w *window) greedy(most int) iter.Seq[[]int] {
	return func(yield func([]int) bool) {
		var ats []int
		for len(ats) < most {
			at := w.explains(ats)
			if at == 0 {
				return
			}
			ats = append(ats, at)
			slices.Sort(ats)
			w.improve(ats)
			if !yield(ats) {
				return
			}
		}
	}
}

// stretches calls do for each stretch between cuts.
func (w *window) stretches(ats []int, do func(from, to int)) {
	from := 0
	for _, at := range ats {
		do(from, at)
		from = at
	}
	do(from, len(w.x))
}

// explains is the further cut that leaves least, 0 where there is no room.
func (w *window) explains(ats []int) int {
	best, where := 0.0, 0
	w.stretches(ats, func(from, to int) {
		at, left := w.cutOf(from, to)
		if gain := w.rss(from, to) - left; at > 0 && gain > best {
			best, where = gain, at
		}
	})
	return where
}

// cutOf is the cut of a stretch that leaves least, and what it leaves.
func (w *window) cutOf(from, to int) (at int, left float64) {
	first, last := from+fewestBetween, to-fewestBetween
	if from == 0 {
		first = fewestBefore
	}
	left = math.Inf(1)
	for t := first; t <= last; t++ {
		if rss := w.rss(from, t) + w.rss(t, to); rss < left {
			at, left = t, rss
		}
	}
	return at, left
}

// improve moves each cut to its best place between its neighbours.
func (w *window) improve(ats []int) {
	for range 3 {
		for i := range ats {
			from, to := 0, len(w.x)
			if i > 0 {
				from = ats[i-1]
			}
			if i+1 < len(ats) {
				to = ats[i+1]
			}
			if at, _ := w.cutOf(from, to); at > 0 {
				ats[i] = at
			}
		}
	}
}

// weakest is the least score of several cuts.
func (w *window) weakest(ats []int) float64 {
	n := len(w.x)
	spare := float64(n - len(ats) - 1)
	phi := w.correlation(ats...)
	var within float64
	w.stretches(ats, func(from, to int) { within += w.rss(from, to) })
	within = max(within, 0)/spare + w.grain*w.grain
	if within == 0 {
		return 0
	}
	least := math.Inf(1)
	for i, at := range ats {
		from, to := 0, n
		if i > 0 {
			from = ats[i-1]
		}
		if i+1 < len(ats) {
			to = ats[i+1]
		}
		left, right := (w.sum[at]-w.sum[from])/float64(at-from), (w.sum[to]-w.sum[at])/float64(to-at)
		cost := inflation(at-from, phi)/float64(at-from) + inflation(to-at, phi)/float64(to-at)
		t := math.Abs(right-left) / math.Sqrt(within*cost)
		least = min(least, normalScore(t, spare*(1-phi)/(1+phi)))
	}
	return least - 2*barWandering(n, phi)
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
	a, b := Median(y[:at]), Median(y[at:])
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
	return Median(d) * madToSD
}
