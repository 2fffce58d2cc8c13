package comfyui

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"memtrix"
)

// startOf is when a process started, by its stat file.
func startOf(file string) (string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	st, ok := parseStat(string(data))
	if !ok || st.dead() {
		return "", os.ErrProcessDone
	}
	return st.start, nil
}

// watched is a process that is not ours: it cannot be waited for, and its end is
// seen through a file that stands for it (pidfd_open(2), Linux 5.3).
type watched struct {
	pid    int
	start  string
	fd     int // -1 where there is no such file
	kernel int // /dev/kmsg, -1 where it cannot be read
	exited chan struct{}
	cancel context.CancelFunc
	over   chan struct{}
}

// watchProcess begins to watch a process; start tells it from a later one with
// its number.
func watchProcess(pid int, start string) *watched {
	ctx, cancel := context.WithCancel(context.Background())
	w := &watched{pid: pid, start: start, fd: -1, kernel: -1, exited: make(chan struct{}), cancel: cancel, over: make(chan struct{})}
	if fd, err := unix.PidfdOpen(pid, 0); err == nil {
		w.fd = fd
	}
	// What the kernel says of it from here on, where we may read that.
	if fd, err := unix.Open("/dev/kmsg", unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0); err == nil {
		if w.kernel = fd; !atEnd(fd) {
			unix.Close(fd)
			w.kernel = -1
		}
	}
	go w.run(ctx, start)
	return w
}

func atEnd(fd int) bool {
	_, err := unix.Seek(fd, 0, unix.SEEK_END)
	return err == nil
}

func (w *watched) run(ctx context.Context, start string) {
	defer close(w.over)
	tick := time.NewTicker(watchPace)
	defer tick.Stop()
	for {
		if st, ok := readStat(w.pid); !ok || st.dead() || st.start != start {
			close(w.exited)
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// close ends the watching; the process is left alone.
func (w *watched) close() {
	w.cancel()
	<-w.over
	if w.fd >= 0 {
		unix.Close(w.fd)
		w.fd = -1
	}
	if w.kernel >= 0 {
		unix.Close(w.kernel)
		w.kernel = -1
	}
}

// pidfdInfo is struct pidfd_info of <linux/pidfd.h> in its first size.
type pidfdInfo struct {
	mask   uint64
	cgroup uint64
	ids    [11]uint32
	status int32 // as wait(2) gives it
}

const (
	pidfdGetInfo  = 0xC040FF0B // _IOWR(0xFF, 11, struct pidfd_info)
	pidfdInfoExit = 1 << 3     // since Linux 6.15, once the parent has reaped it
)

// exit is how the process ended, where the kernel tells that to others than its
// parent. It waits a moment for the parent.
func (w *watched) exit() (memtrix.Exit, bool) {
	if w.fd < 0 {
		return memtrix.Exit{}, false
	}
	for range 20 {
		info := pidfdInfo{mask: pidfdInfoExit}
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(w.fd), pidfdGetInfo, uintptr(unsafe.Pointer(&info)))
		if errno == 0 && info.mask&pidfdInfoExit != 0 {
			return exitFrom(syscall.WaitStatus(info.status)), true
		}
		if status, ok := w.unreaped(); ok {
			return exitFrom(status), true
		}
		time.Sleep(50 * time.Millisecond)
	}
	return memtrix.Exit{}, false
}

func exitFrom(status syscall.WaitStatus) memtrix.Exit {
	if status.Signaled() {
		return memtrix.Exit{Status: -1, Signal: strings.TrimPrefix(unix.SignalName(status.Signal()), "SIG")}
	}
	return memtrix.Exit{Status: status.ExitStatus()}
}

// unreaped is the status of a process whose parent has not asked for it yet, field
// 52 of its stat file (proc_pid_stat(5)). To those who may not see it, it is 0.
func (w *watched) unreaped() (syscall.WaitStatus, bool) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", w.pid))
	if err != nil {
		return 0, false
	}
	st, ok := parseStat(string(data))
	fields := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
	if !ok || !st.dead() || st.start != w.start || len(fields) < 50 {
		return 0, false
	}
	n, err := strconv.Atoi(fields[49])
	return syscall.WaitStatus(n), err == nil && n != 0
}

// kernelWords are the lines of the kernel about the killing of the process, since
// it is watched.
func (w *watched) kernelWords() []string {
	if w.kernel < 0 {
		return nil
	}
	var said []string
	buf := make([]byte, 8192)
	for {
		// One record a read; EAGAIN after the last one
		// (https://docs.kernel.org/admin-guide/abi-testing.html, dev-kmsg).
		n, err := unix.Read(w.kernel, buf)
		if err == unix.EPIPE || err == unix.EINTR {
			continue // records were lost, or a signal came
		}
		if err != nil || n <= 0 {
			return said
		}
		_, text, _ := strings.Cut(string(buf[:n]), ";")
		text, _, _ = strings.Cut(text, "\n")
		if strings.Contains(text, fmt.Sprintf("Killed process %d ", w.pid)) {
			said = append(said, text)
		}
	}
}
