package regress

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"memtrix"
)

func passes(y ...float64) []Point {
	p := make([]Point, len(y))
	for i, v := range y {
		p[i] = Point{Outcome: memtrix.Pass, Value: v, Known: true}
	}
	return p
}

func repeat(v float64, n int) []float64 {
	y := make([]float64, n)
	for i := range y {
		y[i] = v
	}
	return y
}

var inMiB = Options{Floor: DefaultFloor(MiB), Unit: MiB, What: "peak VRAM"}

func TestReason(t *testing.T) {
	y := repeat(7000, 40)
	for i := range y {
		y[i] += float64(2 * (i % 5))
	}
	c := Levels(passes(append(y, 7416, 7414, 7418)...), inMiB)
	if len(c) != 1 || c[0].At != 40 || c[0].Kind != Shift {
		t.Fatalf("got %+v, want a shift at 40", c)
	}
	if want := "peak VRAM +412 MiB (+5.88 %), 3 of 3 above all 40 earlier"; c[0].Reason != want {
		t.Errorf("got %q, want %q", c[0].Reason, want)
	}
	for i := range y {
		y[i] *= 1 << 20
	}
	o := Options{Floor: DefaultFloor(Bytes), Unit: Bytes}
	c = Levels(passes(append(y, 6000<<20, 6002<<20)...), o)
	if len(c) != 1 || c[0].Reason != "-1003 MiB (-14.3 %), 2 of 2 below all 40 earlier" {
		t.Errorf("bytes: got %+v", c)
	}
}

// TestFloor: nothing below it is a change, however plain it is.
func TestFloor(t *testing.T) {
	for step, want := range map[float64]int{2: 0, 30: 0, 34: 1, -34: 1} {
		y := append(repeat(8000, 40), repeat(8000+step, 20)...)
		if c := Levels(passes(y...), inMiB); len(c) != want {
			t.Errorf("a step of %v MiB on a constant: %+v, want %d changes", step, c, want)
		}
	}
	// One percent of a small meter is less than 32 MiB, and matters.
	if c := Levels(passes(append(repeat(500, 40), repeat(506, 5)...)...), inMiB); len(c) != 1 {
		t.Errorf("6 of 500 MiB: %+v, want a change", c)
	}
}

// TestOutliers: one point is never a change, nor a few that go back.
func TestOutliers(t *testing.T) {
	for _, n := range []int{1, 2, 3, 4} {
		y := repeat(8000, 60)
		for i := range n {
			y[30+i] = 12000
		}
		if c := Levels(passes(y...), inMiB); len(c) != 0 {
			t.Errorf("%d outliers: %+v", n, c)
		}
	}
	if c := Levels(passes(append(repeat(8000, 40), 12000)...), inMiB); len(c) != 0 {
		t.Errorf("one new point: %+v", c)
	}
	// What lasts and then goes back are two changes.
	y := append(append(repeat(8000, 40), repeat(8400, 8)...), repeat(8000, 40)...)
	if c := Levels(passes(y...), inMiB); len(c) != 2 || c[0].At != 40 || c[1].At != 48 {
		t.Errorf("eight points up: %+v, want 40 and 48", c)
	}
}

// TestGaps: points without a value are no part of a level, and an index counts them.
func TestGaps(t *testing.T) {
	p := passes(repeat(8000, 30)...)
	p = append(p, trials("3o 2i")...)
	p = append(p, passes(repeat(8500, 4)...)...)
	p[5] = Point{Outcome: memtrix.Pass}
	c := Changes(p, inMiB)
	var got []string
	for _, x := range c {
		got = append(got, string(x.Kind))
	}
	if strings.Join(got, " ") != "new-oom shift" || c[0].At != 30 || c[1].At != 35 {
		t.Errorf("got %+v, want new-oom at 30 and a shift at 35", c)
	}
}

func TestSlope(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	var y []float64
	for i := range 120 {
		y = append(y, 8192+20*r.NormFloat64()+4*float64(max(0, i-40)))
	}
	c := Levels(passes(y...), inMiB)
	if len(c) != 1 || c[0].Kind != Slope || c[0].At < 33 || c[0].At > 47 {
		t.Fatalf("got %+v, want a slope from about 40 on", c)
	}
	if math.Abs(c[0].After-c[0].Before-320) > 30 || !strings.Contains(c[0].Reason, "a point") {
		t.Errorf("got %+v, want about +320 MiB", c[0])
	}
	// A step is none.
	for i := range y {
		y[i] = 8192 + 20*r.NormFloat64()
		if i >= 60 {
			y[i] += 200
		}
	}
	if c := Levels(passes(y...), inMiB); len(c) != 1 || c[0].Kind != Shift || c[0].At != 60 {
		t.Errorf("a step: %+v, want a shift at 60", c)
	}
}

// TestOdd: nothing that can be in a file makes it fail.
func TestOdd(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	odd := []float64{0, -1, 1e300, -1e300, 5e-324, math.NaN(), math.Inf(1), 8000, 8000.5}
	for range 100 {
		var y []float64
		for range r.IntN(60) {
			v := odd[r.IntN(len(odd))]
			for range 1 + r.IntN(12) {
				y = append(y, v)
			}
		}
		for _, o := range []Options{inMiB, {}} {
			last := -1
			for _, c := range Changes(passes(y...), o) {
				if c.At < last || c.At >= len(y) || c.Confidence < 0 || c.Confidence > 1 || math.IsNaN(c.Confidence) {
					t.Fatalf("%v: %+v", y, c)
				}
				last = c.At
			}
			Tonight(y[:len(y)/2], y[len(y)/2:min(len(y), len(y)/2+3)], o)
		}
	}
}

func TestTonight(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	var y []float64
	for range 60 {
		y = append(y, 8192+64*r.NormFloat64())
	}
	check := func(name string, history, now []float64, want State) {
		t.Helper()
		if got, c := Tonight(history, now, inMiB); got != want {
			t.Errorf("%s: %s %+v, want %s", name, got, c, want)
		}
	}
	check("as ever", y, []float64{8192}, Quiet)
	check("odd", y, []float64{8600}, Suspect)
	check("and back", y, []float64{8600, 8200}, Quiet)
	check("again", y, []float64{8600, 8560}, Suspect)
	check("three", y, []float64{8600, 8560, 8610}, Alarm)
	check("the second night, no repeats", append(y, 8600), []float64{8580, 8620}, Alarm)
	check("too short", y[:10], []float64{9600, 9600, 9600}, Quiet)
	check("below the floor", repeat(8192, 60), []float64{8210, 8210, 8210}, Quiet)
	check("nothing", y, nil, Quiet)
	_, c := Tonight(append(y, 8600), []float64{8580, 8620}, inMiB)
	if c.At != 60 || !strings.Contains(c.Reason, "3 of 3 above all 60 earlier") {
		t.Errorf("got %+v, want 60", c)
	}
}
