package reports

import (
	"fmt"
	"image/color"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"memtrix"
)

const (
	timelineWidth  = 760 * vg.Length(1)
	plotHeight     = 250 * vg.Length(1)
	timelineMargin = 12 * vg.Length(1)
	phaseLane      = 15 * vg.Length(1)
	legendLine     = 14 * vg.Length(1)
)

// Timeline draws one trial: its memory over time, with prompts and nodes as
// coloured spans, the readings at rest, and where it failed. A trial without a
// meter has no line for it. Errors are about the format, and those of w.
func Timeline(w io.Writer, t *memtrix.Trial, f Format) error {
	v := newTimeline(t)
	lane := v.laneHeight()
	legend := v.legendRows()
	height := timelineMargin*2 + 36 + phaseLane + lane + plotHeight + legendLine*vg.Length(len(legend)) + 8
	err := render(w, f, timelineWidth, height, func(c draw.Canvas) { v.paint(c, lane, legend) })
	if err != nil {
		return fmt.Errorf("timeline of trial %d: %w", t.ID, err)
	}
	return nil
}

// timeline is what the picture of a trial shows.
type timeline struct {
	trial *memtrix.Trial
	lines []memoryLine
	end   time.Duration
	axis  timeAxis
	// colours by class of node, in the order of their first use.
	classes []string
	colors  map[string]color.NRGBA
	fail    *failure
}

type memoryLine struct {
	label  string
	series memtrix.Series
	style  draw.LineStyle
}

// failure is where and how a trial ended that did not pass.
type failure struct {
	at   time.Duration
	text string
}

func newTimeline(t *memtrix.Trial) timeline {
	v := timeline{trial: t, colors: map[string]color.NRGBA{}}
	for _, s := range t.Spans {
		v.end = max(v.end, s.End)
	}
	vram := vramMeter([]*memtrix.Trial{t})
	for _, l := range []struct {
		name, meter string
		style       draw.LineStyle
	}{
		{"RAM, resident", memtrix.RAMTreeRSS, draw.LineStyle{Color: vermillion, Width: 1.4}},
		{"RAM, anonymous", memtrix.RAMTreeAnon, draw.LineStyle{Color: orange, Width: 1.4, Dashes: []vg.Length{5, 2}}},
		{"swap", memtrix.SwapTreeUsed, draw.LineStyle{Color: purple, Width: 1.4, Dashes: []vg.Length{1.5, 1.5}}},
		{"VRAM used", vram, draw.LineStyle{Color: blue, Width: 1.8}},
		{"torch, allocated (read between nodes)", memtrix.TorchAllocated, draw.LineStyle{Color: blue, Width: 1, Dashes: []vg.Length{3, 2}}},
	} {
		s, ok := seriesOf(t, l.meter)
		if !ok || l.meter == memtrix.SwapTreeUsed && slices.Max(s.V) == 0 {
			continue
		}
		v.end = max(v.end, s.T[len(s.T)-1])
		v.lines = append(v.lines, memoryLine{l.name, s, l.style})
	}
	for _, s := range nodeSpans(t.Spans) {
		class := className(s)
		if _, ok := v.colors[class]; !ok {
			v.colors[class] = nodeColor(len(v.classes))
			v.classes = append(v.classes, class)
		}
	}
	v.fail = failureOf(t, v.end)
	v.axis = newTimeAxis(t.Spans, v.end)
	return v
}

// failureOf finds the moment of failure: the end of the node that is blamed,
// else of the last prompt, else of the trial.
func failureOf(t *memtrix.Trial, end time.Duration) *failure {
	kind := t.Outcome.Kind
	if kind == memtrix.Pass || kind == "" {
		return nil
	}
	f := failure{at: end, text: strings.TrimSpace(string(kind) + " " + outcomeDetail(t.Outcome))}
	prompt := false
	for _, s := range t.Spans {
		if s.Kind == memtrix.SpanPrompt {
			f.at, prompt = s.End, true
		}
	}
	for _, s := range t.Spans {
		if s.Kind == memtrix.SpanNode && t.Outcome.Node != nil && s.Node != nil && s.Node.ID == t.Outcome.Node.ID {
			f.at = s.End
		}
		if !prompt && s.Kind == memtrix.SpanStart && kind == memtrix.StartupFailure {
			f.at = s.End
		}
	}
	return &f
}

// top is the upper end of the memory axis, in bytes.
func (v timeline) top() float64 {
	most := int64(64 * mib)
	for _, l := range v.lines {
		most = max(most, slices.Max(l.series.V))
	}
	// The labels of marks stand above the lines.
	switch {
	case v.fail != nil:
		return float64(most) * 1.24
	case len(v.trial.Readings) > 0:
		return float64(most) * 1.16
	}
	return float64(most) * 1.08
}

// recorded reports whether it is a recording of any program and no trial.
func (v timeline) recorded() bool {
	return slices.ContainsFunc(v.trial.Spans, func(s memtrix.Span) bool { return s.Kind == memtrix.SpanRun })
}

func (v timeline) title() string {
	c := v.trial.Cell
	if v.recorded() {
		return c.Version.Name
	}
	words := []string{c.Version.Name, settingsText(c), outcomeText(v.trial)}
	if v.trial.Cell.Version.Attached != nil {
		words = append(words, "on a server that ran before")
	}
	if v.trial.Simulated {
		words = append([]string{"SIMULATED"}, words...)
	}
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), "  ·  ")
}

func (v timeline) subtitle() string {
	c := v.trial.Cell
	if v.recorded() {
		return strings.Join(v.trial.Argv, " ")
	}
	words := []string{"trial " + strconv.FormatInt(v.trial.ID, 10)}
	for _, w := range []struct{ label, text string }{{"workflow ", c.Workflow.Name}, {"hardware ", c.Hardware.Name}} {
		if w.text != "" {
			words = append(words, w.label+w.text)
		}
	}
	for _, p := range v.trial.Prompts {
		words = append(words, fmt.Sprintf("prompt %d: %s s", p.Index, Seconds(p.Seconds)))
	}
	return strings.Join(words, ", ")
}

func (v timeline) paint(c draw.Canvas, lane vg.Length, legend [][]legendEntry) {
	inner := rectangle(c.Min.X+timelineMargin, c.Min.Y+timelineMargin, c.Max.X-timelineMargin, c.Max.Y-timelineMargin)
	width := inner.Max.X - inner.Min.X
	title, sub := textStyle(12, ink, true), textStyle(8.5, faint, false)
	write(c, title, vg.Point{X: inner.Min.X, Y: inner.Max.Y - 7}, fit(title, v.title(), width))
	write(c, sub, vg.Point{X: inner.Min.X, Y: inner.Max.Y - 22}, fit(sub, v.subtitle(), width))

	bottom := inner.Min.Y + legendLine*vg.Length(len(legend)) + 8
	lanes := inner.Max.Y - 36
	top := lanes - phaseLane - lane
	p := v.axes(width)
	area := c
	area.Rectangle = rectangle(inner.Min.X, bottom, inner.Max.X, top)
	data := p.DataCanvas(area)
	x := func(t time.Duration) vg.Length {
		return data.Min.X + (data.Max.X-data.Min.X)*vg.Length(v.axis.at(t))
	}
	v.paintSpans(c, data.Rectangle, x, lanes, lane)
	if v.trial.Simulated {
		drawWatermark(c, data.Rectangle)
	}
	p.Draw(area)
	v.paintLines(c, data.Rectangle, x)
	v.paintMarks(c, data.Rectangle, x)
	paintLegend(c, inner.Min.X, bottom-10, legend)
}

// axes is a plot without data, for its axes and grid.
func (v timeline) axes(width vg.Length) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = color.Transparent
	p.X.Min, p.X.Max = 0, 1 // places on the time axis
	p.Y.Min, p.Y.Max = 0, v.top()/gib
	p.X.Label.Text, p.Y.Label.Text = "seconds since the server process was started", "memory, GiB"
	if v.recorded() {
		p.X.Label.Text = "seconds since the recording began"
	}
	if v.axis.folded {
		p.X.Label.Text += " (start and rest are drawn narrower than the prompts)"
	}
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Label.TextStyle = styled(axis.Label.TextStyle, 9)
		axis.Tick.Label = styled(axis.Tick.Label, 8.5)
		axis.Color, axis.Tick.Color = faint, faint
		axis.Padding = 0
	}
	p.X.Tick.Marker, p.Y.Tick.Marker = plot.ConstantTicks(v.axis.ticks(width)), niceTicks{7}
	grid := plotter.NewGrid()
	grid.Vertical.Width = 0
	grid.Horizontal = draw.LineStyle{Color: gridGrey, Width: 0.6}
	p.Add(grid)
	return p
}

// styled keeps a style's alignment and changes its font.
func styled(s text.Style, size vg.Length) text.Style {
	n := textStyle(size, ink, false)
	s.Font, s.Color, s.Handler = n.Font, n.Color, n.Handler
	return s
}

func (v timeline) paintLines(c draw.Canvas, r vg.Rectangle, x func(time.Duration) vg.Length) {
	top := v.top()
	y := func(b int64) vg.Length { return r.Min.Y + (r.Max.Y-r.Min.Y)*vg.Length(float64(b)/top) }
	// Two columns a point are finer than any screen's pixels here.
	columns := int(2 * (r.Max.X - r.Min.X).Points())
	for _, l := range v.lines {
		var points []vg.Point
		for _, s := range v.axis.thinned(l.series, columns) {
			points = append(points, vg.Point{X: x(s.t), Y: y(s.v)})
		}
		c.StrokeLines(l.style, points)
		// The dot is the peak that the legend names, which is not always the
		// highest point: what comes after the work does not count.
		if p, ok := v.trial.Peak(l.series.Meter.Name); ok && p.How == memtrix.PeakSampled {
			c.DrawGlyphNoClip(draw.GlyphStyle{Color: l.style.Color, Radius: 2.6, Shape: draw.CircleGlyph{}}, vg.Point{X: x(p.At), Y: y(p.Value)})
		}
	}
	if len(v.lines) == 0 {
		sty := textStyle(11, faint, false)
		sty.XAlign = text.XCenter
		write(c, sty, vg.Point{X: (r.Min.X + r.Max.X) / 2, Y: (r.Min.Y + r.Max.Y) / 2}, "no memory readings in this trial")
	}
}
