package comfysim

import "golang.org/x/sys/unix"

// populate makes pages present; kernels before 5.14 have no call for it.
func populate(b []byte, write bool) {
	advice := unix.MADV_POPULATE_READ
	if write {
		advice = unix.MADV_POPULATE_WRITE
	}
	if len(b) > 0 && unix.Madvise(b, advice) != nil {
		touchPages(b, write)
	}
}
