package reports

import (
	"image/color"
	"math"
	"slices"
	"time"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"memtrix"
)

// nodeColors are light enough to stand behind dark lines and text, and apart for
// people with colour blindness, after Tol's light scheme,
// https://sronpersonalpages.nl/~pault/.
var nodeColors = []color.NRGBA{
	{0x77, 0xaa, 0xdd, 0xff}, {0xee, 0xdd, 0x88, 0xff}, {0x99, 0xdd, 0xff, 0xff}, {0xbb, 0xcc, 0x33, 0xff},
	{0xff, 0xaa, 0xbb, 0xff}, {0x44, 0xbb, 0x99, 0xff}, {0xee, 0x88, 0x66, 0xff}, {0xaa, 0xaa, 0x00, 0xff},
}

// nodeColor repeats the palette in lighter tones when it is used up.
func nodeColor(i int) color.NRGBA {
	c := nodeColors[i%len(nodeColors)]
	for range min(i/len(nodeColors), 3) {
		c.R, c.G, c.B = c.R/2+128, c.G/2+128, c.B/2+128
	}
	return c
}

func phaseColor(k memtrix.SpanKind) color.NRGBA {
	switch k {
	case memtrix.SpanPrompt:
		return color.NRGBA{0xb9, 0xc6, 0xd6, 0xff}
	case memtrix.SpanSettle:
		return color.NRGBA{0xdc, 0xe6, 0xda, 0xff}
	}
	return color.NRGBA{0xe8, 0xe8, 0xe8, 0xff}
}

func nodeSpans(spans []memtrix.Span) []memtrix.Span {
	return slices.DeleteFunc(slices.Clone(spans), func(s memtrix.Span) bool { return s.Kind != memtrix.SpanNode })
}

func className(s memtrix.Span) string {
	switch {
	case s.Node == nil:
		return "node"
	case s.Node.ClassType != "":
		return s.Node.ClassType
	}
	return "node " + s.Node.ID
}

var laneText = textStyle(7.5, ink, false)

// paintSpans draws the lane of phases, the lane of nodes, and both faintly
// behind the memory.
func (v timeline) paintSpans(c draw.Canvas, r vg.Rectangle, x func(time.Duration) vg.Length, top, lane vg.Length) {
	for _, s := range v.trial.Spans {
		x0, x1 := x(s.Start), x(s.End)
		if s.Kind == memtrix.SpanNode || x1 <= x0 {
			continue
		}
		box := rectangle(x0, top-phaseLane, x1, top-1)
		fill(c, box, phaseColor(s.Kind))
		outline(c, box, color.White, 0.6)
		label(c, box, s.Name())
	}
	for _, st := range v.axis.stretches[1:] { // where the scale changes
		at := x(st.from)
		c.StrokeLine2(draw.LineStyle{Color: faint, Width: 0.5, Dashes: []vg.Length{1, 3}}, at, r.Min.Y, at, r.Max.Y)
	}
	for _, s := range nodeSpans(v.trial.Spans) {
		x0, x1 := x(s.Start), x(s.End)
		if x1 <= x0 {
			continue
		}
		box := rectangle(x0, top-phaseLane-lane, x1, top-phaseLane)
		col := v.colors[className(s)]
		fill(c, box, col)
		if x1-x0 > 2 {
			outline(c, box, color.White, 0.4)
		}
		label(c, box, className(s))
		tint := col
		tint.A = 0x38
		fill(c, rectangle(x0, r.Min.Y, x1, r.Max.Y), tint)
	}
}

// label writes a name into a box, lying or standing, if it fits.
func label(c draw.Canvas, box vg.Rectangle, name string) {
	sty := laneText
	sty.XAlign = text.XCenter
	w, h := box.Max.X-box.Min.X, box.Max.Y-box.Min.Y
	middle := vg.Point{X: (box.Min.X + box.Max.X) / 2, Y: (box.Min.Y + box.Max.Y) / 2}
	need := textWidth(sty, name) + 4
	switch {
	case need <= w:
	case w >= standingWidth && need <= h:
		sty.Rotation = math.Pi / 2
	default:
		return
	}
	write(c, sty, middle, name)
}

// standingWidth is the width that a line of standing text needs.
const standingWidth = 9 * vg.Length(1)

// laneHeight is what the lane of nodes needs for the longest name that has to
// stand: none when there are no nodes, little when all names can lie.
func (v timeline) laneHeight() vg.Length {
	nodes := nodeSpans(v.trial.Spans)
	if len(nodes) == 0 {
		return 0
	}
	height := phaseLane
	const width = timelineWidth - 2*timelineMargin - 45
	for _, s := range nodes {
		w := width * vg.Length(v.axis.at(s.End)-v.axis.at(s.Start))
		need := textWidth(laneText, className(s)) + 6
		if w < need && w >= standingWidth {
			height = max(height, min(need, 110))
		}
	}
	return height
}

// paintMarks draws the readings at rest and the failure as upright lines.
func (v timeline) paintMarks(c draw.Canvas, r vg.Rectangle, x func(time.Duration) vg.Length) {
	for _, reading := range v.trial.Readings {
		left, label := reading.Kind == memtrix.Rested, string(reading.Kind)
		if reading.Kind == memtrix.Between {
			label = "" // there are many
		}
		mark(c, r, x(reading.At), label, faint, left, 0, draw.LineStyle{Color: faint, Width: 0.9, Dashes: []vg.Length{3, 2}})
	}
	if v.fail != nil {
		at := x(v.fail.at)
		mark(c, r, at, v.fail.text, alarmRed, at > (r.Min.X+r.Max.X)/2, 1, draw.LineStyle{Color: alarmRed, Width: 1.6})
	}
}

// mark is an upright line with a label beside it, in a row of its own below the
// upper end; on the other side where there is no room.
func mark(c draw.Canvas, r vg.Rectangle, at vg.Length, txt string, col color.Color, left bool, row int, line draw.LineStyle) {
	c.StrokeLine2(line, at, r.Min.Y, at, r.Max.Y)
	sty := textStyle(8.5, col, row > 0)
	txt = fit(sty, txt, (r.Max.X-r.Min.X)*0.6)
	w := textWidth(sty, txt)
	if left && at-w-4 < r.Min.X {
		left = false
	} else if !left && at+w+4 > r.Max.X {
		left, row = true, row+1
	}
	from := at + 3
	if left {
		from = at - 3 - w
	}
	y := r.Max.Y - 7 - vg.Length(row)*12
	fill(c, rectangle(from-1, y-5.5, from+w+1, y+5.5), color.NRGBA{0xff, 0xff, 0xff, 0xd8})
	write(c, sty, vg.Point{X: from, Y: y}, txt)
}
