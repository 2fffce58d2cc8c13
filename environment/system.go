package environment

import (
	"strconv"
	"strings"
)

// value finds "key<sep>value" among lines, without quotes around the value.
func value(text, key, sep string) string {
	for line := range strings.Lines(text) {
		k, v, ok := strings.Cut(line, sep)
		if ok && strings.TrimSpace(k) == key {
			return strings.Trim(strings.TrimSpace(v), `"'`)
		}
	}
	return ""
}

func distro(osRelease string) string {
	if name := value(osRelease, "PRETTY_NAME", "="); name != "" {
		return name
	}
	return value(osRelease, "NAME", "=")
}

// cpuModel reads /proc/cpuinfo, whose words differ between processors.
func cpuModel(cpuinfo string) string {
	for _, key := range []string{"model name", "Model", "Hardware", "cpu model", "cpu"} {
		if v := value(cpuinfo, key, ":"); v != "" {
			return v
		}
	}
	// Most ARM servers tell numbers only.
	implementer, part := value(cpuinfo, "CPU implementer", ":"), value(cpuinfo, "CPU part", ":")
	if implementer == "" {
		return ""
	}
	return "ARM implementer " + implementer + " part " + part
}

// meminfo gives a size of /proc/meminfo in bytes.
func meminfo(text, key string) string {
	number, _, _ := strings.Cut(value(text, key, ":"), " ")
	kb, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return ""
	}
	return strconv.FormatInt(kb<<10, 10)
}

// swapKind says where swapped pages go: compressed memory is not a disk.
func swapKind(swaps string) string {
	var kinds []string
	for i, line := range strings.Split(strings.TrimSpace(swaps), "\n") {
		fields := strings.Fields(line)
		if i == 0 || len(fields) < 2 {
			continue
		}
		kind := fields[1] // "file" or "partition"
		if strings.HasPrefix(fields[0], "/dev/zram") {
			kind = "zram"
		}
		kinds = append(kinds, kind)
	}
	return strings.Join(kinds, ",")
}

// bracketed gives the word that is chosen in "always [madvise] never".
func bracketed(line string) string {
	_, rest, ok := strings.Cut(line, "[")
	word, _, closed := strings.Cut(rest, "]")
	if !ok || !closed {
		return ""
	}
	return word
}

// container names what kind of container this is, "" for none that shows.
func (c *Capturer) container() string {
	switch {
	case c.exists("run/.containerenv"):
		return "podman"
	case c.exists("var/run/secrets/kubernetes.io"):
		return "kubernetes"
	case c.exists(".dockerenv"):
		return "docker"
	}
	if kind := c.line("run/systemd/container"); kind != "" {
		return kind
	}
	groups := c.text("proc/1/cgroup")
	for _, kind := range []string{"kubepods", "docker", "lxc", "libpod", "containerd"} {
		if strings.Contains(groups, kind) {
			return kind
		}
	}
	return ""
}

// virtualMachine says on what a virtual machine runs, "" for a real one.
func (c *Capturer) virtualMachine(cpuinfo string) string {
	if strings.Contains(strings.ToLower(c.line("proc/sys/kernel/osrelease")), "microsoft") {
		return "WSL"
	}
	if strings.Contains(c.text("proc/version"), "gVisor") {
		return "gVisor"
	}
	flags := value(cpuinfo, "flags", ":")
	hypervisor := strings.Contains(" "+flags+" ", " hypervisor ")
	vendor := strings.TrimSpace(c.line("sys/class/dmi/id/sys_vendor") + " " + c.line("sys/class/dmi/id/product_name"))
	switch {
	case !hypervisor:
		return ""
	case vendor == "":
		return "yes"
	}
	return vendor
}

// cgroupLimits gives the smallest limits of memory and of swap on the way from
// our control group to the root, in bytes; "" for none. Version 2 writes "max"
// for none, version 1 a number near 2^63
// (https://docs.kernel.org/admin-guide/cgroup-v2.html).
func (c *Capturer) cgroupLimits() (memory, swap string) {
	for line := range strings.Lines(c.text("proc/self/cgroup")) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		path := parts[2]
		switch {
		case parts[0] == "0" && parts[1] == "":
			for _, mount := range []string{"sys/fs/cgroup", "sys/fs/cgroup/unified"} {
				memory = smaller(memory, c.smallest(mount, path, "memory.max"))
				swap = smaller(swap, c.smallest(mount, path, "memory.swap.max"))
			}
		case strings.Contains(","+parts[1]+",", ",memory,"):
			memory = smaller(memory, c.smallest("sys/fs/cgroup/memory", path, "memory.limit_in_bytes"))
		}
	}
	return memory, swap
}

// smallest reads a limit in a group and all above it.
func (c *Capturer) smallest(mount, path, file string) string {
	limit := ""
	for {
		limit = smaller(limit, c.line(mount+path+"/"+file))
		if path == "" || path == "/" {
			return limit
		}
		path = path[:strings.LastIndexByte(path, '/')]
	}
}

// smaller gives the smaller of two limits, where "" and what is no real number
// means none.
func smaller(a, b string) string {
	const none = 1 << 60
	n, err := strconv.ParseInt(b, 10, 64)
	if err != nil || n >= none {
		return a
	}
	if m, err := strconv.ParseInt(a, 10, 64); err == nil && m <= n {
		return a
	}
	return b
}
