package recorders

import (
	"bytes"
	"fmt"

	"golang.org/x/sys/unix"
)

// procFile is a file of /proc that is kept open and read from its start again
// and again. One that belongs to a process goes on meaning that very process,
// also when its number is given to another: then reading fails with ESRCH.
type procFile int

func openProc(path string) (procFile, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("open %s: %w", path, err)
	}
	return procFile(fd), nil
}

// read fills buf and gives the part that was read. The kernel makes the text of
// these files at each read from the start, whole.
func (f procFile) read(buf []byte) ([]byte, error) {
	for {
		n, err := unix.Pread(int(f), buf, 0)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, err
		}
		return buf[:n], nil
	}
}

func (f procFile) close() {
	if f >= 0 {
		unix.Close(int(f))
	}
}

// statusMemory is the memory part of /proc/PID/status in bytes. A zombie has
// none of it (https://docs.kernel.org/filesystems/proc.html, table 1-2).
type statusMemory struct {
	rss, anon, file, shmem, swap int64
	peak                         int64 // VmHWM: the largest rss so far
	hasRSS, hasParts, hasSwap    bool
}

// parseStatus reads the lines that say how much memory a process has. Since
// Linux 6.2 the counters behind them are kept per processor, and until 6.17 they
// were shown without summing them up exactly: up to some MiB off on machines with
// many processors.
func parseStatus(text []byte) statusMemory {
	var m statusMemory
	for len(text) > 0 {
		line := text
		if i := bytes.IndexByte(text, '\n'); i >= 0 {
			line, text = text[:i], text[i+1:]
		} else {
			text = nil
		}
		colon := bytes.IndexByte(line, ':')
		if colon < 0 {
			continue
		}
		value := line[colon+1:]
		switch string(line[:colon]) {
		case "VmHWM":
			m.peak, _ = parseKB(value)
		case "VmRSS":
			m.rss, m.hasRSS = parseKB(value)
		case "RssAnon":
			m.anon, m.hasParts = parseKB(value)
		case "RssFile":
			m.file, _ = parseKB(value)
		case "RssShmem":
			m.shmem, _ = parseKB(value)
		case "VmSwap":
			m.swap, m.hasSwap = parseKB(value)
			return m // the last of them
		}
	}
	return m
}

// findKB finds the value of a key in lines like "VmHWM:	    1672 kB", in bytes.
func findKB(text []byte, key string) (int64, bool) {
	for line := range bytes.Lines(text) {
		if len(line) > len(key) && line[len(key)] == ':' && string(line[:len(key)]) == key {
			return parseKB(line[len(key)+1:])
		}
	}
	return 0, false
}

// findNumber is findKB for a plain number.
func findNumber(text []byte, key string) (int64, bool) {
	for line := range bytes.Lines(text) {
		if len(line) > len(key) && (line[len(key)] == ':' || line[len(key)] == ' ') && string(line[:len(key)]) == key {
			n, _, ok := parseNumber(line[len(key)+1:])
			return n, ok
		}
	}
	return 0, false
}

func parseKB(value []byte) (int64, bool) {
	kb, _, ok := parseNumber(value)
	return kb << 10, ok
}

// parseNumber reads a number after blanks and gives what follows it.
func parseNumber(text []byte) (int64, []byte, bool) {
	i := 0
	for i < len(text) && (text[i] == ' ' || text[i] == '\t') {
		i++
	}
	digits := i
	negative := i < len(text) && text[i] == '-'
	if negative {
		i++
		digits++
	}
	var n int64
	for i < len(text) && text[i] >= '0' && text[i] <= '9' {
		n = n*10 + int64(text[i]-'0')
		i++
	}
	if negative {
		n = -n
	}
	return n, text[i:], i > digits
}

// procStat is what is needed of /proc/PID/stat.
type procStat struct {
	parent, group, session int
	flags, majorFaults     int64
}

// forkNoExec is PF_FORKNOEXEC of linux/sched.h: the process has executed no program
// since it was made.
const forkNoExec = 0x40

// parseStat reads /proc/PID/stat (https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html).
// The name in it may hold anything, brackets too: the last one ends it.
func parseStat(text []byte) (procStat, bool) {
	i := bytes.LastIndexByte(text, ')')
	if i < 0 || i+4 > len(text) {
		return procStat{}, false
	}
	rest := text[i+3:] // after ") S"
	var fields [9]int64
	for k := range fields {
		n, after, ok := parseNumber(rest)
		if !ok {
			return procStat{}, false
		}
		fields[k], rest = n, after
	}
	// ppid pgrp session tty tpgid flags minflt cminflt majflt
	return procStat{int(fields[0]), int(fields[1]), int(fields[2]), fields[5], fields[8]}, true
}
