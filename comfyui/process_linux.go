package comfyui

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// isolate gives the server a session of its own, so that Ctrl-C reaches only
// memtrix, and lets the kernel end it should memtrix die.
func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: unix.SIGKILL}
}

// member is a process that came of a server. Its start time tells it from a later
// process with the same id.
type member struct {
	pid   int
	start string
}

func (m member) kill() {
	if now, ok := readStat(m.pid); ok && now.start == m.start {
		_ = syscall.Kill(m.pid, unix.SIGKILL)
	}
}

// stat is what /proc/PID/stat says (proc_pid_stat(5)).
type stat struct {
	state         byte
	ppid, session int
	start         string
}

func readStat(pid int) (stat, bool) {
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return stat{}, false
	}
	return parseStat(string(data))
}

// parseStat starts behind the command's name, which may hold anything.
func parseStat(line string) (stat, bool) {
	end := strings.LastIndexByte(line, ')')
	if end < 0 {
		return stat{}, false
	}
	fields := strings.Fields(line[end+1:])
	if len(fields) < 20 {
		return stat{}, false
	}
	ppid, err1 := strconv.Atoi(fields[1])
	session, err2 := strconv.Atoi(fields[3])
	return stat{state: fields[0][0], ppid: ppid, session: session, start: fields[19]}, err1 == nil && err2 == nil
}

func (s stat) dead() bool { return s.state == 'Z' || s.state == 'X' }

// processes are all that live now.
func processes() map[int]stat {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	all := map[int]stat{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if s, ok := readStat(pid); ok && !s.dead() {
			all[pid] = s
		}
	}
	return all
}

// family is everything below the server now, without the server itself.
func (p *process) family() []member {
	all := processes()
	var found []member
	for pid, s := range all {
		if pid != p.pid() && p.above(all, pid) {
			found = append(found, member{pid, s.start})
		}
	}
	return found
}

// above reports whether the server is an ancestor.
func (p *process) above(all map[int]stat, pid int) bool {
	for range len(all) {
		s, ok := all[pid]
		if !ok || s.ppid == 0 {
			return false
		}
		if pid = s.ppid; pid == p.pid() {
			return true
		}
	}
	return false
}

// survivors are members of the family that live, and all others that carry the
// server's session or its mark.
func (p *process) survivors(family []member) []member {
	all := processes()
	start := map[int]string{}
	for _, m := range family {
		start[m.pid] = m.start
	}
	var left []member
	for pid, s := range all {
		if pid == os.Getpid() || pid == p.pid() && p.hasExited() {
			continue
		}
		if start[pid] == s.start || s.session == p.pid() || p.marked(pid) {
			left = append(left, member{pid, s.start})
		}
	}
	return left
}

func (p *process) marked(pid int) bool {
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	return err == nil && bytes.Contains(env, []byte(trialMark+"="+p.mark))
}
