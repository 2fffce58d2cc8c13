//go:build unix

package comfysim

import (
	"encoding/binary"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

const cardFileSize = 24

// cardFile shows the card to a recorder (memtrix.SimCardFile), by memory
// mapping: writing it costs nothing.
type cardFile struct {
	f   *os.File
	mem []byte
}

func openCardFile(path string) (*cardFile, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	if err := f.Truncate(cardFileSize); err != nil {
		f.Close()
		return nil, err
	}
	mem, err := unix.Mmap(int(f.Fd()), 0, cardFileSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("map %s: %w", path, err)
	}
	return &cardFile{f: f, mem: mem}, nil
}

// set writes the total last: a reader takes a total of 0 for "not ready".
func (c *cardFile) set(total, used, reserved int64) {
	binary.LittleEndian.PutUint64(c.mem[8:], uint64(used))
	binary.LittleEndian.PutUint64(c.mem[16:], uint64(reserved))
	binary.LittleEndian.PutUint64(c.mem[0:], uint64(total))
}

func (c *cardFile) close() {
	_ = unix.Munmap(c.mem)
	c.f.Close()
}
