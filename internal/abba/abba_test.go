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
	if math.Abs(r.Ratio-4) > 1e-9 || math.Abs(math.Log(r.High)-math.Log(4)-half) > 1e-3 || r.On != 5*s || r.Off != s {
		t.Errorf("got %+v, want 4, within e^%.4f, medians 5 s and 1 s", r, half)
	}
}
