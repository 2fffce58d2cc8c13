package comfysim

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// bar is a progress bar as tqdm draws it: carriage returns inside one line, a
// new drawing at most every 0.1 s, the last one always.
type bar struct {
	log     *logger
	clock   *clock
	total   int
	n       int
	drawnN  int
	start   time.Duration
	drawn   time.Duration
	rate    float64 // steps a second, smoothed
	postfix string
	width   int // of the last drawing
}

const barEvery = 100 * time.Millisecond

func newBar(log *logger, clk *clock, total int) *bar {
	b := &bar{log: log, clock: clk, total: total, start: clk.now(), drawn: clk.now()}
	b.draw()
	return b
}

// initializing is what dynamic VRAM adds while the first step pages weights in.
func (b *bar) initializing() {
	b.postfix = "  Model Initializing ...  "
	b.draw()
}

// initialized ends that, at the end of the first step: the bar is drawn with the
// step's real time and then starts its clock anew.
func (b *bar) initialized() {
	b.postfix = " Model Initialization complete!  "
	b.draw()
	b.n++
	b.observe(b.clock.now())
	b.draw()
	b.postfix = ""
	b.start = b.clock.now()
	b.draw()
}

// step counts one step and draws when the last drawing is old enough.
func (b *bar) step() {
	b.n++
	now := b.clock.now()
	if now-b.drawn < barEvery {
		return
	}
	b.observe(now)
	b.draw()
}

// observe takes the time since the last drawing into the smoothed rate (tqdm's
// exponential average with factor 0.3).
func (b *bar) observe(now time.Duration) {
	if dt := (now - b.drawn).Seconds(); dt > 0 && b.n > b.drawnN {
		current := float64(b.n-b.drawnN) / dt
		if b.rate == 0 {
			b.rate = current
		} else {
			b.rate = 0.3*current + 0.7*b.rate
		}
	}
	b.drawn, b.drawnN = now, b.n
}

// close draws the last state and ends the line. n of fewer steps than the total
// is what an interrupted bar shows.
func (b *bar) close() {
	if dt := (b.clock.now() - b.start).Seconds(); b.n > 0 && dt > 0 {
		b.rate = float64(b.n) / dt
	}
	b.draw()
	b.log.raw("\n")
}

func (b *bar) draw() {
	elapsed := b.clock.now() - b.start
	left, rate := "?", "?it/s"
	if b.rate > 0 {
		left = barTime(time.Duration(float64(b.total-b.n) / b.rate * float64(time.Second)))
		rate = fmt.Sprintf("%5.2fit/s", b.rate)
		if b.rate < 1 {
			rate = fmt.Sprintf("%5.2fs/it", 1/b.rate)
		}
	}
	post := ""
	if b.postfix != "" {
		post = ", " + b.postfix
	}
	text := fmt.Sprintf("%3d%%|%s| %d/%d [%s<%s, %s%s]", 100*b.n/b.total, barBlocks(b.n, b.total),
		b.n, b.total, barTime(elapsed), left, rate, post)
	width := utf8.RuneCountInString(text)
	pad := max(0, b.width-width)
	b.width = width
	b.log.raw("\r" + text + strings.Repeat(" ", pad))
}

func barTime(d time.Duration) string {
	s := int(d.Seconds())
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%02d:%02d", s/60, s%60)
}

// barBlocks are ten cells filled to an eighth.
func barBlocks(n, total int) string {
	eighths := n * 80 / total
	s := strings.Repeat("█", eighths/8)
	if eighths%8 > 0 {
		s += string(rune('▏' - rune(eighths%8-1)))
	}
	return s + strings.Repeat(" ", 10-(eighths+7)/8)
}
