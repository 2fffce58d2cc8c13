package reports

import (
	"image/color"
	"math"

	"gonum.org/v1/plot/palette/brewer"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

const (
	heatMargin   = 14 * vg.Length(1)
	heatRow      = 30 * vg.Length(1)
	heatColumn   = 64 * vg.Length(1)
	heatLegend   = 44 * vg.Length(1)
	heatLeast    = 430 * vg.Length(1) // width for title and legend
	longestLabel = 240 * vg.Length(1)
)

var (
	heatTitle         = textStyle(12, ink, true)
	heatSmall         = textStyle(8.5, faint, false)
	heatLabel         = textStyle(9, ink, false)
	heatNumber        = textStyle(9.5, ink, false)
	notApplicableGrey = color.NRGBA{0xd6, 0xd6, 0xd6, 0xff}
	failedPink        = color.NRGBA{0xff, 0xe3, 0xe3, 0xff}
	expectedGrey      = color.NRGBA{0xf4, 0xee, 0xe6, 0xff}
)

// heatLayout is a heat map with the places of its parts.
type heatLayout struct {
	heatmap
	scale         scale
	width, height vg.Length
	column        vg.Length // width of a column
	labels        vg.Length // width of the row labels
	header        vg.Length // height of the column labels
	standing      bool      // column labels stand
	head          []string  // the lines below the title
}

func (h heatmap) layout() heatLayout {
	l := heatLayout{heatmap: h, scale: heatScale(h.to), column: heatColumn, header: 20}
	for _, row := range h.cells {
		for _, c := range row {
			for _, line := range l.cellText(c) {
				l.column = max(l.column, min(textWidth(heatNumber, line)+10, 110))
			}
		}
	}
	for _, row := range h.rows {
		l.labels = max(l.labels, min(textWidth(heatLabel, row)+10, longestLabel))
	}
	for _, name := range h.columnLabels {
		if w := textWidth(heatLabel, name) + 8; w > l.column {
			l.standing = true
			l.header = max(l.header, min(w, 140))
		}
	}
	l.width = max(heatLeast, l.labels+l.column*vg.Length(len(h.columns))+2*heatMargin)
	l.head = wrapText(heatSmall, h.subtitle, l.width-2*heatMargin)
	l.height = 2*heatMargin + 20 + 12*vg.Length(len(l.head)) + 8 + l.header + heatRow*vg.Length(len(h.rows)) + heatLegend
	return l
}

// heatScale writes all values of a map in one unit.
func heatScale(high int64) scale {
	if high >= gib {
		return scale{"GiB", GiB}
	}
	return scale{"MiB", MiB}
}

// wrapText breaks text into lines of a width.
func wrapText(s text.Style, txt string, width vg.Length) []string {
	n := len([]rune(txt))
	for ; n > 20; n-- {
		fits := true
		for _, line := range wrap(txt, n) {
			fits = fits && textWidth(s, line) <= width
		}
		if fits {
			break
		}
	}
	return wrap(txt, n)
}

// cellText is what a cell says, in at most two lines.
func (l heatLayout) cellText(c heatCell) []string {
	if c.kind == heatValue {
		return []string{l.scale.format(c.value)}
	}
	lines := wrap(c.words, 11)
	if c.kind == heatExpected {
		lines = append(lines[:1], "expected")
	}
	return lines[:min(len(lines), 2)]
}

func (l heatLayout) paint(c draw.Canvas) {
	x, y := heatMargin, l.height-heatMargin
	write(c, heatTitle, vg.Point{X: x, Y: y - 7}, fit(heatTitle, l.title, l.width-2*heatMargin))
	y -= 20
	for _, line := range l.head {
		write(c, heatSmall, vg.Point{X: x, Y: y - 6}, line)
		y -= 12
	}
	y -= 8 + l.header
	left := x + l.labels
	l.paintHeader(c, left, y)
	place := func(i, k int) vg.Rectangle {
		at, top := left+l.column*vg.Length(k), y-heatRow*vg.Length(i)
		return rectangle(at, top-heatRow, at+l.column, top)
	}
	bottom := y - heatRow*vg.Length(len(l.rows))
	for i, row := range l.cells {
		sty := heatLabel
		sty.XAlign = text.XRight
		write(c, sty, vg.Point{X: left - 6, Y: place(i, 0).Max.Y - heatRow/2}, fit(heatLabel, l.rows[i], l.labels-8))
		for k, cell := range row {
			l.paintBox(c, place(i, k), cell)
		}
	}
	if l.simulated { // below the numbers, which must stay readable
		drawWatermark(c, rectangle(left, bottom, left+l.column*vg.Length(len(l.columns)), y))
	}
	for i, row := range l.cells {
		for k, cell := range row {
			l.paintText(c, place(i, k), cell)
		}
	}
	l.paintLegend(c, x, bottom-14)
}

func (l heatLayout) paintHeader(c draw.Canvas, left, y vg.Length) {
	for i, name := range l.columnLabels {
		sty := heatLabel
		at := vg.Point{X: left + l.column*(vg.Length(i)+0.5), Y: y + 9}
		if l.standing {
			sty.Rotation, at.Y = math.Pi/2, y+4
			write(c, sty, at, fit(heatLabel, name, l.header-6))
			continue
		}
		sty.XAlign = text.XCenter
		write(c, sty, at, name)
	}
}

// paintBox draws a cell without its text.
func (l heatLayout) paintBox(c draw.Canvas, r vg.Rectangle, cell heatCell) {
	back, _ := l.cellColors(cell)
	fill(c, r, back)
	if cell.kind == heatFailed || cell.kind == heatExpected {
		hatch(c, r, hatchColor(cell.kind), 6)
	}
	outline(c, r, color.White, 1.2)
}

// paintText writes what a cell says, on a plate where the cell is hatched.
func (l heatLayout) paintText(c draw.Canvas, r vg.Rectangle, cell heatCell) {
	back, sty := color.Color(nil), heatNumber
	back, sty.Color = l.cellColors(cell)
	sty.XAlign = text.XCenter
	lines := l.cellText(cell)
	if cell.kind == heatFailed || cell.kind == heatExpected {
		paintPlate(c, r, lines, back)
	}
	for i, line := range lines {
		y := (r.Min.Y+r.Max.Y)/2 + 5.5*vg.Length(len(lines)-1-2*i)
		write(c, sty, vg.Point{X: (r.Min.X + r.Max.X) / 2, Y: y}, line)
	}
}

// cellColors are a cell's own colour and that of text on it.
func (l heatLayout) cellColors(cell heatCell) (back, txt color.Color) {
	switch cell.kind {
	case heatValue:
		return l.color(cell.value)
	case heatFailed:
		return failedPink, alarmRed
	case heatExpected:
		return expectedGrey, ink
	case heatNotApplicable:
		return notApplicableGrey, faint
	}
	return color.White, faint
}

func hatchColor(k heatKind) color.Color {
	if k == heatFailed {
		return color.NRGBA{0xe0, 0x80, 0x80, 0xff}
	}
	return color.NRGBA{0xc4, 0xb8, 0xa4, 0xff}
}

// paintPlate clears the hatching behind text.
func paintPlate(c draw.Canvas, r vg.Rectangle, lines []string, col color.Color) {
	w := vg.Length(0)
	for _, line := range lines {
		w = max(w, textWidth(heatNumber, line)/2+2)
	}
	h := 6 * vg.Length(len(lines))
	x, y := (r.Min.X+r.Max.X)/2, (r.Min.Y+r.Max.Y)/2
	fill(c, rectangle(max(x-w, r.Min.X), y-h, min(x+w, r.Max.X), y+h), col)
}

// heatColors go from light to dark in one order of lightness, so that they also
// read in grey and by colour-blind people: ColorBrewer's YlGnBu.
var heatColors = brewer.YlGnBu[9].Color

// color gives a value's colour, and that of text on it.
func (l heatLayout) color(v int64) (back, txt color.Color) {
	c := heatColor(float64(v-l.from) / float64(max(l.to-l.from, 1)))
	if luminance(c) < 0.55 {
		return c, color.White
	}
	return c, ink
}

// heatColor is a colour of the scale, 0 to 1, without its darkest end.
func heatColor(share float64) color.NRGBA {
	at := min(1, max(0, share)) * 7
	i := min(int(at), 6)
	return mix(heatColors[i], heatColors[i+1], at-float64(i))
}

func mix(a, b color.Color, share float64) color.NRGBA {
	p, q := color.NRGBAModel.Convert(a).(color.NRGBA), color.NRGBAModel.Convert(b).(color.NRGBA)
	part := func(x, y uint8) uint8 { return uint8(math.Round(float64(x) + (float64(y)-float64(x))*share)) }
	return color.NRGBA{part(p.R, q.R), part(p.G, q.G), part(p.B, q.B), 0xff}
}

// luminance is a colour's lightness to the eye, 0 to 1 (ITU-R BT.601).
func luminance(c color.NRGBA) float64 {
	return (0.299*float64(c.R) + 0.587*float64(c.G) + 0.114*float64(c.B)) / 255
}

// paintLegend draws the scale with its unit, then what the other cells mean.
func (l heatLayout) paintLegend(c draw.Canvas, x, y vg.Length) {
	if l.has(heatValue) {
		const bar = 110 * vg.Length(1)
		for i := range 55 {
			// Each over the rest of the bar, so that no seams show.
			fill(c, rectangle(x+bar*vg.Length(i)/55, y-9, x+bar, y), heatColor(float64(i)/54))
		}
		right := heatSmall
		right.XAlign = text.XRight
		write(c, heatSmall, vg.Point{X: x, Y: y - 17}, l.scale.format(l.from))
		write(c, right, vg.Point{X: x + bar, Y: y - 17}, l.scale.format(l.to)+" "+l.scale.unit)
		x += bar + 20
	}
	for _, e := range []struct {
		kind heatKind
		text string
	}{{heatFailed, "failed"}, {heatExpected, "failed as expected"}, {heatNotApplicable, "not applicable"}} {
		if !l.has(e.kind) {
			continue
		}
		box := rectangle(x, y-9, x+16, y)
		l.paintBox(c, box, heatCell{kind: e.kind})
		write(c, heatSmall, vg.Point{X: x + 20, Y: y - 4.5}, e.text)
		x += 34 + textWidth(heatSmall, e.text)
	}
}
