package recorders

import (
	"encoding/binary"
	"slices"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"memtrix"
)

// A child counts with what the tree held beside it; a grandchild whose parent was
// never seen counts when that one ends; one that never executed a program has its
// parent's memory; a stranger does not count.
func TestExits(t *testing.T) {
	tr := newTree(fixtures)
	e := &exits{tree: tr, looked: time.Second}
	tr.scan.reset(10)
	tr.procs = []member{{pid: 10, resident: 100 << 20, mark: 100 << 20, most: 100 << 20, before: 100 << 20, read: time.Second}}
	tr.rooted, tr.sum, tr.whole, tr.most = 10, 100<<20, 100<<20, 100<<20
	now := 1100 * time.Millisecond
	for _, x := range []exit{
		{pid: 30, group: 30, parent: 20, peak: 50 << 20, lived: 10 * time.Millisecond},
		{pid: 40, group: 40, parent: 2, peak: 900 << 20},
		{pid: 50, group: 50, parent: 10, peak: 100 << 20, forked: true},
		{pid: 61, group: 60, parent: 10, peak: 700 << 20}, // a thread
		{pid: 20, group: 20, parent: 10, peak: 5 << 20, lived: 30 * time.Millisecond},
		{pid: 10, group: 10, parent: 1, peak: 130 << 20},
	} {
		e.take(x, now)
	}
	tree := func(from time.Duration, mib int64) KernelPeak {
		return KernelPeak{memtrix.RAMTreeRSS, from, now, mib << 20}
	}
	want := []KernelPeak{
		tree(980*time.Millisecond, 105), tree(990*time.Millisecond, 150), tree(time.Second, 130),
		{memtrix.RAMProcessRSS, time.Second, now, 130 << 20},
	}
	got := tr.marks.all()
	for i := range got {
		if got[i].From < 970*time.Millisecond {
			t.Errorf("too early: %+v", got[i])
		}
		got[i].From = want[i].From
	}
	if !slices.Equal(got, want) {
		t.Errorf("want %v\ngot  %v", want, got)
	}
	if e.count != 4 {
		t.Errorf("ends: want 4, got %d", e.count)
	}
	if e.forget(now + 2*Seldom); len(e.strange) != 0 {
		t.Errorf("strangers are kept: %v", e.strange)
	}
}

// The word of an end may come after the process was found to have ended: what had
// been read of it is no news, and what had not is put down where it was.
func TestExitsOfThoseThatLeft(t *testing.T) {
	tr := newTree(fixtures)
	tr.told = true
	e := &exits{tree: tr}
	tr.scan.reset(10)
	gone := func(pid int, mark int64) {
		tr.procs = append(tr.procs, member{pid: pid, gone: true, mark: mark << 20, most: mark << 20, before: mark << 20, read: time.Hour, statm: -1, status: -1, stat: -1, io: -1})
		tr.scan.ours[pid] = true
		tr.drop(len(tr.procs) - 1)
	}
	gone(20, 500)
	gone(30, 100)
	tr.rooted, tr.sum, tr.whole, tr.most = 10, 50<<20, 50<<20, 50<<20
	now := time.Hour + Medium
	e.take(exit{pid: 20, group: 20, parent: 10, peak: 500 << 20, lived: 10 * time.Minute}, now)
	e.take(exit{pid: 30, group: 30, parent: 10, peak: 400 << 20, lived: 10 * time.Minute}, now)
	if want, got := []KernelPeak{{memtrix.RAMTreeRSS, time.Hour, now, 450 << 20}}, tr.marks.all(); !slices.Equal(got, want) || e.count != 2 {
		t.Errorf("want %v and 2 ends\ngot  %v and %d", want, got, e.count)
	}
}

// What an older or newer kernel sends is read as far as it goes.
func TestTaskstatsMessage(t *testing.T) {
	s := unix.Taskstats{Version: 14, Ac_pid: 7, Ac_tgid: 6, Ac_ppid: 5, Hiwater_rss: 1000, Ac_etime: 20, Ac_flag: afork}
	raw := unsafe.Slice((*byte)(unsafe.Pointer(&s)), unsafe.Sizeof(s))
	attr := func(kind uint16, b []byte) []byte {
		out := binary.NativeEndian.AppendUint16(nil, uint16(4+len(b)))
		return append(binary.NativeEndian.AppendUint16(out, kind), b...)
	}
	message := func(stats []byte) []byte {
		pid := attr(unix.TASKSTATS_TYPE_PID, []byte{7, 0, 0, 0})
		return attr(unix.TASKSTATS_TYPE_AGGR_PID|unix.NLA_F_NESTED, append(pid, attr(unix.TASKSTATS_TYPE_STATS, stats)...))
	}
	want := exit{pid: 7, group: 6, parent: 5, peak: 1000 << 10, lived: 20 * time.Microsecond, forked: true}
	var got unix.Taskstats
	if !ending(message(append(slices.Clone(raw), 1, 2, 3, 4)), &got) || exitOf(&got) != want {
		t.Errorf("want %+v, got %+v", want, exitOf(&got))
	}
	s.Version, want.group = 8, 7
	got = unix.Taskstats{}
	if !ending(message(raw[:unsafe.Offsetof(s.Ac_btime64)]), &got) || exitOf(&got) != want {
		t.Errorf("version 8: want %+v, got %+v", want, exitOf(&got))
	}
	for _, b := range [][]byte{nil, {1}, attr(unix.TASKSTATS_TYPE_AGGR_TGID, nil), {200, 0, 4, 0}, {0, 0, 0, 0}} {
		if ending(b, &got) {
			t.Errorf("%v is no end of a thread", b)
		}
	}
	for range messages([]byte{3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}) {
		t.Error("a message shorter than its head")
	}
}
