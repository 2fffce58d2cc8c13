package progress

import (
	"io"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// redrawEvery is often enough for eyes and seldom enough not to disturb what is
// measured beside it.
const redrawEvery = 250 * time.Millisecond

// moving is the text of a terminal's moving lines: beside the bar, the cell, and
// what it does.
type moving struct{ cells, times, title, work string }

// bars draws the moving lines of a terminal: a bar of the cells, the cell, and
// what it does now.
type bars struct {
	container *mpb.Progress
	cells     *mpb.Bar
	lines     []*mpb.Bar
}

// newBars begins to draw. text is called from other goroutines.
func newBars(w io.Writer, total int, text func() moving) *bars {
	container := mpb.New(mpb.WithOutput(w), mpb.ForceTTY(), mpb.WithAutoRefresh(), mpb.WithWidth(80), mpb.WithRefreshRate(redrawEvery))
	part := func(pick func(moving) string) decor.Decorator {
		return decor.Any(func(decor.Statistics) string { return pick(text()) })
	}
	line := func(priority int, pick func(moving) string) *mpb.Bar {
		return container.New(1, mpb.NopStyle(), mpb.BarPriority(priority), mpb.BarFillerTrim(), mpb.PrependDecorators(part(pick)))
	}
	return &bars{
		container: container,
		cells: container.New(int64(total), mpb.BarStyle(), mpb.BarPriority(0), mpb.BarWidth(24),
			mpb.PrependDecorators(part(func(m moving) string { return m.cells })),
			mpb.AppendDecorators(part(func(m moving) string { return m.times }))),
		lines: []*mpb.Bar{
			line(1, func(m moving) string { return m.title }),
			line(2, func(m moving) string { return m.work }),
		},
	}
}

// done moves the bar to the number of cells that have ended.
func (b *bars) done(cells int) { b.cells.SetCurrent(int64(cells)) }

// say writes whole lines above the moving ones. It reports false, after the last
// drawing, when nothing is drawn any more (closed, or the terminal went away) and
// the text is not written.
func (b *bars) say(text string) bool {
	if _, err := b.container.Write([]byte(text + "\n")); err != nil {
		b.container.Shutdown() // has ended, or does; wait for it
		return false
	}
	return true
}

// close leaves the bar of cells where it is and takes the other lines away.
func (b *bars) close() {
	for _, line := range b.lines {
		line.Abort(true)
	}
	b.cells.Abort(false)
	b.container.Wait()
}
