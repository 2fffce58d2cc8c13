package recorders

import (
	"time"

	"golang.org/x/sys/unix"
)

// sleep waits on the calling thread. It is the plain system call and not
// time.Sleep because the sampler has a thread of its own: parking the goroutine
// costs two switches of threads a tick, measured at twice the processor time and
// four times the lateness. It may return early, when a signal comes.
func sleep(d time.Duration) {
	ts := unix.NsecToTimespec(int64(d))
	unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &ts, nil)
}

// threadCPU is the processor time of the calling thread.
func threadCPU() (time.Duration, error) {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts); err != nil {
		return 0, err
	}
	return time.Duration(ts.Nano()), nil
}

// monotonic is CLOCK_MONOTONIC in ns.
func monotonic() int64 {
	var ts unix.Timespec
	unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts)
	return ts.Nano()
}

// processCPU is the processor time of the whole program.
func processCPU() time.Duration {
	var r unix.Rusage
	unix.Getrusage(unix.RUSAGE_SELF, &r)
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// urgent asks the kernel to let the calling thread run soon after it wakes up,
// also where all processors are busy: it needs microseconds each time. A better
// priority needs a privilege; a short slice (Linux 6.12,
// https://docs.kernel.org/scheduler/sched-eevdf.html) needs none. Without either
// ticks are missed, and counted.
func urgent() {
	attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Nice: -10, Runtime: 100_000}
	if unix.SchedSetAttr(0, &attr, 0) != nil {
		attr.Nice = 0
		unix.SchedSetAttr(0, &attr, 0)
	}
}
