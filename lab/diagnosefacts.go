package lab

import (
	"fmt"
	"strconv"
	"strings"

	"memtrix"
	"memtrix/diagnosis"
)

// Finding is something that a trial shows beside how it ended.
type Finding struct {
	// Kind is "ram-kept", "headroom", "stale", "later-prompt", "got-round", "fall-back",
	// "slow" or "holder".
	Kind  string `json:"kind"`
	Trial int64  `json:"trial"`
	Text  string `json:"text"`
}

const (
	// keptLeast is how much RAM above that of the idle server is called kept.
	keptLeast = 512 << 20
	// roomLeast is how much more than what was asked for must have been free before that
	// is called odd: allocators round, and the driver keeps some.
	roomLeast = 256 << 20
	// staleLeast is how far two figures of one memory may be apart.
	staleLeast = 256 << 20
	// othersLeast is the memory of others that is worth a word.
	othersLeast = 256 << 20
)

// Findings are what a trial shows beside how it ended.
func Findings(t *memtrix.Trial) []Finding {
	var all []Finding
	for _, look := range []func(*memtrix.Trial) []Finding{laterPrompt, headroom, othersHold, keptRAM, stale, quiet} {
		for _, f := range look(t) {
			f.Trial = t.ID
			all = append(all, f)
		}
	}
	return all
}

// laterPrompt is a failure that the first prompt did not have.
func laterPrompt(t *memtrix.Trial) []Finding {
	n := failedPrompt(t)
	if n < 2 {
		return nil
	}
	return []Finding{{Kind: "later-prompt", Text: fmt.Sprintf("prompt %d failed and the %s before it passed: something stays in memory from one prompt to the next", n, counted(n-1, "prompt"))}}
}

// failedPrompt is the number of the prompt that failed, 0 for none.
func failedPrompt(t *memtrix.Trial) int {
	for _, p := range t.Prompts {
		if p.Outcome != memtrix.Pass {
			return p.Index
		}
	}
	return 0
}

// headroom is an allocation that failed though there was room for it.
func headroom(t *memtrix.Trial) []Finding {
	o := t.Outcome
	if o.Kind != memtrix.OOM || o.Memory != memtrix.MemoryVRAM || o.Requested == nil {
		return nil
	}
	asked := *o.Requested
	free, room, from := int64(-1), asked+roomLeast, "as the allocator says"
	if o.Free != nil {
		free = *o.Free
	} else if least, ok := leastFree(t); ok {
		// Between two readings much can come and go.
		free, room, from = least, 2*asked+4*roomLeast, "which was the least that the driver told while it ran"
	}
	switch {
	case o.Unallocated != nil && *o.Unallocated >= asked && free < asked:
		return []Finding{{Kind: "headroom", Text: fmt.Sprintf("fragments: %s were asked for, and torch held %s that it had given to nobody, in pieces that are too small (cuda-malloc=on, or a smaller batch, uses them better)", size(asked), size(*o.Unallocated))}}
	case free >= room:
		return []Finding{{Kind: "headroom", Text: fmt.Sprintf("there was room: %s were asked for and %s free, %s; so it is not the size of the card (a limit of address space, of one allocation, or memory that was taken in the same moment)", size(asked), size(free), from)}}
	}
	return nil
}

// leastFree is the smallest free VRAM in the prompt that failed, where it was recorded.
func leastFree(t *memtrix.Trial) (int64, bool) {
	n := failedPrompt(t)
	for _, s := range t.Spans {
		if s.Kind != memtrix.SpanPrompt || s.Prompt != n {
			continue
		}
		for _, series := range t.Series {
			if series.Meter.Name == memtrix.VRAMDeviceFree {
				return lowest(series, s)
			}
		}
	}
	return 0, false
}

func lowest(s memtrix.Series, in memtrix.Span) (low int64, ok bool) {
	for i, at := range s.T {
		last := i+1 == len(s.T) || s.T[i+1] > in.Start
		if at > in.End || !last {
			continue
		}
		if !ok || s.V[i] < low {
			low, ok = s.V[i], true
		}
	}
	return low, ok
}

// othersHold names who else has memory of the card.
func othersHold(t *memtrix.Trial) []Finding {
	var found []Finding
	for _, h := range t.Outcome.Holders {
		if h.Bytes >= othersLeast {
			found = append(found, Finding{Kind: "holder", Text: fmt.Sprintf("%s holds %s of it", h.Name, size(h.Bytes))})
		}
	}
	if len(found) > 0 {
		return found
	}
	if p, ok := t.Peak(memtrix.VRAMOthersUsed); ok && p.Value >= othersLeast && t.Cell.Hardware.VRAM == 0 {
		return []Finding{{Kind: "holder", Text: fmt.Sprintf("other processes hold up to %s of VRAM", size(p.Value))}}
	}
	return nil
}

// keptRAM is RAM that does not come back: what the server holds after POST /free above
// what it held before its first prompt.
func keptRAM(t *memtrix.Trial) []Finding {
	before, ok := idleLevel(t, memtrix.RAMTreeAnon)
	if !ok {
		return nil
	}
	var rested, freed *memtrix.Reading
	for i := range t.Readings {
		switch r := &t.Readings[i]; r.Kind {
		case memtrix.Rested:
			rested = r
		case memtrix.Freed:
			freed = r
		}
	}
	if freed == nil {
		return nil
	}
	now, ok := freed.Values[memtrix.RAMTreeAnon]
	if kept := now - before; !ok || kept < keptLeast {
		return nil
	}
	text := fmt.Sprintf("RAM does not come back: after POST /free the server's own memory is %s, %s more than before the first prompt", size(now), size(now-before))
	if rested != nil {
		text += fmt.Sprintf(" (at rest it was %s)", size(rested.Values[memtrix.RAMTreeAnon]))
	}
	if held := held(t); held != "" {
		text += "; " + held
	}
	return []Finding{{Kind: "ram-kept", Text: text}}
}

// idleLevel is a meter's largest value between the start and the first prompt.
func idleLevel(t *memtrix.Trial, meter string) (int64, bool) {
	for _, s := range t.Spans {
		if s.Kind != memtrix.SpanIdle {
			continue
		}
		for _, p := range s.Peaks {
			if p.Meter == meter {
				return p.Value, true
			}
		}
	}
	return 0, false
}

// held says where memory is, by the last count of a probe.
func held(t *memtrix.Trial) string {
	if t.Probe == nil || len(t.Probe.Inventories) == 0 {
		return ""
	}
	v := t.Probe.Inventories[len(t.Probe.Inventories)-1]
	words := []string{"tensors in RAM " + size(v.CPU.Bytes)}
	for i, o := range v.CPU.Owners {
		if i < 3 {
			words = append(words, fmt.Sprintf("%s %s", holder(o.Name), size(o.Bytes)))
		}
	}
	if v.Pinned != nil && v.Pinned.Bytes > 0 {
		words = append(words, "pinned "+size(v.Pinned.Bytes))
	}
	if v.Cache != nil && v.Cache.CPU > 0 {
		words = append(words, "the node cache "+size(v.Cache.CPU))
	}
	if m := v.Malloc; m != nil && m.Trimmed != nil && *m.Trimmed >= keptLeast {
		words = append(words, "the C allocator kept "+size(*m.Trimmed)+" that nobody used")
	}
	return "at rest, from inside: " + strings.Join(words, ", ")
}

// stale are figures by which ComfyUI decides, and that are not so.
func stale(t *memtrix.Trial) []Finding {
	var found []Finding
	add := func(format string, args ...any) {
		found = append(found, Finding{Kind: "stale", Text: fmt.Sprintf(format, args...)})
	}
	if limit := t.Cell.Hardware.RAM; limit > 0 {
		if told, err := strconv.ParseInt(t.Environment["banner.total-ram"], 10, 64); err == nil && told > limit+staleLeast {
			add("ComfyUI reckons with %s of RAM, and may use %s: it keeps and pins by the larger figure", size(told), size(limit))
		}
	}
	for _, r := range t.Readings {
		if r.Kind != memtrix.Rested {
			continue
		}
		counted, ok1 := r.Values[memtrix.VRAMComfyUIFree]
		driver, ok2 := r.Values[memtrix.VRAMDriverFree]
		unused := r.Values[memtrix.TorchReserved] - r.Values[memtrix.TorchAllocated]
		if d := counted - driver - unused; ok1 && ok2 && (d > staleLeast || d < -staleLeast) {
			add("ComfyUI counts %s of VRAM as free, and the driver says %s (%s more are torch's and unused)", size(counted), size(driver), size(unused))
		}
		device, ok := r.Values[memtrix.VRAMDeviceFree]
		if d := driver - device; ok2 && ok && (d > staleLeast || d < -staleLeast) {
			add("inside the server the driver says that %s of VRAM are free, and outside %s", size(driver), size(device))
		}
	}
	return found
}

// quiet is what went wrong without an error.
func quiet(t *memtrix.Trial) []Finding {
	var found []Finding
	o := t.Outcome
	if o.HiddenRetries > 0 {
		found = append(found, Finding{Kind: "got-round", Text: fmt.Sprintf("memory ran out %s without an error, and was got round (a VAE in tiles, split attention)", diagnosis.Often(o.HiddenRetries))})
	}
	for _, f := range o.FallBacks {
		found = append(found, Finding{Kind: "fall-back", Text: "a slower way was taken: " + f})
	}
	if s := o.Slow; s != nil {
		found = append(found, Finding{Kind: "slow", Text: fmt.Sprintf("steps became %.0f times slower (%.2f s, then %.2f s): %s", s.After/s.Before, s.Before, s.After, strings.Join(s.Moved, "; "))})
	}
	return found
}

// size writes bytes as a sentence needs them.
func size(bytes int64) string {
	if bytes >= 1<<30 {
		return fmt.Sprintf("%.2f GiB", float64(bytes)/(1<<30))
	}
	return fmt.Sprintf("%d MiB", bytes>>20)
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
