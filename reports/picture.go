package reports

import (
	"bytes"
	"fmt"
	"image/color"
	"io"
	"math"
	"strconv"

	stdfont "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Format is a picture's file format.
type Format string

const (
	PNG Format = "png"
	SVG Format = "svg"
)

// pictureDPI makes the smallest text of a PNG about 16 pixels high.
const pictureDPI = 144

// maxSide bounds a picture, so that an absurd matrix does not take all memory.
const maxSide = 8000 * vg.Length(1)

// Colours that stay apart for people with colour blindness, after Okabe and Ito,
// https://jfly.uni-koeln.de/color/.
var (
	ink        = color.NRGBA{0x22, 0x22, 0x22, 0xff}
	faint      = color.NRGBA{0x66, 0x66, 0x66, 0xff}
	gridGrey   = color.NRGBA{0xdd, 0xdd, 0xdd, 0xff}
	blue       = color.NRGBA{0x00, 0x72, 0xb2, 0xff}
	vermillion = color.NRGBA{0xd5, 0x5e, 0x00, 0xff}
	orange     = color.NRGBA{0xe6, 0x9f, 0x00, 0xff}
	purple     = color.NRGBA{0xa0, 0x4f, 0x80, 0xff}
	alarmRed   = color.NRGBA{0xb0, 0x10, 0x20, 0xff}
	watermark  = color.NRGBA{0xc8, 0xc8, 0xc8, 0x90}
)

// render paints a picture and encodes it. A painter draws on a canvas whose
// origin is the lower left corner, in points.
func render(w io.Writer, f Format, width, height vg.Length, paint func(draw.Canvas)) error {
	if width > maxSide || height > maxSide {
		return fmt.Errorf("picture of %.0f x %.0f points: larger than %.0f", width.Points(), height.Points(), maxSide.Points())
	}
	var canvas vg.CanvasWriterTo
	switch f {
	case PNG:
		canvas = vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(pictureDPI))}
	case SVG:
		canvas = vgsvg.New(width, height)
	default:
		return fmt.Errorf("picture format %q: want %q or %q", f, PNG, SVG)
	}
	c := draw.NewCanvas(canvas, width, height)
	c.SetColor(color.White)
	c.Fill(c.Rectangle.Path())
	paint(c)
	var out bytes.Buffer
	if _, err := canvas.WriteTo(&out); err != nil {
		return err
	}
	_, err := w.Write(withFallbackFonts(out.Bytes(), f))
	return err
}

// withFallbackFonts names fonts of the same widths for those who look at an SVG
// without having Liberation Sans.
func withFallbackFonts(data []byte, f Format) []byte {
	if f != SVG {
		return data
	}
	const family = "font-family:Liberation Sans"
	return bytes.ReplaceAll(data, []byte(family+";"), []byte(family+",Arial,Helvetica,sans-serif;"))
}

// textStyle is a sans-serif style with its origin at the left and the middle.
func textStyle(size vg.Length, c color.Color, bold bool) text.Style {
	f := font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
	if bold {
		f.Weight = stdfont.WeightBold
	}
	return text.Style{Color: c, Font: f, XAlign: text.XLeft, YAlign: text.YCenter, Handler: plot.DefaultTextHandler}
}

// write draws text; control characters would make an SVG malformed.
func write(c draw.Canvas, s text.Style, at vg.Point, txt string) {
	c.FillText(s, at, printable(txt))
}

func textWidth(s text.Style, txt string) vg.Length {
	return s.Width(txt)
}

// fit shortens text with an ellipsis to a width; "" when not even three letters
// and the ellipsis fit.
func fit(s text.Style, txt string, width vg.Length) string {
	if textWidth(s, txt) <= width {
		return txt
	}
	runes := []rune(txt)
	for n := len(runes) - 1; n >= 3; n-- {
		if short := string(runes[:n]) + "…"; textWidth(s, short) <= width {
			return short
		}
	}
	return ""
}

func rectangle(x0, y0, x1, y1 vg.Length) vg.Rectangle {
	return vg.Rectangle{Min: vg.Point{X: x0, Y: y0}, Max: vg.Point{X: x1, Y: y1}}
}

func fill(c draw.Canvas, r vg.Rectangle, col color.Color) {
	c.SetColor(col)
	c.Fill(r.Path())
}

func outline(c draw.Canvas, r vg.Rectangle, col color.Color, width vg.Length) {
	c.SetColor(col)
	c.SetLineWidth(width)
	c.SetLineDash(nil, 0)
	c.Stroke(r.Path())
}

// hatch draws slanted lines within a rectangle.
func hatch(c draw.Canvas, r vg.Rectangle, col color.Color, gap vg.Length) {
	sty := draw.LineStyle{Color: col, Width: 0.7}
	h := r.Max.Y - r.Min.Y
	for x := r.Min.X - h; x < r.Max.X; x += gap {
		from, to := vg.Point{X: x, Y: r.Min.Y}, vg.Point{X: x + h, Y: r.Max.Y}
		if from.X < r.Min.X {
			from = vg.Point{X: r.Min.X, Y: r.Min.Y + r.Min.X - x}
		}
		if to.X > r.Max.X {
			to = vg.Point{X: r.Max.X, Y: r.Max.Y - (to.X - r.Max.X)}
		}
		c.StrokeLine2(sty, from.X, from.Y, to.X, to.Y)
	}
}

// drawWatermark writes SIMULATED across a rectangle.
func drawWatermark(c draw.Canvas, r vg.Rectangle) {
	const angle = math.Pi / 9
	w, h := r.Max.X-r.Min.X, r.Max.Y-r.Min.Y
	sty := textStyle(72, watermark, true)
	room := min(w*0.9, h*0.8/vg.Length(math.Sin(angle)))
	sty.Font.Size = min(72, 72*room/textWidth(sty, "SIMULATED"))
	sty.XAlign, sty.Rotation = text.XCenter, angle
	write(c, sty, vg.Point{X: (r.Min.X + r.Max.X) / 2, Y: (r.Min.Y + r.Max.Y) / 2}, "SIMULATED")
}

// niceTicks puts ticks at multiples of 1, 2 or 5 times a power of ten.
type niceTicks struct{ most int }

func (n niceTicks) Ticks(low, high float64) []plot.Tick {
	step, decimals := niceStep((high - low) / float64(n.most))
	return fixedTicks{step, decimals}.Ticks(low, high)
}

// fixedTicks puts ticks at multiples of a step.
type fixedTicks struct {
	step     float64
	decimals int
}

func (f fixedTicks) Ticks(low, high float64) []plot.Tick {
	var ticks []plot.Tick
	for i := math.Ceil(low/f.step - 1e-9); i*f.step <= high+f.step*1e-9; i++ {
		ticks = append(ticks, plot.Tick{Value: i * f.step, Label: strconv.FormatFloat(positiveZero(i*f.step), 'f', f.decimals, 64)})
	}
	return ticks
}

// niceStep is the smallest nice step that is at least the given one, and how
// many decimals it needs.
func niceStep(least float64) (step float64, decimals int) {
	if !(least > 0) || math.IsInf(least, 0) {
		return 1, 0
	}
	power := math.Floor(math.Log10(least))
	unit := math.Pow(10, power)
	step = 10 * unit
	for _, m := range []float64{1, 2, 5} {
		if m*unit >= least*(1-1e-9) {
			step = m * unit
			break
		}
	}
	return step, max(0, -int(math.Floor(math.Log10(step)+1e-9)))
}
