//go:build cgo

package nvidia

import (
	"fmt"
	"strings"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// Card is one open card. Its methods may be called from any goroutine. A nil
// Card is a machine without one: reading it fails with ErrNoCard.
type Card struct {
	Info
	// Note says what is not certain about the choice of this card; mostly "".
	Note   string
	device nvml.Device
	hasV2  bool
	hasMPS bool
	quick  *quick // nil where go-nvml is asked
	page   *page  // nil where NVML alone is asked
}

// Open opens the card that a CUDA program with the given environment uses
// first. Close it after use; while one card is open, opening another is cheap.
func Open(env Lookup) (*Card, error) {
	if err := initNVML(); err != nil {
		return nil, err
	}
	card, err := open(env)
	if err != nil {
		nvml.Shutdown()
		return nil, err
	}
	return card, nil
}

func open(env Lookup) (*Card, error) {
	c := &Card{
		// A call that the library does not have ends the process: look first.
		hasV2:  nvml.Extensions().LookupSymbol("nvmlDeviceGetMemoryInfo_v2") == nil,
		hasMPS: nvml.Extensions().LookupSymbol("nvmlDeviceGetMPSComputeRunningProcesses") == nil,
	}
	// A slice of a card (MIG) has a UUID of its own and is not in the list.
	if visible, _ := env("CUDA_VISIBLE_DEVICES"); strings.HasPrefix(visible, "MIG-") {
		uuid, _, _ := strings.Cut(visible, ",")
		d, ret := nvml.DeviceGetHandleByUUID(uuid)
		if ret != nvml.SUCCESS {
			return nil, fmt.Errorf("%w: CUDA_VISIBLE_DEVICES=%q: %s", ErrNoCard, visible, nvml.ErrorString(ret))
		}
		c.device = d
		c.Info = info(-1, d)
		c.speedUp()
		return c, nil
	}
	cards, devices, err := list()
	if err != nil {
		return nil, err
	}
	i, note, err := Choose(env, cards)
	if err != nil {
		return nil, err
	}
	c.Info, c.Note, c.device = cards[i], note, devices[i]
	c.speedUp()
	return c, nil
}

func (c *Card) speedUp() {
	if c.hasV2 {
		c.quick = newQuick(c.device)
	}
	if c.quick != nil && c.Index >= 0 { // a slice's memory is not that of its card
		c.page = c.openPage()
	}
}

func (c *Card) openPage() *page {
	driver, ret := nvml.SystemGetDriverVersion()
	if ret != nvml.SUCCESS || nvml.Extensions().LookupSymbol("nvmlDeviceGetPciInfo_v3") != nil {
		return nil
	}
	pci, ret := c.device.GetPciInfo()
	if ret != nvml.SUCCESS {
		return nil
	}
	p, err := openPage(driver, pci.Domain, pci.Bus, pci.Device)
	if err != nil {
		return nil
	}
	if p.compare(c.Memory) != nil {
		p.Close()
		return nil
	}
	return p
}

// Paged reports whether a Watch reads the card without NVML, which it then only
// checks against: see page_linux.go.
func (c *Card) Paged() bool { return c != nil && c.page != nil }

// Close gives the library back.
func (c *Card) Close() error {
	if c == nil {
		return nil
	}
	if c.page != nil {
		c.page.Close()
		c.page = nil
	}
	if ret := nvml.Shutdown(); ret != nvml.SUCCESS {
		return fmt.Errorf("close NVML: %s", nvml.ErrorString(ret))
	}
	return nil
}

// Memory reads the card's memory; it takes some microseconds, but was seen to
// block for half a second while another process initialised CUDA.
func (c *Card) Memory() (Memory, error) {
	if c == nil {
		return Memory{}, ErrNoCard
	}
	if c.quick != nil {
		return c.quick.memory(c.Name)
	}
	if c.hasV2 {
		m, ret := c.device.GetMemoryInfo_v2()
		if ret != nvml.SUCCESS {
			return Memory{}, fmt.Errorf("NVML memory of %s: %s", c.Name, nvml.ErrorString(ret))
		}
		return Memory{Total: int64(m.Total), Used: int64(m.Used), Free: int64(m.Free), Reserved: int64(m.Reserved), Apart: true}, nil
	}
	m, ret := c.device.GetMemoryInfo()
	if ret != nvml.SUCCESS {
		return Memory{}, fmt.Errorf("NVML memory of %s: %s", c.Name, nvml.ErrorString(ret))
	}
	return Memory{Total: int64(m.Total), Used: int64(m.Used), Free: int64(m.Free)}, nil
}

// Processes appends the processes that hold memory of the card to buf, each
// once. An empty list while memory is in use means that the driver hides them.
func (c *Card) Processes(buf []Process) ([]Process, error) {
	if c == nil {
		return buf, ErrNoCard
	}
	compute, ret := c.device.GetComputeRunningProcesses()
	if ret != nvml.SUCCESS {
		return buf, fmt.Errorf("NVML processes of %s: %s", c.Name, nvml.ErrorString(ret))
	}
	buf = merge(buf, compute)
	if graphics, ret := c.device.GetGraphicsRunningProcesses(); ret == nvml.SUCCESS {
		buf = merge(buf, graphics)
	}
	if c.hasMPS {
		if mps, ret := c.device.GetMPSComputeRunningProcesses(); ret == nvml.SUCCESS {
			buf = merge(buf, mps)
		}
	}
	return buf, nil
}

// merge adds processes that are not in the list yet: one that computes and
// draws is listed twice, with the same memory.
func merge(buf []Process, more []nvml.ProcessInfo) []Process {
	notAvailable := uint64(1<<64 - 1) // NVML_VALUE_NOT_AVAILABLE of nvml.h
next:
	for _, p := range more {
		q := Process{PID: int(p.Pid), Known: p.UsedGpuMemory != notAvailable}
		if q.Known {
			q.Used = int64(p.UsedGpuMemory)
		}
		for i := range buf {
			if buf[i].PID == q.PID {
				if !buf[i].Known {
					buf[i] = q
				}
				continue next
			}
		}
		buf = append(buf, q)
	}
	return buf
}

// List says what cards and driver the machine has.
func List() (Inventory, error) {
	if err := initNVML(); err != nil {
		return Inventory{}, err
	}
	defer nvml.Shutdown()
	var inv Inventory
	if s, ret := nvml.SystemGetDriverVersion(); ret == nvml.SUCCESS {
		inv.Driver = s
	}
	if n, ret := nvml.SystemGetCudaDriverVersion(); ret == nvml.SUCCESS {
		inv.CUDA = fmt.Sprintf("%d.%d", n/1000, n%1000/10)
	}
	cards, _, err := list()
	inv.Cards = cards
	return inv, err
}

func list() ([]Info, []nvml.Device, error) {
	n, ret := nvml.DeviceGetCount()
	if ret != nvml.SUCCESS {
		return nil, nil, fmt.Errorf("NVML card count: %s", nvml.ErrorString(ret))
	}
	cards := make([]Info, n)
	devices := make([]nvml.Device, n)
	for i := range n {
		d, ret := nvml.DeviceGetHandleByIndex(i)
		if ret != nvml.SUCCESS {
			return nil, nil, fmt.Errorf("NVML card %d: %s", i, nvml.ErrorString(ret))
		}
		cards[i], devices[i] = info(i, d), d
	}
	return cards, devices, nil
}

func info(index int, d nvml.Device) Info {
	in := Info{Index: index}
	if s, ret := d.GetName(); ret == nvml.SUCCESS {
		in.Name = s
	}
	if s, ret := d.GetUUID(); ret == nvml.SUCCESS {
		in.UUID = s
	}
	if m, ret := d.GetMemoryInfo(); ret == nvml.SUCCESS {
		in.Total = int64(m.Total)
	}
	return in
}

// initNVML loads and starts the library; each success needs one Shutdown.
func initNVML() error {
	ret := nvml.Init()
	switch ret {
	case nvml.SUCCESS:
		return nil
	case nvml.ERROR_LIBRARY_NOT_FOUND:
		return fmt.Errorf("%w: libnvidia-ml.so.1 is not installed", ErrNoCard)
	case nvml.ERROR_DRIVER_NOT_LOADED:
		return fmt.Errorf("%w: libnvidia-ml.so.1 is installed, but the driver is not loaded", ErrNoCard)
	case nvml.ERROR_LIB_RM_VERSION_MISMATCH:
		// nvmlErrorString says the same in NVIDIA's words; the remedy is missing there.
		return fmt.Errorf("%w: the NVIDIA library is newer or older than the loaded driver: restart the machine or reload the driver", ErrNoCard)
	}
	return fmt.Errorf("%w: NVML does not start: %s", ErrNoCard, nvml.ErrorString(ret))
}
