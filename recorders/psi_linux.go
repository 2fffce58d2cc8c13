package recorders

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"time"

	"memtrix"
)

// psi is how long tasks stood still for want of memory, over the whole machine
// (https://docs.kernel.org/accounting/psi.html). Only its totals are kept: the
// averages that the kernel makes of them cannot be cut into spans.
type psi struct {
	file procFile
	buf  []byte
}

var psiMeters = []memtrix.Meter{
	nsMeter(memtrix.PSIMemorySome, "total of 'some' in /proc/pressure/memory"),
	nsMeter(memtrix.PSIMemoryFull, "total of 'full' in /proc/pressure/memory"),
}

// openPSI reads once, since a kernel with PSI switched off has the file but no
// content.
func openPSI(proc string) (*psi, error) {
	f, err := openProc(proc + "/pressure/memory")
	if err != nil {
		return nil, psiError(err)
	}
	p := &psi{f, make([]byte, 512)}
	if err := p.Read(0, func(int, int64) {}); err != nil {
		f.close()
		return nil, err
	}
	return p, nil
}

// psiError says what a person could do about it.
func psiError(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("the kernel has no pressure information (CONFIG_PSI, Linux 4.20): %w", err)
	case errors.Is(err, syscall.EOPNOTSUPP):
		return fmt.Errorf("pressure information is switched off (boot with psi=1): %w", err)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("pressure information may not be read here: %w", err)
	}
	return fmt.Errorf("pressure information: %w", err)
}

func (p *psi) Meters() []memtrix.Meter { return psiMeters }

func (p *psi) Every() time.Duration { return Slow }

var errPSI = errors.New("the kernel does not tell both totals of /proc/pressure/memory")

func (p *psi) Read(_ time.Duration, put func(int, int64)) error {
	text, err := p.file.read(p.buf)
	if err != nil {
		return psiError(err)
	}
	some, ok1 := psiTotal(text, "some ")
	full, ok2 := psiTotal(text, "full ")
	if ok1 {
		put(0, some)
	}
	if ok2 {
		put(1, full)
	}
	if !ok1 || !ok2 {
		return errPSI
	}
	return nil
}

// psiTotal finds the total of a line, which is in microseconds, as nanoseconds.
func psiTotal(text []byte, kind string) (int64, bool) {
	for line := range bytes.Lines(text) {
		if len(line) < len(kind) || string(line[:len(kind)]) != kind {
			continue
		}
		if i := bytes.LastIndexByte(line, '='); i >= 0 {
			us, _, ok := parseNumber(line[i+1:])
			return us * 1000, ok
		}
	}
	return 0, false
}

func (p *psi) Close() error {
	p.file.close()
	return nil
}
