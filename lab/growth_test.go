package lab

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

const mib = 1 << 20

// scene generates readings at rest.
type scene struct {
	name             string
	prompts          int
	leak             float64 // MiB a prompt
	noise            float64 // MiB, around the level
	wander           float64 // MiB a prompt, standard deviation
	quantum          float64 // MiB
	startUp, decay   float64 // MiB, prompts
	steps, stepUp    float64 // a prompt, MiB
	stairs, stairsUp int
	outliers         float64 // a prompt, of 30 MiB
	least            int     // prompts that it takes to be found
}

func (s scene) readings(r *rand.Rand) []int64 {
	y := make([]int64, s.prompts)
	level := 900.0
	for i := range y {
		level += s.leak + s.wander*r.NormFloat64()
		if r.Float64() < s.steps {
			level += s.stepUp
		}
		if s.stairs > 0 && i%s.stairs == s.stairs-1 {
			level += float64(s.stairsUp)
		}
		v := level + s.noise*r.NormFloat64()
		if s.decay > 0 {
			v += s.startUp * (1 - math.Exp(-float64(i+1)/s.decay))
		}
		if r.Float64() < s.outliers {
			v += 30
		}
		if s.quantum > 0 {
			v = math.Floor(v/s.quantum) * s.quantum
		}
		y[i] = int64(v*mib) &^ 4095
	}
	return y
}

// series is how many series of each scene are judged.
const series = 2000

// raceDetector is set where it slows arithmetic down, of which it has nothing to say.
var raceDetector = false

// found is how many series are called a leak.
func (s scene) found(t testing.TB, seed uint64) int {
	r := rand.New(rand.NewPCG(seed, 7))
	n := 0
	for range series {
		g, err := Judge(s.readings(r))
		if err != nil {
			t.Fatal(err)
		}
		if g.Kind == Grows {
			n++
		}
	}
	return n
}

// clean scenes do not leak. Each is run with 10, 20 and 30 prompts.
var clean = []scene{
	{name: "noise 0.1 MiB", noise: 0.1},
	{name: "noise 1 MiB", noise: 1},
	{name: "noise 5 MiB", noise: 5},
	{name: "noise 20 MiB", noise: 20},
	{name: "noise 1 MiB in pages of 2 MiB", noise: 1, quantum: 2},
	{name: "wanders 0.2 MiB a prompt", wander: 0.2, noise: 0.1},
	{name: "wanders 1 MiB a prompt", wander: 1},
	{name: "wanders 2 MiB a prompt", wander: 2, noise: 1},
	{name: "start-up 300 MiB over 1 prompt", startUp: 300, decay: 1, noise: 0.5},
	{name: "start-up 300 MiB over 2 prompts", startUp: 300, decay: 2, noise: 0.5},
	{name: "start-up 300 MiB over 3 prompts in pages of 2 MiB", startUp: 300, decay: 3, noise: 0.5, quantum: 2},
	{name: "start-up 300 MiB over 5 prompts", startUp: 300, decay: 5},
	{name: "start-up 50 MiB over 5 prompts, noise 1 MiB", startUp: 50, decay: 5, noise: 1},
	{name: "steps of 20 MiB, one in 20 prompts", steps: 0.05, stepUp: 20, noise: 0.2},
	{name: "steps of 64 MiB, one in 10 prompts", steps: 0.1, stepUp: 64, noise: 0.2},
	{name: "stairs of 20 MiB every 5 prompts", stairs: 5, stairsUp: 20},
	{name: "outliers of 30 MiB, one in 10", outliers: 0.1, noise: 0.3},
}

// leaking scenes leak 5 MiB a prompt with the noise of real servers: their resident
// anonymous memory at rest scatters by less than 1 MiB.
var leaking = []scene{
	{name: "no noise", leak: 5},
	{name: "noise 0.5 MiB", leak: 5, noise: 0.5},
	{name: "noise 1 MiB", leak: 5, noise: 1},
	{name: "noise 0.5 MiB in pages of 2 MiB", leak: 5, noise: 0.5, quantum: 2},
	{name: "wanders 0.5 MiB a prompt", leak: 5, wander: 0.5, noise: 0.3},
	{name: "after a start-up of 100 MiB over 1 prompt", leak: 5, startUp: 100, decay: 1, noise: 0.5},
	{name: "after a start-up of 300 MiB over 1 prompt", leak: 5, startUp: 300, decay: 1, noise: 0.5},
	{name: "with steps of 20 MiB, one in 20 prompts", leak: 5, steps: 0.05, stepUp: 20, noise: 0.3},
	{name: "outliers of 30 MiB, one in 50", leak: 5, outliers: 0.02, noise: 0.3, least: 20},
}

// What is not a leak is called one in 1 of 100 series at most.
func TestCleanSeriesAreNotAccused(t *testing.T) {
	if raceDetector {
		t.Skip("arithmetic in one goroutine")
	}
	t.Parallel()
	for _, s := range clean {
		for _, n := range []int{10, 20, 30} {
			s.prompts = n
			if s.decay > float64(n)/4 {
				continue // growth that such a run does not see the end of
			}
			if got := s.found(t, 1); got > series/100 {
				t.Errorf("%s, %d prompts: %d of %d accused, want at most 1 %%", s.name, n, got, series)
			}
		}
	}
}

// A leak of 5 MiB a prompt is found in 99 of 100 series.
func TestLeaksAreFound(t *testing.T) {
	if raceDetector {
		t.Skip("arithmetic in one goroutine")
	}
	t.Parallel()
	for _, s := range leaking {
		for _, n := range []int{15, 20, 30} {
			s.prompts = n
			if n < s.least {
				continue
			}
			if got := s.found(t, 2); got < series*99/100 {
				t.Errorf("%s, %d prompts: %d of %d found, want 99 %%", s.name, n, got, series)
			}
		}
	}
}

// BenchmarkJudge tells how often Judge errs, in percent, beside its time.
func BenchmarkJudge(b *testing.B) {
	for _, all := range [][]scene{clean, leaking} {
		for _, s := range all {
			for _, n := range []int{10, 15, 20, 30} {
				s.prompts = n
				b.Run(fmt.Sprintf("leak=%.0fMiB/%s/prompts=%d", s.leak, s.name, n), func(b *testing.B) {
					found := 0
					for i := range b.N {
						found = s.found(b, uint64(i))
					}
					b.ReportMetric(float64(found)*100/series, "%leaks")
				})
			}
		}
	}
}

// The kinds, on series without chance.
func TestKinds(t *testing.T) {
	series := func(f func(i int) float64) []int64 {
		y := make([]int64, 20)
		for i := range y {
			y[i] = int64((900 + f(i)) * mib)
		}
		return y
	}
	step := func(at ...int) func(int) float64 {
		return func(i int) (v float64) {
			for _, a := range at {
				if i >= a {
					v += 20
				}
			}
			return v
		}
	}
	check := func(name string, want GrowthKind, f func(i int) float64) Growth {
		t.Helper()
		g, err := Judge(series(f))
		if err != nil || g.Kind != want {
			t.Errorf("%s: %v %v, want %s", name, g, err, want)
		}
		return g
	}
	check("flat", Still, func(int) float64 { return 0 })
	g := check("leak", Grows, func(i int) float64 { return 5 * float64(i) })
	if g.Slope != 5*mib || g.Low != 5*mib || g.High != 5*mib || g.From != 5 {
		t.Errorf("leak: %+v", g)
	}
	check("start-up", Still, func(i int) float64 { return 300 * (1 - math.Exp(-float64(i))) })
	check("little", GrowsLittle, func(i int) float64 { return 0.05 * float64(i) })
	g = check("step", Stepped, step(11))
	if len(g.Steps) != 1 || g.Steps[0] != 12 || g.Height != 20*mib {
		t.Errorf("step: %+v", g)
	}
	check("stairs", Stairs, step(6, 11, 16))
	check("slowing", Slowing, func(i int) float64 { return 300 * (1 - math.Exp(-float64(i)/5)) })
	check("shrinks", Shrinks, func(i int) float64 { return -5 * float64(i) })
	check("in every other prompt", Grows, func(i int) float64 { return float64(i / 2 * 10) })
	if _, err := Judge(make([]int64, FewestPrompts-1)); err == nil {
		t.Error("too few readings are judged")
	}
}

// Worked by hand.
func TestTheilSen(t *testing.T) {
	s := theilSen([]float64{0, 1, 2, 30, 4, 5, 6, 7, 8, 9})
	if s.mid != 1 || s.low > 1 || s.high < 1 {
		t.Errorf("one outlier: %v", s)
	}
	if p := upByChance([]float64{1, 1, 0, 1, 1, 1, 1, 1}); p != 1.0/128 {
		t.Errorf("seven of seven up: %v", p)
	}
	if p := upByChance([]float64{1, -1, 1, -1}); p != 11.0/16 {
		t.Errorf("two of four up: %v", p)
	}
	if got := upByChance(nil); got != 1 {
		t.Errorf("no steps: %v", got)
	}
}
