//go:build unix && !solaris && !aix

package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Try takes an flock, which the kernel drops with the last descriptor, however the
// program ends. Commands that are started do not inherit the file.
func Try(f *os.File) (bool, error) {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}
