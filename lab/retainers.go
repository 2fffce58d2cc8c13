package lab

import (
	"fmt"
	"slices"
	"strings"

	"memtrix"
)

// retainerLeast is the growth in bytes a prompt from which a holder is named.
const retainerLeast = 256 << 10

// retained says what of the probe's count of the server's memory grew from the end of
// the start-up to the last prompt. n is the number of prompts between the two.
func retained(first, last memtrix.Inventory, n int) []string {
	var words []string
	per := func(bytes int64) float64 { return float64(bytes) / float64(n) }
	words = append(words, owners("CPU tensors", first.CPU, last.CPU, n)...)
	for _, device := range sortedKeys(last.Devices) {
		words = append(words, owners("tensors on "+device, first.Devices[device], last.Devices[device], n)...)
	}
	if first.Pinned != nil && last.Pinned != nil {
		if d := per(last.Pinned.Bytes - first.Pinned.Bytes); d >= retainerLeast {
			words = append(words, fmt.Sprintf("pinned memory grows %s MiB a prompt", mibs(d)))
		}
	}
	if a, b := first.Cache, last.Cache; a != nil && b != nil {
		if d := per(b.CPU + b.Other - a.CPU - a.Other); d >= retainerLeast {
			words = append(words, fmt.Sprintf("the node cache grows %s MiB a prompt, from %d entries to %d", mibs(d), a.Entries, b.Entries))
		}
	}
	words = append(words, heap(first.Malloc, last.Malloc, n)...)
	if d := float64(last.Objects-first.Objects) / float64(n); d >= 1000 {
		words = append(words, fmt.Sprintf("%.0f Python objects more with each prompt", d))
	}
	return words
}

// owners names who holds the tensors that came.
func owners(kind string, first, last memtrix.TensorBytes, n int) []string {
	total := float64(last.Bytes-first.Bytes) / float64(n)
	if total < retainerLeast {
		return nil
	}
	before := map[string]int64{}
	for _, o := range first.Owners {
		before[o.Name] = o.Bytes
	}
	var held []string
	grown := slices.Clone(last.Owners)
	slices.SortStableFunc(grown, func(a, b memtrix.TensorOwner) int {
		return int((b.Bytes - before[b.Name] - a.Bytes + before[a.Name]) >> 10)
	})
	for _, o := range grown {
		if d := float64(o.Bytes-before[o.Name]) / float64(n); d >= max(retainerLeast, total/20) && len(held) < 4 {
			held = append(held, fmt.Sprintf("%s %s", holder(o.Name), mibs(d)))
		}
	}
	line := fmt.Sprintf("%s grow %s MiB a prompt, %.3g more each time", kind, mibs(total), float64(last.Count-first.Count)/float64(n))
	if len(held) > 0 {
		line += ", held by " + strings.Join(held, ", ")
	}
	return []string{line}
}

// holder is a name without the folders before it: modules of custom nodes are called by
// their whole path.
func holder(name string) string {
	kind, path, ok := strings.Cut(name, " /")
	if !ok {
		return name
	}
	return kind + " " + path[strings.LastIndexByte(path, '/')+1:]
}

// heap says what glibc's allocator holds: memory in use, or memory that the program
// gave back and glibc keeps.
func heap(first, last *memtrix.Malloc, n int) []string {
	if first == nil || last == nil {
		return nil
	}
	used := float64(last.Used+last.Mapped-first.Used-first.Mapped) / float64(n)
	free := float64(last.Free-first.Free) / float64(n)
	var words []string
	if used >= retainerLeast {
		words = append(words, fmt.Sprintf("blocks in use of glibc's allocator (Python and C code) grow %s MiB a prompt", mibs(used)))
	}
	if free >= retainerLeast {
		words = append(words, fmt.Sprintf("glibc keeps %s MiB more a prompt that the program gave back (fragmented arenas)", mibs(free)))
	}
	if len(words) > 0 && last.Trimmed != nil {
		words = append(words, fmt.Sprintf("malloc_trim gave %s MiB back to the system", mibs(float64(*last.Trimmed))))
	}
	return words
}

func sortedKeys(m map[string]memtrix.TensorBytes) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
