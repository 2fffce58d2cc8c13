// Package progress shows on a terminal what a run does: which cell, prompt, node
// and step, memory now, the time so far and the time left.
//
// On a terminal it draws three lines that stay at the bottom; elsewhere it writes
// a line with the time of day for each change, and steps at most every ten
// seconds. It estimates nothing: the time left is told to it. It writes nothing
// to any other place than the one it was given.
package progress

import (
	"fmt"
	"io"
	"maps"
	"strings"
	"sync"
	"time"

	"memtrix"
	"memtrix/reports"
)

// stepEvery is how often a plain display writes a line for steps.
const stepEvery = 10 * time.Second

// Display shows the progress of a run, one trial at a time. Its methods may be
// called from several goroutines, and after Close, when only Say still writes.
type Display struct {
	mu     sync.Mutex
	w      io.Writer
	mode   mode
	state  state
	bars   *bars // nil but on a terminal
	closed bool
	// plain mode
	lastLine time.Time // of this cell
	now      func() time.Time
}

type mode int

const (
	plain mode = iota
	terminal
	quiet
)

// New makes a display for a run of some cells; total is 0 when their number is
// not known. tty says that w is a terminal. Close must be called.
func New(w io.Writer, tty bool, total int) *Display {
	d := newDisplay(w, total, time.Now)
	if tty {
		d.mode = terminal
		d.bars = newBars(w, total, d.moving)
	}
	return d
}

// Quiet makes a display that only passes on what Say is given.
func Quiet(w io.Writer) *Display {
	d := newDisplay(w, 0, time.Now)
	d.mode = quiet
	return d
}

func newDisplay(w io.Writer, total int, now func() time.Time) *Display {
	return &Display{w: w, now: now, state: state{total: total, left: -1, began: now()}}
}

// Prompts says how many prompts a trial has, so that "prompt 2/3" can be shown.
func (d *Display) Prompts(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.state.prompts = n
}

// CellStart begins the i-th cell, 1 for the first; title is its version and
// settings.
func (d *Display) CellStart(i int, title string) {
	d.update(func(now time.Time) string {
		d.state.start(i, title)
		d.lastLine = now
		return d.state.cellText() + "  " + d.state.title
	})
}

// Event shows what a target did.
func (d *Display) Event(e memtrix.Event) {
	d.update(func(now time.Time) string {
		worth := d.state.event(e)
		if e.Kind == memtrix.EventProgress {
			worth = now.Sub(d.lastLine) >= stepEvery
		}
		if !worth {
			return ""
		}
		d.lastLine = now
		text := d.state.workText()
		switch e.Kind {
		case memtrix.EventError:
			text += "  error"
			if e.Failure != nil && e.Failure.Type != "" {
				text += " " + reports.OneLine(e.Failure.Type)
			}
		case memtrix.EventInterrupted, memtrix.EventReconnect:
			text += "  " + string(e.Kind)
		}
		if m := d.state.memoryText(); m != "" {
			text += "  " + m
		}
		return text
	})
}

// Memory tells the values of meters now, by name.
func (d *Display) Memory(values map[string]int64) {
	d.update(func(time.Time) string {
		d.state.memory = maps.Clone(values)
		return ""
	})
}

// CellEnd ends the cell with its outcome; seconds is the time that it took. What
// has ended stays readable on a terminal, above the lines that move.
func (d *Display) CellEnd(outcome string, seconds float64) {
	d.mu.Lock()
	d.state.end()
	now := d.now()
	line := d.state.cellText() + "  " + reports.OneLine(outcome) + "  " + reports.Seconds(seconds) + " s"
	if d.mode == terminal {
		line += "  " + d.state.title
	} else {
		line += "  [" + d.state.timeText(now) + "]"
	}
	done, silent := d.state.done, d.closed || d.mode == quiet
	d.mu.Unlock()
	if silent {
		return
	}
	d.say(now, line)
	if d.bars != nil {
		d.bars.done(done)
	}
}

// Left sets the estimate of the time left.
func (d *Display) Left(left time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.state.left, d.state.leftSet = max(left, 0), d.now()
}

// Say writes a message on a line of its own, between the moving lines of a
// terminal and not into them.
func (d *Display) Say(message string) {
	d.say(d.now(), reports.Lines(strings.TrimRight(message, "\n")))
}

// say writes a line. It must not hold the lock while bars draw: they ask for the
// state.
func (d *Display) say(now time.Time, line string) {
	if d.bars != nil && d.bars.say(line) {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.write(now, line)
}

// Close ends the display and leaves the cursor on a new line. It may be called
// more than once.
func (d *Display) Close() {
	d.mu.Lock()
	closed := d.closed
	d.closed = true
	d.mu.Unlock()
	if d.bars != nil && !closed {
		d.bars.close()
	}
}

// update changes the state, and in plain mode writes the line that comes of it.
func (d *Display) update(change func(now time.Time) string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return
	}
	now := d.now()
	line := change(now)
	if line != "" && d.mode == plain {
		d.write(now, line)
	}
}

// write writes one line, with the time of day in plain mode. A terminal that went
// away must not end a run, so its error is dropped.
func (d *Display) write(now time.Time, line string) {
	if d.mode == plain {
		line = now.Format(time.TimeOnly) + "  " + line
	}
	fmt.Fprintln(d.w, line)
}

// moving is what a terminal shows now.
func (d *Display) moving() moving {
	d.mu.Lock()
	defer d.mu.Unlock()
	m := moving{cells: d.state.cellText() + " ", times: d.state.timeText(d.now())}
	if d.state.running {
		m.title = d.state.title
		m.work = d.state.workText()
		if memory := d.state.memoryText(); memory != "" {
			m.work += "  " + memory
		}
	}
	return m
}
