//go:build unix

package comfysim

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

const chunkSize = 64 << 20

// region is anonymous memory of which the first bytes are touched. It is not
// Go's: the garbage collector does not see it.
type region struct {
	shared bool
	chunks [][]byte
	size   int64
}

// resize touches pages up to size, or gives those above it back at once.
func (r *region) resize(size int64) error {
	size = roundUp(size, int64(os.Getpagesize()))
	for r.size < size {
		i := int(r.size / chunkSize)
		if i == len(r.chunks) {
			flags := unix.MAP_ANON | unix.MAP_PRIVATE
			if r.shared {
				flags = unix.MAP_ANON | unix.MAP_SHARED
			}
			mem, err := unix.Mmap(-1, 0, chunkSize, unix.PROT_READ|unix.PROT_WRITE, flags)
			if err != nil {
				return err
			}
			r.chunks = append(r.chunks, mem)
		}
		end := min(size, int64(i+1)*chunkSize)
		populate(r.chunks[i][r.size-int64(i)*chunkSize:end-int64(i)*chunkSize], true)
		r.size = end
	}
	for r.size > size {
		r.shrinkLast(size)
	}
	return nil
}

func (r *region) shrinkLast(size int64) {
	i := int((r.size - 1) / chunkSize)
	start := int64(i) * chunkSize
	if size <= start {
		_ = unix.Munmap(r.chunks[i])
		r.chunks = r.chunks[:i]
		r.size = start
		return
	}
	discard(r.chunks[i][size-start : r.size-start])
	r.size = size
}

// mapping is a mapped file, read from its beginning.
type mapping struct {
	mem     []byte
	touched int64
}

func mapFile(f *os.File, size int64) (*mapping, error) {
	if size = roundUp(size, int64(os.Getpagesize())); size == 0 {
		return &mapping{}, nil
	}
	mem, err := unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	// What is read is read from the beginning on; reading ahead would touch more
	// than the model says.
	_ = unix.Madvise(mem, unix.MADV_RANDOM)
	return &mapping{mem: mem}, nil
}

// touch reads pages up to n bytes, or drops those above it.
func (m *mapping) touch(n int64) {
	n = min(roundUp(n, int64(os.Getpagesize())), int64(len(m.mem)))
	switch {
	case n > m.touched:
		populate(m.mem[m.touched:n], false)
	case n < m.touched:
		discard(m.mem[n:m.touched])
	}
	m.touched = n
}

func (m *mapping) close() {
	if m.mem != nil {
		_ = unix.Munmap(m.mem)
		m.mem, m.touched = nil, 0
	}
}

func discard(b []byte) { _ = unix.Madvise(b, unix.MADV_DONTNEED) }

func touchPages(b []byte, write bool) {
	var sum byte
	for i := 0; i < len(b); i += os.Getpagesize() {
		if write {
			b[i] = 1
		} else {
			sum += b[i]
		}
	}
	runtime.KeepAlive(sum) // or the reads could be optimized away
}
