package diagnosis

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"memtrix"
)

// amounts are the bytes that an exception tells; nil is not told.
type amounts struct {
	requested, free *int64
	// unallocated is what torch holds and has given to nobody; held what it has given.
	unallocated, held *int64
	// capacity is the size of what was to be allocated from.
	capacity *int64
}

const number, unit = `([\d.,]+)`, ` ?(bytes|B\b|[KMGTPE]i?B)`

func amountRule(format string) *regexp.Regexp {
	return regexp.MustCompile(strings.ReplaceAll(format, "AMOUNT", number+unit))
}

// The texts are those of the allocators named in rules/.
var (
	requestedText = []*regexp.Regexp{
		amountRule(`[Tt]ried to allocate AMOUNT`),
		amountRule(`(?m)^Requested\s*: AMOUNT`),
		amountRule(`(?:trying|attempted) to allocate AMOUNT`),
		amountRule(`unable to mmap AMOUNT`),
		amountRule(`Could not allocate tensor with AMOUNT`),
		amountRule(`Unable to allocate AMOUNT for an array`),
		amountRule(`Invalid buffer size: AMOUNT`),
		amountRule(`allocating AMOUNT`),
		amountRule(`[Ff]ailed to allocate AMOUNT`),
		amountRule(`failed to allocate buffer, size = AMOUNT`),
		amountRule(`[Rr]equested size (?:was|of) AMOUNT`),
		amountRule(`requested AMOUNT beyond reserved`),
		amountRule(`memory allocation of AMOUNT failed`),
		amountRule(`GPU memory \(AMOUNT\) could not`),
		amountRule(`VRAM grow failed: AMOUNT`),
		amountRule(`requires more system memory \(AMOUNT\)`),
		amountRule(`\(AMOUNT KV cache is needed`),
		regexp.MustCompile(`(?:buffer of size|Requested size was|requested size of|memory allocation of size) (\d+)()`),
	}
	freeText = []*regexp.Regexp{
		amountRule(`of which AMOUNT is free`),
		amountRule(`(?m)^Free \(according to CUDA\)\s*: AMOUNT`),
		amountRule(`; AMOUNT free;`),
		amountRule(`Available Free mem : AMOUNT`),
		amountRule(`than is available \(AMOUNT\)`),
		amountRule(`available KV cache memory \(AMOUNT\)`),
	}
	unallocatedText = []*regexp.Regexp{amountRule(`AMOUNT is reserved by PyTorch but unallocated`)}
	heldText        = []*regexp.Regexp{
		amountRule(`AMOUNT is allocated by PyTorch`), amountRule(`; AMOUNT already allocated`), amountRule(`(?m)^Currently allocated\s*: AMOUNT`),
	}
	reservedText = []*regexp.Regexp{amountRule(`AMOUNT reserved in total by PyTorch`)}
	capacityText = []*regexp.Regexp{
		amountRule(`total capacity of AMOUNT`), amountRule(`AMOUNT total capacity`), amountRule(`(?m)^Device limit\s*: AMOUNT`), amountRule(`max allowed: AMOUNT`),
	}
	metalText = amountRule(`MPS allocated: AMOUNT, other allocations: AMOUNT, max allowed: AMOUNT`)
)

func readAmounts(text string) amounts {
	a := amounts{
		requested: findBytes(text, requestedText), free: findBytes(text, freeText), unallocated: findBytes(text, unallocatedText),
		held: findBytes(text, heldText), capacity: findBytes(text, capacityText),
	}
	if reserved := findBytes(text, reservedText); a.unallocated == nil && reserved != nil && a.held != nil && *reserved >= *a.held {
		left := *reserved - *a.held
		a.unallocated = &left
	}
	if m := metalText.FindStringSubmatch(text); m != nil && a.free == nil {
		own, ok1 := parseBytes(m[1], m[2])
		others, ok2 := parseBytes(m[3], m[4])
		most, ok3 := parseBytes(m[5], m[6])
		if left := max(0, most-own-others); ok1 && ok2 && ok3 {
			a.free = &left
		}
	}
	return a
}

// inUseText is what torch says of its own process, all memory included.
var inUseText = amountRule(`this process has AMOUNT memory in use`)

// Held is the most that messages of an allocator in a text say to be held by the server
// when it failed, bytes; 0 where none says so.
func Held(text string) int64 {
	var most int64
	for _, p := range append([]*regexp.Regexp{inUseText}, heldText...) {
		for _, m := range p.FindAllStringSubmatch(text, -1) {
			if n, ok := parseBytes(m[1], m[2]); ok {
				most = max(most, n)
			}
		}
	}
	return most
}

// plentyFree says that much more was free than asked for, beyond what rounding
// and the driver's own pages explain.
func (a amounts) plentyFree() bool {
	const slack = 256 << 20
	return a.requested != nil && a.free != nil && *a.free > 2**a.requested && *a.free-*a.requested > slack
}

// holdsNothing says that it was the allocator's first allocation.
func (a amounts) holdsNothing() bool {
	return a.held != nil && *a.held == 0
}

// inFragments says that what the allocator keeps unused would have sufficed.
func (a amounts) inFragments() bool {
	return a.requested != nil && a.unallocated != nil && *a.unallocated >= *a.requested
}

// absurd says that no machine has what was asked for: a size was computed wrongly,
// or read from garbage.
func (a amounts) absurd() bool {
	if a.requested == nil {
		return false
	}
	const noMachine, large, times = 16 << 40, 1 << 40, 100
	if *a.requested >= noMachine {
		return true
	}
	return a.capacity != nil && *a.capacity > 0 && *a.requested >= large && *a.requested / *a.capacity >= times
}

// findBytes finds the first amount that any of the patterns matches.
func findBytes(text string, patterns []*regexp.Regexp) *int64 {
	for _, p := range patterns {
		if m := p.FindStringSubmatch(text); m != nil {
			if n, ok := parseBytes(m[1], m[2]); ok {
				return &n
			}
		}
	}
	return nil
}

// parseBytes reads an amount as torch writes it: "KB", "MB" and "GB" of its MPS
// allocator are powers of 1024, too (aten/src/ATen/mps/MPSAllocator.h). What is
// more than int64 holds is the most that it holds.
func parseBytes(number, unit string) (int64, bool) {
	n, err := strconv.ParseFloat(strings.TrimRight(strings.ReplaceAll(number, ",", ""), "."), 64)
	if err != nil || n < 0 {
		return 0, false
	}
	if unit != "" {
		if i := strings.IndexByte("KMGTPE", unit[0]); i >= 0 {
			n *= math.Pow(1024, float64(i+1))
		}
	}
	if n >= math.MaxInt64 {
		return math.MaxInt64, true
	}
	return int64(math.Round(n)), true
}

var (
	holderText = regexp.MustCompile(`Process (\d+) has ([\d.]+) ([KMGT]i?B) memory in use`)
	// nvidia-smi's table of processes, which people paste beside a log.
	smiProcess = regexp.MustCompile(`^\|\s+\d+\s+(?:\S+\s+\S+\s+)?(\d+)\s+[CGM+]+\s+(.+?)\s+(\d+)MiB\s*\|`)
)

// holders are the other processes that the text or the lines of a log name.
func holders(text string, lines []line) []memtrix.Holder {
	var found []memtrix.Holder
	for _, m := range holderText.FindAllStringSubmatch(text, 16) {
		pid, err := strconv.Atoi(m[1])
		if held, ok := parseBytes(m[2], m[3]); ok && err == nil {
			found = append(found, memtrix.Holder{PID: pid, Name: "unknown", Bytes: held})
		}
	}
	for _, l := range lines {
		if !strings.HasPrefix(l.text, "|") || !strings.Contains(l.text, "MiB") {
			continue
		}
		m := smiProcess.FindStringSubmatch(l.text)
		if m == nil {
			continue
		}
		pid, err := strconv.Atoi(m[1])
		mib, err2 := strconv.ParseInt(m[3], 10, 40)
		if err != nil || err2 != nil {
			continue
		}
		name := strings.TrimSpace(m[2])
		if i := indexHolder(found, pid); i >= 0 {
			found[i].Name = name
		} else if len(found) < 32 {
			found = append(found, memtrix.Holder{PID: pid, Name: name, Bytes: mib << 20})
		}
	}
	return found
}

func indexHolder(all []memtrix.Holder, pid int) int {
	for i, h := range all {
		if h.PID == pid {
			return i
		}
	}
	return -1
}

// holderText for people: "process 581 (name unknown) holds 127.79 GiB".
func holderWords(h memtrix.Holder) string {
	switch {
	case h.PID != 0 && h.Name != "" && h.Name != "unknown":
		return fmt.Sprintf("%s (process %d) holds %s", h.Name, h.PID, bytesText(h.Bytes))
	case h.PID != 0:
		return fmt.Sprintf("process %d holds %s", h.PID, bytesText(h.Bytes))
	}
	return fmt.Sprintf("another process, whose name is hidden, holds %s", bytesText(h.Bytes))
}
