package comfysim

import (
	"fmt"
	"sync"
)

// Sizes of what CUDA itself takes on the card.
const (
	contextBytes  = 524 * mib // context and kernels, at start
	overheadBytes = 270 * mib // libraries' workspaces, with the first work
	// On a card of 143771 MiB the driver kept 615 MiB for itself.
	driverShare = 615.0 / 143771.0
	// dynamicKeepsFree is what dynamic VRAM leaves on the card.
	dynamicKeepsFree = 128 * mib
)

// card is the simulated card: who holds how much of it. All sizes are unscaled
// bytes; only the file shows them scaled.
type card struct {
	mu    sync.Mutex
	file  *cardFile // nil: nobody looks
	scale float64

	total  int64
	driver int64 // reserved by the driver
	others int64 // held by other programs before we came

	context  int64
	overhead int64
	weights  int64 // of models
	active   int64 // activations and workspaces
	cached   int64 // given back to torch, but not to the card
	noCache  bool  // under dynamic VRAM torch keeps nothing back

	peakActive, peakReserved, sumActive int64 // for the memory summary
	peakOwn                             int64
	allocations                         int
}

// newCard makes a card of sim.card bytes of which sim.cardFree are free.
func newCard(sim simArgs, noCache bool) (*card, error) {
	c := &card{scale: sim.scale, total: sim.card, noCache: noCache}
	c.driver = int64(float64(c.total)*driverShare) / mib * mib
	if free := c.total - c.driver; sim.cardFree >= 0 && sim.cardFree < free {
		c.others = free - sim.cardFree
	}
	if sim.cardFile != "" {
		var err error
		if c.file, err = openCardFile(sim.cardFile); err != nil {
			return nil, fmt.Errorf("simulated card: %w", err)
		}
	}
	c.show()
	return c, nil
}

// show writes the card's file. What others hold is shown as reserved: it is not
// ours and was there before.
func (c *card) show() {
	c.peakOwn = max(c.peakOwn, c.own())
	if c.file == nil {
		return
	}
	scaled := func(n int64) int64 { return int64(float64(n) * c.scale) }
	c.file.set(scaled(c.total), scaled(c.own()), scaled(c.driver+c.others))
}

func (c *card) own() int64 {
	return c.context + c.overhead + c.weights + c.active + c.cached
}

// capacity is what CUDA says the card has.
func (c *card) capacity() int64 { return c.total - c.driver }

func (c *card) freeLocked() int64 { return c.total - c.driver - c.others - c.own() }

// usable is what ComfyUI counts as free: the driver's free memory plus what
// torch holds without using it.
func (c *card) usable() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.freeLocked() + c.cached
}

// cardStats are the numbers of one moment.
type cardStats struct {
	total, free, cached, own, others    int64
	torch                               int64 // bytes that torch's allocator has given out
	peakActive, peakReserved, sumActive int64
	allocations                         int
}

func (c *card) stats() cardStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.statsLocked()
}

func (c *card) openContext() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.freeLocked() < contextBytes {
		return &outOfMemory{requested: contextBytes, stats: c.statsLocked()}
	}
	c.context = contextBytes
	c.show()
	return nil
}

// leak takes n bytes that nobody gives back, where there are so many.
func (c *card) leak(n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n <= c.freeLocked() {
		c.context += n
		c.show()
	}
}

func (c *card) statsLocked() cardStats {
	return cardStats{
		total: c.total - c.driver, free: c.freeLocked(), cached: c.cached, torch: c.torchLocked(),
		own: c.own(), others: c.others, peakActive: c.peakActive, peakReserved: c.peakReserved,
		sumActive: c.sumActive, allocations: c.allocations,
	}
}

// torchLocked: weights under dynamic VRAM are not torch's.
func (c *card) torchLocked() int64 {
	if c.noCache {
		return c.active
	}
	return c.active + c.weights
}

// outOfMemory is an allocation that the card could not give.
type outOfMemory struct {
	requested int64
	stats     cardStats
}

func (e *outOfMemory) Error() string {
	return fmt.Sprintf("card: %d bytes asked for, %d free", e.requested, e.stats.free)
}

// firstWork takes the libraries' workspaces, once, as far as there is room.
func (c *card) firstWork() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.overhead == 0 {
		c.overhead = max(0, min(overheadBytes, c.freeLocked()))
		c.show()
	}
}

// putWeights adds n bytes of a model (n < 0: takes them away). torch's own
// allocator and cudaMallocAsync keep what is given back until it is emptied.
func (c *card) putWeights(n int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.takeLocked(n); err != nil {
		return err
	}
	c.weights += n
	c.finish(n)
	return nil
}

// putActive adds n bytes that live during one piece of work.
func (c *card) putActive(n int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.takeLocked(n); err != nil {
		return err
	}
	c.active += n
	if n > 0 {
		c.sumActive += n
		c.allocations++
	}
	c.finish(n)
	return nil
}

// takeLocked takes n from what torch kept, and asks the card for the rest.
func (c *card) takeLocked(n int64) error {
	fromCache := max(0, min(n, c.cached))
	if n-fromCache > c.freeLocked() {
		return &outOfMemory{requested: n, stats: c.statsLocked()}
	}
	c.cached -= fromCache
	return nil
}

func (c *card) finish(n int64) {
	if n < 0 && !c.noCache {
		c.cached -= n
	}
	c.peakActive = max(c.peakActive, c.torchLocked())
	c.peakReserved = max(c.peakReserved, c.torchLocked()+c.cached)
	c.show()
}

// emptyCache gives back to the card what torch kept.
func (c *card) emptyCache() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cached = 0
	c.show()
}
