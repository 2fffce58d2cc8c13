package lab

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

const gib = 1 << 30

// floorOf searches a floor as Floor does.
func floorOf(first, peak int64, passes func(int64) bool) (Border, []Tried, bool) {
	return searched(floorSearch(peak, 0, 12), first, passes)
}

func searched(s Search, first int64, passes func(int64) bool) (Border, []Tried, bool) {
	tried := []Tried{{first, passes(first)}}
	for {
		size, more := s.Next(tried)
		if !more {
			b, ok := s.Border(tried)
			return b, tried, ok
		}
		tried = append(tried, Tried{size, passes(size)})
		if len(tried) > 100 {
			panic(fmt.Sprint("no end: ", tried))
		}
	}
}

// A floor is found to the resolution in 12 tries at most, wherever it is and whatever
// the peak was.
func TestFloors(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 3))
	worst := 0
	for range 5000 {
		floor := int64(math.Exp(math.Log(300*mib) + r.Float64()*math.Log(40*gib/(300*mib))))
		peak := int64(float64(floor) * math.Exp((r.Float64()*1.4 - 0.1))) // 0.9 to 3.7 times the floor
		b, tried, ok := floorOf(141*gib, peak, func(size int64) bool { return size >= floor })
		worst = max(worst, len(tried))
		resolution := max(128*mib, floor/100)
		if !ok || !b.Near || !b.Sure || b.Size < floor || b.Fails >= floor || b.Size-b.Fails > resolution+resolution/50 || len(b.Beyond)+len(b.Mixed) > 0 {
			t.Fatalf("floor %d MiB, peak %d MiB: %+v after %d tries %v", floor/mib, peak/mib, b, len(tried), inMiB(tried))
		}
	}
	if worst > 12 {
		t.Errorf("%d tries", worst)
	}
	t.Logf("most tries: %d", worst)
}

// With a good guess fewer tries do.
func TestFloorsWithGuess(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(4, 4))
	sum, n := 0, 2000
	for range n {
		floor := int64(1*gib + r.Float64()*20*gib)
		guess := int64(float64(floor) * (1 + 0.08*r.NormFloat64()))
		b, tried, ok := searched(floorSearch(24*gib, guess, 12), 141*gib, func(size int64) bool { return size >= floor })
		if !ok || !b.Near || b.Size < floor || b.Fails >= floor {
			t.Fatalf("floor %d MiB, guess %d MiB: %+v %v", floor/mib, guess/mib, b, inMiB(tried))
		}
		sum += len(tried)
	}
	if mean := float64(sum) / float64(n); mean > 10 {
		t.Errorf("%.1f tries on the average", mean)
	}
}

// A border that is not sharp is found within its width, and is not called sure when
// it was seen both ways.
func TestNoisyFloors(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 5))
	far, n := 0, 2000
	for range n {
		floor := 2*gib + r.Float64()*8*gib
		const width = 40 * mib
		b, tried, ok := floorOf(141*gib, int64(floor*1.6), func(size int64) bool {
			return r.Float64() < 1/(1+math.Exp(-(float64(size)-floor)/width))
		})
		if !ok || len(tried) > 12 {
			t.Fatalf("%+v %v", b, inMiB(tried))
		}
		if math.Abs(float64(b.Size)-floor) > 128*mib+4*width {
			far++
		}
		if len(b.Mixed) > 0 && slices.Contains(b.Mixed, b.Size) && b.Sure {
			t.Fatalf("sure of a mixed border: %+v", b)
		}
	}
	if far > n/100 {
		t.Errorf("%d of %d far off", far, n)
	}
}

// One failure for another reason does not spoil a search.
func TestOneOddFailure(t *testing.T) {
	t.Parallel()
	bad, n := 0, 0
	for odd := 2; odd <= 8; odd++ {
		for floor := int64(1 * gib); floor < 8*gib; floor += 300 * mib {
			n++
			try := 0
			b, _, ok := floorOf(141*gib, 9*gib, func(size int64) bool {
				try++
				return try != odd && size >= floor
			})
			if !ok || b.Size < floor || b.Size > floor+256*mib {
				bad++
			}
		}
	}
	if bad > n/4 {
		t.Errorf("%d of %d searches misled", bad, n)
	}
}

func TestNotMonotonic(t *testing.T) {
	for _, hole := range [][2]int64{{5*gib + 512*mib, 6*gib + 768*mib}, {4 * gib, 5 * gib}} {
		b, tried, ok := floorOf(141*gib, 9*gib, func(size int64) bool { return size >= 2*gib && (size < hole[0] || size >= hole[1]) })
		if !ok || b.Size < hole[1] || len(b.Beyond) == 0 {
			t.Errorf("%d: %+v %v", hole, b, inMiB(tried))
		}
	}
}

func TestSearchEnds(t *testing.T) {
	always := func(int64) bool { return true }
	never := func(int64) bool { return false }
	if _, tried, ok := floorOf(gib, gib, never); ok || len(tried) != 1 {
		t.Errorf("a cell that fails as it is: %v", tried)
	}
	b, tried, ok := floorOf(gib, gib, always)
	if !ok || b.Fails != 0 || b.Size != floorHardest || len(tried) > 12 {
		t.Errorf("a cell that passes at each size: %+v %v", b, inMiB(tried))
	}
	// Only the machine as it is passes: there is no smaller size.
	b, tried, ok = floorOf(8*gib, 7*gib, func(size int64) bool { return size >= 8*gib })
	if !ok || b.Size != 8*gib || 8*gib-b.Fails > 128*mib || len(tried) > 12 {
		t.Errorf("only as it is: %+v %v", b, inMiB(tried))
	}
	s := floorSearch(9*gib, 0, 4)
	b, tried, ok = searched(s, 141*gib, func(size int64) bool { return size > 3*gib })
	if !ok || b.Near || len(tried) != 4 {
		t.Errorf("four tries: %+v %v", b, inMiB(tried))
	}
}

// Ceilings are the same upwards, in whole rungs.
func TestCeilings(t *testing.T) {
	t.Parallel()
	for most := int64(1); most < 400; most++ {
		b, tried, ok := searched(ceilingSearch(4096, 12), 1, func(size int64) bool { return size <= most })
		if !ok || b.Size > most || b.Fails <= most || len(tried) > 12 || b.Near && b.Fails-b.Size > max(1, b.Size/50) {
			t.Fatalf("most %d: %+v %v", most, b, tried)
		}
		if !b.Near && most < 40 {
			t.Errorf("most %d: not near: %+v %v", most, b, tried)
		}
	}
}

func inMiB(tried []Tried) []string {
	var list []string
	for _, t := range tried {
		list = append(list, fmt.Sprintf("%d:%v", t.Size/mib, t.Pass))
	}
	return list
}
