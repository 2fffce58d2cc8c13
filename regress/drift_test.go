package regress

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// ramp is a level of so many nights and then a growth.
func ramp(level, grows int, rate, noise float64) []float64 {
	r := rand.New(rand.NewPCG(4, 2))
	y := make([]float64, level+grows)
	for i := range y {
		y[i] = 8192 + noise*r.NormFloat64() + rate*float64(max(i-level+1, 0))
	}
	return y
}

// nightly looks at the nights of a series after the first so many, and gives the changes that
// were told by their nights.
func nightly(y []float64, first int) map[int]Change {
	told := map[int]Change{}
	p := Past{Nights: y[:first:first]}
	for n := first; n < len(y); n++ {
		state, c, g := p.Tonight([]float64{y[n]}, inMiB)
		p.Nights = append(p.Nights, y[n])
		if state != Alarm {
			continue
		}
		told[n] = c
		if g != nil {
			p.Drifted, p.Up = len(p.Nights), g.PerNight > 0
		} else {
			p.Nights, p.Drifted = []float64{y[n]}, 0
		}
	}
	return told
}

func TestDriftIsTold(t *testing.T) {
	for name, c := range map[string]struct {
		y    []float64
		from int // the first night that may tell it, and the last; 0 for none
		to   int
		text string
	}{
		"3 MiB a night":          {ramp(60, 80, 3, 32), 81, 110, "peak VRAM grows by "},
		"down":                   {ramp(60, 80, -3, 32), 81, 110, "peak VRAM falls by "},
		"without noise":          {ramp(60, 80, 3, 0), 80, 80, "grows by 3 MiB a night, 95 % interval [2.9"},
		"below the floor":        {ramp(60, 80, 0.3, 4), 0, 0, ""},
		"three weeks at least":   {ramp(60, 19, 3, 0), 0, 0, ""},
		"one step":               {append(ramp(60, 0, 0, 8), ramp(0, 60, 0, 8)...), 0, 0, ""},
		"a level is none":        {ramp(150, 0, 0, 32), 0, 0, ""},
		"from the beginning on":  {ramp(0, 90, 3, 32), 40, 70, "grows by "},
		"five steps are no line": {stairs(5, 25, 60), 0, 0, ""},
	} {
		told := nightly(c.y, 40)
		drifts := 0
		for n, change := range told {
			if change.Kind != Drift {
				if name != "five steps are no line" {
					t.Errorf("%s: night %d: %+v", name, n, change)
				}
				continue
			}
			if drifts++; n < c.from || n > c.to || !strings.Contains(change.Reason, c.text) {
				t.Errorf("%s: night %d: %+v", name, n, change)
			}
		}
		if want := min(c.from, 1); drifts != want {
			t.Errorf("%s: told %d times, want %d", name, drifts, want)
		}
	}
}

func stairs(steps, each int, size float64) []float64 {
	r := rand.New(rand.NewPCG(1, 1))
	var y []float64
	for s := range steps + 1 {
		for range each {
			y = append(y, 8192+size*float64(s)+8*r.NormFloat64())
		}
	}
	return y
}

// What a drift is like, and when it began.
func TestGrowth(t *testing.T) {
	c, g, ok := drifting(ramp(60, 61, 3.1, 32), inMiB)
	if !ok || g.Low > 3.1 || g.High < 3.1 || g.Low < 2 || g.High > 4 || g.Earliest > 60 || g.Latest < 60 || g.Latest > 75 || g.Earliest < 45 {
		t.Errorf("%t %+v %+v", ok, c, g)
	}
	if c.After-c.Before < 150 || c.After-c.Before > 230 {
		t.Errorf("%+v", c)
	}
}

// The whole line says slope where a night says drift, also of one without noise.
func TestSlopeOfALine(t *testing.T) {
	for _, rate := range []float64{2.13, 4.27, 8.53, -4.27} {
		var points []Point
		for _, v := range ramp(60, 60, rate, 0) {
			points = append(points, Point{Outcome: "pass", Known: true, Value: v})
		}
		got := Levels(points, inMiB)
		if len(got) != 1 || got[0].Kind != Slope || got[0].At != 60 {
			t.Errorf("%g a point: %+v", rate, got)
		}
	}
}
