// Package live shows a watched server on a terminal while it works: its memory by
// holder, what runs now, and how the last prompt ended.
//
// On a terminal it draws lines that stay at the bottom, four times a second;
// elsewhere it writes a line for each change, and memory at most every ten seconds. It
// asks nobody for anything: all that it shows is told to it.
package live

import (
	"fmt"
	"io"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"memtrix"
	"memtrix/reports"
)

const (
	// redrawEvery is often enough for eyes and seldom enough not to disturb what is
	// measured beside it.
	redrawEvery = 250 * time.Millisecond
	// memoryEvery is how often a plain display writes a line of memory.
	memoryEvery = 10 * time.Second
)

// Display shows one watched server. Its methods may be called from several goroutines.
// It implements runner.Progress and runner.Watcher.
type Display struct {
	w   io.Writer
	now func() time.Time

	mu     sync.Mutex
	state  state
	bars   *mpb.Progress // nil but on a terminal
	lines  []*mpb.Bar
	memory time.Time // of the last plain line
	closed bool
	quiet  bool
}

// New makes a display. tty says that w is a terminal; quiet shows only what Say and
// Verdict are given. Close must be called.
func New(w io.Writer, tty, quiet bool) *Display {
	d := &Display{w: w, now: time.Now, quiet: quiet}
	d.state.began = d.now()
	if tty && !quiet {
		d.draw()
	}
	return d
}

// draw begins to draw the moving lines.
func (d *Display) draw() {
	d.bars = mpb.New(mpb.WithOutput(d.w), mpb.ForceTTY(), mpb.WithAutoRefresh(), mpb.WithWidth(80), mpb.WithRefreshRate(redrawEvery))
	for i := range lineCount {
		line := decor.Any(func(decor.Statistics) string {
			d.mu.Lock()
			defer d.mu.Unlock()
			return d.state.lines(d.now())[i]
		})
		d.lines = append(d.lines, d.bars.New(1, mpb.NopStyle(), mpb.BarPriority(i), mpb.BarFillerTrim(), mpb.PrependDecorators(line)))
	}
}

// CellStart names what is watched.
func (d *Display) CellStart(_ int, title string) {
	d.mu.Lock()
	d.state.title = reports.OneLine(title)
	d.mu.Unlock()
}

// Event shows what the server does.
func (d *Display) Event(e memtrix.Event) {
	d.mu.Lock()
	worth := d.state.event(e, d.now())
	text := d.state.nowText(d.now())
	d.mu.Unlock()
	if worth {
		d.plain(text)
	}
}

// Memory tells the values of meters now, by name.
func (d *Display) Memory(values map[string]int64) {
	d.mu.Lock()
	d.state.memory = maps.Clone(values)
	now := d.now()
	due := now.Sub(d.memory) >= memoryEvery
	var text string
	if due {
		d.memory = now
		text = strings.Join(d.state.memoryLines(), "  ")
	}
	d.mu.Unlock()
	if due && strings.TrimSpace(text) != "" {
		d.plain(text)
	}
}

// Holders names the processes that hold memory of the card.
func (d *Display) Holders(all []memtrix.Holder) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.state.holders = all
}

// Verdict shows how a prompt ended, and leaves it readable above the lines that move.
func (d *Display) Verdict(p memtrix.PromptResult, o memtrix.Outcome) {
	text := fmt.Sprintf("prompt %d  %s  %s s", p.Index, reports.OneLine(reports.Verdict(o)), reports.Seconds(p.Seconds))
	d.mu.Lock()
	d.state.last = text
	d.mu.Unlock()
	d.Say(text)
}

// CellEnd ends the watching.
func (d *Display) CellEnd(string, float64) {}

// Left is not known of a watch.
func (d *Display) Left(time.Duration) {}

// Say writes a message on a line of its own.
func (d *Display) Say(message string) {
	line := d.now().Format(time.TimeOnly) + "  " + reports.Lines(strings.TrimRight(message, "\n"))
	if d.bars != nil {
		if _, err := d.bars.Write([]byte(line + "\n")); err == nil {
			return
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	// A terminal that went away must not end a watch, so its error is dropped.
	fmt.Fprintln(d.w, line)
}

// plain writes a line where no lines move.
func (d *Display) plain(text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.bars != nil || d.quiet || d.closed {
		return
	}
	fmt.Fprintln(d.w, d.now().Format(time.TimeOnly)+"  "+text)
}

// Close takes the moving lines away. It may be called more than once.
func (d *Display) Close() {
	d.mu.Lock()
	closed := d.closed
	d.closed = true
	d.mu.Unlock()
	if closed || d.bars == nil {
		return
	}
	for _, l := range d.lines {
		l.Abort(true)
	}
	d.bars.Wait()
}
