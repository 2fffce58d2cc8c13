//go:build !unix

package comfysim

import (
	"encoding/binary"
	"os"
)

// cardFile shows the card to a recorder (memtrix.SimCardFile). Without memory
// mapping it is written in place.
type cardFile struct{ f *os.File }

func openCardFile(path string) (*cardFile, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	return &cardFile{f: f}, nil
}

func (c *cardFile) set(total, used, reserved int64) {
	var b [24]byte
	binary.LittleEndian.PutUint64(b[0:], uint64(total))
	binary.LittleEndian.PutUint64(b[8:], uint64(used))
	binary.LittleEndian.PutUint64(b[16:], uint64(reserved))
	_, _ = c.f.WriteAt(b[:], 0) // a recorder that misses one value takes the next
}

func (c *cardFile) close() { c.f.Close() }
