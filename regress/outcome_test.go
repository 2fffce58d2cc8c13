package regress

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"memtrix"
)

// trials reads "20p 1o": so many trials that pass, run out of memory (o), are killed
// (k), end with an error (e), hang (h), were interrupted (i).
func trials(text string) []Point {
	names := map[string]memtrix.OutcomeKind{
		"p": memtrix.Pass, "o": memtrix.OOM, "k": memtrix.Killed, "e": memtrix.Error,
		"h": memtrix.Hang, "i": memtrix.Interrupted,
	}
	var all []Point
	for _, f := range strings.Fields(text) {
		var n int
		var k string
		fmt.Sscanf(f, "%d%s", &n, &k)
		for range n {
			all = append(all, Point{Outcome: names[k]})
		}
	}
	return all
}

func TestOutcomes(t *testing.T) {
	check := func(text string, want ...string) {
		t.Helper()
		var got []string
		for _, c := range Outcomes(trials(text)) {
			got = append(got, fmt.Sprintf("%d %s: %s", c.At, c.Kind, c.Reason))
			if c.Confidence < 0 || c.Confidence > 1 {
				t.Errorf("%s: confidence %v", text, c.Confidence)
			}
		}
		if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
			t.Errorf("%s:\n got %s\nwant %s", text, g, w)
		}
	}
	check("20p")
	check("4p 1o") // too few passes before
	check("5p 1o", "5 new-oom: out of memory in 1 of 1 after 5 passes")
	check("20p 3o", "20 new-oom: out of memory in 3 of 3 after 20 passes")
	check("20p 10o 10p",
		"20 new-oom: out of memory in 10 of 10 after 20 passes",
		"30 fixed-oom: 10 of 10 pass after 10 out of memory")
	check("6o 1p", "6 fixed-oom: 1 of 1 pass after 6 out of memory")
	check("20p 3o 4p", "20 new-oom: out of memory in 3 of 7 (95 % interval of the rate: 10 to 82 %), after 20 passes")
	check("20p 3o 5p",
		"20 new-oom: out of memory in 3 of 3 after 20 passes",
		"23 fixed-oom: 5 of 5 pass after 3 out of memory")
	// A lone one makes the cell flaky; the next lone one is no news.
	check("20p 1o 10p 1o 10p", "20 new-oom: out of memory in 2 of 22 (95 % interval of the rate: 1 to 29 %), after 20 passes")
	// What cannot say anything is not counted, and does not break a row.
	check("3p 2i 2p 1i 1o", "8 new-oom: out of memory in 1 of 1 after 5 passes")
	// An OOM is no other failure, and the other way round.
	check("10p 3o 3k",
		"10 new-oom: out of memory in 3 of 3 after 10 passes",
		"13 new-failure: killed in 3 of 3 after 10 passes")
	check("10p 5e 10p 5h",
		"10 new-failure: error in 5 of 5 after 10 passes",
		"25 new-failure: hang in 5 of 5 after 10 passes")
}

// TestFlaky: the rate of a flaky cell changes, up and down.
func TestFlaky(t *testing.T) {
	flaky := "9p 1o 9p 1o 9p 1o 9p 1o"
	for text, want := range map[string]Kind{
		flaky + " 2p 4o 1p 5o 1p 5o":          NewOOM,
		strings.Repeat(" 1p 1o", 15) + " 25p": FixedOOM,
	} {
		c := Outcomes(trials(text))
		if len(c) == 0 || c[len(c)-1].Kind != want || c[len(c)-1].Confidence < 0.95 {
			t.Errorf("%s: %+v, want %s at last", text, c, want)
		}
	}
}

// TestFlakyFalse counts changes of rate that are none.
func TestFlakyFalse(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, rate := range []float64{0.05, 0.2, 0.5} {
		wrong := 0
		for range 60 {
			var p []Point
			for range 200 {
				k := memtrix.Pass
				if r.Float64() < rate {
					k = memtrix.OOM
				}
				p = append(p, Point{Outcome: k})
			}
			seen := Outcomes(p)
			if len(seen) > 0 && (seen[0].Before == 0 || seen[0].Before == 1) {
				seen = seen[1:] // the first that differs after five that agree is news
			}
			if len(seen) > 0 {
				wrong++
			}
		}
		if wrong > 4 {
			t.Errorf("rate %.2f: %d of 60 flaky series of 200 trials show a change, want few", rate, wrong)
		}
	}
}

// TestRate: the interval of Clopper and Pearson, values from the definition's closed
// forms (0 and n of n) and from a table (5 of 20: 8.66 to 49.10 %).
func TestRate(t *testing.T) {
	check := func(k, n int, low, high float64) {
		t.Helper()
		l, h := Rate(k, n, 0.95)
		if math.Abs(l-low) > 5e-5 || math.Abs(h-high) > 5e-5 {
			t.Errorf("%d of %d: %.4f to %.4f, want %.4f to %.4f", k, n, l, h, low, high)
		}
	}
	check(0, 0, 0, 1)
	check(0, 10, 0, 1-math.Pow(0.025, 0.1))
	check(10, 10, math.Pow(0.025, 0.1), 1)
	check(5, 20, 0.0866, 0.4910)
}

// TestFisher: the lady tasting tea (Fisher 1935), 3 of 4 against 1 of 4: 34/70.
func TestFisher(t *testing.T) {
	if p, want := fisher(3, 4, 1, 4), 34.0/70; math.Abs(p-want) > 1e-9 {
		t.Errorf("p = %v, want %v", p, want)
	}
}
