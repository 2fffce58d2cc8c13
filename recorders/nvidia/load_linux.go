//go:build cgo

package nvidia

import (
	"errors"
	"fmt"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// errNotTold is for cards and drivers that do not know a quantity.
var errNotTold = errors.New("this card or driver does not tell it")

// Utilization is the share of the last sample period (1/6 to 1 s) in which the
// card did anything, in per cent.
func (c *Card) Utilization() (int64, error) {
	if c == nil {
		return 0, ErrNoCard
	}
	if nvml.Extensions().LookupSymbol("nvmlDeviceGetUtilizationRates") != nil {
		return 0, errNotTold
	}
	u, ret := c.device.GetUtilizationRates()
	if ret != nvml.SUCCESS {
		return 0, fmt.Errorf("NVML utilization of %s: %s", c.Name, nvml.ErrorString(ret))
	}
	return int64(u.Gpu), nil
}

// Traffic is what came to and went from the card over PCI Express in the last
// 20 ms, bytes per second. It blocks for 40 ms.
func (c *Card) Traffic() (received, sent int64, err error) {
	if c == nil {
		return 0, 0, ErrNoCard
	}
	if nvml.Extensions().LookupSymbol("nvmlDeviceGetPcieThroughput") != nil {
		return 0, 0, errNotTold
	}
	rx, ret := c.device.GetPcieThroughput(nvml.PCIE_UTIL_RX_BYTES)
	if ret == nvml.SUCCESS {
		var tx uint32
		if tx, ret = c.device.GetPcieThroughput(nvml.PCIE_UTIL_TX_BYTES); ret == nvml.SUCCESS {
			return int64(rx) * 1000, int64(tx) * 1000, nil // NVML tells KB/s
		}
	}
	return 0, 0, fmt.Errorf("NVML PCIe traffic of %s: %s", c.Name, nvml.ErrorString(ret))
}

// OpenAll opens every card that a CUDA program with the given environment sees,
// the first one first. Close each.
func OpenAll(env Lookup) ([]*Card, error) {
	first, err := Open(env)
	if err != nil {
		return nil, err
	}
	all := []*Card{first}
	if first.Index < 0 { // a slice of a card
		return all, nil
	}
	cards, devices, err := list()
	if err != nil {
		return all, nil
	}
	for _, i := range visible(env, cards) {
		if i == first.Index || initNVML() != nil {
			continue
		}
		c := &Card{Info: cards[i], device: devices[i], hasV2: first.hasV2, hasMPS: first.hasMPS}
		c.speedUp()
		all = append(all, c)
	}
	return all, nil
}
