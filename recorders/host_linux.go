package recorders

import (
	"errors"
	"os"
	"time"

	"memtrix"
)

func procRoot(root string) string {
	if root == "" {
		return "/proc"
	}
	return root
}

// hostSources opens what is read of the whole machine.
func hostSources(proc string) ([]namedSource, []Absence) {
	var sources []namedSource
	var missing []Absence
	if host, err := openHost(proc); err != nil {
		missing = append(missing, absent(err, hostMeters...)...)
	} else {
		sources = append(sources, namedSource{"host", host})
	}
	if psi, err := openPSI(proc); err != nil {
		missing = append(missing, absent(err, psiMeters...)...)
	} else {
		sources = append(sources, namedSource{"pressure", psi})
	}
	if v, err := openVmstat(proc); err != nil {
		missing = append(missing, absent(err, vmstatMeters...)...)
	} else {
		sources = append(sources, namedSource{"host.swap", v})
	}
	return sources, missing
}

// host is /proc/meminfo. In most containers it shows the whole machine, not the
// container's share.
type host struct {
	file procFile
	buf  []byte
}

var hostMeters = []memtrix.Meter{
	bytesMeter(memtrix.RAMHostAvailable, "MemAvailable of /proc/meminfo"),
	bytesMeter(memtrix.SwapHostUsed, "SwapTotal - SwapFree of /proc/meminfo"),
	bytesMeter(memtrix.RAMHostCached, "Cached of /proc/meminfo"),
}

func openHost(proc string) (*host, error) {
	f, err := openProc(proc + "/meminfo")
	if err != nil {
		return nil, err
	}
	return &host{file: f, buf: make([]byte, 8<<10)}, nil
}

var errMeminfo = errors.New("this kernel's /proc/meminfo does not tell it")

func (h *host) Meters() []memtrix.Meter { return hostMeters }

func (h *host) Every() time.Duration { return Slow }

func (h *host) Read(_ time.Duration, put func(int, int64)) error {
	text, err := h.file.read(h.buf)
	if err != nil {
		return err
	}
	available, ok := findKB(text, "MemAvailable")
	if ok {
		put(0, available)
	}
	total, ok1 := findKB(text, "SwapTotal")
	free, ok2 := findKB(text, "SwapFree")
	if ok1 && ok2 {
		put(1, total-free)
	}
	cached, ok3 := findKB(text, "Cached")
	if ok3 {
		put(2, cached)
	}
	if !ok || !ok1 || !ok2 || !ok3 {
		return errMeminfo
	}
	return nil
}

func (h *host) Close() error {
	h.file.close()
	return nil
}

// vmstat is what the machine moves from and to swap.
type vmstat struct {
	file procFile
	buf  []byte
	page int64
}

var vmstatMeters = []memtrix.Meter{
	growing(bytesMeter(memtrix.SwapHostIn, "pswpin of /proc/vmstat, in bytes")),
	growing(bytesMeter(memtrix.SwapHostOut, "pswpout of /proc/vmstat, in bytes")),
}

func openVmstat(proc string) (*vmstat, error) {
	f, err := openProc(proc + "/vmstat")
	if err != nil {
		return nil, err
	}
	return &vmstat{file: f, buf: make([]byte, 16<<10), page: int64(os.Getpagesize())}, nil
}

var errVmstat = errors.New("this kernel's /proc/vmstat does not tell it (no swap in the kernel, or a sandbox)")

func (v *vmstat) Meters() []memtrix.Meter { return vmstatMeters }

// Every is slow: the kernel sums over all processors for it.
func (v *vmstat) Every() time.Duration { return Seldom }

func (v *vmstat) Read(_ time.Duration, put func(int, int64)) error {
	text, err := v.file.read(v.buf)
	if err != nil {
		return err
	}
	in, ok1 := findNumber(text, "pswpin")
	out, ok2 := findNumber(text, "pswpout")
	if !ok1 || !ok2 {
		return errVmstat
	}
	put(0, in*v.page)
	put(1, out*v.page)
	return nil
}

func (v *vmstat) Close() error {
	v.file.close()
	return nil
}
