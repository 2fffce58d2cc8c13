package hardware

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"memtrix/internal/mountinfo"
)

// groupFS is where memory groups can be made; tests have one of their own.
type groupFS struct {
	mountinfo string // /proc/self/mountinfo
	own       string // /proc/self/cgroup
	meminfo   string // /proc/meminfo
}

var systemGroups = groupFS{"/proc/self/mountinfo", "/proc/self/cgroup", "/proc/meminfo"}

// MakeGroup makes a memory group that holds at most ram bytes (0: no limit) and
// swap bytes of swap (nil: no limit). It takes root, or a group that was
// delegated to the user (systemd-run --user --scope -p Delegate=yes). Where no
// group can be made, the error gives the reason of each place that was tried.
func MakeGroup(name string, ram int64, swap *int64) (*Group, error) {
	return systemGroups.make(name, ram, swap)
}

func (g groupFS) make(name string, ram int64, swap *int64) (*Group, error) {
	if err := g.checkSwap(swap); err != nil {
		return nil, err
	}
	places, err := g.places()
	if err != nil {
		return nil, err
	}
	var reasons []error
	for _, p := range places {
		group := &Group{filepath.Join(p.dir, name), p.version}
		if err = group.create(p.dir); err == nil {
			if err = group.limit(ram, swap); err == nil {
				return group, nil
			}
			group.Remove()
		}
		reasons = append(reasons, err)
	}
	if len(reasons) == 0 {
		return nil, errors.New("no memory group can be made: this system has no cgroup with a memory controller")
	}
	return nil, fmt.Errorf("no memory group can be made (needs root, or a group delegated to the user): %w", errors.Join(reasons...))
}

// checkSwap refuses more swap than the machine has: the limit would be without
// effect, and the trial something else than it says.
func (g groupFS) checkSwap(swap *int64) error {
	if swap == nil || *swap == 0 {
		return nil
	}
	data, err := os.ReadFile(g.meminfo)
	if err != nil {
		return fmt.Errorf("read the machine's swap: %w", err)
	}
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		if len(fields) < 2 || fields[0] != "SwapTotal:" {
			continue
		}
		kb, err := strconv.ParseInt(fields[1], 10, 64)
		if err != nil {
			return fmt.Errorf("read the machine's swap: %w", err)
		}
		if kb<<10 < *swap {
			return fmt.Errorf("the machine has %s of swap, less than the %s asked for: make a swap file (fallocate, mkswap, swapon)", size(kb<<10), size(*swap))
		}
	}
	return nil
}

type place struct {
	dir     string
	version int
}

// places lists the groups below which one could be made, best first: the root of
// a hierarchy that has the memory controller, then the group that we are in and
// the one above it.
func (g groupFS) places() ([]place, error) {
	mounts, err := os.ReadFile(g.mountinfo)
	if err != nil {
		return nil, fmt.Errorf("look for cgroups: %w", err)
	}
	own, err := os.ReadFile(g.own)
	if err != nil {
		return nil, fmt.Errorf("look for cgroups: %w", err)
	}
	var places []place
	for m := range mountinfo.Mounts(string(mounts)) {
		mount, version := m.Point, 0
		switch {
		case m.Kind == "cgroup2":
			version = 2
		case m.Kind == "cgroup" && m.HasOption("memory"):
			version = 1
		default:
			continue
		}
		places = append(places, place{mount, version})
		if path := ownGroup(string(own), version); path != "/" && path != "" {
			dir := filepath.Join(mount, path)
			places = append(places, place{filepath.Dir(dir), version}, place{dir, version})
		}
	}
	return places, nil
}

// ownGroup finds our group in /proc/self/cgroup: "0::/a" for version 2,
// "4:memory:/a" for version 1.
func ownGroup(text string, version int) string {
	for line := range strings.Lines(text) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		if version == 2 && parts[0] == "0" && parts[1] == "" {
			return parts[2]
		}
		if version == 1 && slices.Contains(strings.Split(parts[1], ","), "memory") {
			return parts[2]
		}
	}
	return ""
}

// create makes the group's folder and sees to it that it has the controller.
func (g *Group) create(parent string) error {
	if err := os.Mkdir(g.Path, 0o755); err != nil {
		return err
	}
	file := map[int]string{1: "memory.limit_in_bytes", 2: "memory.max"}[g.Version]
	if g.has(file) {
		return nil
	}
	err := os.WriteFile(filepath.Join(parent, "cgroup.subtree_control"), []byte("+memory"), 0o644)
	if err == nil && g.has(file) {
		return nil
	}
	g.Remove()
	if err == nil {
		err = errors.New("the memory controller is not available there")
	}
	return fmt.Errorf("%s: %w", parent, err)
}

func (g *Group) has(file string) bool {
	_, err := os.Stat(filepath.Join(g.Path, file))
	return err == nil
}

// limit sets the limits and reads them back.
func (g *Group) limit(ram int64, swap *int64) error {
	if ram > 0 {
		if err := g.set(map[int]string{1: "memory.limit_in_bytes", 2: "memory.max"}[g.Version], ram); err != nil {
			return err
		}
	}
	if swap == nil {
		return nil
	}
	if g.Version == 2 {
		return g.set("memory.swap.max", *swap)
	}
	// Version 1 limits the sum of both.
	if ram == 0 {
		return errors.New("cgroup version 1 limits swap only together with ram: give ram, too")
	}
	if *swap == 0 && !g.has("memory.memsw.limit_in_bytes") {
		return g.set("memory.swappiness", 0)
	}
	return g.set("memory.memsw.limit_in_bytes", ram+*swap)
}

func (g *Group) set(file string, value int64) error {
	path := filepath.Join(g.Path, file)
	if err := os.WriteFile(path, []byte(strconv.FormatInt(value, 10)), 0o644); err != nil {
		return err
	}
	got, err := g.number(file)
	if err != nil {
		return err
	}
	// The kernel rounds down to whole pages.
	if page := int64(os.Getpagesize()); got > value || got < value-page {
		return fmt.Errorf("%s is %d after %d was written to it", path, got, value)
	}
	return nil
}

func (g *Group) number(file string) (int64, error) {
	data, err := os.ReadFile(filepath.Join(g.Path, file))
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64)
}

// Usage reads what the kernel has counted so far.
func (g *Group) Usage() Usage {
	get := func(file string) *int64 {
		if n, err := g.number(file); err == nil {
			return &n
		}
		return nil
	}
	if g.Version == 2 {
		events := g.counts("memory.events")
		return Usage{
			Limit: get("memory.max"), Peak: get("memory.peak"), SwapPeak: get("memory.swap.peak"),
			AtLimit: events["max"], Kills: events["oom_kill"],
		}
	}
	return Usage{
		Limit: get("memory.limit_in_bytes"), Peak: get("memory.max_usage_in_bytes"),
		AtLimit: get("memory.failcnt"), Kills: g.counts("memory.oom_control")["oom_kill"],
	}
}

// counts reads a file of "name number" lines.
func (g *Group) counts(file string) map[string]*int64 {
	counts := map[string]*int64{}
	data, err := os.ReadFile(filepath.Join(g.Path, file))
	if err != nil {
		return counts
	}
	for line := range strings.Lines(string(data)) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), " ")
		if n, err := strconv.ParseInt(value, 10, 64); ok && err == nil {
			counts[name] = &n
		}
	}
	return counts
}

// Enter moves the calling process into the group.
func (g *Group) Enter() error {
	err := os.WriteFile(filepath.Join(g.Path, "cgroup.procs"), []byte("0"), 0o644)
	if err != nil {
		return fmt.Errorf("enter memory group: %w", err)
	}
	return nil
}

// End kills what still runs in the group and removes it.
func (g *Group) End(patience time.Duration) error {
	deadline := time.Now().Add(patience)
	for {
		g.kill()
		err := g.Remove()
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("remove memory group: %w", err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func (g *Group) kill() {
	if g.Version == 2 && os.WriteFile(filepath.Join(g.Path, "cgroup.kill"), []byte("1"), 0o644) == nil {
		return
	}
	data, err := os.ReadFile(filepath.Join(g.Path, "cgroup.procs"))
	if err != nil {
		return
	}
	for _, field := range strings.Fields(string(data)) {
		if pid, err := strconv.Atoi(field); err == nil {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// Remove removes an empty group. One that is gone already is no error.
func (g *Group) Remove() error {
	err := os.Remove(g.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
