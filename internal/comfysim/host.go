package comfysim

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

// Shares of host memory that go back to the system, or are found again.
const (
	// givenBack of a model's host copy returns to the system when the copy is
	// freed; the rest stays with the C library's allocator.
	givenBack = 0.64
	// foundAgain of a new copy finds room in what the allocator has kept. It is
	// more than what is kept of one prompt's copies, so nothing grows for ever.
	foundAgain = 0.8
	// keptShmem is what CUDA shares with its own driver from the start, in MiB.
	keptShmem = 8
)

// host is the RAM of the server process. Sizes are unscaled bytes; what is
// touched is them times scale.
type host struct {
	mu    sync.Mutex
	scale float64
	ram   int64 // of the machine

	base     baseMemory
	share    float64 // of base that is there yet
	live     int64   // anonymous memory in use
	retained int64   // freed, but kept by the C library

	anon  region
	shmem region
	libs  *mapping // stands for the shared libraries
	extra int64    // bytes of libraries that came later
	shm   int64    // bytes of shared memory
	read  int64    // bytes of mapped model files

	peak hostPeak
}

// hostPeak is the most that there was at once, in unscaled bytes.
type hostPeak struct{ rss, anon int64 }

// baseMemory is an idle server, in bytes.
type baseMemory struct{ anon, file, shmem int64 }

func newHost(sim simArgs, ram int64, base baseMemory, dir string) (*host, error) {
	h := &host{scale: sim.ramScale, ram: ram, base: base, anon: region{}, shmem: region{shared: true}}
	libs, err := newStandIn(dir, h.scaled(base.file+2*gib))
	if err != nil {
		return nil, err
	}
	h.libs = libs
	return h, nil
}

func (h *host) scaled(n int64) int64 { return int64(float64(n) * h.scale) }

// setBase lets a share (0 to 1) of the idle server's memory be there.
func (h *host) setBase(share float64) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.share, h.shm = share, int64(share*float64(h.base.shmem))
	return h.apply()
}

// apply makes the touched pages follow the accounts.
func (h *host) apply() error {
	base := int64(h.share * float64(h.base.anon))
	if err := h.anon.resize(h.scaled(base + h.live + h.retained)); err != nil {
		return err
	}
	if err := h.shmem.resize(h.scaled(h.shm)); err != nil {
		return err
	}
	libs := int64(h.share*float64(h.base.file)) + h.extra
	h.libs.touch(h.scaled(libs))
	anon := base + h.live + h.retained
	h.peak.anon = max(h.peak.anon, anon)
	h.peak.rss = max(h.peak.rss, anon+libs+h.shm+h.read)
	return nil
}

// readFile lets n bytes of a mapped model file be touched, after before bytes.
func (h *host) readFile(file *mapping, before, n int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	file.touch(h.scaled(n))
	h.read += n - before
}

// closeFile unmaps a file of which n bytes were touched.
func (h *host) closeFile(file *mapping, n int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	file.close()
	h.read -= n
}

// alloc takes n bytes of anonymous memory; a share of them is found in what the
// C library kept. One request that is larger than the machine's RAM is refused,
// as Linux refuses it by default (obvious overcommit).
func (h *host) alloc(n int64, found float64) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if n > h.ram {
		return &hostFailure{requested: n}
	}
	reuse := min(int64(float64(n)*found), h.retained)
	h.retained -= reuse
	h.live += n
	if err := h.apply(); err != nil {
		h.retained += reuse
		h.live -= n
		return &hostFailure{requested: n}
	}
	return nil
}

// free gives n bytes back, of which a share returns to the system.
func (h *host) free(n int64, back float64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.live -= n
	h.retained += int64(float64(n) * (1 - back))
	_ = h.apply() // shrinking needs nothing
}

// more adds what libraries bring along with their first use: anonymous, file and
// shared bytes that stay.
func (h *host) more(anon, file, shared int64) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.live += anon
	h.extra += file
	h.shm += shared
	return h.apply()
}

// free RAM as the server would see it.
func (h *host) available() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return max(0, h.ram-h.base.anon-h.live-h.retained)
}

// hostFailure is what torch's CPU allocator says when the system refuses.
type hostFailure struct{ requested int64 }

func (e *hostFailure) Error() string {
	return fmt.Sprintf("[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: "+
		"you tried to allocate %d bytes. Error code 12 (Cannot allocate memory)", e.requested)
}

// newStandIn maps a sparse file that nobody else sees; its touched pages count
// as RssFile.
func newStandIn(dir string, size int64) (*mapping, error) {
	f, err := os.CreateTemp(dir, ".comfysim-libs-*")
	if err != nil {
		if f, err = os.CreateTemp("", "comfysim-libs-*"); err != nil {
			return nil, fmt.Errorf("stand-in for libraries: %w", err)
		}
	}
	defer os.Remove(f.Name())
	defer f.Close()
	if err := f.Truncate(size); err != nil {
		return nil, fmt.Errorf("stand-in for libraries %s: %w", filepath.Base(f.Name()), err)
	}
	return mapFile(f, size)
}
