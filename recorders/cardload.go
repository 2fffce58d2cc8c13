package recorders

import (
	"errors"
	"time"

	"memtrix"
)

// Cards that tell more than their memory.
type (
	loadTeller    interface{ Utilization() (int64, error) }
	trafficTeller interface {
		Traffic() (received, sent int64, err error)
	}
)

var errCardSilent = errors.New("this kind of card does not tell it")

var loadMeters = []memtrix.Meter{
	{Name: memtrix.GPUUtilization, Unit: memtrix.UnitPercent, Source: "the driver's utilization rate"},
	{Name: memtrix.PCIeReceived, Unit: memtrix.UnitBytesPerSecond, Source: "NVML PCIe throughput over 20 ms"},
	{Name: memtrix.PCIeSent, Unit: memtrix.UnitBytesPerSecond, Source: "NVML PCIe throughput over 20 ms"},
}

// cardLoad is how busy the card is.
type cardLoad struct{ card Card }

func newCardLoad(card Card) *cardLoad { return &cardLoad{card} }

func (c *cardLoad) Meters() []memtrix.Meter { return loadMeters[:1] }

// Every is slow: the driver renews the value every 1/6 to 1 s.
func (c *cardLoad) Every() time.Duration { return Slow }

func (c *cardLoad) Read(_ time.Duration, put func(int, int64)) error {
	teller, ok := c.card.(loadTeller)
	if !ok {
		return errCardSilent
	}
	n, err := teller.Utilization()
	if err != nil {
		return err
	}
	put(0, n)
	return nil
}

func (c *cardLoad) Close() error { return nil }

// cardTraffic is what goes over PCI Express. Asking blocks for 40 ms, in which
// nothing else of the driver's thread is read.
type cardTraffic struct{ card Card }

func newCardTraffic(card Card) *cardTraffic { return &cardTraffic{card} }

func (c *cardTraffic) Meters() []memtrix.Meter { return loadMeters[1:] }

func (c *cardTraffic) Every() time.Duration { return 5 * Seldom } // one takes 20 ms a direction

func (c *cardTraffic) Read(_ time.Duration, put func(int, int64)) error {
	teller, ok := c.card.(trafficTeller)
	if !ok {
		return errCardSilent
	}
	received, sent, err := teller.Traffic()
	if err != nil {
		return err
	}
	put(0, received)
	put(1, sent)
	return nil
}

func (c *cardTraffic) Close() error { return nil }
