package history

import (
	"fmt"

	"memtrix"
	"memtrix/regress"
)

// borders compares two floors by what failed next to each: a search has tried its border
// several times, and needs no repeat where both borders cannot be the same.
func (m *MeterPair) borders(a, b []*memtrix.Brief) {
	if m.Meter != memtrix.FloorVRAM && m.Meter != memtrix.FloorRAM {
		return
	}
	x, y := valueOf(a, m.Meter), valueOf(b, m.Meter)
	lowX, highX := min(x.Low, x.High), max(x.Low, x.High)
	lowY, highY := min(y.Low, y.High), max(y.Low, y.High)
	if lowX == 0 || lowY == 0 || m.Verdict != regress.Unclear {
		return
	}
	text := fmt.Sprintf("passes with %d MiB and not with %d MiB before, with %d MiB and not with %d MiB after", highX>>20, lowX>>20, highY>>20, lowY>>20)
	wide := func(low, high int64) bool { return float64(high-low) > max(nearBorder, float64(high)/50) }
	switch {
	case lowX >= highY || lowY >= highX:
		m.Borders, m.Verdict, m.More, m.Reason = true, regress.Differs, 0, "the borders lie apart: "+text
	case !wide(lowX, highX) && !wide(lowY, highY):
		m.Borders, m.Verdict, m.More, m.Reason = true, regress.Same, 0, "both borders may be the same: "+text
	}
}

// nearBorder is a little more than the resolution of a search, bytes.
const nearBorder = 192 << 20

func valueOf(trials []*memtrix.Brief, meter string) memtrix.Number {
	for _, t := range trials {
		if n, ok := t.Numbers[meter]; ok && t.Trial.Outcome.Kind == memtrix.Pass {
			return n
		}
	}
	return memtrix.Number{}
}
