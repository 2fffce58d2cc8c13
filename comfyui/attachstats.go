package comfyui

import (
	"fmt"
	"strconv"
	"strings"

	"memtrix"
)

// packages are those that a server names, by name. It knows few.
func (s Stats) packages() map[string]string {
	found := map[string]string{}
	if s.System.Torch != "" {
		found["torch"] = s.System.Torch
	}
	for _, p := range s.System.Packages {
		if p.Installed != "" {
			found[strings.ToLower(p.Name)] = p.Installed
		}
	}
	return found
}

// facts are what the server tells about itself and where it runs, "server.*".
func (s Stats) facts() memtrix.Environment {
	facts := memtrix.Environment{}
	put := func(name, value string) {
		if value != "" {
			facts["server."+name] = value
		}
	}
	y := s.System
	put("comfyui", y.Release)
	put("torch", y.Torch)
	put("python", y.Python)
	put("os", y.OS)
	put("argv", strings.Join(y.Argv, " "))
	if y.RAMTotal > 0 {
		put("ram.total", strconv.FormatInt(y.RAMTotal, 10))
	}
	for i, d := range s.Devices {
		put(fmt.Sprintf("device.%d.name", i), d.Name)
		put(fmt.Sprintf("device.%d.vram.total", i), strconv.FormatInt(d.VRAMTotal, 10))
	}
	return facts
}

// sizes are the figures of the server's first device, and of its RAM.
func (s Stats) sizes() map[string]int64 {
	values := map[string]int64{memtrix.ServerRAMFree: s.System.RAMFree}
	if len(s.Devices) == 0 || s.Devices[0].Type == "cpu" {
		return values // without a card its VRAM is RAM
	}
	d := s.Devices[0]
	values[memtrix.ServerVRAMFree], values[memtrix.ServerVRAMTotal] = d.VRAMFree, d.VRAMTotal
	values[memtrix.ServerTorchTotal], values[memtrix.ServerTorchFree] = d.TorchVRAMTotal, d.TorchVRAMFree
	return values
}

// ServerEnviron is the environment of a process of this machine as it was started,
// nil where it may not be seen (proc_pid_environ(5)).
func ServerEnviron(pid int) []string {
	if pid == 0 {
		return nil
	}
	return words(fmt.Sprintf("/proc/%d/environ", pid))
}
