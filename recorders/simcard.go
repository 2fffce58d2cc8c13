package recorders

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"memtrix"
)

// simCard reads the card of a simulated server (memtrix.SimCardFile). The file
// is read, not mapped: the server maps it shared, so both see the same pages,
// and a server that cuts it short cannot bring the recorder down.
type simCard struct {
	path string
	file *os.File
	buf  [24]byte
}

const simCardSource = "simulated card (not a measurement)"

func (c *simCard) Meters() []memtrix.Meter {
	meters := cardMeters(true)
	for i := range meters {
		meters[i].Source = simCardSource
		meters[i].Simulated = true
	}
	return meters
}

func (c *simCard) Every() time.Duration { return 0 }

func (c *simCard) Read(_ time.Duration, put func(int, int64)) error {
	if c.file == nil {
		f, err := os.Open(c.path)
		if errors.Is(err, fs.ErrNotExist) {
			return errNoSimCard
		}
		if err != nil {
			return fmt.Errorf("simulated card: %w", err)
		}
		c.file = f
	}
	if _, err := c.file.ReadAt(c.buf[:], 0); errors.Is(err, io.EOF) {
		return errShortSimCard
	} else if err != nil {
		return fmt.Errorf("simulated card: %w", err)
	}
	total := int64(binary.LittleEndian.Uint64(c.buf[0:]))
	used := int64(binary.LittleEndian.Uint64(c.buf[8:]))
	reserved := int64(binary.LittleEndian.Uint64(c.buf[16:]))
	if total == 0 {
		return errShortSimCard // made, but not filled in yet
	}
	put(cardUsed, used)
	put(cardFree, total-used-reserved)
	// Nobody else can be on a simulated card.
	put(cardTrial, used)
	put(cardReserved, reserved)
	return nil
}

var (
	errNoSimCard    = errors.New("the simulated server has shown no card")
	errShortSimCard = errors.New("the simulated card's file is not complete")
)

func (c *simCard) Close() error {
	if c.file == nil {
		return nil
	}
	return c.file.Close()
}
