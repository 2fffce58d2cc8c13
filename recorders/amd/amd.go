// Package amd reads AMD cards through what the kernel's amdgpu driver shows in
// /sys and /proc: no library of AMD's is needed. It only reads.
//
// It was written from the kernel's documentation and tested on files made after
// it, not on a card:
// https://docs.kernel.org/gpu/amdgpu/driver-misc.html (mem_info_*, gpu_busy_percent),
// https://docs.kernel.org/gpu/drm-usage-stats.html (fdinfo),
// https://github.com/torvalds/linux/blob/master/drivers/gpu/drm/amd/amdkfd/kfd_process.c
// and kfd_topology.c beside it (what ROCm's driver shows in /sys/class/kfd).
package amd

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"memtrix/recorders/nvidia"
)

// ErrNoCard is in the chain of every error that means "this machine has no
// usable AMD card".
var ErrNoCard = errors.New("no AMD card")

// Card is one card. It is read by one goroutine at a time.
type Card struct {
	Name   string // the address on the PCI bus, "0000:0b:00.0"
	Driver string // "amdgpu"
	Index  int    // among the AMD cards
	Total  int64  // bytes

	dir, proc string
	kfd       string // /sys/class/kfd/kfd
	id        string // of the card there, "" where ROCm's driver does not know it
}

// Open opens the card that a ROCm program with the given environment uses first:
// ROCR_VISIBLE_DEVICES and HIP_VISIBLE_DEVICES hold indices.
func Open(env nvidia.Lookup) (*Card, error) { return open("/", env) }

func open(root string, env nvidia.Lookup) (*Card, error) {
	cards, others := find(root)
	if len(cards) == 0 {
		if len(others) > 0 {
			return nil, fmt.Errorf("%w (there is %s, whose memory memtrix cannot read)", ErrNoCard, strings.Join(others, " and "))
		}
		return nil, fmt.Errorf("%w: the kernel shows none in /sys/class/drm", ErrNoCard)
	}
	index := 0
	for _, name := range []string{"ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"} {
		list, set := env(name)
		if !set {
			continue
		}
		first, _, _ := strings.Cut(list, ",")
		n, err := strconv.Atoi(strings.TrimSpace(first))
		if err != nil || n < 0 || n >= len(cards) {
			return nil, fmt.Errorf("%w: %s=%q hides every card (%d in this machine)", ErrNoCard, name, list, len(cards))
		}
		index = n
		break
	}
	return cards[index], nil
}

// find gives the cards that amdgpu drives, in the order of the bus, and names
// other makers' that the kernel knows.
func find(root string) (cards []*Card, others []string) {
	dirs, _ := filepath.Glob(filepath.Join(root, "sys/class/drm/card[0-9]*"))
	for _, dir := range dirs {
		if strings.Contains(filepath.Base(dir), "-") {
			continue // a connector of the card
		}
		device := filepath.Join(dir, "device")
		total, err := number(filepath.Join(device, "mem_info_vram_total"))
		if err != nil {
			if maker, ok := makers[word(filepath.Join(device, "vendor"))]; ok && !slices.Contains(others, maker) {
				others = append(others, maker)
			}
			continue
		}
		name := value(filepath.Join(device, "uevent"), "PCI_SLOT_NAME")
		driver := value(filepath.Join(device, "uevent"), "DRIVER")
		cards = append(cards, &Card{Name: name, Driver: driver, Total: total, dir: device, proc: filepath.Join(root, "proc"),
			kfd: filepath.Join(root, "sys/class/kfd/kfd")})
	}
	slices.SortFunc(cards, func(a, b *Card) int { return strings.Compare(a.Name, b.Name) })
	for i, c := range cards {
		c.Index = i
		c.id = kfdID(c.kfd, c.Name)
	}
	return cards, others
}

// makers are those whose cards may be met and not be read
// (https://pci-ids.ucw.cz/).
var makers = map[string]string{"0x8086": "an Intel card"}

// Close has nothing to give back.
func (c *Card) Close() error { return nil }

// Memory of the card now. What the driver keeps for itself is part of Used.
func (c *Card) Memory() (nvidia.Memory, error) {
	used, err := number(filepath.Join(c.dir, "mem_info_vram_used"))
	if err != nil {
		return nvidia.Memory{}, fmt.Errorf("memory of AMD card %s: %w", c.Name, err)
	}
	return nvidia.Memory{Total: c.Total, Used: used, Free: c.Total - used}, nil
}

// Source says where Memory comes from.
func (c *Card) Source() string {
	return "mem_info_vram_used of amdgpu (includes what the driver reserves)"
}

// ProcessSource says where Processes come from.
func (c *Card) ProcessSource() string { return "ROCm's /sys/class/kfd and amdgpu's fdinfo" }

// Utilization is the share of the last moments in which the card did anything,
// in per cent.
func (c *Card) Utilization() (int64, error) {
	n, err := number(filepath.Join(c.dir, "gpu_busy_percent"))
	if err != nil {
		return 0, fmt.Errorf("utilization of AMD card %s: %w", c.Name, err)
	}
	return n, nil
}

// Processes appends those that hold memory of the card to buf. What ROCm's driver
// counts is shown of all processes; what the card's other clients hold (fdinfo) of
// all for root, else of the user's own. ROCm's memory can be in both: the larger
// counts, not their sum.
func (c *Card) Processes(buf []nvidia.Process) ([]nvidia.Process, error) {
	names, err := os.ReadDir(c.proc)
	if err != nil {
		return buf, fmt.Errorf("processes of AMD card %s: %w", c.Name, err)
	}
	for _, n := range names {
		pid, err := strconv.Atoi(n.Name())
		if err != nil {
			continue
		}
		used, ok := c.held(pid)
		if rocm, known := c.rocm(pid); known {
			used, ok = max(used, rocm), true
		}
		if ok {
			buf = append(buf, nvidia.Process{PID: pid, Used: used, Known: true})
		}
	}
	return buf, nil
}

// held sums what the clients of one process hold; a client that is open twice
// shows twice, with the same id.
func (c *Card) held(pid int) (int64, bool) {
	dir := filepath.Join(c.proc, strconv.Itoa(pid))
	fds, err := os.ReadDir(filepath.Join(dir, "fd"))
	if err != nil {
		return 0, false
	}
	var seen []string
	var sum int64
	for _, fd := range fds {
		target, err := os.Readlink(filepath.Join(dir, "fd", fd.Name()))
		if err != nil || !strings.HasPrefix(target, "/dev/dri/") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, "fdinfo", fd.Name()))
		if err != nil || field(text, "drm-pdev") != c.Name {
			continue
		}
		if id := field(text, "drm-client-id"); slices.Contains(seen, id) {
			continue
		} else {
			seen = append(seen, id)
		}
		sum += vram(text)
	}
	return sum, len(seen) > 0
}

// vram is what a client has in the card's memory. The key was drm-memory-vram
// before Linux 6.12, and both exist where old tools are to work.
func vram(fdinfo []byte) int64 {
	for _, key := range []string{"drm-resident-vram", "drm-memory-vram"} {
		digits, unit, _ := strings.Cut(field(fdinfo, key), " ")
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil {
			continue
		}
		switch unit {
		case "KiB":
			n <<= 10
		case "MiB":
			n <<= 20
		}
		return n
	}
	return 0
}

func field(text []byte, key string) string {
	for line := range bytes.Lines(text) {
		if k, v, ok := bytes.Cut(line, []byte(":")); ok && string(k) == key {
			return string(bytes.TrimSpace(v))
		}
	}
	return ""
}

func value(path, key string) string {
	data, _ := os.ReadFile(path)
	for line := range strings.Lines(string(data)) {
		if k, v, ok := strings.Cut(strings.TrimSpace(line), "="); ok && k == key {
			return v
		}
	}
	return ""
}

func word(path string) string {
	data, _ := os.ReadFile(path)
	return strings.TrimSpace(string(data))
}

func number(path string) (int64, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64)
}
