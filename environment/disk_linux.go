package environment

import (
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"memtrix"
	"memtrix/internal/mountinfo"
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
	e["models.filesystem"] = m.Kind
	put(e, "models.disk", c.disk(m))
}

// mountOf finds the mount that a path lies in: the deepest, and of several at
// one place the last, which covers the others.
func mountOf(text, path string) (mountinfo.Mount, bool) {
	var best mountinfo.Mount
	for m := range mountinfo.Mounts(text) {
		inside := m.Point == "/" || path == m.Point || strings.HasPrefix(path, m.Point+"/")
		if inside && len(m.Point) >= len(best.Point) {
			best = m
		}
	}
	return best, best.Point != ""
}

// disk gives "solid-state" or "rotational", "" where there is no disk to ask.
func (c *Capturer) disk(m mountinfo.Mount) string {
	device := m.Device
	// Some file systems (btrfs, ZFS) have a number that no disk has.
	if strings.HasPrefix(device, "0:") {
		var st unix.Stat_t
		if !strings.HasPrefix(m.Source, "/dev/") || unix.Stat(c.path(m.Source), &st) != nil {
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
