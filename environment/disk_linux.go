package environment

import (
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"memtrix"
)

// addModels says what the models are read from: loading times, and whether
// mapped files can be thrown out and read again, depend on it.
func (c *Capturer) addModels(e memtrix.Environment, dir string) {
	if dir == "" {
		return
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return
	}
	m, ok := mountOf(c.text("proc/self/mountinfo"), dir)
	if !ok {
		return
	}
	e["models.filesystem"] = m.kind
	put(e, "models.disk", c.disk(m))
}

// mount is a line of /proc/self/mountinfo
// (https://man7.org/linux/man-pages/man5/proc_pid_mountinfo.5.html).
type mount struct {
	point, device, kind, source string
}

// mountOf finds the mount that a path lies in: the deepest, and of several at
// one place the last, which covers the others.
func mountOf(mountinfo, path string) (mount, bool) {
	var best mount
	for line := range strings.Lines(mountinfo) {
		left, right, ok := strings.Cut(line, " - ")
		l, r := strings.Fields(left), strings.Fields(right)
		if !ok || len(l) < 5 || len(r) < 2 {
			continue
		}
		m := mount{point: unescape(l[4]), device: l[2], kind: r[0], source: unescape(r[1])}
		inside := m.point == "/" || path == m.point || strings.HasPrefix(path, m.point+"/")
		if inside && len(m.point) >= len(best.point) {
			best = m
		}
	}
	return best, best.point != ""
}

// unescape undoes the octal escapes of blanks in mountinfo.
func unescape(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}

// disk gives "solid-state" or "rotational", "" where there is no disk to ask.
func (c *Capturer) disk(m mount) string {
	device := m.device
	// Some file systems (btrfs, ZFS) have a number that no disk has.
	if strings.HasPrefix(device, "0:") {
		var st unix.Stat_t
		if !strings.HasPrefix(m.source, "/dev/") || unix.Stat(c.path(m.source), &st) != nil {
			return ""
		}
		device = strconv.Itoa(int(unix.Major(uint64(st.Rdev)))) + ":" + strconv.Itoa(int(unix.Minor(uint64(st.Rdev))))
	}
	// A partition has no queue of its own; its disk is the folder above.
	for _, where := range []string{"/queue/rotational", "/../queue/rotational"} {
		// Not filepath.Join: the folder is a link, and ".." means where it leads.
		switch c.lineVia("sys/dev/block/"+device, where) {
		case "0":
			return "solid-state"
		case "1":
			return "rotational"
		}
	}
	return ""
}

// lineVia reads a file below a link.
func (c *Capturer) lineVia(link, file string) string {
	real, err := filepath.EvalSymlinks(c.path(link))
	if err != nil {
		return ""
	}
	other := Capturer{Root: real}
	return other.line(file)
}

// addLimits adds the limits of our process, which the server inherits.
func addLimits(e memtrix.Environment) {
	for name, which := range map[string]int{"limit.memlock": unix.RLIMIT_MEMLOCK, "limit.address-space": unix.RLIMIT_AS} {
		var r unix.Rlimit
		if unix.Getrlimit(which, &r) != nil {
			continue
		}
		if r.Cur == unix.RLIM_INFINITY {
			e[name] = "unlimited"
		} else {
			e[name] = strconv.FormatUint(r.Cur, 10)
		}
	}
}
