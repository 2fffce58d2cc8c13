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
	FalseAlarms     int
	FalseOf         map[string]int
	RepeatsOf       map[string]int
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
	options := regress.Options{Floor: regress.DefaultFloor(regress.MiB), Unit: regress.MiB}
	for i := range series {
		g := s.Kinds[i%len(s.Kinds)]
		r := rand.New(rand.NewPCG(s.Seed, uint64(i)))
		noise := stream(g, r)
		sd := deviation(g)
		change, step := -1, 0.0
		for c := range s.Changes {
			// Spread over series and kinds: a step that divides neither.
			if i == (c*(series/max(s.Changes, 1))+c)%series {
				change = s.History + c*s.Nights/s.Changes + 10
				step = s.Step * sd
				if c%2 == 1 {
					step = -step
				}
			}
		}
		value := func(night int) float64 {
			v := noise()
			if change >= 0 && night >= change {
				v += step
			}
			v = Level + SD*v
			if g.Quantised {
				v = math.Round(v/Grain) * Grain
			}
			return v
		}
		var history []float64
		found := 0
		for night := range s.History + s.Nights {
			now := []float64{value(night)}
			if night < s.History {
				history = append(history, now[0])
				continue
			}
			state, _ := regress.Tonight(history, now, options)
			for state == regress.Suspect {
				y.Repeats++
				y.RepeatsOf[g.Name]++
				now = append(now, value(night))
				state, _ = regress.Tonight(history, now, options)
			}
			history = append(history, now[0])
			if state == regress.Alarm {
				if change >= 0 && night >= change && found == 0 {
					found = night - change + 1
				} else {
					y.FalseAlarms++
					y.FalseOf[g.Name]++
				}
				history = now
			}
		}
		if change >= 0 {
			y.Found, y.Of = append(y.Found, found), append(y.Of, g.Name)
		}
	}
	return y
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
