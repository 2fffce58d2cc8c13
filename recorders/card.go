package recorders

import (
	"errors"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"memtrix"
	"memtrix/recorders/nvidia"
)

func ownEnv(name string) (string, bool) { return os.LookupEnv(name) }

// Indices of the meters of a card's memory.
const (
	cardUsed = iota
	cardFree
	cardTrial
	cardReserved // last: older drivers do not tell it
)

func cardMeters(apart bool) []memtrix.Meter {
	if !apart {
		const source = "NVML memory v1 (includes what the driver reserves)"
		return []memtrix.Meter{
			bytesMeter(memtrix.VRAMDeviceUsed, source),
			bytesMeter(memtrix.VRAMDeviceFree, source),
			bytesMeter(memtrix.VRAMTrialUsed, source+" minus the baseline"),
		}
	}
	const source = "NVML memory v2"
	return []memtrix.Meter{
		bytesMeter(memtrix.VRAMDeviceUsed, source),
		bytesMeter(memtrix.VRAMDeviceFree, source),
		bytesMeter(memtrix.VRAMTrialUsed, source+" minus the baseline"),
		bytesMeter(memtrix.VRAMDeviceReserved, source),
	}
}

// cardMemory is the memory of the whole card.
type cardMemory struct {
	card     Card
	baseline *atomic.Pointer[int64]
	apart    bool
}

var (
	errNoBaseline = errors.New("what was used on the card before the server started is not known")
	errV1         = errors.New("the driver is too old to tell (NVML memory v2 came with driver 510)")
)

// newCardMemory reads the card once, to learn what it can tell.
func newCardMemory(card Card, baseline *atomic.Pointer[int64]) (*cardMemory, []Absence) {
	m, err := card.Memory()
	c := &cardMemory{card: card, baseline: baseline, apart: m.Apart || err != nil}
	if c.apart {
		return c, nil
	}
	return c, []Absence{{memtrix.VRAMDeviceReserved, errV1.Error()}}
}

func (c *cardMemory) Meters() []memtrix.Meter { return cardMeters(c.apart) }

func (c *cardMemory) Every() time.Duration { return 0 }

func (c *cardMemory) Read(_ time.Duration, put func(int, int64)) error {
	m, err := c.card.Memory()
	if err != nil {
		return err
	}
	put(cardUsed, m.Used)
	put(cardFree, m.Free)
	if c.apart {
		put(cardReserved, m.Reserved)
	}
	base := c.baseline.Load()
	if base == nil {
		return errNoBaseline
	}
	// Less than nothing is possible and is kept: somebody else gave memory back.
	put(cardTrial, m.Used-*base)
	return nil
}

func (c *cardMemory) Close() error { return nil }

var cardProcessMeters = []memtrix.Meter{
	bytesMeter(memtrix.VRAMTreeUsed, "NVML processes, those of the trial"),
	bytesMeter(memtrix.VRAMOthersUsed, "NVML processes, all others"),
}

// cardProcesses is who holds the card's memory. The call takes microseconds on
// some machines and, by reports, milliseconds under a lock of the driver on
// others: it is slowed until it takes at most half a per cent of the time.
type cardProcesses struct {
	card Card
	tree *tree
	buf  []nvidia.Process
	told bool // the driver has named somebody
	last time.Duration
	cost time.Duration // of a read: the smaller of the last two
}

func newCardProcesses(card Card, t *tree) *cardProcesses {
	return &cardProcesses{card: card, tree: t}
}

var (
	errHiddenProcesses = errors.New("the driver names no process although memory is in use: it hides them here (container or WSL)")
	errHiddenBytes     = errors.New("the driver does not tell how much a process holds (WDDM or a container)")
	errForeignPIDs     = errors.New("the driver names processes of another PID namespace (container)")
)

func (c *cardProcesses) Meters() []memtrix.Meter { return cardProcessMeters }

func (c *cardProcesses) Every() time.Duration {
	return min(max(Medium, 200*c.cost), 5*time.Second)
}

func (c *cardProcesses) Read(_ time.Duration, put func(int, int64)) error {
	start := time.Now()
	buf, err := c.card.Processes(c.buf[:0])
	took := time.Since(start)
	c.cost, c.last = min(took, c.last), took // one slow call alone says nothing
	c.buf = buf
	if err != nil {
		return err
	}
	if err := c.check(); err != nil {
		return err
	}
	mine, others := shares(c.buf, c.tree.holds)
	if c.tree.root.Load() != 0 {
		put(0, mine)
	}
	put(1, others)
	return nil
}

func (c *cardProcesses) Close() error { return nil }

// check says why the list cannot be believed, or nil.
func (c *cardProcesses) check() error {
	if len(c.buf) == 0 && !c.told {
		m, err := c.card.Memory()
		if err != nil {
			return err
		}
		if m.Used > 0 {
			return errHiddenProcesses
		}
		return nil
	}
	here := len(c.buf) == 0
	for _, p := range c.buf {
		if !p.Known {
			return errHiddenBytes
		}
		here = here || c.tree.holds(p.PID) || c.tree.exists(p.PID)
	}
	if !here && !c.told {
		return errForeignPIDs
	}
	c.told = true
	return nil
}

// shares sums what the trial's processes and all others hold.
func shares(list []nvidia.Process, mine func(pid int) bool) (tree, others int64) {
	for _, p := range list {
		if mine(p.PID) {
			tree += p.Used
		} else {
			others += p.Used
		}
	}
	return tree, others
}

// procDir is /proc/PID under a root.
func procDir(root string, pid int) string { return root + "/" + strconv.Itoa(pid) }
