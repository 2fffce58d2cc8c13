package regress

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestCompare(t *testing.T) {
	o := Options{Floor: DefaultFloor(MiB), Unit: MiB, What: "peak VRAM"}
	check := func(name string, a, b Side, want Verdict, more bool, reason string) {
		t.Helper()
		c := Compare(a, b, o)
		if c.Verdict != want || (c.More != 0) != more || !strings.Contains(c.Reason, reason) {
			t.Errorf("%s: got %s, %d more, %q (p %.3f), want %s, more %v, %q", name, c.Verdict, c.More, c.Reason, c.P, want, more, reason)
		}
	}
	values := func(v ...float64) Side { return Side{Name: "A", Values: v, Trials: len(v)} }
	old := values(7000, 7002, 7004, 7006, 7008, 7010)
	check("clear", old, values(7412, 7414, 7416, 7418, 7420, 7422), Differs, false, "peak VRAM +412 MiB (+5.88 %), 6 of 6 above all 6 earlier")
	check("same", old, values(7001, 7003, 7005, 7007, 7009, 7011), Same, false, "would have been seen")
	check("small", old, values(7020, 7022, 7024, 7026, 7028, 7030), TooSmall, false, "less than what matters")
	check("three repeats", values(7000, 7002, 7004), values(7412, 7414, 7416), Unclear, true, "about 1 more repeats")
	check("wide", values(7000, 7400, 6600, 7200), values(7100, 7500, 6700, 7300), Unclear, true, "more repeats")
	check("constant", values(7000, 7000, 7000, 7000), values(7000, 7000, 7000, 7000), Same, false, "")

	oom := Side{Name: "B", Trials: 6, Failed: 6}
	check("all out of memory", old, oom, Differs, false, "6 of 6 failed, 0 of 6 before")
	check("one each", Side{Trials: 1}, Side{Trials: 1, Failed: 1}, Unclear, true, "1 of 1 failed")
	check("nothing", Side{}, Side{}, Unclear, true, "")

	// A side that failed has no values; those of the other stay what they are.
	for _, c := range []Comparison{Compare(old, oom, o), Compare(Side{Values: []float64{1, 3}}, Side{}, o)} {
		if c.A.Median == 0 || c.A.Confidence == 0 || c.B != (Interval{}) {
			t.Errorf("one side: %+v against %+v", c.A, c.B)
		}
	}
	if c := Compare(oom, old, o); c.B.Median != 7005 || c.A != (Interval{}) {
		t.Errorf("one side: %+v against %+v", c.A, c.B)
	}

	a := values(1, 2)
	a.Conditions = map[string]string{"card": "H200", "driver": "570"}
	b := values(1, 2)
	b.Conditions = map[string]string{"card": "H200", "driver": "580", "probe": "on"}
	if got, want := strings.Join(Compare(a, b, o).Unlike, "; "), "driver: 570 against 580; probe: nothing against on"; got != want {
		t.Errorf("unlike: got %q, want %q", got, want)
	}
}

// TestCompareWarnings holds the numbers of golang.org/x/perf/benchmath's own tests
// (assumption_test.go): 6 values for an interval of 95 %, 4 a side for 5 %.
func TestCompareWarnings(t *testing.T) {
	for n, want := range map[int][2]bool{3: {true, true}, 4: {true, false}, 5: {true, false}, 6: {false, false}} {
		var v []float64
		for i := range n {
			v = append(v, float64(7000+i))
		}
		all := strings.Join(Compare(Side{Values: v}, Side{Values: v}, Options{}).Warnings, "\n")
		got := [2]bool{strings.Contains(all, "need >= 6 samples"), strings.Contains(all, "need >= 4 samples")}
		if got != want {
			t.Errorf("n = %d: warned %v, want %v: %s", n, got, want, all)
		}
	}
}

// TestRepeats runs as many repeats as were said to be needed, and counts how often
// they tell.
func TestRepeats(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, d := range []float64{1, 1.5, 2} {
		n, told := repeats(d, 1), 0
		for range 400 {
			var a, b []float64
			for range n {
				a, b = append(a, 7000+r.NormFloat64()), append(b, 7000+d+r.NormFloat64())
			}
			if Compare(Side{Values: a}, Side{Values: b}, Options{}).P < alpha {
				told++
			}
		}
		if share := float64(told) / 400; share < 0.70 || share > 0.95 {
			t.Errorf("%s repeats told a difference of %.1f deviations in %.2f of the runs, want 0.8 or nearly so", fmt.Sprint(n), d, share)
		}
	}
}
