package regress

import (
	"math"
	"slices"
)

// State is what one night says of a series.
type State string

const (
	Quiet State = "quiet"
	// Suspect: a repeat of tonight's trial would tell.
	Suspect State = "suspect"
	Alarm   State = "alarm"
)

// What a suite can afford: at 60 cells of 6 meters there are 131,400 looks a year, and
// one false alarm is the budget. Package calibrate measures both rates.
const (
	// MostRepeats of a trial in one night.
	MostRepeats  = 2
	fewestRecent = 20 // nights of history before anything is said
	longestPast  = 180
	fewestAlarm  = 3   // readings that must agree
	barAlarm     = 5.0 // their score
	barSuspect   = 3.5 // the score of a night that deserves a repeat
	chanceAlarm  = 1e-5
	chanceNight  = 0.005 // of the history may have been as far out
	nightsBack   = 2     // nights before tonight that may belong to the same change
)

// Past is a series as a night finds it.
type Past struct {
	// Nights are the values since the last shift, one a night, the newest last.
	Nights []float64
	// Drifted is how many of them there were when a drift was told last, 0 for none, and Up
	// its direction. Over says that it came to an end, or that somebody said so.
	Drifted  int
	Up, Over bool
}

// Tonight says what the readings of a night add, the regular one first and then its
// repeats: a shift as the function Tonight tells it or, where there is none, a drift, with
// its growth. A drift that was told before and goes on is no news.
func (p Past) Tonight(now []float64, o Options) (State, Change, *Growth) {
	from := 0
	if p.Drifted > 0 && len(p.Nights)-p.Drifted >= fewestNights {
		from = p.Drifted // enough to know what it came to
	}
	if state, c := Tonight(p.Nights[from:], now, o); state != Quiet {
		c.At += from
		return state, c, nil
	}
	if len(now) == 0 {
		return Quiet, Change{}, nil
	}
	c, g, ok := drifting(append(slices.Clone(p.Nights[p.Drifted:]), now[0]), o)
	if !ok || p.Drifted > 0 && !p.Over && (g.PerNight > 0) == p.Up && g.always {
		return Quiet, Change{}, nil
	}
	c.At, g.Earliest, g.Latest = c.At+p.Drifted, g.Earliest+p.Drifted, g.Latest+p.Drifted
	return Alarm, c, &g
}

// Tonight says what the readings of a night add to the history of a series: those of
// the nights since the last change, one a night, the newest last; and tonight's, the
// regular one first and then its repeats.
//
// It is for whoever looks every night at many series, and wants about one false alarm
// a year for all of them: three readings at least must agree, in this night or the
// two before (four, in a history of fewer than 46 nights), must lie where one in two hundred of the history did at most, and differ by 5
// standard errors (autocorrelation reckoned in, as in Levels). Suspect asks for a
// repeat, of which there are at most two. It assumes that repeats scatter as nights
// do; where the repeats of one night resemble each other more, what is odd about the
// night passes for a change.
func Tonight(history, now []float64, o Options) (State, Change) {
	past := history[max(0, len(history)-longestPast):]
	if len(now) == 0 || len(past) < fewestRecent {
		return Quiet, Change{}
	}
	ordinary := past
	if math.Pow(float64(len(past)+1), fewestAlarm)*chanceAlarm <= 1 {
		// Three readings of one night cannot be an alarm yet: it takes a second night,
		// and the first must not make that one ordinary.
		ordinary = past[:len(past)-nightsBack]
	}
	if !unusual(ordinary, now[len(now)-1]) {
		return Quiet, Change{}
	}
	state := Quiet
	for back := range nightsBack + 1 {
		base := past[:len(past)-back]
		group := append(append([]float64{}, past[len(past)-back:]...), now...)
		if len(base) < fewestRecent {
			break
		}
		z, chance := against(base, group, o.Floor.least(Median(base))/16)
		before, after := Median(base), Median(group)
		if math.Abs(after-before) < o.Floor.least(before) {
			continue
		}
		switch {
		case len(group) >= fewestAlarm && z > barAlarm && chance < chanceAlarm:
			if goesOn(base, group, back, o) {
				return Quiet, Change{}
			}
			return Alarm, Change{
				Kind: Shift, At: len(history) - back, Before: before, After: after,
				Confidence: min(1-max(chance, math.Erfc(z/math.Sqrt2)), mostSure),
				Reason:     o.what() + o.size(before, after) + ", " + position(base, group),
			}
		case len(now) <= MostRepeats && z > barSuspect && back < nightsBack:
			state = Suspect
		}
	}
	return state, Change{}
}

// goesOn reports whether the readings of a group are where a drift of the nights before
// leads by itself; the first so many of them are of a night each.
func goesOn(base, group []float64, back int, o Options) bool {
	d, ok := climb(base, o, toGoOn)
	if !ok {
		return false
	}
	line := func(night int) float64 { return d.slope * float64(max(night-d.from+1, 0)) }
	flat, now := make([]float64, len(base)), make([]float64, len(group))
	for i, v := range base {
		flat[i] = v - line(i)
	}
	for i, v := range group {
		now[i] = v - line(len(base)+min(i, back))
	}
	z, chance := against(flat, now, o.Floor.least(Median(base))/16)
	return z <= barAlarm || chance >= chanceAlarm
}

// unusual reports whether few of the past lie as far out as v.
func unusual(past []float64, v float64) bool {
	above, below := 0, 0
	for _, p := range past {
		if p >= v {
			above++
		}
		if p <= v {
			below++
		}
	}
	return float64(min(above, below)) <= chanceNight*float64(len(past))
}

// against is the score of a group of new readings against the nights before, and the
// probability that as many lie so far out by the history alone, if they are
// independent.
func against(base, group []float64, grain float64) (z, chance float64) {
	w := newWindow(base, grain)
	n, k := len(base), len(group)
	phi := w.correlation()
	mid, sorted := Median(base), sortedCopy(group)
	var mean float64
	for _, v := range w.x {
		mean += v / float64(n)
	}
	variance := w.rss(0, n)/float64(n-1) + w.grain*w.grain
	// Generalised least squares: of an autocorrelated series what counts is what a
	// reading adds to the one before (Cochrane and Orcutt 1949).
	last, now, weights := w.x[n-1]-mean, 0.0, 0.0
	for i, v := range group {
		weight := 1.0
		if i > 0 {
			weight = 1 - phi
		}
		r := v - mid - mean
		now += weight * (r - phi*last)
		weights += weight * weight
		last = r
	}
	known := inflation(n, phi) / float64(n) / (1 - phi*phi) * (1 - phi) * (1 - phi)
	df := float64(n-1) * (1 - phi*phi) / (1 + phi*phi)
	z = normalScore(math.Abs(now)/math.Sqrt(variance*(1-phi*phi)*weights*(1+weights*known)), df)

	up := median(sorted) > mid
	least := sorted[0]
	if !up {
		least = sorted[k-1]
	}
	beyond := 1
	for _, v := range base {
		if up && v >= least || !up && v <= least {
			beyond++
		}
	}
	return z, math.Pow(float64(beyond)/float64(n+1), float64(k))
}
