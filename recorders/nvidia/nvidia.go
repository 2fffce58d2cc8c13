// Package nvidia reads one NVIDIA card: how much of its memory is in use, through
// NVML or from a page that the driver writes, and, where the driver tells, by whom. It
// only reads: no clock, mode or process of a card is ever touched.
//
// NVML is loaded when a card is opened (libnvidia-ml.so.1), so that the same
// program runs where there is no driver; then Open fails with an error that
// says what is missing, and nothing crashes.
package nvidia

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// ErrNoCard is in the chain of every error of Open and List that means "this
// machine has no usable NVIDIA card", as opposed to a card that failed.
var ErrNoCard = errors.New("no NVIDIA card")

// Memory is the memory of a card in bytes.
type Memory struct {
	Total, Used, Free int64
	// Reserved is what the driver and firmware keep for themselves.
	Reserved int64
	// Apart is set when Used excludes Reserved (NVML memory v2). Drivers before
	// 510 know only v1, where Used includes it and Reserved is not known.
	Apart bool
}

// Process is one process that holds memory of a card.
type Process struct {
	PID int
	// Used is bytes; it means nothing unless Known. The driver hides it under
	// WDDM and in some containers.
	Used  int64
	Known bool
}

// Info is what one card is.
type Info struct {
	Index int // in NVML's order, which is the order on the PCI bus
	Name  string
	UUID  string
	Total int64 // bytes
}

// Inventory is what NVML says about the machine.
type Inventory struct {
	Driver string // "580.159.04"
	CUDA   string // newest CUDA that the driver can run, "13.0"
	Cards  []Info
}

// Lookup finds an environment variable, as os.LookupEnv does. It is asked for
// the environment of the server that is measured, which need not be our own.
type Lookup func(name string) (string, bool)

// Choose gives the index of the card that a CUDA program with this environment
// uses first, out of cards in NVML's order, and a note where that is not
// certain. Rules: CUDA_VISIBLE_DEVICES holds indices or (abbreviated) UUIDs; an
// entry that names no card hides itself and all after it
// (https://docs.nvidia.com/cuda/cuda-programming-guide, "CUDA environment variables").
func Choose(env Lookup, cards []Info) (index int, note string, err error) {
	if len(cards) == 0 {
		return 0, "", fmt.Errorf("%w: the driver lists none", ErrNoCard)
	}
	visible, set := env("CUDA_VISIBLE_DEVICES")
	first, _, _ := strings.Cut(visible, ",")
	first = strings.TrimSpace(first)
	switch {
	case !set:
		return 0, orderNote(env, cards), nil
	case strings.HasPrefix(first, "GPU-"):
		i := slices.IndexFunc(cards, func(c Info) bool { return strings.HasPrefix(c.UUID, first) })
		if i < 0 {
			return 0, "", fmt.Errorf("%w: CUDA_VISIBLE_DEVICES=%q names no card of this machine", ErrNoCard, visible)
		}
		return i, "", nil
	}
	n, err := strconv.Atoi(first)
	if err != nil || n < 0 || n >= len(cards) {
		return 0, "", fmt.Errorf("%w: CUDA_VISIBLE_DEVICES=%q hides every card (%d in this machine)", ErrNoCard, visible, len(cards))
	}
	return n, orderNote(env, cards), nil
}

// orderNote tells of the one case where CUDA's index need not be NVML's: CUDA
// puts the fastest card first unless it is told to follow the bus.
func orderNote(env Lookup, cards []Info) string {
	order, _ := env("CUDA_DEVICE_ORDER")
	alike := !slices.ContainsFunc(cards, func(c Info) bool { return c.Name != cards[0].Name })
	if alike || order == "PCI_BUS_ID" {
		return ""
	}
	return "the cards of this machine differ, and CUDA may number them in another order than NVML: set CUDA_DEVICE_ORDER=PCI_BUS_ID to be sure which one is meant"
}

// visible gives the indices of all cards that a CUDA program with this
// environment sees; see Choose for the rules.
func visible(env Lookup, cards []Info) []int {
	list, set := env("CUDA_VISIBLE_DEVICES")
	if !set {
		all := make([]int, len(cards))
		for i := range all {
			all[i] = i
		}
		return all
	}
	var found []int
	for entry := range strings.SplitSeq(list, ",") {
		one := func(name string) (string, bool) { return strings.TrimSpace(entry), name == "CUDA_VISIBLE_DEVICES" }
		i, _, err := Choose(one, cards)
		if err != nil || slices.Contains(found, i) {
			break // it hides itself and all after it
		}
		found = append(found, i)
	}
	return found
}
