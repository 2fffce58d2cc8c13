package recorders

import (
	"errors"
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
func hostSources(proc string) ([]Source, []Absence) {
	var sources []Source
	var missing []Absence
	if host, err := openHost(proc); err != nil {
		missing = append(missing, absent(err, hostMeters...)...)
	} else {
		sources = append(sources, host)
	}
	if psi, err := openPSI(proc); err != nil {
		missing = append(missing, absent(err, psiMeters...)...)
	} else {
		sources = append(sources, psi)
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

func (h *host) Every() time.Duration { return Medium }

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
	if !ok || !ok1 || !ok2 {
		return errMeminfo
	}
	return nil
}

func (h *host) Close() error {
	h.file.close()
	return nil
}
