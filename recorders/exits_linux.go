package recorders

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"memtrix"
)

// exits is what the kernel tells about processes of the tree when they end, the
// largest resident memory among it: a child that lived between two looks at the
// list of processes is not lost. The kernel tells of every end on the machine and
// wakes nobody: what waits is taken ten times a second.
type exits struct {
	*tree
	from    *taskstats
	err     error
	looked  time.Duration
	count   int64
	strange []exit // of processes whose parent is not known yet
}

// exit is the end of one process or thread.
type exit struct {
	pid, group, parent int
	peak               int64 // hiwater_rss, bytes
	lived              time.Duration
	// forked is set for one that never executed a program: its memory is that of
	// its parent, shared or not yet copied.
	forked bool
	noted  time.Duration
}

func newExits(t *tree) *exits {
	e := &exits{tree: t}
	if t.proc != "/proc" {
		e.err = errors.New("these are not the kernel's own processes")
		return e
	}
	e.from, e.err = openTaskstats()
	if e.err != nil {
		e.err = fmt.Errorf("%w: %w", errNoExits, e.err)
	}
	t.told = e.err == nil
	return e
}

func (e *exits) Meters() []memtrix.Meter {
	return []memtrix.Meter{countMeter(memtrix.TreeExits, "taskstats of ending processes")}
}

func (e *exits) Every() time.Duration {
	if e.err != nil {
		return time.Hour
	}
	return Medium
}

func (e *exits) Read(now time.Duration, put func(int, int64)) error {
	if e.err != nil {
		return e.err
	}
	lost, err := e.from.drain(func(x exit) { e.take(x, now) })
	e.looked, e.left = now, e.left[:0]
	if err != nil {
		return err
	}
	e.forget(now)
	if e.root.Load() == 0 {
		return errNotStarted
	}
	put(0, e.count)
	if lost {
		return errManyExits
	}
	return nil
}

var errManyExits = errors.New("too many processes ended at once for the kernel to tell of all")

// take takes in one end. It belongs to the tree when the process was known to, or
// when its parent is; one whose parent is not known yet waits for that one's own
// end, which comes later.
func (e *exits) take(x exit, now time.Duration) {
	if m := e.memberOf(x.group); m != nil {
		if !m.old {
			e.peaked(m, now, x.peak, e.sum-m.resident)
		}
		m.mark, m.most = max(m.mark, x.peak), max(m.most, x.peak)
		if x.pid == x.group {
			e.count++
		}
		return
	}
	if x.pid != x.group {
		return // a thread of a process that is not known; its first one tells more
	}
	if !e.scan.ours[x.pid] && !e.scan.ours[x.parent] {
		x.noted = now
		if len(e.strange) < maxStrange {
			e.strange = append(e.strange, x)
		}
		return
	}
	e.ended(x, now)
	e.scan.ours[x.pid] = true
	for i := 0; i < len(e.strange); i++ {
		if c := e.strange[i]; c.parent == x.pid {
			e.strange = append(e.strange[:i], e.strange[i+1:]...)
			e.take(c, now)
			i = -1
		}
	}
}

// memberOf finds a process that is a member, or was found to have ended before the
// kernel's word of it was read: that had come by then (do_exit in kernel/exit.c tells
// before the process is a zombie).
func (e *exits) memberOf(pid int) *member {
	for _, list := range [][]member{e.procs, e.left} {
		for i := range list {
			if list[i].pid == pid {
				return &list[i]
			}
		}
	}
	return nil
}

// maxStrange bounds the ends that wait for their parents', and so does Seldom.
const maxStrange = 1024

func (e *exits) forget(now time.Duration) {
	n := 0
	for _, x := range e.strange {
		if now-x.noted < Seldom {
			e.strange[n] = x
			n++
		}
	}
	e.strange = e.strange[:n]
}

// ended notes the peak of a process that was never read.
func (e *exits) ended(x exit, now time.Duration) {
	e.count++
	peak := x.peak
	if x.forked {
		// Only what it had beyond its parent is surely its own.
		peak -= e.peakOf(x.parent)
	}
	if total := peak + min(e.whole, e.sum); peak > noise && total > e.most+noise {
		e.marks.add(KernelPeak{memtrix.RAMTreeRSS, max(now-x.lived-Medium, e.looked-x.lived, 0), now, total})
	}
}

func (e *exits) peakOf(pid int) int64 {
	for i := range e.procs {
		if m := &e.procs[i]; m.pid == pid {
			return max(m.mark, m.most)
		}
	}
	return 1 << 62
}

func (e *exits) Close() error {
	if e.from == nil {
		return nil
	}
	return e.from.close()
}

// afork is AFORK of linux/acct.h.
const afork = 1

// exitOf reads what the kernel tells.
func exitOf(s *unix.Taskstats) exit {
	x := exit{
		pid: int(s.Ac_pid), group: int(s.Ac_pid), parent: int(s.Ac_ppid),
		peak: int64(s.Hiwater_rss) << 10, lived: time.Duration(s.Ac_etime) * time.Microsecond,
		forked: s.Ac_flag&afork != 0,
	}
	if s.Version >= 12 && s.Ac_tgid != 0 {
		x.group = int(s.Ac_tgid)
	}
	return x
}
