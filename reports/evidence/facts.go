package evidence

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"memtrix"
	"memtrix/reports"
)

const (
	fromBanner  = "the server's log"
	fromPip     = "installed packages"
	fromMachine = "the system"
	fromDriver  = "NVML"
)

// facts are what maintainers ask for first, in their order.
func facts(t *memtrix.Trial, e memtrix.Environment) []Fact {
	var list []Fact
	add := func(label, value, source string) {
		if value != "" {
			list = append(list, Fact{label, value, source})
		}
	}
	v := t.Cell.Version
	release := cmp.Or(v.Release, e["banner.comfyui"], e["server.comfyui"])
	add("ComfyUI", release, "the tree")
	switch {
	case t.Simulated:
	case strings.HasPrefix(v.Commit, "tree:"):
		add("ComfyUI commit", "not a git tree; hash of its Python files "+strings.TrimPrefix(v.Commit, "tree:"), "the tree")
	default:
		add("ComfyUI commit", v.Commit, "the tree")
	}
	if len(v.Dirty) > 0 {
		add("changed files in the tree", strings.Join(v.Dirty, ", "), "the tree")
	}
	add("front end", v.Packages["comfyui-frontend-package"], fromPip)
	add("Python", cmp.Or(e["python.version"], e["banner.python"], e["server.python"]), fromMachine)
	add("torch", cmp.Or(e["banner.torch"], e["server.torch"], v.Packages["torch"]), fromBanner)
	add("CUDA of the driver", e["cuda"], fromDriver)
	add("driver", e["driver"], fromDriver)
	for _, p := range []string{"comfy-aimdo", "comfy-kitchen", "xformers", "triton", "triton-windows", "sageattention", "flash-attn"} {
		add(p, cmp.Or(v.Packages[p], e["banner."+p]), fromPip)
	}
	if !t.Simulated || t.Cell.Hardware.VRAM == 0 {
		list = append(list, cards(e)...) // a simulated card is another one
	}
	add("device, as the server says", e["banner.device"], fromBanner)
	add("allocator", e["banner.allocator"], fromBanner)
	add("VRAM state", e["banner.vram-state"], fromBanner)
	add("dynamic VRAM", e["banner.dynamic-vram"], fromBanner)
	add("attention", e["banner.attention"], fromBanner)
	add("async offload streams", e["banner.async-streams"], fromBanner)
	add("may be pinned", size(e["banner.pinned-limit"]), fromBanner)
	add("node cache", e["banner.cache"], fromBanner)
	list = append(list, dtypes(e)...)
	add("OS", strings.TrimSpace(cmp.Or(e["distro"], e["os"], e["server.os"])+" "+e["arch"]), fromMachine)
	add("kernel", e["kernel"], fromMachine)
	add("container", e["container"], fromMachine)
	add("virtual machine", e["virtual-machine"], fromMachine)
	add("CPU", strings.TrimSpace(e["cpu.model"]+" x "+e["cpu.count"]), fromMachine)
	add("RAM", size(cmp.Or(e["ram.total"], e["server.ram.total"])), fromMachine)
	add("RAM limit of the control group", size(e["cgroup.memory.max"]), fromMachine)
	add("swap or page file", swap(e), fromMachine)
	add("disk of the models", strings.TrimSpace(e["models.filesystem"]+" "+e["models.disk"]), fromMachine)
	list = append(list, hardware(t)...)
	return append(list, inUse(t)...)
}

// notable is how much of a card others may use before that is worth a word: desktops
// take some hundred MiB.
const notable = 512 << 20

// beforeStart is the label of what was in use on the card before the server started.
const beforeStart = "VRAM in use before the server started"

// inUse says what others had on the card when the server started, where memtrix did
// not hold it itself.
func inUse(t *memtrix.Trial) []Fact {
	if t.Cell.Hardware.VRAM > 0 {
		return nil
	}
	first := func(meter string) (int64, bool) {
		for _, s := range t.Series {
			if s.Meter.Name == meter && len(s.V) > 0 {
				return s.V[0], true
			}
		}
		return 0, false
	}
	device, ok := first(memtrix.VRAMDeviceUsed)
	own, ok2 := first(memtrix.VRAMTrialUsed)
	if !ok || !ok2 || device-own < notable {
		return nil
	}
	return []Fact{{beforeStart, reports.Bytes(device - own), "NVML, by others"}}
}

// cards are the graphics cards, by number.
func cards(e memtrix.Environment) []Fact {
	var list []Fact
	for i := 0; ; i++ {
		prefix := "gpu." + strconv.Itoa(i) + "."
		name, ok := e[prefix+"name"]
		if !ok {
			break
		}
		list = append(list, Fact{"GPU " + strconv.Itoa(i), name + ", " + size(e[prefix+"vram.total"]), fromDriver})
	}
	if len(list) == 0 && e["gpu"] != "" {
		list = append(list, Fact{"GPU", e["gpu"], fromDriver})
	}
	return list
}

func dtypes(e memtrix.Environment) []Fact {
	var words []string
	for _, d := range []struct{ label, fact string }{{"model", "banner.unet-dtype"}, {"text encoder", "banner.text-encoder-dtype"}, {"VAE", "banner.vae-dtype"}} {
		if e[d.fact] != "" {
			words = append(words, d.label+" "+e[d.fact])
		}
	}
	if len(words) == 0 {
		return nil
	}
	return []Fact{{"dtypes", strings.Join(words, ", "), fromBanner}}
}

func swap(e memtrix.Environment) string {
	switch {
	case e["swap.total"] == "":
		return ""
	case e["swap.total"] == "0":
		return "none"
	case e["swap.kind"] == "":
		return size(e["swap.total"])
	}
	return size(e["swap.total"]) + " (" + e["swap.kind"] + ")"
}

// hardware says what memtrix made of the machine for this trial.
func hardware(t *memtrix.Trial) []Fact {
	h := t.Cell.Hardware
	var words []string
	if h.VRAM > 0 && t.Simulated {
		words = append(words, "a simulated card of "+reports.Bytes(h.VRAM))
	} else if h.VRAM > 0 {
		words = append(words, reports.Bytes(h.VRAM)+" of VRAM left free: memtrix held the rest of the card")
	}
	var group []string
	if h.RAM > 0 {
		group = append(group, reports.Bytes(h.RAM)+" of RAM")
	}
	if h.Swap != nil && *h.Swap == 0 {
		group = append(group, "no swap")
	} else if h.Swap != nil {
		group = append(group, reports.Bytes(*h.Swap)+" of swap")
	}
	if len(group) > 0 {
		words = append(words, strings.Join(group, " and ")+" for the server, by a memory group (cgroup)")
	}
	if len(words) == 0 {
		return nil
	}
	return []Fact{{"made smaller for this trial", strings.Join(words, ", "), "memtrix, hardware " + h.Name}}
}

// size writes bytes of a fact for people.
func size(text string) string {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return text
	}
	return reports.Bytes(n)
}

// packages in the form of pip freeze.
func packages(byName map[string]string) []string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		if !strings.ContainsAny(name, " (") {
			list = append(list, name+"=="+byName[name])
		}
	}
	return list
}

// variables are the environment variables that can change what memory is taken,
// short enough for a table.
func (c *Case) variables() []string {
	const longest = 160
	var list []string
	for _, name := range slices.Sorted(maps.Keys(c.Environment)) {
		value := c.Environment[name]
		if name, ok := strings.CutPrefix(name, "env."); ok {
			if len(value) > longest {
				value = value[:longest] + "... (all of it in system.json)"
			}
			list = append(list, name+"="+oneLine(value))
		}
	}
	return list
}

// hashes are those of the installed files of packages that decide about memory.
func (c *Case) hashes() []string {
	var list []string
	for _, p := range []string{"torch", "comfy-aimdo", "comfy-kitchen", "xformers", "triton"} {
		if h := c.Environment["package-hash."+p]; h != "" {
			list = append(list, p+" "+h)
		}
	}
	return list
}

// fact gives the value of a fact, "" for none.
func (c *Case) fact(label string) string {
	for _, f := range c.Facts {
		if f.Label == label {
			return f.Value
		}
	}
	return ""
}
