package recorders

import (
	"encoding/binary"
	"maps"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// scanner finds the processes of a tree. A process belongs when its parent, the
// leader of its process group or the leader of its session belongs: so children
// whose parent has ended, and which the kernel gave to init, are still found.
// (One that within a tenth of a second leaves its parent, its group and its
// session is not.) One that has not executed a program yet is looked at once more
// before it counts: between vfork and exec, as programs are started, it has the very
// memory of its parent, which would count twice.
//
// Each process is looked at once, when it is new: a scan of a quiet machine costs
// one read, that of the number that the kernel gave out last. Numbers that were
// given out since the scan before are looked up one by one; only where those are
// many is the list of all processes read.
type scanner struct {
	proc    string
	dir     procFile
	loadavg procFile
	at      time.Duration    // of the last scan
	lastPID int64            // as of then, -1 for none
	before  int64            // lastPID of the scan before
	listed  time.Duration    // when all processes were last listed
	absent  []int            // numbers given out to processes that could not be seen yet, or are young
	young   map[int]procStat // seen before they executed a program: as they were then
	began   bool             // there was a scan before
	root    int
	round   uint32
	known   map[int]uint32 // every process seen: the round it was last seen in
	ours    map[int]bool   // members, also ended ones: their children and groups may live
	fresh   []newProcess
	found   []int
	dirents []byte
	buf     []byte
}

type newProcess struct {
	pid int
	procStat
}

func newScanner(proc string) scanner {
	s := scanner{proc: proc, lastPID: -1, dirents: make([]byte, 32<<10), buf: make([]byte, 4096)}
	// Where these fail, a scan finds nothing and the first process stands alone.
	s.dir, _ = openProc(proc)
	s.loadavg, _ = openProc(proc + "/loadavg")
	if !s.isProcfs() {
		// lxcfs and sandboxes put a file of their own here, whose last field is
		// late or constant.
		s.loadavg.close()
		s.loadavg = -1
	}
	return s
}

// isProcfs reports whether loadavg is the kernel's own.
func (s *scanner) isProcfs() bool {
	var st unix.Statfs_t
	return s.loadavg >= 0 && unix.Fstatfs(int(s.loadavg), &st) == nil && st.Type == unix.PROC_SUPER_MAGIC
}

// reset starts over with another first process.
func (s *scanner) reset(root int) {
	s.lastPID, s.root, s.absent, s.began = -1, root, nil, false
	s.young = map[int]procStat{}
	s.known = map[int]uint32{root: s.round}
	s.ours = map[int]bool{root: true}
}

func (s *scanner) close() {
	s.dir.close()
	s.loadavg.close()
}

// Bounds of looking processes up by number: how many, and how long until all are
// listed again to forget those that have ended.
const (
	mostNew   = 200
	listAgain = 10 * time.Second
)

// newcomers gives the processes that joined the tree since the last call. The
// result is good until the next call.
func (s *scanner) newcomers(now time.Duration) []int {
	s.found, s.fresh = s.found[:0], s.fresh[:0]
	s.before = s.lastPID
	defer func() { s.began = true }()
	if !s.moved() && len(s.absent) == 0 {
		return nil
	}
	fresh := s.lastPID - s.before
	if s.before > 0 && s.lastPID > 0 && fresh >= 0 && fresh <= mostNew && now < s.listed+listAgain {
		s.lookUp()
		s.adopt()
		return s.found
	}
	s.listed = now
	s.round++
	s.absent = s.absent[:0]
	s.list()
	for pid, round := range s.known {
		if round != s.round {
			delete(s.known, pid)
		}
	}
	maps.DeleteFunc(s.young, func(pid int, _ procStat) bool { return !slices.Contains(s.absent, pid) })
	s.adopt()
	return s.found
}

// lookUp looks at the numbers that were given out since the scan before. One of a
// process that is still being made is not there yet, and is looked up once more.
func (s *scanner) lookUp() {
	again := len(s.absent)
	for _, pid := range s.absent {
		if s.look(pid) {
			continue
		}
		if _, young := s.young[pid]; young {
			s.absent = append(s.absent, pid)
		}
	}
	for pid := s.before + 1; pid <= s.lastPID; pid++ {
		if !s.look(int(pid)) {
			s.absent = append(s.absent, int(pid))
		}
	}
	s.absent = append(s.absent[:0], s.absent[again:]...)
}

// moved reports whether a process may have been made since the last call, by
// the number that the kernel gave out last: the fifth field of loadavg.
func (s *scanner) moved() bool {
	if s.loadavg < 0 {
		return true
	}
	text, err := s.loadavg.read(s.buf)
	if err != nil {
		return true
	}
	for len(text) > 0 && text[len(text)-1] == '\n' {
		text = text[:len(text)-1]
	}
	for i := len(text) - 1; i >= 0; i-- {
		if text[i] == ' ' {
			text = text[i:]
			break
		}
	}
	pid, _, ok := parseNumber(text)
	if ok && pid > 0 && pid == s.lastPID {
		return false
	}
	s.lastPID = pid
	return true
}

// list reads the names in /proc and looks at each process not known yet.
func (s *scanner) list() {
	if s.dir < 0 {
		return
	}
	unix.Seek(int(s.dir), 0, unix.SEEK_SET)
	for {
		n, err := unix.ReadDirent(int(s.dir), s.dirents)
		if err != nil || n <= 0 {
			return
		}
		for rest := s.dirents[:n]; len(rest) >= direntName; {
			length := int(binary.NativeEndian.Uint16(rest[direntLength:]))
			if length < direntName || length > len(rest) {
				return
			}
			if pid, ok := parsePID(rest[direntName:length]); ok {
				s.see(pid)
			}
			rest = rest[length:]
		}
	}
}

// Offsets in struct linux_dirent64 (getdents64(2)).
const (
	direntLength = 16
	direntName   = 19
)

// parsePID reads a name of digits only, ended by a zero byte.
func parsePID(name []byte) (int, bool) {
	pid := 0
	for i, c := range name {
		if c == 0 {
			return pid, i > 0
		}
		if c < '0' || c > '9' {
			return 0, false
		}
		pid = pid*10 + int(c-'0')
	}
	return 0, false
}

func (s *scanner) see(pid int) {
	if _, known := s.known[pid]; known {
		s.known[pid] = s.round
	} else if !s.look(pid) {
		s.absent = append(s.absent, pid)
	}
}

// look reads who a process belongs to. It gives false where there is none, or one that
// is to be looked at once more.
func (s *scanner) look(pid int) bool {
	if pid == os.Getpid() {
		return true // the recorder is not part of what it records
	}
	if s.ours[pid] && pid == s.root {
		return true
	}
	delete(s.ours, pid) // the number of a member that ended, used again
	before, young := s.young[pid]
	delete(s.young, pid)
	f, err := openProc(procDir(s.proc, pid) + "/stat")
	if err != nil {
		return false
	}
	defer f.close()
	text, err := f.read(s.buf)
	if err != nil {
		return false
	}
	st, ok := parseStat(text)
	if ok && st.flags&forkNoExec != 0 && s.began && !young {
		s.young[pid] = st
		return false
	}
	if young && s.belongs(before) { // it may have left its parent since
		st = before
	}
	s.known[pid] = s.round
	if ok {
		s.fresh = append(s.fresh, newProcess{pid, st})
	}
	return true
}

// leads reports whether a number is a process's and not that of a further thread,
// which can be looked up as well.
func (s *scanner) leads(pid int) bool {
	f, err := openProc(procDir(s.proc, pid) + "/status")
	if err != nil {
		return false
	}
	defer f.close()
	text, err := f.read(s.buf)
	if err != nil {
		return false
	}
	leader, ok := findNumber(text, "Tgid")
	return ok && leader == int64(pid)
}

// adopt takes from the new processes those that belong, until none is left whose
// parent or leader does.
func (s *scanner) adopt() {
	for again := true; again; {
		again = false
		for i, p := range s.fresh {
			if p.pid == 0 || !s.belongs(p.procStat) {
				continue
			}
			s.fresh[i].pid = 0
			if !s.leads(p.pid) {
				continue
			}
			s.ours[p.pid] = true
			s.found = append(s.found, p.pid)
			again = true
		}
	}
}

func (s *scanner) belongs(st procStat) bool {
	return s.ours[st.parent] || s.ours[st.group] || s.ours[st.session]
}
