package reports

import (
	"cmp"
	"fmt"
	"image/color"
	"io"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Curve is what a search for a floor or a ceiling tried: the time at each size.
type Curve struct {
	Title     string
	Axis      string // what sizes are: "free VRAM", and their unit
	Lines     []CurveLine
	Simulated bool
	Notes     []string // under the picture
}

// CurveLine is one cell.
type CurveLine struct {
	Name   string
	Points []CurvePoint
	// Border is the size that was found; 0 for none.
	Border float64
}

// CurvePoint is one trial.
type CurvePoint struct {
	Size    float64
	Label   string // "3072 MiB", "1536x1536"
	Seconds float64
	Pass    bool
	AsIs    bool
	// Outcome and Detail are for the table: "oom (vram)", what was taken.
	Outcome string
	Detail  string
	Trial   int64
}

const (
	curveWidth  = 620 * vg.Length(1)
	curveHeight = 330 * vg.Length(1)
	barWidth    = 30 // characters
)

// CurveTable writes the tries of each line, the smallest size first, with the time of
// a prompt as a bar.
func CurveTable(w io.Writer, c Curve) error {
	var b strings.Builder
	b.WriteString(OneLine(c.Title))
	if c.Simulated {
		b.WriteString("  SIMULATED: no measurement")
	}
	b.WriteByte('\n')
	var longest float64
	for _, l := range c.Lines {
		for _, p := range l.Points {
			longest = max(longest, p.Seconds)
		}
	}
	for _, l := range c.Lines {
		b.WriteString("\n" + OneLine(l.Name) + "\n")
		points := slices.Clone(l.Points)
		slices.SortStableFunc(points, func(a, b CurvePoint) int { return cmp.Compare(a.Size, b.Size) })
		wide, wideOutcome := 0, 0
		for _, p := range points {
			wide, wideOutcome = max(wide, len(p.Label)), max(wideOutcome, len(OneLine(p.Outcome)))
		}
		for _, p := range points {
			line := fmt.Sprintf("  %*s  %-*s  %s  trial %-4d %s", wide, OneLine(p.Label), wideOutcome, OneLine(p.Outcome), bar(p, longest), p.Trial, OneLine(p.Detail))
			b.WriteString(strings.TrimRight(line, " ") + "\n")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// bar is the time of a prompt to scale, with the number behind it.
func bar(p CurvePoint, longest float64) string {
	if p.Seconds <= 0 || longest <= 0 {
		return fmt.Sprintf("%-*s", barWidth+10, "")
	}
	n := max(1, int(math.Round(p.Seconds/longest*barWidth)))
	return strings.Repeat("█", n) + fmt.Sprintf("%-*s", barWidth+10-n, " "+Seconds(p.Seconds)+" s")
}

// DrawCurve draws the time of a prompt against size: a line through what passed, a
// cross for each size that did not, an upright line at what was found.
func DrawCurve(w io.Writer, c Curve, f Format) error {
	notes := vg.Length(len(c.Notes)) * legendLine
	err := render(w, f, curveWidth, curveHeight+notes+24, func(canvas draw.Canvas) {
		write(canvas, textStyle(11, ink, true), vg.Point{X: 12, Y: canvas.Max.Y - 14}, c.Title)
		for i, note := range c.Notes {
			sty := textStyle(8.5, faint, false)
			write(canvas, sty, vg.Point{X: 12, Y: 10 + vg.Length(len(c.Notes)-1-i)*legendLine}, fit(sty, OneLine(note), curveWidth-24))
		}
		area := draw.Crop(canvas, 8, -16, notes+8, -26)
		c.plot().Draw(area)
		if c.Simulated {
			drawWatermark(canvas, area.Rectangle)
		}
	})
	if err != nil {
		return fmt.Errorf("curve %q: %w", c.Title, err)
	}
	return nil
}

func (c Curve) plot() *plot.Plot {
	p := plot.New()
	p.X.Label.Text, p.Y.Label.Text = c.Axis, "last prompt, seconds"
	p.X.Label.TextStyle, p.Y.Label.TextStyle = textStyle(9, ink, false), textStyle(9, ink, false)
	p.X.Label.TextStyle.XAlign, p.Y.Label.TextStyle.XAlign = draw.XCenter, draw.XCenter
	p.X.Label.TextStyle.YAlign, p.Y.Label.TextStyle.YAlign = draw.YBottom, draw.YBottom
	p.X.Tick.Label.Font, p.Y.Tick.Label.Font = textStyle(8.5, ink, false).Font, textStyle(8.5, ink, false).Font
	p.X.Tick.Marker, p.Y.Tick.Marker = niceTicks{8}, niceTicks{6}
	p.Legend.Top, p.Legend.TextStyle.Font, p.Legend.Padding = true, textStyle(8.5, ink, false).Font, 2
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = gridGrey, gridGrey
	p.Add(grid)
	low, high, top := c.extent()
	p.Y.Min, p.Y.Max = 0, top*1.15
	for i, l := range c.Lines {
		l.addTo(p, curveColors[i%len(curveColors)], top, high)
	}
	margin := max((high-low)*0.04, high*0.01)
	p.X.Min, p.X.Max = max(0, low-margin), high+margin
	return p
}

var curveColors = []color.NRGBA{blue, vermillion, orange, purple, ink, faint}

// extent is the range of sizes that is drawn, and the longest time. The machine as it
// is may be far to the right of all that was tried, and would press it into a corner.
func (c Curve) extent() (low, high, top float64) {
	low, top = math.Inf(1), 0
	for _, l := range c.Lines {
		for _, p := range l.Points {
			low, top = min(low, p.Size), max(top, p.Seconds)
			if !p.AsIs {
				high = max(high, p.Size)
			}
		}
	}
	for _, l := range c.Lines {
		for _, p := range l.Points {
			if p.AsIs && p.Size <= 2*high || high == 0 {
				high = max(high, p.Size)
			}
		}
	}
	if math.IsInf(low, 1) {
		low = 0
	}
	return low, max(high, low+1), max(top, 0.1)
}

// addTo draws one cell.
func (l CurveLine) addTo(p *plot.Plot, col color.NRGBA, top, high float64) {
	points := slices.Clone(l.Points)
	slices.SortStableFunc(points, func(a, b CurvePoint) int { return cmp.Compare(a.Size, b.Size) })
	var passed, failed plotter.XYs
	for _, q := range points {
		switch {
		case q.Size > high:
		case q.Pass:
			passed = append(passed, plotter.XY{X: q.Size, Y: q.Seconds})
		default:
			failed = append(failed, plotter.XY{X: q.Size, Y: top * 0.02})
		}
	}
	var shown []plot.Thumbnailer
	if len(passed) > 0 {
		// The points are finite, so these cannot fail.
		if line, dots, err := plotter.NewLinePoints(passed); err == nil {
			line.LineStyle = draw.LineStyle{Color: col, Width: 1.4}
			dots.GlyphStyle = draw.GlyphStyle{Color: col, Radius: 2.6, Shape: draw.CircleGlyph{}}
			p.Add(line, dots)
			shown = append(shown, line, dots)
		}
	}
	if len(failed) > 0 {
		if crosses, err := plotter.NewScatter(failed); err == nil {
			crosses.GlyphStyle = draw.GlyphStyle{Color: col, Radius: 3.4, Shape: draw.CrossGlyph{}}
			p.Add(crosses)
			if shown == nil {
				shown = append(shown, crosses)
			}
		}
	}
	if l.Border > 0 && l.Border <= high {
		if mark, err := plotter.NewLine(plotter.XYs{{X: l.Border, Y: 0}, {X: l.Border, Y: top * 1.15}}); err == nil {
			mark.LineStyle = draw.LineStyle{Color: col, Width: 0.9, Dashes: []vg.Length{4, 3}}
			p.Add(mark)
		}
	}
	if shown != nil {
		p.Legend.Add(OneLine(l.Name), shown...)
	}
}
