//go:build !linux

package hardware

import (
	"errors"
	"time"
)

var errNoGroups = errors.New("memory groups (cgroups) are a thing of Linux: ram and swap cannot be limited here")

// MakeGroup fails: only Linux has memory groups.
func MakeGroup(name string, ram int64, swap *int64) (*Group, error) { return nil, errNoGroups }

// Usage is empty.
func (g *Group) Usage() Usage { return Usage{} }

// Enter fails.
func (g *Group) Enter() error { return errNoGroups }

// End does nothing.
func (g *Group) End(time.Duration) error { return nil }
