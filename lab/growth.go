package lab

import (
	"fmt"
	"math"
	"slices"

	"memtrix/regress"
)

// GrowthKind says what memory at rest does from prompt to prompt.
type GrowthKind string

const (
	// Grows: with nearly every prompt, as much at the end as before: a leak.
	Grows GrowthKind = "grows"
	// GrowsLittle is the same, and less than what is called a leak: a history of
	// prompts, counters.
	GrowsLittle GrowthKind = "grows-little"
	// Still: no growth but for what the first prompts brought.
	Still GrowthKind = "still"
	// Stepped: one step, and still before and after it.
	Stepped GrowthKind = "step"
	// Stairs: some steps, and still between them: an allocator that takes memory
	// in large pieces, or tables that are enlarged now and then.
	Stairs GrowthKind = "stairs"
	// Slowing: it grows less and less.
	Slowing GrowthKind = "slowing"
	Shrinks GrowthKind = "shrinks"
	// Unclear: the readings scatter too much for so few prompts.
	Unclear GrowthKind = "unclear"
)

// LeakLeast is the growth in bytes a prompt from which it is called a leak. A clean
// server grows, too: it remembers each prompt (ComfyUI keeps the last 10000 in its
// history, execution.py), some ten KiB each.
const LeakLeast = 512 << 10

// FewestPrompts is the least number of prompts that Judge takes.
const FewestPrompts = 10

// Growth is what one meter at rest did over the prompts of a trial, in bytes.
type Growth struct {
	Kind GrowthKind `json:"kind"`
	// Slope is the growth a prompt, and Low to High its interval of 95 % (Theil and
	// Sen), from prompt From on. What was before counts as start-up.
	Slope float64 `json:"bytes_per_prompt"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	From  int     `json:"from_prompt"`
	// StartUp is by how much the meter grew from the first reading to that at From,
	// beside the growth that goes on.
	StartUp int64 `json:"start_up_bytes"`
	// Steps are the prompts after which the meter stood higher by a jump, of Stepped
	// and Stairs.
	Steps []int `json:"steps,omitempty"`
	// Height is the size of the largest of them.
	Height int64 `json:"step_bytes,omitempty"`
}

// Judge says what readings at rest, one after each prompt, show. Growth is called a
// leak (Grows) when all of this holds for the readings after the start-up:
//
//   - the interval of the slope (95 %, Theil and Sen) lies above 0, and the slope is
//     at least LeakLeast;
//   - steps go up more often than chance would have it (sign test, 0.8 %);
//   - the second half grows at least 0.75 times as fast as the first: growth that
//     comes to rest with a time constant up to a quarter of the prompts is not accused.
//
// Single jumps that stand out (a table that was enlarged, one odd reading) are taken
// out before. The first fifth of the prompts counts as start-up; where they hide a
// steady growth behind them, up to a half. How often this errs is in the package's tests. It fails
// for fewer than FewestPrompts readings.
func Judge(readings []int64) (Growth, error) {
	n := len(readings)
	if n < FewestPrompts {
		return Growth{}, fmt.Errorf("%d readings at rest: %d prompts or more tell start-up from growth", n, FewestPrompts)
	}
	y := make([]float64, n)
	for i, v := range readings {
		y[i] = float64(v)
	}
	for _, share := range []float64{0.2, 0.35, 0.5} {
		from := int(math.Round(share * float64(n)))
		tail := withoutJumps(y[from:])
		if upByChance(steps(tail)) > 0.008 { // the cheapest test first
			continue
		}
		s := theilSen(tail)
		if s.low <= 0 || keepsUp(tail) < 0.75 {
			continue
		}
		kind := Grows
		if s.mid < LeakLeast {
			kind = GrowsLittle
		}
		return growth(kind, s, readings, from), nil
	}
	from := int(math.Round(0.2 * float64(n)))
	return noLeak(y[from:], readings, from), nil
}

func growth(kind GrowthKind, s slope, readings []int64, from int) Growth {
	g := Growth{Kind: kind, Slope: s.mid, Low: s.low, High: s.high, From: from + 1, StartUp: readings[from] - readings[0]}
	if kind == Grows || kind == GrowsLittle {
		g.StartUp -= int64(s.mid * float64(from)) // that much it grew then, too
	}
	return g
}

// noLeak tells apart what is not steady growth.
func noLeak(tail []float64, readings []int64, from int) Growth {
	jumps := jumpsOf(tail)
	// Jumps that go on from the start are its end.
	for len(jumps) > 0 && jumps[0] == 0 && len(tail) > 4 {
		tail, from = tail[1:], from+1
		jumps = jumpsOf(tail)
	}
	s := theilSen(tail)
	g := growth(Unclear, s, readings, from)
	net := tail[len(tail)-1] - tail[0]
	switch {
	case len(jumps) > 0 && explained(tail, jumps, net):
		g.Kind = Stepped
		if len(jumps) > 1 {
			g.Kind = Stairs
		}
		for _, i := range jumps {
			g.Steps = append(g.Steps, from+1+i+1)
			g.Height = max(g.Height, int64(tail[i+1]-tail[i]))
		}
	case s.high < 0 && s.mid <= -LeakLeast:
		g.Kind = Shrinks
	case s.high < LeakLeast:
		g.Kind = Still
	case s.low > 0 && keepsUp(tail) < 0.75:
		g.Kind = Slowing
	}
	return g
}

// withoutJumps puts the median step in the place of the few that stand out, in either
// direction. Where many do they are no exceptions, and stay.
func withoutJumps(y []float64) []float64 {
	d := steps(y)
	usual := regress.Median(d)
	least := max(8*scatter(d), 1<<20)
	odd := 0
	for i, v := range d {
		if math.Abs(v-usual) >= least {
			d[i] = usual
			odd++
		}
	}
	if odd == 0 || odd*4 > len(d) {
		return y
	}
	clean := []float64{y[0]}
	for i, v := range d {
		clean = append(clean, clean[i]+v)
	}
	return clean
}

// jumpsOf are the places of steps upwards that stand out from the scatter of the
// others, and are of some size.
func jumpsOf(y []float64) []int {
	d := steps(y)
	least := max(8*scatter(d), 1<<20)
	var jumps []int
	for i, v := range d {
		if v >= least {
			jumps = append(jumps, i)
		}
	}
	return jumps
}

// explained reports whether the jumps make up the growth: without them nothing of
// weight is left.
func explained(y []float64, jumps []int, net float64) bool {
	var sum float64
	for i, v := range steps(y) {
		if slices.Contains(jumps, i) {
			sum += v
		}
	}
	return math.Abs(net-sum) <= 0.3*sum && net > 0
}
