package hardware

import (
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// ForgetFiles lets the kernel drop what it keeps of the large files below some folders
// (posix_fadvise DONTNEED; no data is lost, and what a process has mapped stays). A page
// of a file is charged to the memory group that reads it first
// (https://docs.kernel.org/admin-guide/cgroup-v1/memory.html, 2.3): what was read before
// the group was made would not count against its limit. It gives the size of the files,
// bytes.
func ForgetFiles(folders []string) int64 {
	const least = 16 << 20
	var size int64
	for _, folder := range folders {
		// A folder that cannot be read has nothing that a trial could read either.
		_ = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return nil
			}
			info, err := os.Stat(path) // of what a link leads to
			if err != nil || !info.Mode().IsRegular() || info.Size() < least {
				return nil
			}
			f, err := os.Open(path)
			if err != nil {
				return nil
			}
			defer f.Close()
			if unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED) == nil {
				size += info.Size()
			}
			return nil
		})
	}
	return size
}
