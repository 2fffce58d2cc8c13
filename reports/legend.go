package reports

import (
	"image/color"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"memtrix"
)

// legendEntry is a sample of a line or of a colour with its meaning.
type legendEntry struct {
	text string
	line *draw.LineStyle
	box  color.Color
}

var legendText = textStyle(8.5, ink, false)

const legendSwatch = 18 * vg.Length(1)

func (e legendEntry) width() vg.Length {
	return legendSwatch + 4 + textWidth(legendText, e.text) + 14
}

// legendRows are the lines of memory, each with its meter, its source and its
// peak, then the classes of nodes.
func (v timeline) legendRows() [][]legendEntry {
	var lines, classes []legendEntry
	for i := range v.lines {
		l := &v.lines[i]
		lines = append(lines, legendEntry{text: curveText(v.trial, l.label, l.series.Meter), line: &l.style})
	}
	for _, class := range v.classes {
		classes = append(classes, legendEntry{text: class, box: v.colors[class]})
	}
	return append(flow(lines), flow(classes)...)
}

func curveText(t *memtrix.Trial, label string, m memtrix.Meter) string {
	txt := label + " (" + m.Name
	if m.Source != "" {
		txt += ", " + m.Source
	}
	txt += ")"
	if p, ok := t.Peak(m.Name); ok {
		least := ""
		if AtLeast(t, p) {
			least = "at least "
		}
		txt += ": peak " + least + Bytes(p.Value) + ", " + string(p.How)
	}
	return txt
}

// flow breaks entries into rows that fit the picture.
func flow(entries []legendEntry) [][]legendEntry {
	const room = timelineWidth - 2*timelineMargin
	var rows [][]legendEntry
	used := room
	for _, e := range entries {
		e.text = fit(legendText, e.text, room-legendSwatch-18)
		if used+e.width() > room || len(rows) == 0 {
			rows, used = append(rows, nil), 0
		}
		rows[len(rows)-1] = append(rows[len(rows)-1], e)
		used += e.width()
	}
	return rows
}

func paintLegend(c draw.Canvas, x, y vg.Length, rows [][]legendEntry) {
	for n, row := range rows {
		at, mid := x, y-vg.Length(n)*legendLine
		for _, e := range row {
			if e.line != nil {
				c.StrokeLine2(*e.line, at, mid, at+legendSwatch, mid)
			} else {
				fill(c, rectangle(at+5, mid-4, at+legendSwatch, mid+4), e.box)
			}
			write(c, legendText, vg.Point{X: at + legendSwatch + 4, Y: mid}, e.text)
			at += e.width()
		}
	}
}
