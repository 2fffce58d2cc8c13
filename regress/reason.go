package regress

import (
	"fmt"
	"math"
)

// shift describes the cut i.
func (o Options) shift(y []float64, at []int, found []cut, i int) Change {
	from, to := 0, len(y)
	if i > 0 {
		from = found[i-1].at
	}
	if i+1 < len(found) {
		to = found[i+1].at
	}
	old, now := y[from:found[i].at], y[found[i].at:to]
	before, after := Median(old), Median(now)
	return Change{
		Kind: Shift, At: at[found[i].at], Before: before, After: after,
		Confidence: confidence(found[i]),
		Reason:     o.what() + o.size(before, after) + ", " + position(old, now),
	}
}

func (o Options) slope(at []int, run drift, confidence float64) Change {
	a := (run.after - run.before) / float64(max(run.points, 1))
	return Change{
		Kind: Slope, At: at[run.from], Before: run.before, After: run.after, Confidence: confidence,
		Reason: fmt.Sprintf("%s%s over %d points, %s a point", o.what(), o.size(run.before, run.after), run.points, o.amount(a)),
	}
}

func (o Options) what() string {
	if o.What == "" {
		return ""
	}
	return o.What + " "
}

// size is "+412 MiB (+5.9 %)".
func (o Options) size(before, after float64) string {
	text := o.amount(after - before)
	if before != 0 {
		text += fmt.Sprintf(" (%+.3g %%)", 100*(after-before)/math.Abs(before))
	}
	return text
}

// amount is a difference with its unit.
func (o Options) amount(d float64) string {
	switch o.Unit {
	case Bytes:
		d /= 1 << 20
	case NoUnit:
		return fmt.Sprintf("%+.4g", d)
	}
	if math.Abs(d) >= 10 {
		return fmt.Sprintf("%+.0f MiB", d)
	}
	return fmt.Sprintf("%+.2g MiB", d)
}

// position says where the new values lie among the old: "3 of 3 above all 40 earlier".
func position(old, now []float64) string {
	sorted := sortedCopy(old)
	side, up := "below", Median(now) > median(sorted)
	if up {
		side = "above"
	}
	beyond := func(limit float64) int {
		n := 0
		for _, v := range now {
			if up && v > limit || !up && v < limit {
				n++
			}
		}
		return n
	}
	edge, most := sorted[0], sorted[len(sorted)-1]
	if up {
		edge, most = most, edge
	}
	n := beyond(edge)
	if 2*n >= len(now) {
		return fmt.Sprintf("%d of %d %s all %d earlier", n, len(now), side, len(old))
	}
	// A tenth of the old may lie there.
	k := len(sorted) / 10
	edge = sorted[k]
	if up {
		edge = sorted[len(sorted)-1-k]
	}
	if n = beyond(edge); 2*n >= len(now) {
		return fmt.Sprintf("%d of %d %s %d of %d earlier", n, len(now), side, len(sorted)-k, len(sorted))
	}
	return fmt.Sprintf("%d of %d %s the median of %d earlier", beyond(median(sorted)), len(now), side, len(old))
}
