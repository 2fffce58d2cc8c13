package amd

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// rocm is what a process holds of the card as ROCm's driver counts it: whole bytes
// in a file named after the card's number there. False where the process does not
// use ROCm.
func (c *Card) rocm(pid int) (int64, bool) {
	if c.id == "" {
		return 0, false
	}
	n, err := number(filepath.Join(c.kfd, "proc", strconv.Itoa(pid), "vram_"+c.id))
	return n, err == nil
}

// kfdID gives the number by which ROCm's driver knows the card at a PCI address
// ("0000:0b:00.0"): the nodes of its topology have the address in two numbers.
func kfdID(kfd, address string) string {
	var domain, bus, device, function int64
	if _, err := fmt.Sscanf(address, "%x:%x:%x.%x", &domain, &bus, &device, &function); err != nil {
		return ""
	}
	nodes, _ := filepath.Glob(filepath.Join(kfd, "topology/nodes/*"))
	for _, node := range nodes {
		properties, err := os.ReadFile(filepath.Join(node, "properties"))
		if err != nil {
			continue
		}
		p := properties64(string(properties))
		if id := word(filepath.Join(node, "gpu_id")); id != "" && id != "0" && // 0 is a processor
			p["location_id"] == bus<<8|device<<3|function && p["domain"] == domain {
			return id
		}
	}
	return ""
}

// properties64 reads lines like "location_id 2816".
func properties64(text string) map[string]int64 {
	p := map[string]int64{}
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if n, err := strconv.ParseInt(value, 10, 64); err == nil {
			p[key] = n
		}
	}
	return p
}
