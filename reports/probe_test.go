package reports

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"memtrix"
)

// insideTrial is a trial on a card with a sampler that ran out of memory once and got
// over it, and a node that never ended.
func insideTrial() *memtrix.Trial {
	size := func(n int64) int64 { return n << 20 }
	context, code, asked, least := size(500), size(100), size(6000), size(2700)
	return &memtrix.Trial{
		ID: 12,
		Cell: memtrix.Cell{
			Version: memtrix.Version{Name: "0.29.0"}, Workflow: memtrix.Workflow{Name: "sdxl"}, Probe: true,
		},
		Outcome: memtrix.Outcome{Kind: memtrix.Killed},
		Probe: &memtrix.Probe{
			Context: &context, Code: &code,
			Idle: &memtrix.ProbeMoment{Values: memtrix.Values{memtrix.VRAMDriverFree: size(9000)}},
			Nodes: []memtrix.NodeRun{{
				Prompt: 1, Node: memtrix.Node{ID: "5", ClassType: "KSampler"}, State: "success", End: 1500 * time.Millisecond, Loads: 1, OOMs: 2,
				Peaks: memtrix.Values{memtrix.TorchAllocated: size(2100), memtrix.TorchWork: size(2000), memtrix.TorchReserved: size(2200)},
				After: memtrix.Values{
					memtrix.VRAMDriverFree: size(3500), memtrix.VRAMComfyUIFree: size(4000), memtrix.TorchAllocated: size(150),
					memtrix.TorchReserved: size(700), memtrix.AimdoWeights: size(4600), memtrix.AimdoBuffers: size(32), memtrix.WeightsResident: size(4700),
				},
			}, {Prompt: 1, Node: memtrix.Node{ID: "6", ClassType: "VAEDecode"}}},
			Loads: []memtrix.ModelLoad{{
				How: "load", Start: time.Second, End: 1250 * time.Millisecond, Node: "5", Asked: &asked,
				Model: &memtrix.Model{Class: "SDXL", Size: size(4900), Resident: size(4700), Device: "cuda:0", Dynamic: true},
			}},
			Events: []memtrix.ProbeEvent{
				{Kind: "oom", Start: time.Second, End: time.Second, Node: "5", Text: "OutOfMemoryError: Tried\nto allocate"},
				{Kind: "gc", Start: time.Second, End: 1100 * time.Millisecond},
			},
			Prompts: []memtrix.ProbePrompt{{Prompt: 1, NonEvictable: &least}},
			Missing: []string{"a.b: this version has none of that name"},
			Faults:  []string{"weights: KeyError: 1"}, Dropped: 4,
		},
	}
}

const insideText = `trial 12: 0.29.0, sdxl, default (probe): killed

Nodes
prompt  node  class                    time  torch peak  of it work  reserved peak  torch after  weights  in aimdo  free  free, says ComfyUI  loads  OOMs
                                          s         MiB         MiB            MiB          MiB      MiB       MiB   MiB                 MiB
---------------------------------------------------------------------------------------------------------------------------------------------------------
     1  5     KSampler                  1.5        2100        2000           2200          150     4700      4600  3500                4000      1     2
     1  6     VAEDecode (never ended)     -           -           -              -            -        -         -     -                   -      -     -

`

func TestProbeTable(t *testing.T) {
	var b strings.Builder
	if err := ProbeTable(&b, insideTrial(), TableOptions{}); err != nil {
		t.Fatal(err)
	}
	got := b.String()
	if !strings.HasPrefix(got, insideText) {
		t.Errorf("got\n%s\nwant it to begin with\n%s", got, insideText)
	}
	for _, want := range []string{
		// 500 + 9000 - 3500 = 6000 are used; 500, 700, 4600 and 32 are known.
		"     1  KSampler (5)  6000      500   100             700              4600               32    68   1.1\n",
		"\n1.0  SDXL   load  0.25  4900   6000             0         4700  cuda:0 (dynamic)  5\n",
		"prompt 1: non-evictable peak 2.64 GiB",
		"caught at 1.0 s in node 5: OutOfMemoryError: Tried",
		"events: 1 x oom (0.00 s), 1 x gc (0.10 s)",
		"not seen on this version: a.b",
		"a fault of the probe: weights: KeyError: 1",
		"4 reports were dropped",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("got\n%s\nwant %q in it", got, want)
		}
	}
}

func TestTrialJSON(t *testing.T) {
	var b strings.Builder
	if err := TrialJSON(&b, insideTrial()); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Probe  bool
		Inside struct {
			Nodes []struct {
				Node    memtrix.Node
				Seconds *float64
				Peaks   map[string]int64
				Account *memtrix.Account
			}
			NonEvictable map[string]int64 `json:"non_evictable_by_prompt"`
		}
	}
	if err := json.Unmarshal([]byte(b.String()), &doc); err != nil {
		t.Fatal(err)
	}
	n := doc.Inside.Nodes
	if len(n) != 2 || n[0].Peaks[memtrix.TorchWork] != 2000<<20 || n[0].Account == nil || n[0].Account.Rest != 68<<20 || n[1].Seconds != nil || n[1].Account != nil {
		t.Errorf("nodes %+v", n)
	}
	if doc.Inside.NonEvictable["1"] != 2700<<20 || !doc.Probe {
		t.Errorf("got %s", b.String())
	}
	if strings.Contains(b.String(), "null") {
		t.Errorf("null in %s", b.String())
	}
}
