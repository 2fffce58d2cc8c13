package hardware

import (
	"os"
	"path/filepath"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// inCache counts the pages of a file that the kernel keeps.
func inCache(t *testing.T, path string) int {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	m, err := unix.Mmap(int(f.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(m)
	vec := make([]byte, (len(m)+os.Getpagesize()-1)/os.Getpagesize())
	if err := mincore(m, vec); err != nil {
		t.Skip(err)
	}
	n := 0
	for _, v := range vec {
		n += int(v & 1)
	}
	return n
}

// mincore is mincore(2), which x/sys/unix does not have.
func mincore(m, vec []byte) error {
	_, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&m[0])), uintptr(len(m)), uintptr(unsafe.Pointer(&vec[0])))
	if errno != 0 {
		return errno
	}
	return nil
}

func TestForgetFiles(t *testing.T) {
	dir := t.TempDir()
	large, small := filepath.Join(dir, "sub", "model.safetensors"), filepath.Join(dir, "small")
	if err := os.Mkdir(filepath.Dir(large), 0o755); err != nil {
		t.Fatal(err)
	}
	for path, size := range map[string]int{large: 20 << 20, small: 1 << 20} {
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write(make([]byte, size)); err != nil {
			t.Fatal(err)
		}
		if err := f.Sync(); err != nil { // dirty pages are not dropped
			t.Fatal(err)
		}
		f.Close()
	}
	if inCache(t, large) == 0 {
		t.Skip("this file system keeps nothing in the cache")
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err == nil && fs.Type == unix.TMPFS_MAGIC {
		t.Skip("the files are in memory: there is no disk to read them from again")
	}
	if got := ForgetFiles([]string{dir, filepath.Join(dir, "nothere")}); got != 20<<20 {
		t.Errorf("%d bytes, want those of the large file", got)
	}
	if n := inCache(t, large); n > 100 {
		t.Errorf("%d pages are still there", n)
	}
	if inCache(t, small) == 0 {
		t.Error("the small file was dropped, too")
	}
}
