//go:build !linux

package recording

import (
	"context"
	"time"
)

// awaitExit waits until a process has ended or ctx has.
func awaitExit(ctx context.Context, pid int) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for exists(pid) == nil {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
