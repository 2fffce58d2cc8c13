package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// Try locks one byte far behind the text: a locked byte cannot be read by others on
// Windows, and the text may be for them.
func Try(f *os.File) (bool, error) {
	far := &windows.Overlapped{OffsetHigh: 1}
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, far)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return false, nil
	}
	return err == nil, err
}
