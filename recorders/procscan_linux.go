package recorders

import (
	"encoding/binary"
	"os"

	"golang.org/x/sys/unix"
)

// scanner finds the processes of a tree. A process belongs when its parent, the
// leader of its process group or the leader of its session belongs: so children
// whose parent has ended, and which the kernel gave to init, are still found.
// (One that within a tenth of a second leaves its parent, its group and its
// session is not.)
//
// Each process is looked at once, when it is new; and the list of processes is
// read only when the kernel has given out a number since the last time. So a
// scan of a quiet machine costs one read.
type scanner struct {
	proc    string
	dir     procFile
	loadavg procFile
	lastPID int64 // as of the last scan, -1 for none
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
	s.lastPID = -1
	s.known = map[int]uint32{root: s.round}
	s.ours = map[int]bool{root: true}
}

func (s *scanner) close() {
	s.dir.close()
	s.loadavg.close()
}

// newcomers gives the processes that joined the tree since the last call, and
// whether it had to look. The result is good until the next call.
func (s *scanner) newcomers() (found []int, looked bool) {
	s.found = s.found[:0]
	if !s.moved() {
		return nil, false
	}
	s.round++
	s.fresh = s.fresh[:0]
	s.list()
	for pid, round := range s.known {
		if round != s.round {
			delete(s.known, pid)
		}
	}
	s.adopt()
	return s.found, true
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
	_, known := s.known[pid]
	s.known[pid] = s.round
	if known {
		return
	}
	delete(s.ours, pid) // the number of a member that ended, used again
	if pid == os.Getpid() {
		return // the recorder is not part of what it records
	}
	f, err := openProc(procDir(s.proc, pid) + "/stat")
	if err != nil {
		return
	}
	defer f.close()
	text, err := f.read(s.buf)
	if err != nil {
		return
	}
	if st, ok := parseStat(text); ok {
		s.fresh = append(s.fresh, newProcess{pid, st})
	}
}

// adopt takes from the new processes those that belong, until none is left whose
// parent or leader does.
func (s *scanner) adopt() {
	for again := true; again; {
		again = false
		for i, p := range s.fresh {
			if p.pid == 0 || !(s.ours[p.parent] || s.ours[p.group] || s.ours[p.session]) {
				continue
			}
			s.ours[p.pid] = true
			s.found = append(s.found, p.pid)
			s.fresh[i].pid = 0
			again = true
		}
	}
}
