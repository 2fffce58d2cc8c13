package diagnosis

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"memtrix"
)

// killedInPrompt is a kill by the host in the prompt where the work stood: with
// RAM at its limit that is the verdict, whatever the last line says. A failure of
// an earlier prompt stays the first.
func (c *cased) killedInPrompt() (memtrix.Outcome, bool) {
	if !c.e.died() || signalOf(c.e.Exit) != "KILL" {
		return memtrix.Outcome{}, false
	}
	failed := false
	for _, ev := range c.e.Events {
		switch {
		case ev.Kind == memtrix.EventError && !refused(&ev):
			failed = true
		case ev.Kind == memtrix.EventPromptEnd && failed:
			return memtrix.Outcome{}, false
		}
	}
	return c.killedForMemory()
}

// integrated are GPUs that have no memory of their own: those of Apple, NVIDIA's
// Jetson and GB10, and what sits in processors of AMD and Intel. ComfyUI and aimdo
// say so of some by themselves.
var integrated = regexp.MustCompile(`^Set vram state to: SHARED$|integrated Linux GPU RAM headroom|^Device: (?:mps|.*\b(?:GB10|Orin|Xavier|Thor|Tegra|Strix Halo|(?:8060|8050|8040)S|(?:890|880|860|780|760|740|680|660)M|Radeon(?:\(TM\))? Graphics|Iris|UHD Graphics|Arc\(TM\) Graphics)\b)`)

func (c *cased) integrated() bool {
	for _, l := range c.lines {
		candidate := strings.HasPrefix(l.text, "Device: ") || strings.HasPrefix(l.text, "Set vram state") || strings.Contains(l.text, "integrated")
		if candidate && integrated.MatchString(l.text) {
			return true
		}
	}
	return false
}

var (
	pinnedCap  = regexp.MustCompile(`^Enabled pinned memory ([0-9.]+)$`)
	totalSizes = regexp.MustCompile(`^Total VRAM (\d+) MB, total RAM (\d+) MB$`)
)

// banner are sizes that the server told about itself, bytes, 0 for not told.
type banner struct {
	vram, ram, pinned int64
	dynamic           bool
}

func (c *cased) banner() banner {
	var b banner
	for _, l := range c.lines {
		switch {
		case strings.HasPrefix(l.text, "Total VRAM "):
			if m := totalSizes.FindStringSubmatch(l.text); m != nil {
				b.vram, b.ram = mib(m[1]), mib(m[2])
			}
		case strings.HasPrefix(l.text, "Enabled pinned memory "):
			if m := pinnedCap.FindStringSubmatch(l.text); m != nil {
				b.pinned = mib(m[1])
			}
		case strings.HasPrefix(l.text, "DynamicVRAM support detected and enabled"):
			b.dynamic = true
		}
	}
	return b
}

const (
	// amplePart and ampleVRAM: with that much of the card free, and at least that,
	// it is not the card that ran out.
	amplePart = 0.10
	ampleVRAM = 1 << 30
	// capPart of the pinned memory's cap counts as having reached it.
	capPart = 0.95
)

// bySeries corrects what the text says by what was measured: "ran out of memory on
// your GPU" is printed for failures of the host, too.
func (c *cased) bySeries(o memtrix.Outcome, f *failure) memtrix.Outcome {
	if o.Memory != memtrix.MemoryVRAM && o.Memory != memtrix.MemoryUnknown || o.How != memtrix.HowException {
		return o
	}
	if o.Memory == memtrix.MemoryVRAM && c.integrated() {
		o.Memory = memtrix.MemoryUnified
		return o
	}
	b := c.banner()
	at := c.timeOf(f)
	free, told := c.freeVRAM(o, b, at)
	if !told || free < ampleVRAM || b.vram > 0 && float64(free) < amplePart*float64(b.vram) || o.Requested != nil && *o.Requested > free/2 {
		return o
	}
	start := max(0, at-10*time.Second)
	if line := c.pinnedAtCap(b, start, at); line != "" {
		o.Memory = memtrix.MemoryPinned
		o.Evidence = append(o.Evidence, "VRAM free at that moment: "+bytesText(free), line)
		o.Free = nil // the text's number is about the card
		return o
	}
	if p := c.pressureIn(start, at); p.short {
		o.Memory = memtrix.MemoryRAM
		o.Evidence = append(append(o.Evidence, "VRAM free at that moment: "+bytesText(free)), p.lines...)
		o.Free = nil
	}
	return o
}

// timeOf is when a failure was told, or the end of what was measured.
func (c *cased) timeOf(f *failure) time.Duration {
	for _, ev := range c.e.Events {
		if ev.Failure != nil && !ev.Failure.Refused && ev.At > 0 {
			return ev.At
		}
	}
	if f.index >= 0 && c.lines[f.index].at > 0 {
		return c.lines[f.index].at
	}
	return c.endOfWork()
}

// freeVRAM is the least that was free in the seconds up to a moment: told by the
// allocator, measured, or what the card has less what was used.
func (c *cased) freeVRAM(o memtrix.Outcome, b banner, at time.Duration) (int64, bool) {
	if o.Free != nil {
		return *o.Free, true
	}
	start := max(0, at-3*time.Second)
	if n, ok := lowest(c.series(memtrix.VRAMDeviceFree), start, at); ok {
		return n, true
	}
	used, ok := highest(c.series(memtrix.VRAMDeviceUsed), start, at)
	if !ok || b.vram <= 0 {
		return 0, false
	}
	return max(0, b.vram-used), true
}

// pinnedAtCap says with numbers that pinned memory reached its cap, "" where it
// did not. cudaHostAlloc's memory is shared memory of the process; what aimdo pins
// is registered afterwards, and anonymous: there what was added since the server
// was ready is taken.
func (c *cased) pinnedAtCap(b banner, start, end time.Duration) string {
	if b.pinned <= 0 {
		return ""
	}
	say := func(n int64, where string) string {
		return fmt.Sprintf("pinned memory: %s (%s), its cap: %s", bytesText(n), where, bytesText(b.pinned))
	}
	for i := range c.e.Series {
		s := &c.e.Series[i]
		if strings.Contains(s.Meter.Name, "pinned") && len(s.T) > 0 && len(s.T) == len(s.V) {
			if n, ok := highest(s, start, end); ok && float64(n) >= capPart*float64(b.pinned) {
				return say(n, s.Meter.Name)
			}
		}
	}
	if n, ok := highest(c.series(memtrix.RAMTreeShmem), start, end); ok && float64(n) >= capPart*float64(b.pinned) {
		return say(n, "shared memory of the process")
	}
	if !b.dynamic {
		return ""
	}
	ready := c.readyAt()
	before, ok1 := highest(c.series(memtrix.RAMTreeAnon), ready, ready)
	now, ok2 := highest(c.series(memtrix.RAMTreeAnon), start, end)
	if ok1 && ok2 && float64(now-before) >= capPart*float64(b.pinned) {
		return say(now-before, "anonymous memory since the server was ready")
	}
	return ""
}

// readyAt is when the server answered first, as far as the evidence shows.
func (c *cased) readyAt() time.Duration {
	for _, ev := range c.e.Events {
		if ev.Kind == memtrix.EventReady || ev.Kind == memtrix.EventPromptStart {
			return ev.At
		}
	}
	for _, l := range c.lines {
		if strings.HasPrefix(l.text, "To see the GUI go to: ") || l.text == "got prompt" {
			return l.at
		}
	}
	return 0
}
