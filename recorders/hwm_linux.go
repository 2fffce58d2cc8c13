package recorders

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// ResetPeak sets the kernel's peak of a process's resident memory to what it has
// now, by writing 5 to /proc/PID/clear_refs (Linux 4.0,
// https://docs.kernel.org/filesystems/proc.html). Needs the same user, or
// CAP_SYS_PTRACE; an error says so.
func ResetPeak(pid int) error { return resetPeak("/proc", pid) }

// PeakRSS gives the largest resident memory in bytes that the kernel has seen of
// a process since its start or the last ResetPeak (VmHWM). No spike is missed,
// however short. The peak goes with the process: ask while it lives.
func PeakRSS(pid int) (int64, error) { return peakRSS("/proc", pid) }

// AddressSpace gives the bytes of address space that a process has (VmSize), used
// or not.
func AddressSpace(pid int) (int64, error) {
	text, err := os.ReadFile(procDir("/proc", pid) + "/status")
	if err != nil {
		return 0, fmt.Errorf("address space of process %d: %w", pid, err)
	}
	size, ok := findKB(text, "VmSize")
	if !ok {
		return 0, fmt.Errorf("address space of process %d: %w: no VmSize in its status (has it ended?)", pid, fs.ErrNotExist)
	}
	return size, nil
}

func resetPeak(proc string, pid int) error {
	path := procDir(proc, pid) + "/clear_refs"
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString("5")
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return fmt.Errorf("reset kernel peak of process %d: %w", pid, peakError(proc, pid, err))
	}
	return nil
}

func peakError(proc string, pid int, err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("only the process's own user may (a container can forbid it, too): %w", err)
	case errors.Is(err, fs.ErrNotExist):
		if _, e := os.Stat(procDir(proc, pid)); e == nil {
			return fmt.Errorf("the kernel cannot (CONFIG_PROC_PAGE_MONITOR): %w", err)
		}
	}
	return err
}

func peakRSS(proc string, pid int) (int64, error) {
	text, err := os.ReadFile(procDir(proc, pid) + "/status")
	if err != nil {
		return 0, fmt.Errorf("kernel peak of process %d: %w", pid, err)
	}
	peak, ok := findKB(text, "VmHWM")
	if !ok {
		// A zombie has no memory any more, and no peak either.
		return 0, fmt.Errorf("kernel peak of process %d: %w: no VmHWM in its status (has it ended?)", pid, fs.ErrNotExist)
	}
	return peak, nil
}
