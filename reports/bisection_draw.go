package reports

import (
	"fmt"
	"image/color"
	"io"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// BisectionDrawing is the path of a bisection as a picture: every run at its candidate,
// and below how likely each candidate is to be the first bad one.
type BisectionDrawing struct {
	Title     string
	Axis      string // what candidates are
	Values    string // unit of the values; "" where runs pass or fail
	Simulated bool
	// Candidates is how many there are; Posterior has one value for each, or is nil.
	Candidates int
	Posterior  []float64
	Points     []BisectionPoint
	From, To   int    // the interval that was found; To is 0 where there is none
	Note       string // under the picture
}

// BisectionPoint is one run.
type BisectionPoint struct {
	Index      int
	Value      float64
	Bad        bool
	Untestable bool
}

const (
	bisectionWidth  = 720 * vg.Length(1)
	bisectionHeight = 420 * vg.Length(1)
	// posteriorShare is the part of the height that the posterior takes.
	posteriorShare = 0.3
	// mostWhole is up to how many candidates each one has a mark.
	mostWhole = 12
)

// DrawBisection draws a path.
func DrawBisection(w io.Writer, d BisectionDrawing, f Format) error {
	err := render(w, f, bisectionWidth, bisectionHeight, func(canvas draw.Canvas) {
		write(canvas, textStyle(11, ink, true), vg.Point{X: 12, Y: canvas.Max.Y - 14}, OneLine(d.Title))
		sty := textStyle(8.5, faint, false)
		write(canvas, sty, vg.Point{X: 12, Y: 10}, fit(sty, OneLine(d.Note), bisectionWidth-24))
		height := bisectionHeight - 56
		low := vg.Length(float64(height) * posteriorShare)
		top := draw.Crop(canvas, 8, -16, 28+low, -26)
		bottom := draw.Crop(canvas, 8, -16, 22, -(bisectionHeight - 28 - low))
		values, chances := d.values(), d.chances()
		// One under the other: the same candidates at the same place.
		plots := [][]*plot.Plot{{values}, {chances}}
		tiles := plot.Align(plots, draw.Tiles{Rows: 2, Cols: 1}, draw.Crop(canvas, 8, -16, 22, -26))
		top.Rectangle.Min.X, top.Rectangle.Max.X = tiles[0][0].Min.X, tiles[0][0].Max.X
		bottom.Rectangle.Min.X, bottom.Rectangle.Max.X = tiles[1][0].Min.X, tiles[1][0].Max.X
		values.Draw(top)
		chances.Draw(bottom)
		if d.Simulated {
			drawWatermark(canvas, top.Rectangle)
		}
	})
	if err != nil {
		return fmt.Errorf("bisection %q: %w", d.Title, err)
	}
	return nil
}

func (d BisectionDrawing) base(label string) *plot.Plot {
	p := plot.New()
	p.Y.Label.Text = label
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Label.TextStyle = textStyle(9, ink, false)
		axis.Label.TextStyle.XAlign = draw.XCenter
		axis.Label.TextStyle.YAlign = draw.YBottom
		axis.Tick.Label.Font = textStyle(8.5, ink, false).Font
	}
	p.X.Tick.Marker, p.Y.Tick.Marker = niceTicks{8}, niceTicks{4}
	if d.Candidates <= mostWhole {
		var whole plot.ConstantTicks
		for i := range d.Candidates {
			whole = append(whole, plot.Tick{Value: float64(i), Label: fmt.Sprint(i)})
		}
		p.X.Tick.Marker = whole // there is nothing between two candidates
	}
	p.X.Min, p.X.Max = -0.5, float64(d.Candidates)-0.5
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = gridGrey, gridGrey
	p.Add(grid)
	return p
}

// values are the runs.
func (d BisectionDrawing) values() *plot.Plot {
	label := d.Values
	if label == "" {
		label = "result"
	}
	p := d.base(label)
	var good, bad, lost plotter.XYs
	low, high := math.Inf(1), math.Inf(-1)
	for _, q := range d.Points {
		if !q.Untestable && d.Values != "" {
			low, high = min(low, q.Value), max(high, q.Value)
		}
	}
	if d.Values == "" {
		low, high = 0, 1
		p.Y.Tick.Marker = plot.ConstantTicks{{Value: 0, Label: "good"}, {Value: 1, Label: "bad"}}
	}
	if math.IsInf(low, 1) {
		low, high = 0, 1
	}
	margin := max((high-low)*0.12, math.Abs(high)*0.001, 1e-9)
	p.Y.Min, p.Y.Max = low-margin, high+margin
	seen := map[BisectionPoint]int{}
	for _, q := range d.Points {
		// Runs that told the same would lie upon each other.
		shift := float64(seen[q]) * margin / 4
		seen[q]++
		x := float64(q.Index)
		switch {
		case q.Untestable:
			lost = append(lost, plotter.XY{X: x, Y: low - margin/2})
		case d.Values == "":
			if q.Bad {
				bad = append(bad, plotter.XY{X: x, Y: 1 - shift})
			} else {
				good = append(good, plotter.XY{X: x, Y: shift})
			}
		case d.To > 0 && q.Index >= d.To:
			bad = append(bad, plotter.XY{X: x, Y: q.Value})
		default:
			good = append(good, plotter.XY{X: x, Y: q.Value})
		}
	}
	if d.To > 0 {
		d.border(p)
	}
	d.scatter(p, good, blue, draw.CircleGlyph{})
	d.scatter(p, bad, vermillion, draw.BoxGlyph{})
	d.scatter(p, lost, faint, draw.CrossGlyph{})
	return p
}

// border is an upright line before the first bad one.
func (d BisectionDrawing) border(p *plot.Plot) {
	x := float64(d.From) - 0.5
	line, err := plotter.NewLine(plotter.XYs{{X: x, Y: p.Y.Min}, {X: x, Y: p.Y.Max}})
	if err != nil {
		return // only of numbers that are none
	}
	line.Color, line.Width, line.Dashes = ink, 1, []vg.Length{4, 3}
	p.Add(line)
}

func (d BisectionDrawing) scatter(p *plot.Plot, at plotter.XYs, c color.NRGBA, shape draw.GlyphDrawer) {
	s, err := plotter.NewScatter(at)
	if err != nil || len(at) == 0 {
		return // nothing to draw
	}
	s.GlyphStyle = draw.GlyphStyle{Color: c, Radius: 3, Shape: shape}
	p.Add(s)
}

// chances is the posterior as upright lines.
func (d BisectionDrawing) chances() *plot.Plot {
	p := d.base("first bad, %")
	p.X.Label.Text = d.Axis
	p.Y.Min, p.Y.Max = 0, 100
	for i, v := range d.Posterior {
		if v < 0.0005 {
			continue
		}
		line, err := plotter.NewLine(plotter.XYs{{X: float64(i), Y: 0}, {X: float64(i), Y: 100 * v}})
		if err != nil {
			continue
		}
		line.Color, line.Width = vermillion, max(1.5, min(12, 400/vg.Length(max(d.Candidates, 1))))
		p.Add(line)
	}
	return p
}
