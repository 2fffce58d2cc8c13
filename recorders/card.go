package recorders

import (
	"cmp"
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

// sourcer is a card that says where its memory is read.
type sourcer interface{ Source() string }

// pager is a card that can be read without NVML.
type pager interface{ Paged() bool }

// sourceOf says where a card's memory is read, "" for NVML alone.
func sourceOf(card Card) string {
	if s, ok := card.(sourcer); ok {
		return s.Source()
	}
	if p, ok := card.(pager); ok && p.Paged() {
		return "the driver's page of shared data, checked against NVML memory v2"
	}
	return ""
}

func cardMeters(apart bool) []memtrix.Meter {
	if !apart {
		return cardMetersOf("NVML memory v1 (includes what the driver reserves)", false)
	}
	return cardMetersOf("NVML memory v2", true)
}

func cardMetersOf(source string, apart bool) []memtrix.Meter {
	meters := []memtrix.Meter{
		bytesMeter(memtrix.VRAMDeviceUsed, source),
		bytesMeter(memtrix.VRAMDeviceFree, source),
		bytesMeter(memtrix.VRAMTrialUsed, source+" minus the baseline"),
	}
	if apart {
		meters = append(meters, bytesMeter(memtrix.VRAMDeviceReserved, source))
	}
	return meters
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
	errNotApart   = errors.New("this driver does not tell what it reserves")
)

// newCardMemory reads the card once, to learn what it can tell.
func newCardMemory(card Card, baseline *atomic.Pointer[int64]) (*cardMemory, []Absence) {
	m, err := card.Memory()
	c := &cardMemory{card: card, baseline: baseline, apart: m.Apart || err != nil}
	if c.apart {
		return c, nil
	}
	why := errV1
	if _, ok := card.(sourcer); ok {
		why = errNotApart
	}
	return c, []Absence{{Meter: memtrix.VRAMDeviceReserved, Reason: why.Error()}}
}

func (c *cardMemory) Meters() []memtrix.Meter {
	if source := sourceOf(c.card); source != "" {
		return cardMetersOf(source, c.apart)
	}
	return cardMeters(c.apart)
}

func (c *cardMemory) Every() time.Duration { return 0 }

func (c *cardMemory) Read(_ time.Duration, put func(int, int64)) error {
	m, err := c.card.Memory()
	if err != nil {
		return err
	}
	return c.feed(m, put)
}

func (c *cardMemory) feed(m nvidia.Memory, put func(int, int64)) error {
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

// processSourcer is a card that says where its processes are read.
type processSourcer interface{ ProcessSource() string }

var cardProcessMeters = processMeters("NVML processes")

func processMeters(source string) []memtrix.Meter {
	return []memtrix.Meter{
		bytesMeter(memtrix.VRAMTreeUsed, source+", those of the trial"),
		bytesMeter(memtrix.VRAMOthersUsed, source+", all others"),
	}
}

// cardProcesses is who holds the card's memory. The call takes microseconds on
// some machines and, by reports, milliseconds under a lock of the driver on
// others: it is slowed until it takes at most half a per cent of the time.
type cardProcesses struct {
	card Card
	tree *tree
	calm *atomic.Bool // nothing works: see Sampler.Busy
	buf  []nvidia.Process
	told bool // the driver has named somebody
	last time.Duration
	cost time.Duration // of a read: the smaller of the last two
}

func newCardProcesses(card Card, t *tree, calm *atomic.Bool) *cardProcesses {
	return &cardProcesses{card: card, tree: t, calm: calm}
}

var (
	errHiddenProcesses = errors.New("the driver names no process although memory is in use: it hides them here (container or WSL)")
	errHiddenBytes     = errors.New("the driver does not tell how much a process holds (WDDM or a container)")
	errForeignPIDs     = errors.New("the driver names processes of another PID namespace (container)")
)

func (c *cardProcesses) Meters() []memtrix.Meter {
	if s, ok := c.card.(processSourcer); ok {
		return processMeters(s.ProcessSource())
	}
	return cardProcessMeters
}

func (c *cardProcesses) Every() time.Duration {
	if c.calm.Load() { // while CUDA is initialised a call spins for milliseconds
		return max(Seldom, affordable(c.cost, Slow, 5*time.Second))
	}
	return affordable(c.cost, Slow, 5*time.Second)
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

// otherCard is the memory of a further card.
type otherCard struct{ NamedCard }

func newOtherCard(c NamedCard) *otherCard { return &otherCard{c} }

func (c *otherCard) Meters() []memtrix.Meter {
	source := cmp.Or(sourceOf(c.Card), "NVML memory")
	return []memtrix.Meter{
		bytesMeter("vram."+c.Name+".used", source),
		bytesMeter("vram."+c.Name+".free", source),
	}
}

func (c *otherCard) Every() time.Duration { return 0 }

func (c *otherCard) Read(_ time.Duration, put func(int, int64)) error {
	m, err := c.Memory()
	if err != nil {
		return err
	}
	return c.feed(m, put)
}

func (c *otherCard) feed(m nvidia.Memory, put func(int, int64)) error {
	put(0, m.Used)
	put(1, m.Free)
	return nil
}

func (c *otherCard) Close() error { return nil }

// procDir is /proc/PID under a root.
func procDir(root string, pid int) string { return root + "/" + strconv.Itoa(pid) }
