//go:build !linux || !cgo

package hardware

import (
	"fmt"
	"runtime"

	"memtrix/recorders/nvidia"
)

// HoldVRAM always fails here.
func HoldVRAM(int64) (held int64, release func(), err error) {
	return 0, nil, fmt.Errorf("hold VRAM: %w: only on Linux (this is %s)", nvidia.ErrNoCard, runtime.GOOS)
}
