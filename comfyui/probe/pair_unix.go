//go:build unix

package probe

import (
	"fmt"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// pair makes two connected sockets: one for us, one for the server. It has no name
// in the file system, so there is nothing to clear up and no path to be too long.
func pair() (net.Conn, *os.File, error) {
	syscall.ForkLock.RLock()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err == nil {
		unix.CloseOnExec(fds[0])
		unix.CloseOnExec(fds[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, fmt.Errorf("sockets of the probe: %w", err)
	}
	ours := os.NewFile(uintptr(fds[0]), "probe")
	defer ours.Close() // FileConn has its own copy
	theirs := os.NewFile(uintptr(fds[1]), "probe's end")
	conn, err := net.FileConn(ours)
	if err != nil {
		theirs.Close()
		return nil, nil, fmt.Errorf("sockets of the probe: %w", err)
	}
	return conn, theirs, nil
}

// monotonic is CLOCK_MONOTONIC in ns, the clock of Python's time.monotonic_ns.
func monotonic() (int64, error) {
	var ts unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts)
	return ts.Nano(), err
}
