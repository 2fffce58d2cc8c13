//go:build !linux || !cgo

package nvidia

import (
	"fmt"
	"runtime"
	"time"
)

// Card is one open card. On this system there are none.
type Card struct {
	Info
	Note string
}

func unsupported() error {
	return fmt.Errorf("%w: NVML is read on Linux only (this is %s)", ErrNoCard, runtime.GOOS)
}

// Open always fails here.
func Open(Lookup) (*Card, error) { return nil, unsupported() }

// Close does nothing here.
func (c *Card) Close() error { return nil }

// Memory always fails here.
func (c *Card) Memory() (Memory, error) { return Memory{}, unsupported() }

// Paged is false here.
func (c *Card) Paged() bool { return false }

// Processes always fails here.
func (c *Card) Processes(buf []Process) ([]Process, error) { return buf, unsupported() }

// Utilization always fails here.
func (c *Card) Utilization() (int64, error) { return 0, unsupported() }

// Traffic always fails here.
func (c *Card) Traffic() (received, sent int64, err error) { return 0, 0, unsupported() }

// OpenAll always fails here.
func OpenAll(Lookup) ([]*Card, error) { return nil, unsupported() }

// List always fails here.
func List() (Inventory, error) { return Inventory{}, unsupported() }

// Watch is not possible here.
type Watch struct{}

// NewWatch always gives nil here.
func NewWatch([]*Card, time.Duration) *Watch { return nil }

// Change is a new answer of one card.
type Change struct {
	Card int
	At   int64
	Memory
	Err error
}

// Watched is what a watch did so far.
type Watched struct {
	Seen, Ticks, Missed, Held, Lost, Measured int64
	Thread, CPU, Wall, Longest                time.Duration
}

// Check does nothing here.
func (w *Watch) Check(int) (unlike int, gaveUp bool) { return 0, false }

// Calm does nothing here.
func (w *Watch) Calm(time.Duration) {}

// Busy does nothing here.
func (w *Watch) Busy(bool) {}

// Run does nothing here.
func (w *Watch) Run() {}

// Stop does nothing here.
func (w *Watch) Stop() {}

// Drain does nothing here.
func (w *Watch) Drain(func(Change)) {}

// Close does nothing here.
func (w *Watch) Close() {}

// Watched does nothing here.
func (w *Watch) Watched() Watched { return Watched{} }
