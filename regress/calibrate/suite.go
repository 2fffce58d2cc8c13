package calibrate

import (
	"math"
	"math/rand/v2"

	"memtrix/regress"
)

// Suite is a year of nights: cells times meters series, each of one of the kinds of
// noise in turn, looked at every night, with repeats where they are asked for.
type Suite struct {
	Cells, Meters, Nights int
	// History are the nights that were measured before the year begins.
	History int
	// Changes is how many real changes there are in the year, at even distances, each
	// of another series; Step is their size in standard deviations of that series.
	Changes int
	Step    float64
	Seed    uint64
	Kinds   []Generator
}

// Year is what a suite came to.
type Year struct {
	Trials, Repeats int
	// FalseAlarms are all of them, FalseDrifts those that told of a drift.
	FalseAlarms, FalseDrifts int
	FalseOf                  map[string]int
	RepeatsOf                map[string]int
	// Found says for each change after how many nights it was found: 1 in the night in
	// which it came, 0 never.
	Found []int
	// Of is the kind of noise of each of them.
	Of []string
}

// Run simulates it. A repeat of a night is the next value of the series' noise: where
// noise is autocorrelated, so are repeats.
func (s Suite) Run() Year {
	y := Year{Trials: s.Cells * s.Nights, FalseOf: map[string]int{}, RepeatsOf: map[string]int{}}
	series := s.Cells * s.Meters
	var sds []float64
	for _, g := range s.Kinds {
		sds = append(sds, deviation(g))
	}
	for i := range series {
		g := s.Kinds[i%len(s.Kinds)]
		r := rand.New(rand.NewPCG(s.Seed, uint64(i)))
		change, step := -1, 0.0
		for c := range s.Changes {
			// Spread over series and kinds: a step that divides neither.
			if i == (c*(series/max(s.Changes, 1))+c)%series {
				change = s.History + c*s.Nights/s.Changes + 10
				step = s.Step
				if c%2 == 1 {
					step = -step
				}
			}
		}
		n := newNights(g, r, s.History, sds[i%len(s.Kinds)], func(night int) float64 {
			if change >= 0 && night >= change {
				return step
			}
			return 0
		})
		found := 0
		for night := s.History; night < s.History+s.Nights; night++ {
			state, drift := n.next()
			if state != regress.Alarm {
				continue
			}
			if change >= 0 && night >= change && found == 0 && !drift {
				found = night - change + 1
				continue
			}
			y.FalseAlarms++
			y.FalseOf[g.Name]++
			if drift {
				y.FalseDrifts++
			}
		}
		y.Repeats += n.repeats
		y.RepeatsOf[g.Name] += n.repeats
		if change >= 0 {
			y.Found, y.Of = append(y.Found, found), append(y.Of, g.Name)
		}
	}
	return y
}

// nights is one series that is looked at every night.
type nights struct {
	value   func(night int) float64
	past    regress.Past
	night   int
	repeats int
}

// newNights begins a series with nights that were measured before anybody looked. moved says
// by how many deviations (sd, of the whole noise) a night is off.
func newNights(g Generator, r *rand.Rand, history int, sd float64, moved func(night int) float64) *nights {
	noise := stream(g, r)
	n := &nights{value: func(night int) float64 {
		v := Level + SD*(noise()+sd*moved(night))
		if g.Quantised {
			v = math.Round(v/Grain) * Grain
		}
		return v
	}}
	for ; n.night < history; n.night++ {
		n.past.Nights = append(n.past.Nights, n.value(n.night))
	}
	return n
}

// next is a night with the repeats that it asks for; drift says what kind of alarm it is.
func (n *nights) next() (state regress.State, drift bool) {
	options := regress.Options{Floor: regress.DefaultFloor(regress.MiB), Unit: regress.MiB}
	now := []float64{n.value(n.night)}
	state, _, growth := n.past.Tonight(now, options)
	for state == regress.Suspect {
		n.repeats++
		now = append(now, n.value(n.night))
		state, _, growth = n.past.Tonight(now, options)
	}
	n.night++
	n.past.Nights = append(n.past.Nights, now[0])
	switch {
	case state != regress.Alarm:
		return state, false
	case growth == nil:
		n.past = regress.Past{Nights: now}
		return state, false
	}
	n.past.Drifted, n.past.Up = len(n.past.Nights), growth.PerNight > 0
	return state, true
}

// stream draws from a generator without end.
func stream(g Generator, r *rand.Rand) func() float64 {
	all := g.Noise(r, 4096)
	i := 0
	return func() float64 {
		v := all[i%len(all)]
		i++
		return v
	}
}

// deviation is the standard deviation of a generator's noise, spikes and modes
// included; 1 where it has none.
func deviation(g Generator) float64 {
	y := g.Noise(rand.New(rand.NewPCG(1, 1)), 100000)
	var sum, sum2 float64
	for _, v := range y {
		sum += v
		sum2 += v * v
	}
	n := float64(len(y))
	if v := sum2/n - sum*sum/n/n; v > 1e-12 {
		return math.Sqrt(v)
	}
	return 1
}
