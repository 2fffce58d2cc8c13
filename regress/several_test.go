package regress

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestSeveral: many changes in one series do not hide each other, though together they
// look like strong autocorrelation, and steps in one direction are no slope.
func TestSeveral(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for _, places := range [][]int{{40, 80}, {30, 60, 90}, {20, 40, 60, 80, 100}, {60, 70}, {100, 115}, {40, 117}} {
		for _, alternate := range []bool{false, true} {
			right := 0
			for range 20 {
				y := make([]float64, 120)
				level := 8192.0
				for i := range y {
					if k := slices.Index(places, i); k >= 0 {
						if alternate && k%2 == 1 {
							level -= 500
						} else {
							level += 500
						}
					}
					y[i] = level + 50*r.NormFloat64()
				}
				var got []int
				for _, c := range Levels(passes(y...), inMiB) {
					if c.Kind == Shift {
						got = append(got, c.At)
					}
				}
				if slices.Equal(got, places) {
					right++
				}
			}
			if right < 16 {
				t.Errorf("changes at %v, up and down %v: all found and no other in %d of 20, want 16", places, alternate, right)
			}
		}
	}
}
