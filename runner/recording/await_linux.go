package recording

import (
	"context"
	"time"

	"golang.org/x/sys/unix"
)

// awaitExit waits until a process has ended or ctx has.
func awaitExit(ctx context.Context, pid int) {
	// A file that stands for this very process (Linux 5.3): its number may be
	// given to another one.
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		poll(ctx, pid)
		return
	}
	defer unix.Close(fd)
	for ctx.Err() == nil {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 50)
		if n > 0 || err != nil && err != unix.EINTR {
			return
		}
	}
}

func poll(ctx context.Context, pid int) {
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
