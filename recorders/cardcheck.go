package recorders

import (
	"errors"
	"time"

	"memtrix"
	"memtrix/recorders/nvidia"
)

// cardCheck holds cards that are read without NVML against NVML, on the thread of
// the calls that can block.
type cardCheck struct {
	watch *nvidia.Watch
	cards []int // of the watch
	cost  time.Duration
}

var errUnlike = errors.New("NVML and the driver's page did not agree on the memory of a card: NVML is asked at each tick from then on")

// newCardCheck gives nil where NVML alone is asked.
func newCardCheck(fast *lane) *cardCheck {
	if fast.watching == nil {
		return nil
	}
	c := &cardCheck{watch: fast.watching}
	for i, card := range fast.watchable() {
		if card.Paged() {
			c.cards = append(c.cards, i)
		}
	}
	if c.cards == nil {
		return nil
	}
	return c
}

func (c *cardCheck) Meters() []memtrix.Meter {
	return []memtrix.Meter{countMeter(memtrix.RecorderUnlike, "NVML memory v2 beside the driver's page")}
}

func (c *cardCheck) Every() time.Duration { return affordable(c.cost, Seldom, 5*time.Second) }

func (c *cardCheck) Read(_ time.Duration, put func(int, int64)) error {
	start := time.Now()
	total, gaveUp := 0, false
	for _, i := range c.cards {
		unlike, ended := c.watch.Check(i)
		total += unlike
		gaveUp = gaveUp || ended
	}
	c.cost = time.Since(start)
	if gaveUp {
		return errUnlike
	}
	put(0, int64(total))
	return nil
}

func (c *cardCheck) Close() error { return nil }
