//go:build !linux || !cgo

package nvidia

import (
	"fmt"
	"runtime"
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
