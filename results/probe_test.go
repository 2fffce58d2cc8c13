package results

import (
	"time"

	"memtrix"
)

// fullProbe has a value other than zero in every field. It is part of fullTrial.
func fullProbe() *memtrix.Probe {
	model := memtrix.Model{
		Class: "SDXL", Number: 2, Size: 5 << 30, Resident: 3 << 30, Device: "cuda:0", Dynamic: true,
		InVBAR: 2 << 30, Pinned: ptr(int64(7)), Staged: ptr(int64(0)),
	}
	return &memtrix.Probe{
		Missing: []string{"execution.execute: this version has none of that name"}, Faults: []string{"weights: KeyError: 1"}, Dropped: 3,
		Nodes: []memtrix.NodeRun{{
			Prompt: 2, Node: memtrix.Node{ID: "5", DisplayID: "5", ClassType: "KSampler"}, Start: 15 * time.Second, End: 16 * time.Second,
			State: "failure", Error: "OutOfMemoryError: \"x\" & <y>",
			Before: memtrix.Values{memtrix.TorchAllocated: 1}, After: memtrix.Values{memtrix.TorchReserved: 2},
			Peaks: memtrix.Values{memtrix.TorchWork: 3}, Loads: 1, OOMs: 2,
		}},
		Loads:  []memtrix.ModelLoad{{How: "part", Start: 1, End: 2, Node: "5", Model: &model, Asked: ptr(int64(9)), Before: 8, Error: "e"}},
		Events: []memtrix.ProbeEvent{{Kind: "gc", Start: 3, End: 4, Node: "5", Count: 12, Bytes: ptr(int64(-1)), Text: "t"}},
		Prompts: []memtrix.ProbePrompt{{
			Prompt: 2, Start: 5, End: 6, Before: memtrix.Values{memtrix.RAMPinned: 1}, After: memtrix.Values{memtrix.RAMPinned: 2},
			NonEvictable: ptr(int64(1 << 31)),
		}},
		Inventories: []memtrix.Inventory{{
			At: 8, Took: 9, CPU: memtrix.TensorBytes{BytesCount: memtrix.BytesCount{Bytes: 5 << 20, Count: 2}, Owners: []memtrix.TensorOwner{{Name: "module x", BytesCount: memtrix.BytesCount{Bytes: 1, Count: 1}}}},
			Devices: map[string]memtrix.TensorBytes{"cuda": {BytesCount: memtrix.BytesCount{Bytes: 1, Count: 1}}}, Pinned: &memtrix.BytesCount{Bytes: 1, Count: 1},
			Cache: &memtrix.CacheBytes{Entries: 1, CPU: 2, Other: 3}, Malloc: &memtrix.Malloc{Arena: 1, Mapped: 2, Used: 3, Free: 4, Top: 5, Trimmed: ptr(int64(0))},
			Process: memtrix.Values{"VmSize": 1}, Objects: 4, Models: []memtrix.Model{model}, Values: memtrix.Values{memtrix.RAMPinned: 1},
		}},
		Idle:   &memtrix.ProbeMoment{At: 7, Values: memtrix.Values{memtrix.VRAMDriverFree: 8}},
		Models: []memtrix.Model{model}, Context: ptr(int64(600 << 20)), Code: ptr(int64(240 << 20)),
	}
}
