//go:build cgo

package hardware

import (
	"runtime"
	"time"
)

// Spike is a block of device memory that lived between two moments: it was there
// from From at the latest until To.
type Spike struct{ From, To time.Time }

// Spikes takes a block of the first card's memory again and again, holds it for a
// time and gives it back: to test whether a recorder sees it. pause is how long to
// wait before each one.
func Spikes(size int64, hold time.Duration, count int, pause func() time.Duration) ([]Spike, error) {
	// A CUDA context is current on a thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	h, err := openCUDA(cudaLibrary)
	if err != nil {
		return nil, err
	}
	defer h.close()
	var spikes []Spike
	for range count {
		time.Sleep(pause())
		block, err := h.take(size)
		if err != nil {
			return spikes, err
		}
		from := time.Now()
		for time.Since(from) < hold { // to sleep would take longer
		}
		to := time.Now()
		if err := h.give(block); err != nil {
			return spikes, err
		}
		spikes = append(spikes, Spike{from, to})
	}
	return spikes, nil
}
