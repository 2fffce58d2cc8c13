package calibrate

import (
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
)

// many is how many series or years are asked for in the environment; the tests make do
// with few.
func many(t *testing.T, name string, few int) (n int, long bool) {
	text := os.Getenv(name)
	if text == "" {
		return few, false
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s=%s is no number of 1 or more", name, text)
	}
	return n, true
}

// TestBars holds the bars. The long form, with all detectors and all kinds, is
// make calibrate.
func TestBars(t *testing.T) {
	t.Parallel()
	series, long := many(t, "MEMTRIX_CALIBRATE", 150)
	kinds := Generators()
	detectors := Detectors()[:1]
	if long {
		kinds, detectors = append(kinds, Others()...), Detectors()
	}
	// Of few series a share is uncertain: three standard errors.
	slack := 0.0
	if !long {
		slack = 0.01
	}
	var rows []Row
	for i, g := range kinds {
		for _, d := range detectors {
			row := Measure(d, g, series, 7)
			rows = append(rows, row)
			if d.Name != "memtrix" || i >= len(Generators()) {
				continue
			}
			if worst := max(row.False90, row.False200); worst > 0.01+slack {
				t.Errorf("%s: a change in %.2f %% of the series without one, want at most 1 %%", g.Name, 100*worst)
			}
			if !strings.HasPrefix(g.Name, "gauss") {
				continue
			}
			for name, v := range map[string][2]float64{
				"5 sd within 2":  {row.Five, 0.95},
				"3 sd within 5":  {row.Three, 0.95},
				"2 sd within 10": {row.Two, 0.80},
				"exact":          {row.ExactLater, 0.90},
				"exact at once":  {row.ExactNew, 0.90},
			} {
				if v[0] < v[1]-slack {
					t.Errorf("%s: %s: %.1f %%, want %.0f %%", g.Name, name, 100*v[0], 100*v[1])
				}
			}
		}
	}
	if long || testing.Verbose() {
		var b strings.Builder
		if err := Table(&b, rows); err != nil {
			t.Fatal(err)
		}
		t.Logf("%d series each, percent of series\n%s", series, b.String())
	}
}

// TestRivals: the table means something only if the rivals find what is plain.
func TestRivals(t *testing.T) {
	y := make([]float64, 60)
	r := rand.New(rand.NewPCG(3, 3))
	for i := range y {
		y[i] = 1000 + r.NormFloat64()
		if i >= 40 {
			y[i] += 100
		}
	}
	for _, d := range Detectors() {
		if at := d.Find(y); len(at) == 0 || at[0] < 35 || at[0] > 40 {
			t.Errorf("%s: found %v, want 40 or just before", d.Name, at)
		}
	}
}

// TestDrifts holds the bars of drifts. The long form, with all kinds, is
// make calibrate.
func TestDrifts(t *testing.T) {
	t.Parallel()
	series, long := many(t, "MEMTRIX_CALIBRATE", 3)
	kinds, slack := Generators(), 0.0
	if long {
		series = max(series/4, 1) // each is a year of nights
		kinds = append(kinds, Others()...)
	} else {
		kinds = []Generator{kinds[1], kinds[3], kinds[5]} // gauss, spiky, AR(1)
		slack = 0.67                                      // of three series
	}
	var rows []DriftRow
	for i, g := range kinds {
		row := MeasureDrifts(g, series, 11)
		rows = append(rows, row)
		if i >= len(Generators()) {
			continue // others have no bar
		}
		if row.False > 0.01 {
			t.Errorf("%s: a drift in %.2f %% of the years without one, want at most 1 %%", g.Name, 100*row.False)
		}
		for k, share := range row.Steps {
			if share > 0.05+slack/2 {
				t.Errorf("%s: %.1f %% of the steps number %d were told as drifts, want at most 5 %%", g.Name, 100*share, k)
			}
		}
		if strings.HasPrefix(g.Name, "gauss") && (row.Four.In90 < 0.9-slack || row.Two.In150 < 0.9-slack) {
			t.Errorf("%s: %.1f %% of 4 sd in 90 nights, %.1f %% of 2 sd in 150, want 90 %% of both", g.Name, 100*row.Four.In90, 100*row.Two.In150)
		}
	}
	if long || testing.Verbose() {
		var b strings.Builder
		if err := DriftTable(&b, rows); err != nil {
			t.Fatal(err)
		}
		t.Logf("%d series each, percent of series\n%s", series, b.String())
	}
}

// TestSuite is a year without a change and one with a change a month. The long form,
// many years, is make suite-year.
func TestSuite(t *testing.T) {
	t.Parallel()
	years, long := many(t, "MEMTRIX_SUITE", 1)
	s := Suite{Cells: 60, Meters: 6, Nights: 365, History: 60, Kinds: Generators()}
	if os.Getenv("MEMTRIX_HISTORY") == "20" {
		s.History = 20 // the first nights in which anything is said
	}
	if !long {
		s.Cells, s.Nights = 12, 180 // a tenth of it
	}
	var quiet, real Year
	late := map[string]int{}
	found, worst := 0, 0
	for seed := range years {
		s.Seed, s.Changes = uint64(seed), 0
		a := s.Run()
		s.Changes, s.Step = 12, 5
		b := s.Run()
		worst = max(worst, a.FalseAlarms)
		quiet.add(a)
		real.add(b)
		for i, nights := range b.Found {
			if nights == 1 || nights == 2 {
				found++
			} else {
				late[b.Of[i]]++
			}
		}
	}
	repeats := func(y Year) float64 { return 100 * float64(y.Repeats) / float64(y.Trials) }
	t.Logf("%d years of %d cells: without a change %d false alarms (at most %d in a year; %d of drifts) %v, %.2f %% more trials; with %d changes %d false alarms (%d of drifts), %.2f %% more trials, %d found within two nights, late %v",
		years, s.Cells, quiet.FalseAlarms, worst, quiet.FalseDrifts, quiet.FalseOf, repeats(quiet), len(real.Found), real.FalseAlarms, real.FalseDrifts, repeats(real), found, late)
	if quiet.FalseAlarms > years || real.FalseAlarms > years {
		t.Errorf("%d and %d false alarms, want at most 1 a year", quiet.FalseAlarms, real.FalseAlarms)
	}
	if repeats(quiet) > 2 {
		t.Errorf("%.2f %% more trials, want at most 2 %%", repeats(quiet))
	}
	// In many years the rarest may come a night late; it is in the line above.
	if missed := len(real.Found) - found; missed > len(real.Found)/100 {
		t.Errorf("%d of %d changes were not found within two nights: %v", missed, len(real.Found), late)
	}
}

func (y *Year) add(o Year) {
	y.Trials += o.Trials
	y.Repeats += o.Repeats
	y.FalseAlarms += o.FalseAlarms
	y.FalseDrifts += o.FalseDrifts
	y.Found = append(y.Found, o.Found...)
	if y.FalseOf == nil {
		y.FalseOf = map[string]int{}
	}
	for k, n := range o.FalseOf {
		y.FalseOf[k] += n
	}
}

// BenchmarkThousand is a thousand series of 365 points: less than a second is wanted.
func BenchmarkThousand(b *testing.B) {
	var all [][]float64
	r := rand.New(rand.NewPCG(1, 1))
	for i := range 1000 {
		g := Generators()[i%len(Generators())]
		at := 365
		if i%4 == 0 {
			at = 200
		}
		all = append(all, g.Series(r, 365, at, 5))
	}
	for b.Loop() {
		for _, y := range all {
			Memtrix(y)
		}
	}
}
