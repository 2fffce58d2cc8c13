//go:build unix && !solaris && !aix

package command

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// tryLock takes an flock, which the kernel drops when memtrix ends, however it does.
// Commands that are started do not inherit the file.
func tryLock(f *os.File) (bool, error) {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}
