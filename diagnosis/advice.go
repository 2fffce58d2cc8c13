package diagnosis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"memtrix"
)

// Advice is one thing that a person can do.
type Advice struct {
	Text string
	// Bytes are what it should bring, 0 where that cannot be derived from what was
	// told and measured.
	Bytes int64
	// Flags are the launch flags for it on this version, where it is a setting.
	Flags []string
	// Without are the launch flags to leave out, where it is a setting to undo.
	Without []string
	// cost orders advice: what takes least from a person comes first.
	cost int
	// verb says what is done about Bytes, "" for "saves".
	verb string
	// missing are the bytes that were missing, where Bytes are fewer; else 0.
	missing int64
}

// String is the advice in one line, with the flag and the amount.
func (a Advice) String() string {
	var b strings.Builder
	b.WriteString(a.Text)
	if len(a.Flags) > 0 {
		fmt.Fprintf(&b, " (%s)", strings.Join(a.Flags, " "))
	}
	if amount := a.Amount(); amount != "" {
		b.WriteString(": " + amount)
	}
	return b.String()
}

// Amount says what the advice brings, and that it is too little where it is: "saves
// about 512 MiB". It is "" where Bytes is 0.
func (a Advice) Amount() string {
	if a.Bytes <= 0 {
		return ""
	}
	text := cmp.Or(a.verb, "saves") + " about " + wholeMiB(a.Bytes)
	if a.missing > 0 {
		text += " of the " + wholeMiB(a.missing) + " that were missing, not enough by itself"
	}
	return text
}

func wholeMiB(n int64) string { return fmt.Sprintf("%.0f MiB", float64(n)/(1<<20)) }

// missing is what was asked for beyond what was free, 0 where that is not told.
func missing(o memtrix.Outcome) int64 {
	if o.Requested == nil || o.Free == nil {
		return 0
	}
	return max(0, *o.Requested-*o.Free)
}

// ordered puts what costs least first. What brings less than was missing comes last
// and says so.
func ordered(list []Advice, missing int64) []Advice {
	for i, a := range list {
		if a.Bytes > 0 && a.Bytes < missing {
			list[i].missing = missing
		}
	}
	slices.SortStableFunc(list, func(x, y Advice) int {
		switch {
		case x.missing == 0 && y.missing > 0:
			return -1
		case x.missing > 0 && y.missing == 0:
			return 1
		}
		return cmp.Compare(x.cost, y.cost)
	})
	return list
}

// What advice costs a person, least first.
const (
	costFree    = 10 // close a program
	costUndo    = 20 // leave out a setting
	costLetGo   = 30 // a setting that lets go of what stays
	costSetting = 40 // a setting that takes time
	costMachine = 50 // change the machine: a page file, a limit
	costModel   = 60 // another file of the same model
	costLess    = 70 // another result: batch, frames, resolution
	costReport  = 80 // report it
)

// Advise says what to do about an outcome, what costs least first. It is fitted to
// what was told and measured: memory and phase, who holds it, what stays between
// prompts, the settings, the workflow. What Judge gave already has it.
func Advise(o memtrix.Outcome, e Evidence) []Advice {
	c := &cased{e: e, lines: clean(e.Log)}
	c.at = c.follow()
	return c.advise(o)
}

func (c *cased) advise(o memtrix.Outcome) []Advice {
	a := &adviser{cased: c, o: o, b: c.banner(), models: models(c.lines)}
	memory := o.Memory
	if o.Kind != memtrix.OOM {
		switch {
		case o.Slow != nil:
			memory = o.Slow.Memory
		case o.HiddenRetries > 0 && o.Memory == "":
			return nil // it went well
		case o.Kind == memtrix.Error && o.Memory == memtrix.MemoryNone && o.Requested != nil:
			a.add(costReport, 0, "no machine can give that: look at the inputs of the node, and report it to who wrote it; memory settings do not help")
			return a.list
		case o.Kind == memtrix.Killed && o.Memory == memtrix.MemoryUnknown:
			a.silent()
			return a.list
		default:
			return nil
		}
	}
	for _, reason := range c.e.NotInForce {
		a.add(costUndo, 0, "a setting is not in force, take it out or make it work: "+reason)
	}
	switch memory {
	case memtrix.MemoryVRAM:
		a.vram()
	case memtrix.MemoryPinned:
		a.pinned()
	case memtrix.MemoryRAM:
		a.ram()
	case memtrix.MemoryCommit:
		a.commit()
	case memtrix.MemoryGPUAddressSpace:
		a.addresses()
	case memtrix.MemoryUnified:
		a.unified()
	case memtrix.MemorySharedGPU:
		a.shared()
	}
	return ordered(a.list, missing(o))
}

type adviser struct {
	*cased
	o      memtrix.Outcome
	b      banner
	models []loadedModel
	list   []Advice
}

func (a *adviser) add(cost int, bytes int64, text string) {
	a.list = append(a.list, Advice{Text: text, Bytes: max(bytes, 0), cost: cost})
}

// as says what the last advice does about its amount, where that is not to save it.
func (a *adviser) as(verb string) { a.list[len(a.list)-1].verb = verb }

// setting advises a setting, with the flags of this version; nothing where the
// version cannot do it, or it is set already.
func (a *adviser) setting(cost int, name, value string, bytes int64, why string) {
	if a.e.Settings[name] == value {
		return
	}
	advice := Advice{Text: name + "=" + value + ", " + why, Bytes: max(bytes, 0), cost: cost}
	if a.e.Flags != nil {
		argv, ok := a.e.Flags(name, value)
		if !ok {
			return
		}
		advice.Flags = argv
		if len(argv) == 0 {
			// It is what the version does when the flag for something else is left out.
			if other, ok := a.e.Flags(name, opposite[value]); ok && len(other) > 0 {
				advice.Text = "leave out " + strings.Join(other, " ") + ", so that " + why
				advice.Without = other
			}
		}
	}
	a.list = append(a.list, advice)
}

var opposite = map[string]string{"on": "off", "off": "on"}

// undo advises to leave out a setting that is in force, where it is.
func (a *adviser) undo(name, value string, inForce bool, bytes int64, why string) {
	if !inForce && a.e.Settings[name] != value {
		return
	}
	text := "start without " + name + "=" + value
	var without []string
	if a.e.Flags != nil {
		if argv, ok := a.e.Flags(name, value); ok && len(argv) > 0 {
			text, without = "start without "+strings.Join(argv, " "), argv
		}
	}
	a.add(costUndo, bytes, text+", "+why)
	a.list[len(a.list)-1].Without = without
}

// others advises to free what other processes hold.
func (a *adviser) others() {
	for _, h := range a.o.Holders {
		a.add(costFree, h.Bytes, holderWords(h)+" of the card: end it, if it is not needed")
		a.as("frees")
	}
}

func (a *adviser) vram() {
	a.others()
	if a.o.Unallocated != nil && a.o.Requested != nil && *a.o.Unallocated >= *a.o.Requested {
		a.setting(costSetting, "cuda-malloc", "on", *a.o.Unallocated, "the driver's allocator puts memory together that lies in fragments")
	}
	resident := a.resident()
	a.undo("vram-mode", "high", a.state() == "HIGH_VRAM", resident, "which keeps whole models in VRAM")
	a.undo("vram-mode", "gpu-only", false, resident, "which keeps all models in VRAM")
	a.letGo(memtrix.VRAMDeviceUsed)
	switch {
	case a.b.dynamic: // weights make room by themselves
	case a.state() == "HIGH_VRAM":
	default:
		a.setting(costSetting, "dynamic-vram", "on", 0, "weights make room for what is computed")
		a.setting(costSetting+1, "vram-mode", "no", resident, "weights stay in RAM and are copied while computing")
	}
	if a.o.Phase == memtrix.PhaseVAE {
		a.tiles()
	}
	if a.o.Phase == memtrix.PhaseLoad || !a.b.dynamic && resident > 0 {
		a.smaller()
	}
	if a.o.Phase != memtrix.PhaseLoad {
		a.less()
	}
}

func (a *adviser) pinned() {
	a.setting(costUndo, "pinned-memory", "off", a.b.pinned, "weights stay in ordinary RAM and are copied more slowly; VRAM is not what is missing")
	a.add(costFree, 0, "close programs that take RAM: what is pinned cannot be paged out")
	a.setting(costSetting, "fast-disk", "on", 0, "weights are streamed from the disk instead of being pinned")
	a.smaller()
}

func (a *adviser) ram() {
	weights := a.weights()
	if g := a.e.Cgroup; g != nil && g.Max > 0 {
		a.add(costMachine-5, 0, fmt.Sprintf("raise the memory limit of %s of the container or group", bytesText(g.Max)))
	}
	if a.limited() {
		// What others hold of the machine is not what was missing.
	} else if n := a.elsewhere(); n > 0 {
		a.add(costFree, n, "close other programs: so much RAM is taken outside of the server")
		a.as("frees")
	} else {
		a.add(costFree, 0, "close other programs that take RAM")
	}
	a.undo("mmap", "off", false, weights, "which reads whole files into RAM")
	a.undo("dynamic-vram", "off", a.denied(), weights, "which keeps a copy of the weights in RAM")
	a.letGo(memtrix.RAMTreeAnon)
	if a.o.Phase != memtrix.PhaseLoad || a.at.prompt > 1 {
		a.setting(costLetGo+1, "cache", "none", 0, "results of nodes are not kept")
	}
	const notable = 64 << 20
	if pinned, _ := highest(a.series(memtrix.RAMTreeShmem), 0, a.endOfWork()); a.b.pinned > 0 && pinned > notable {
		a.setting(costSetting, "pinned-memory", "off", pinned, "copies of weights then can be paged out")
	}
	switch {
	case a.o.How == memtrix.HowThrash || a.o.Slow != nil:
		a.add(costMachine, 0, "more swap does not help: the work already waits for the disk; it needs RAM, or a smaller model")
	case a.o.How == memtrix.HowSignal:
		a.add(costMachine, 0, "give the machine swap on a fast disk, so that a short peak does not end the server")
	}
	if a.o.Requested == nil || a.o.Phase == memtrix.PhaseLoad || len(a.models) > 0 {
		a.smaller()
	}
	if a.o.Phase != memtrix.PhaseLoad {
		a.less()
	}
}

// commit is what the system may promise: RAM and page file together. What is
// computed with has little part in it, so resolution is never named here.
func (a *adviser) commit() {
	need := int64(0)
	if a.o.Requested != nil {
		need = *a.o.Requested
	}
	a.add(costFree, 0, "close programs that ask for much memory, browsers first: also what they do not use counts against the limit")
	if a.e.Platform == "linux" {
		a.add(costMachine, need, "add swap, or set vm.overcommit_memory=1, so that the mapping may be made")
		a.as("needs")
	} else {
		a.add(costMachine, need, "let Windows manage the page file (System, Advanced, Performance, Virtual memory), on a disk with space for it, and restart")
		a.as("needs")
		a.add(costMachine+1, 0, "look how much space the disk of the page file has: it cannot grow on a full disk")
	}
	a.undo("mmap", "off", false, a.weights(), "which reads whole files into memory")
	a.smaller()
}

// silent is about a server that ended without a word: where its system keeps one.
func (a *adviser) silent() {
	switch a.e.Platform {
	case "windows":
		a.add(costFree, 0, "look into the Event Viewer (Windows Logs, Application) for the error of python.exe at that time: it names the module that failed, mostly a driver's or torch's")
		if a.o.Phase == memtrix.PhaseLoad || a.o.Phase == "" {
			a.add(costMachine, 0, "let Windows manage the page file (System, Advanced, Performance, Virtual memory) on a disk with space, and restart: Python may end like this when RAM and page file together are used up while a model is loaded")
		}
	case "linux":
		a.add(costFree, 0, "ask the kernel whether it ended the server because RAM ran out: journalctl -k | grep -iE 'out of memory|oom-kill' (or dmesg)")
		a.add(costMachine, 0, "if it did: close other programs that take RAM, or give the machine swap on a fast disk")
	default:
		a.add(costFree, 0, "start it from a terminal, and keep its last lines and its exit status")
	}
}

func (a *adviser) addresses() {
	a.add(costFree, 0, "restart the server: addresses that are not given back come back then")
	a.add(costMachine, 0, "update comfy-aimdo: releases before 0.2.6 lose addresses with each prompt")
	a.setting(costSetting, "dynamic-vram", "off", 0, "models are then loaded without reserving addresses")
}

func (a *adviser) unified() {
	a.add(costFree, 0, "close other programs: CPU and GPU share this memory")
	a.letGo(memtrix.RAMTreeRSS)
	a.smaller()
	a.less()
}

func (a *adviser) shared() {
	a.add(costFree, 0, "close programs that use the card: the driver spills into RAM instead of failing")
	a.add(costUndo, 0, `set "CUDA - Sysmem Fallback Policy" to "Prefer No Sysmem Fallback" in the NVIDIA Control Panel, so that it fails at once instead`)
	a.setting(costSetting, "reserve-vram", "1", 0, "which leaves that many GB to other programs")
	a.smaller()
	a.less()
}
