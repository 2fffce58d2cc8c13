package bisect

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// drive runs a search on a program without chance.
func drive(t *testing.T, cfg Config, run func(i int) Run) Result {
	t.Helper()
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for {
		i, ok := s.Next(nil)
		if !ok {
			return s.Result()
		}
		r := run(i)
		r.Index = i
		if err := s.Add(r); err != nil {
			t.Fatal(err)
		}
	}
}

// Every place is found, the ends included, and few candidates are no special case.
func TestDeterministic(t *testing.T) {
	for _, n := range []int{2, 3, 17} {
		for first := 1; first < n; first++ {
			got := drive(t, Config{N: n, Metric: Pass, Deterministic: true}, func(i int) Run { return Run{Bad: i >= first} })
			if got.Verdict != Found || got.FirstBad != first || got.From != first || got.To != first || got.Sure != 1 {
				t.Errorf("%d candidates, first bad %d: %+v", n, first, got)
			}
			if most := 2 + int(math.Ceil(math.Log2(float64(n-1)))); got.Runs > most {
				t.Errorf("%d candidates, first bad %d: %d runs, more than %d", n, first, got.Runs, most)
			}
		}
	}
}

func TestEnds(t *testing.T) {
	check := func(what string, cfg Config, want Verdict, most int, words string, run func(i int) Run) {
		t.Helper()
		cfg.N = 9
		got := drive(t, cfg, run)
		if got.Verdict != want || got.Runs > most || !strings.Contains(got.Why, words) {
			t.Errorf("%s: %s after %d runs (%s), want %s after %d at most (%s)", what, got.Verdict, got.Runs, got.Why, want, most, words)
		}
	}
	outcome := Config{Metric: Pass}
	check("all pass", outcome, Same, 12, "could hide", func(int) Run { return Run{} })
	check("all fail", outcome, Same, 12, "do not differ", func(int) Run { return Run{Bad: true} })
	check("wrong way round", outcome, Reversed, 10, "wrong way round", func(i int) Run { return Run{Bad: i < 4} })
	check("untestable end", outcome, Untestable, 1, "", func(i int) Run { return Run{Untestable: i == 0} })
	check("told so, and both pass", Config{Metric: Pass, Deterministic: true}, Same, 2, "both pass", func(int) Run { return Run{} })
	check("one value", Config{Metric: Value}, Same, 6, "do not differ", func(int) Run { return Run{Value: 7} })
	check("one value, told so", Config{Metric: Value, Deterministic: true}, Same, 2, "7 at good, 7 at bad", func(int) Run { return Run{Value: 7} })
}

// What cannot be tested makes the interval longer, by no more than must be.
func TestUntestable(t *testing.T) {
	got := drive(t, Config{N: 40, Metric: Pass, Deterministic: true}, func(i int) Run {
		return Run{Bad: i >= 20, Untestable: i >= 18 && i <= 22}
	})
	if got.Verdict != Found || got.From != 18 || got.To != 23 {
		t.Errorf("%+v, want 18 to 23", got)
	}
}

// Several changes are said, and the one asked for is found.
func TestSeveral(t *testing.T) {
	levels := func(i int) Run {
		switch {
		case i >= 70:
			return Run{Value: 400}
		case i >= 30:
			return Run{Value: 200}
		}
		return Run{Value: 100}
	}
	for _, deterministic := range []bool{true, false} {
		for find, want := range map[Find]int{Largest: 70, First: 30, Last: 70} {
			got := drive(t, Config{N: 100, Metric: Value, Deterministic: deterministic, Find: find}, levels)
			if got.FirstBad != want || len(got.Several) != 1 {
				t.Errorf("values, deterministic %v, %s: %d, others %v, want %d and one other", deterministic, find, got.FirstBad, got.Several, want)
			}
		}
	}
}

// A cheap candidate is taken where it tells as much.
func TestCost(t *testing.T) {
	cfg := Config{N: 101, Metric: Pass, Deterministic: true, Cost: func(i int) float64 {
		if i == 47 {
			return 1
		}
		return 10
	}}
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	s.Add(Run{Index: 0})
	s.Add(Run{Index: 100, Bad: true})
	if i, _ := s.Next(nil); i != 47 {
		t.Errorf("candidate %d, want the cheap one, 47", i)
	}
}

// Runs at once cut the range in equal parts.
func TestAtOnce(t *testing.T) {
	s, err := New(Config{N: 301, Metric: Pass, Deterministic: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Add(Run{Index: 0})
	s.Add(Run{Index: 300, Bad: true})
	var pending []int
	for range 3 {
		i, ok := s.Next(pending)
		if !ok {
			t.Fatal("nothing to run")
		}
		for _, p := range pending {
			if d := i - p; d > -50 && d < 50 {
				t.Errorf("%d beside %v tells little", i, pending)
			}
		}
		pending = append(pending, i)
	}
}

func TestConfig(t *testing.T) {
	for _, c := range []Config{
		{N: 1, Metric: Pass}, {N: 5}, {N: 5, Metric: Pass, Sure: 1}, {N: 5, Metric: Pass, Rates: &Rates{0.5, 0.5}},
		{N: 5, Metric: Value, Levels: &Levels{1, 2, 0}}, {N: 3, Metric: Pass, Prior: []float64{1, 0, 0}}, {N: 3, Metric: Pass, Prior: []float64{1, 1, math.NaN()}},
	} {
		if _, err := New(c); err == nil {
			t.Errorf("%+v is taken", c)
		}
	}
	s, _ := New(Config{N: 5, Metric: Value})
	for _, r := range []Run{{Index: 5}, {Index: -1}, {Value: math.NaN()}, {Value: math.Inf(1)}} {
		if s.Add(r) == nil {
			t.Errorf("%+v is taken", r)
		}
	}
}

// BenchmarkNext is the choice of the next candidate of 5,000 after 30 runs.
func BenchmarkNext(b *testing.B) {
	for _, metric := range []Metric{Pass, Value} {
		b.Run(string(metric), func(b *testing.B) {
			s, err := New(Config{N: 5000, Metric: metric})
			if err != nil {
				b.Fatal(err)
			}
			for n := range 30 {
				i := n % 2 * 4999
				if n > 8 {
					i, _ = s.Next(nil)
				}
				bad := i >= 1777
				r := Run{Index: i, Bad: bad && n%9 != 0, Value: float64(n * n % 7)}
				if bad {
					r.Value += 20
				}
				s.verdict = Open
				if err := s.Add(r); err != nil {
					b.Fatal(err)
				}
			}
			for b.Loop() {
				s.verdict = Open
				s.update()
				s.Next(nil)
			}
		})
	}
}

// Several at once cut the list into parts; the ends come first, one of each.
func TestProposals(t *testing.T) {
	s, err := New(Config{N: 129, Metric: Pass, Deterministic: true})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Proposals(4, nil); len(got) != 2 || got[0] == got[1] {
		t.Errorf("the ends: got %v", got)
	}
	for _, r := range []Run{{Index: 0}, {Index: 128, Bad: true}} {
		if err := s.Add(r); err != nil {
			t.Fatal(err)
		}
	}
	got := s.Proposals(3, nil)
	slices.Sort(got)
	if len(got) != 3 || got[0] < 25 || got[0] > 40 || got[1] != 64 || got[2] < 89 || got[2] > 104 {
		t.Errorf("three at once: got %v, want about 32, 64 and 96", got)
	}
	if more := s.Proposals(1, got); len(more) != 1 || slices.Contains(got, more[0]) {
		t.Errorf("one more: got %v beside %v", more, got)
	}
}
