// Package hardware looks after the machine that trials run on: that the card is
// free of leftovers before a trial (Gate), and that a big card can act as a
// small one (HoldVRAM).
//
// It ends no process and frees nobody's memory: when a card stays in use, it says
// by whom and gives up.
package hardware

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"memtrix/recorders/nvidia"
)

// A card has settled when what is used on it stays within steady for calm.
const (
	steady = 16 << 20
	calm   = 800 * time.Millisecond // of a trial's own time; less than a second, all in all
)

// Anything as a gate's Allowed lets every amount pass that does not move: for
// the first look of a session.
const Anything int64 = -1

// Card is what the gate needs of a card; *nvidia.Card is one.
type Card interface {
	// Memory of the card now.
	Memory() (nvidia.Memory, error)
	// Processes appends those that hold memory of the card to buf.
	Processes(buf []nvidia.Process) ([]nvidia.Process, error)
}

// Gate waits until a card is empty.
type Gate struct {
	// Allowed is how many bytes may be used on the card by what was there before
	// the session and stays (a desktop, a ballast), or Anything.
	Allowed int64
	// Every is the time between two looks; 0 means 100 ms.
	Every time.Duration
	// Say is told once, when a trial has to wait, for whom; nil tells nobody.
	Say func(string)
	// Name gives the name of a process, "" where it is hidden; nil asks /proc.
	Name func(pid int) string
	// Now and Sleep are the clock; nil is the real one.
	Now   func() time.Time
	Sleep func(ctx context.Context, d time.Duration) error
}

// Holder is a process that holds memory of the card.
type Holder struct {
	PID  int
	Name string // "" where it is hidden
	// Bytes means nothing unless Known.
	Bytes int64
	Known bool
}

// Baseline is a card at rest, just before a trial. The zero value is what a
// machine without a card has.
type Baseline struct {
	// Present is set where there is a card.
	Present bool
	// Used is what vram.trial.used counts from, bytes.
	Used, Free, Total, Reserved int64
	// Holders are who uses it, as far as the driver tells.
	Holders []Holder
	// Waited is how long it took to settle.
	Waited time.Duration
}

// BusyError says that a card was not given free.
type BusyError struct {
	Baseline Baseline
	Allowed  int64
	// Moving is set when what is used kept changing until the end.
	Moving bool
}

func (e *BusyError) Error() string {
	b := e.Baseline
	if e.Moving {
		return fmt.Sprintf("the card is in use: its memory kept changing for %.0f s, now %s used by %s",
			b.Waited.Seconds(), size(b.Used), holders(b, e.Allowed))
	}
	return fmt.Sprintf("the card is not empty after %.0f s: %s (%s used, %s allowed)",
		b.Waited.Seconds(), holders(b, e.Allowed), size(b.Used), size(e.Allowed))
}

// Wait returns as soon as the card is at rest with no more used than is
// allowed, or with a *BusyError once max is over. To see that a card is at rest
// takes 0.8 s, unless just what is allowed is used. A nil card (none in this
// machine) is at rest at once.
func (g Gate) Wait(ctx context.Context, card Card, max time.Duration) (Baseline, error) {
	if card == nil {
		return Baseline{}, nil
	}
	g = g.filled()
	start := g.Now()
	var looks []Look
	said := false
	for {
		m, err := card.Memory()
		if errors.Is(err, nvidia.ErrNoCard) {
			return Baseline{}, nil // a nil *nvidia.Card
		}
		if err != nil {
			return Baseline{}, fmt.Errorf("look at the card: %w", err)
		}
		waited := g.Now().Sub(start)
		looks = keep(append(looks, Look{waited, m.Used}))
		state := Decide(looks, g.Allowed)
		if state == Ready || waited >= max {
			b := g.baseline(card, m, waited)
			if state == Ready {
				return b, nil
			}
			return b, &BusyError{Baseline: b, Allowed: g.Allowed, Moving: state == Moving}
		}
		if state == Busy && !said {
			said = true
			g.Say("waiting for the card: " + holders(g.baseline(card, m, waited), g.Allowed))
		}
		if err := g.Sleep(ctx, g.Every); err != nil {
			return Baseline{}, err
		}
	}
}

func (g Gate) filled() Gate {
	if g.Every <= 0 {
		g.Every = 100 * time.Millisecond
	}
	if g.Say == nil {
		g.Say = func(string) {}
	}
	if g.Name == nil {
		g.Name = nameOf
	}
	if g.Now == nil {
		g.Now = time.Now
	}
	if g.Sleep == nil {
		g.Sleep = sleep
	}
	return g
}

func (g Gate) baseline(card Card, m nvidia.Memory, waited time.Duration) Baseline {
	b := Baseline{Present: true, Used: m.Used, Free: m.Free, Total: m.Total, Reserved: m.Reserved, Waited: waited}
	// A driver that does not list processes leaves them unnamed, no more.
	list, _ := card.Processes(nil)
	for _, p := range list {
		b.Holders = append(b.Holders, Holder{p.PID, g.Name(p.PID), p.Used, p.Known})
	}
	return b
}

// Look is what was used on the card at some time since the gate began to wait.
type Look struct {
	At   time.Duration
	Used int64
}

// State is what the gate thinks of a card.
type State int

const (
	Moving State = iota // not seen at rest yet
	Busy                // at rest, but more is used than is allowed
	Ready
)

// Decide judges a card by the looks taken so far, in the order of time. A card
// that is back to what is allowed, within 16 MiB, is ready at once: leftovers
// only add to that. Otherwise it is at rest when over the last 0.8 s no look was
// more than 16 MiB from another.
func Decide(looks []Look, allowed int64) State {
	if len(looks) == 0 {
		return Moving
	}
	last := looks[len(looks)-1]
	if allowed != Anything && last.Used <= allowed+steady && last.Used >= allowed-steady {
		return Ready
	}
	low, high := last.Used, last.Used
	seen := time.Duration(0)
	for _, l := range slices.Backward(looks) {
		low, high = min(low, l.Used), max(high, l.Used)
		seen = last.At - l.At
		if high-low > steady {
			return Moving
		}
		if seen >= calm {
			break
		}
	}
	switch {
	case seen < calm:
		return Moving
	case allowed != Anything && last.Used > allowed+steady:
		return Busy
	}
	return Ready
}

// keep forgets looks that Decide no longer needs.
func keep(looks []Look) []Look {
	last := looks[len(looks)-1].At
	for len(looks) > 2 && last-looks[1].At >= calm {
		looks = looks[1:]
	}
	return looks
}

// holders names who has the memory that is not allowed:
// "PID 581 python, 3.1 GiB" or "unknown holders, 3.1 GiB: ...".
func holders(b Baseline, allowed int64) string {
	if len(b.Holders) == 0 {
		return fmt.Sprintf("unknown holders, %s: the driver does not name them here (container, or not a process)", size(b.Used-max(allowed, 0)))
	}
	list := slices.Clone(b.Holders)
	slices.SortFunc(list, func(x, y Holder) int {
		if x.Bytes != y.Bytes {
			return int(min(max(y.Bytes-x.Bytes, -1), 1))
		}
		return x.PID - y.PID
	})
	var words []string
	for _, h := range list {
		word := "PID " + strconv.Itoa(h.PID)
		if h.Name != "" {
			word += " " + h.Name
		}
		if h.Known {
			word += ", " + size(h.Bytes)
		} else {
			word += ", size hidden"
		}
		words = append(words, word)
	}
	return strings.Join(words, "; ")
}

// size writes bytes for people.
func size(n int64) string {
	if n >= 1<<30 || n <= -1<<30 {
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	}
	return fmt.Sprintf("%d MiB", n>>20)
}

// nameOf gives a process's name from /proc.
func nameOf(pid int) string {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/comm")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}
