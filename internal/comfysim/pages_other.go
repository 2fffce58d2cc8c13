//go:build !unix

package comfysim

import "os"

// region without memory mapping is Go's own memory: it is touched, and given
// back when the garbage collector gets to it.
type region struct {
	shared bool
	mem    [][]byte
	size   int64
}

const chunkSize = 16 << 20

func (r *region) resize(size int64) error {
	for r.size < size {
		b := make([]byte, min(chunkSize, size-r.size))
		for i := 0; i < len(b); i += 4096 {
			b[i] = 1
		}
		r.mem = append(r.mem, b)
		r.size += int64(len(b))
	}
	for len(r.mem) > 0 && r.size-int64(len(r.mem[len(r.mem)-1])) >= size {
		last := len(r.mem) - 1
		r.size -= int64(len(r.mem[last]))
		r.mem = r.mem[:last]
	}
	return nil
}

// mapping without memory mapping touches nothing.
type mapping struct{ touched int64 }

func mapFile(*os.File, int64) (*mapping, error) { return &mapping{}, nil }
func (m *mapping) touch(n int64)                { m.touched = n }
func (m *mapping) close()                       {}
