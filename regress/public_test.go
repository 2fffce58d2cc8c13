package regress_test

import (
	"compress/gzip"
	"os"
	"slices"
	"testing"

	"memtrix/regress"
	"memtrix/regress/table"
)

// TestPublic holds what is known of series that nobody here made. Where less is found
// than their authors say, the reason stands beside it.
func TestPublic(t *testing.T) {
	series := public(t)
	check := func(name string, want ...int) {
		t.Helper()
		if got := places(series[name]); !slices.Equal(got, want) {
			t.Errorf("%s: changes at %v, want %v", name, got, want)
		}
	}
	check("asv-100", 5, 10, 20, 50, 70)
	check("asv-10000", 10, 30, 200, 600, 2500, 2990, 3000)
	check("asv-cosine", 500) // a slow wave is none
	check("asv-constant")
	check("asv-outlier")
	// Its authors call two points at 1000 a step; to us a level that went before it
	// had lasted six points is an outlier.
	check("asv-outlier2")
	check("asv-regressions-1234", 1000, 3238, 3279, 3350, 3527, 3700)
	// Its authors want nothing here. But there is a step of 0.22 deviations at 2500,
	// and in 3000 points that is no chance.
	check("asv-3000-noise", 2543)

	check("skia-31", 16) // where it turns to 95.879

	check("otava-divisive", 5, 8)
	check("otava-1", 6)
	check("otava-3", 5, 13, 21)
	// Steps at 4, and at 3 and 6: levels that ended before they had lasted five points.
	check("otava-2")
	check("otava-zero")
}

// TestSkia: of Skia's real trace the windows of 6, 9 and 15 points in which the step lies with
// as many points on each side as we ask for show it at 95.879, and no window shows
// another place.
func TestSkia(t *testing.T) {
	all := public(t)["skia-31"]
	for _, size := range []int{6, 9, 15} {
		seen := 0
		for from := 0; from+size <= len(all.Points); from++ {
			s := table.Series{Points: all.Points[from : from+size]}
			for _, at := range places(s) {
				if seen++; from+at != 16 {
					t.Errorf("window of %d from %d: a change at %d (%g)", size, from, from+at, all.Points[from+at].Value)
				}
			}
		}
		// Five points of a level before and two of one after need a window of seven.
		if (seen > 0) != (size >= 7) {
			t.Errorf("windows of %d points: %d show the change", size, seen)
		}
	}
}

// TestTigerBeetle: the great changes are found, the lone outliers are not, and nothing
// is found that Otava does not find with its p of 0.01.
func TestTigerBeetle(t *testing.T) {
	got := places(public(t)["tigerbeetle"])
	for _, want := range []int{15, 71, 95} {
		if !slices.Contains(got, want) {
			t.Errorf("no change at %d: %v", want, got)
		}
	}
	otava := []int{15, 26, 61, 71, 95, 117, 131, 142, 148, 165, 169, 192, 212, 260}
	for _, at := range got {
		if !slices.Contains(otava, at) {
			t.Errorf("a change at %d, where nobody else sees one", at)
		}
	}
}

func places(s table.Series) []int {
	var at []int
	for _, c := range regress.Changes(s.Points, regress.Options{Floor: regress.DefaultFloor(regress.NoUnit)}) {
		at = append(at, c.At)
	}
	return at
}

func public(t *testing.T) map[string]table.Series {
	t.Helper()
	f, err := os.Open("testdata/public.csv.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	all, err := table.Read(z)
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]table.Series{}
	for _, s := range all {
		byName[s.Name] = s
	}
	return byName
}
