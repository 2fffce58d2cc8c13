//go:build linux || darwin || freebsd

package standin

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// errNoSpace is the system's error for a full disk.
var errNoSpace error = syscall.ENOSPC

// makeSparse has nothing to do: unix file systems make holes by themselves or
// not at all.
func makeSparse(*os.File) {}

// allocated is what a file takes on disk, in bytes; blocks of stat(2) are 512
// bytes whatever the file system's are.
func allocated(f *os.File) (int64, bool) {
	info, err := f.Stat()
	if err != nil {
		return 0, false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int64(st.Blocks) * 512, true
}

// freeBytes is what an ordinary user may still write below dir.
func freeBytes(dir string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, err
	}
	return int64(st.Bavail) * int64(st.Bsize), nil
}
