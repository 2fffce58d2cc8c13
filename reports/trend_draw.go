package reports

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"memtrix"
)

const (
	trendWidth  = 760 * vg.Length(1)
	trendHeight = 330 * vg.Length(1)
	trendChange = 12 * vg.Length(1) // a line of the legend of changes
)

var changeGreen = color.NRGBA{0x1a, 0x7f, 0x4b, 0xff}

// DrawTrend draws one meter of a trend: a dot for each trial, a cross at the lower
// edge for each that failed, an upright line at each change with its reason below.
// Errors are about the format and those of w.
func DrawTrend(w io.Writer, t Trend, meter TrendMeter, f Format) error {
	d := trendDrawing{t, meter, append(append([]TrendChange{}, t.Outcomes...), meter.Changes...)}
	slices.SortStableFunc(d.changes, func(a, b TrendChange) int { return a.At - b.At })
	if len(d.changes) > mostChangeLines {
		d.changes = d.changes[len(d.changes)-mostChangeLines:]
	}
	height := trendHeight + trendChange*vg.Length(len(d.changes))
	if err := render(w, f, trendWidth, height, d.paint); err != nil {
		return fmt.Errorf("trend of %s, %s: %w", t.Name, meter.Meter, err)
	}
	return nil
}

// mostChangeLines bounds the changes of a picture to the newest.
const mostChangeLines = 8

type trendDrawing struct {
	trend   Trend
	meter   TrendMeter
	changes []TrendChange
}

func (d trendDrawing) paint(c draw.Canvas) {
	title, small := textStyle(12, ink, true), textStyle(8.5, faint, false)
	const margin = 12
	top := c.Max.Y - margin
	name := d.meter.Label + "  ·  " + d.trend.Name
	if d.trend.Simulated {
		name = "SIMULATED  ·  " + name
	}
	write(c, title, vg.Point{X: margin, Y: top - 6}, fit(title, name, trendWidth-2*margin))
	below := trendChange * vg.Length(len(d.changes))
	for i, change := range d.changes {
		sty := textStyle(8.5, changeColor(change), false)
		line := string(change.Kind) + " from " + d.trend.Points[change.At].Place + " on: " + change.Reason
		write(c, sty, vg.Point{X: margin, Y: margin + below - trendChange*(vg.Length(i)+0.5)}, fit(sty, line, trendWidth-2*margin))
	}
	p := d.axes()
	area := c
	area.Rectangle = rectangle(margin, margin+below+6, c.Max.X-margin, top-30)
	data := p.DataCanvas(area)
	if d.trend.Simulated {
		drawWatermark(c, data.Rectangle)
	}
	p.Draw(area)
	x := func(i float64) vg.Length {
		return data.Min.X + (data.Max.X-data.Min.X)*vg.Length((i-p.X.Min)/(p.X.Max-p.X.Min))
	}
	y := func(v float64) vg.Length {
		return data.Min.Y + (data.Max.Y-data.Min.Y)*vg.Length((v-p.Y.Min)/(p.Y.Max-p.Y.Min))
	}
	d.paintPoints(c, data.Rectangle, x, y)
	free := vg.Length(math.Inf(-1))
	for _, change := range d.changes {
		col := changeColor(change)
		at := x(float64(change.At) - 0.5)
		c.StrokeLine2(draw.LineStyle{Color: col, Width: 1.3}, at, data.Min.Y, at, data.Max.Y+10)
		sty := small
		sty.Color = col
		label := d.changeText(change)
		width := textWidth(sty, label)
		from := min(at+3, data.Max.X-width)
		if from < free {
			continue // the reasons below tell it
		}
		free = from + width + 6
		write(c, sty, vg.Point{X: from, Y: data.Max.Y + 6}, label)
	}
}

func changeColor(c TrendChange) color.NRGBA {
	if c.Worse {
		return alarmRed
	}
	return changeGreen
}

// changeText is short: "shift +412 MiB".
func (d trendDrawing) changeText(c TrendChange) string {
	switch {
	case c.Kind != "shift" && c.Kind != "slope" && c.Kind != "drift":
		return string(c.Kind)
	case d.meter.Unit == "MiB":
		return fmt.Sprintf("%s %+.0f MiB", c.Kind, c.After-c.Before)
	}
	return fmt.Sprintf("%s %+.3g %s", c.Kind, c.After-c.Before, d.meter.Unit)
}

func (d trendDrawing) axes() *plot.Plot {
	p := plot.New()
	p.BackgroundColor = color.Transparent
	p.X.Min, p.X.Max = -0.6, float64(len(d.trend.Points))-0.4
	p.Y.Min, p.Y.Max = d.extent()
	unit := d.meter.Unit
	if unit == "" {
		unit = d.meter.Label
	}
	p.Y.Label.Text = unit
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Label.TextStyle = styled(axis.Label.TextStyle, 9)
		axis.Tick.Label = styled(axis.Tick.Label, 8.5)
		axis.Color, axis.Tick.Color, axis.Padding = faint, faint, 0
	}
	p.X.Tick.Marker, p.Y.Tick.Marker = plot.ConstantTicks(d.places()), niceTicks{6}
	grid := plotter.NewGrid()
	grid.Vertical.Width = 0
	grid.Horizontal = draw.LineStyle{Color: gridGrey, Width: 0.6}
	p.Add(grid)
	return p
}

// extent is the range of values with room around, never so little that noise of a MiB
// looks like a change.
func (d trendDrawing) extent() (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, v := range d.meter.Values {
		if v != nil {
			low, high = min(low, *v), max(high, *v)
		}
	}
	if math.IsInf(low, 1) {
		return 0, 1
	}
	margin := max((high-low)*0.25, math.Abs(high)*0.03, 0.01)
	return max(0, low-margin), high + margin
}

// places are ticks where another version or session begins, as many as have room.
func (d trendDrawing) places() []plot.Tick {
	var ticks []plot.Tick
	sty := textStyle(8.5, ink, false)
	perPoint := (trendWidth - 90) / vg.Length(len(d.trend.Points))
	free := vg.Length(math.Inf(-1))
	for i, p := range d.trend.Points {
		if i > 0 && p.Place == d.trend.Points[i-1].Place {
			continue
		}
		at, half := perPoint*vg.Length(i), textWidth(sty, p.Place)/2
		if at-half < free {
			continue
		}
		free = at + half + 5
		ticks = append(ticks, plot.Tick{Value: float64(i), Label: printable(p.Place)})
	}
	return ticks
}

// paintPoints joins the trials that have a value, and crosses those that failed.
func (d trendDrawing) paintPoints(c draw.Canvas, r vg.Rectangle, x, y func(float64) vg.Length) {
	var line []vg.Point
	radius := vg.Length(2.4)
	if len(d.trend.Points) > 150 {
		radius = 1.3
	}
	for i, v := range d.meter.Values {
		if v != nil {
			line = append(line, vg.Point{X: x(float64(i)), Y: y(*v)})
		}
	}
	c.StrokeLines(draw.LineStyle{Color: blue, Width: 0.7}, line)
	for _, at := range line {
		c.DrawGlyphNoClip(draw.GlyphStyle{Color: blue, Radius: radius, Shape: draw.CircleGlyph{}}, at)
	}
	failed := 0
	for i, p := range d.trend.Points {
		if p.Outcome != memtrix.Pass {
			failed++
			c.DrawGlyphNoClip(draw.GlyphStyle{Color: alarmRed, Radius: 3.6, Shape: draw.CrossGlyph{}}, vg.Point{X: x(float64(i)), Y: r.Min.Y + 7})
		}
	}
	if len(line) == 0 {
		sty := textStyle(11, faint, false)
		sty.XAlign = text.XCenter
		write(c, sty, vg.Point{X: (r.Min.X + r.Max.X) / 2, Y: (r.Min.Y + r.Max.Y) / 2}, fmt.Sprintf("no values: %s failed", plural(failed, "trial", "trials")))
	}
}

// Pictures are the meters of a trend that are worth a picture: those that changed, or
// all of the trend's outcomes with the first meter.
func (t Trend) Pictures() []TrendMeter {
	var list []TrendMeter
	for _, m := range t.Meters {
		if len(m.Changes) > 0 {
			list = append(list, m)
		}
	}
	if len(list) == 0 && len(t.Outcomes) > 0 {
		list = t.Meters[:1]
	}
	return list
}
