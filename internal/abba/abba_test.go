package abba

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// work is a server whose units take 1 s with noise, a drift, and a cost when on.
type work struct {
	on          bool
	cost, drift float64
	noise       float64
	random      *rand.Rand
	switches    int
}

func (w *work) turn(_ context.Context, on bool) error {
	w.on = on
	w.switches++
	return nil
}

func (w *work) do(_ context.Context, n int) (time.Duration, error) {
	s := (1 + w.drift*float64(n)) * math.Exp(w.noise*w.random.NormFloat64())
	if w.on {
		s *= 1 + w.cost
	}
	return time.Duration(s * float64(time.Second)), nil
}

// TestInterval counts how often the interval holds the true ratio: about 95 of 100,
// also when work becomes slower all the time and the run stops by itself.
func TestInterval(t *testing.T) {
	for _, c := range []struct{ cost, drift, noise float64 }{
		{0, 0, 0.02}, {0.03, 0, 0.02}, {0.01, 0.01, 0.01}, {0.2, -0.0005, 0.03},
	} {
		held, runs := 0, 100
		for i := range runs {
			w := &work{cost: c.cost, drift: c.drift, noise: c.noise, random: rand.New(rand.NewPCG(uint64(i), 7))}
			r, err := Run(context.Background(), Config{Switch: w.turn, Do: w.do, Warm: 2, Width: 0.02, MaxBlocks: 400})
			if err != nil {
				t.Fatal(err)
			}
			if r.Width() > 0.02 || len(r.Blocks) < 8 {
				t.Fatalf("%+v: stopped after %d blocks at a width of %v", c, len(r.Blocks), r.Width())
			}
			if r.Low <= 1+c.cost && 1+c.cost <= r.High {
				held++
			}
		}
		if share := float64(held) / float64(runs); share < 0.87 {
			t.Errorf("%+v: the interval held the truth in %.3f of the runs, want 0.95 or nearly so", c, share)
		}
	}
}

// TestDrift checks that a drift without noise is not taken for a cost.
func TestDrift(t *testing.T) {
	w := &work{drift: 0.05, random: rand.New(rand.NewPCG(1, 1))}
	r, err := Run(context.Background(), Config{Switch: w.turn, Do: w.do, Width: 0.02})
	if err != nil || math.Abs(r.Ratio-1) > 0.005 {
		t.Errorf("ratio %v, %v, want 1", r.Ratio, err)
	}
	// off on on off, on off off on: a switch only where it changes.
	if got, want := w.switches, 3*len(r.Blocks); got != want {
		t.Errorf("switched %d times in %d blocks, want %d", got, len(r.Blocks), want)
	}
}

func TestEnds(t *testing.T) {
	w := &work{noise: 1, random: rand.New(rand.NewPCG(1, 1))}
	if r, err := Run(context.Background(), Config{Switch: w.turn, Do: w.do, Width: 0.001, MaxBlocks: 3}); !errors.Is(err, ErrNotNarrow) || len(r.Blocks) != 3 {
		t.Errorf("got %d blocks, %v, want 3 and ErrNotNarrow", len(r.Blocks), err)
	}
	bad := errors.New("the server died")
	n := 0
	_, err := Run(context.Background(), Config{Switch: w.turn, Do: func(context.Context, int) (time.Duration, error) {
		if n++; n > 5 {
			return 0, bad
		}
		return time.Second, nil
	}, Width: 0.02})
	if !errors.Is(err, bad) || errors.Is(err, ErrNotNarrow) {
		t.Errorf("err = %v, want the work's own", err)
	}
	_, err = Run(context.Background(), Config{Switch: func(context.Context, bool) error { return bad }, Do: w.do, Width: 0.02})
	if !errors.Is(err, bad) {
		t.Errorf("err = %v, want the switch's own", err)
	}
}

// TestJudge is worked by hand: ratios 2 and 8 have the mean logarithm of 4.
func TestJudge(t *testing.T) {
	s := time.Second
	r := Judge([]Block{
		{On: [4]bool{false, true, true, false}, Times: [4]time.Duration{s, 2 * s, 2 * s, s}},
		{On: [4]bool{true, false, false, true}, Times: [4]time.Duration{8 * s, s, s, 8 * s}},
	}, 0.95)
	// Student's quantile of 0.975 with one degree of freedom is 12.7062.
	half := 12.7062 * math.Log(2)
	if math.Abs(r.Mean-4) > 1e-9 || math.Abs(math.Log(r.MeanHigh)-math.Log(4)-half) > 1e-3 || r.On != 5*s || r.Off != s {
		t.Errorf("got %+v, want 4, within e^%.4f, medians 5 s and 1 s", r, half)
	}
	if math.Abs(r.Ratio-4) > 1e-9 || !math.IsNaN(r.Low) {
		t.Errorf("got %+v, want 4 without an interval", r)
	}
}

// TestMiddle has the depression scores of Hollander and Wolfe, Table 3.1: estimate -0.46,
// interval of 96 % -0.786 to -0.010 (their Examples 3.3 and 3.4), as R's wilcox.test gives.
func TestMiddle(t *testing.T) {
	x := []float64{1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30}
	y := []float64{0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29}
	var z []float64
	for i := range x {
		z = append(z, y[i]-x[i])
	}
	at, low, high := middle(z, 0.95)
	if math.Abs(at+0.46) > 1e-9 || math.Abs(low+0.786) > 1e-9 || math.Abs(high+0.010) > 1e-9 {
		t.Errorf("got %v in %v to %v, want -0.46 in -0.786 to -0.010", at, low, high)
	}
	// Tables of the statistic: 0.025 below 1 with 6 numbers, below 9 with 10, below 53 with 20.
	for n, want := range map[int]int{5: 0, 6: 1, 10: 9, 20: 53} {
		if got := cut(n, 0.025); got != want {
			t.Errorf("%d numbers: cut %d, want %d", n, got, want)
		}
	}
	if exact, near := cut(60, 0.025), cut(61, 0.025); near <= exact || near > exact+30 {
		t.Errorf("exact %d with 60 numbers, %d with 61", exact, near)
	}
}

// TestHeldUp: one unit in five takes longer by up to half, whatever is switched. The
// interval must become narrow all the same, and hold the truth.
func TestHeldUp(t *testing.T) {
	held, runs, blocks := 0, 100, 0
	for i := range runs {
		w := &work{cost: 0.004, noise: 0.003, random: rand.New(rand.NewPCG(uint64(i), 9))}
		do := func(ctx context.Context, n int) (time.Duration, error) {
			d, err := w.do(ctx, n)
			if w.random.Float64() < 0.2 {
				d += time.Duration(w.random.Float64() * float64(d) / 2)
			}
			return d, err
		}
		r, err := Run(context.Background(), Config{Switch: w.turn, Do: do, Width: 0.02, MaxBlocks: 400})
		if err != nil {
			t.Fatal(err)
		}
		blocks += len(r.Blocks)
		if r.Low <= 1.004 && 1.004 <= r.High {
			held++
		}
	}
	if held < 87 || blocks > 120*runs {
		t.Errorf("the truth was held in %d of %d, in %d blocks each", held, runs, blocks/runs)
	}
}
