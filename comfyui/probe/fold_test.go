package probe

import (
	"compress/gzip"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"memtrix"
)

func readCard(t *testing.T) (*memtrix.Probe, []memtrix.Series) {
	t.Helper()
	f, err := os.Open("testdata/card.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	// "bb" is the trial's third prompt: one without the probe lay between.
	p, series, err := Read(f, 1_000_000_000, func(id string) int { return map[string]int{"aa": 1, "bb": 3}[id] })
	if err != nil {
		t.Fatal(err)
	}
	return p, series
}

func TestFoldCard(t *testing.T) {
	p, _ := readCard(t)
	if want := []string{"comfy.model_management.is_oom: this version has none of that name", "comfy_aimdo.control: this server has not imported it"}; !slices.Equal(p.Missing, want) {
		t.Errorf("missing %q, want %q", p.Missing, want)
	}
	if len(p.Faults) != 2 || p.Faults[0] != "cache: KeyError: 'x'" || !strings.Contains(p.Faults[1], "not a record") || p.Dropped != 3 {
		t.Errorf("faults %q, dropped %d", p.Faults, p.Dropped)
	}
	if p.Idle == nil || p.Idle.At != time.Second || p.Idle.Values[memtrix.VRAMDriverFree] != 7500 {
		t.Errorf("idle %+v", p.Idle)
	}
	sampler := memtrix.NodeRun{
		Prompt: 1, Node: memtrix.Node{ID: "2", DisplayID: "2", ClassType: "KSampler"},
		Start: 2600 * time.Millisecond, End: 2800 * time.Millisecond, State: "success", OOMs: 1,
		Before: memtrix.Values{
			memtrix.TorchAllocated: 100, memtrix.TorchReserved: 200, memtrix.VRAMDriverFree: 3300, memtrix.VRAMDriverTotal: 10000,
			memtrix.WeightsResident: 4000, memtrix.AimdoWeights: 3900,
		},
		After: memtrix.Values{
			memtrix.TorchAllocated: 150, memtrix.TorchReserved: 1200, memtrix.VRAMDriverFree: 1900, memtrix.VRAMDriverTotal: 10000,
			memtrix.VRAMComfyUIFree: 2000, memtrix.WeightsResident: 4000, memtrix.AimdoWeights: 3900, memtrix.AimdoBuffers: 20,
		},
		Peaks: memtrix.Values{memtrix.TorchAllocated: 1050, memtrix.TorchReserved: 1200, memtrix.TorchWork: 950},
	}
	if len(p.Nodes) != 3 || !reflect.DeepEqual(p.Nodes[1], sampler) {
		t.Errorf("nodes %+v,\nwant the second %+v", p.Nodes, sampler)
	}
	if last := p.Nodes[2]; last.Prompt != 3 || last.End != 0 || last.State != "" {
		t.Errorf("the node that never ended: %+v", last)
	}
	pinned, staged, asked := int64(50), int64(60), int64(6000)
	load := memtrix.ModelLoad{
		How: "load", Start: 2200 * time.Millisecond, End: 2300 * time.Millisecond, Node: "1", Asked: &asked,
		Model: &memtrix.Model{Class: "SDXL", Number: 1, Size: 5000, Resident: 4000, Device: "cuda:0", Dynamic: true, InVBAR: 3900, Pinned: &pinned, Staged: &staged},
	}
	if len(p.Loads) != 1 || !reflect.DeepEqual(p.Loads[0], load) {
		t.Errorf("loads %+v, want %+v", p.Loads, load)
	}
	var events []string
	for _, e := range p.Events {
		events = append(events, e.Kind)
	}
	if want := []string{"load-models", "oom", "gc", "empty-cache", "unload-all"}; !slices.Equal(events, want) {
		t.Errorf("events %q, want %q", events, want)
	}
	if e := p.Events[3]; e.Bytes == nil || *e.Bytes != 1000 {
		t.Errorf("empty-cache gave back %v, want 1000", e.Bytes)
	}
	if len(p.Models) != 0 {
		t.Errorf("models %+v, want none after all were unloaded", p.Models)
	}
	if want := 2; len(p.Prompts) != want || p.Prompts[0].End == 0 || p.Prompts[1].End != 0 {
		t.Errorf("prompts %+v", p.Prompts)
	}
}

func TestSeriesCard(t *testing.T) {
	_, all := readCard(t)
	byName := map[string]memtrix.Series{}
	for _, s := range all {
		byName[s.Meter.Name] = s
	}
	ms := func(n ...int) (d []time.Duration) {
		for _, m := range n {
			d = append(d, time.Duration(m)*time.Millisecond)
		}
		return d
	}
	check := func(meter string, at []time.Duration, v ...int64) {
		t.Helper()
		if s := byName[meter]; !slices.Equal(s.T, at) || !slices.Equal(s.V, v) {
			t.Errorf("%s: %v %v, want %v %v", meter, s.T, s.V, at, v)
		}
	}
	check(memtrix.TorchReserved, ms(1000, 2400, 2700, 3100, 4300), 0, 200, 1200, 200, 0)
	check(memtrix.TorchAllocated, ms(1000, 2400, 2700, 2800, 3100, 4300), 0, 100, 900, 150, 100, 0)
	check(memtrix.WeightsPrefix+"SDXL", ms(2400, 4300), 4000, 0)
	check(memtrix.AimdoBuffers, ms(2500, 2800), 0, 20)
	if _, there := byName[memtrix.RAMProcessRSS]; there {
		t.Error("a series of what recorders read more often")
	}
}

// Weights on the processor are in no card's memory.
func TestByClass(t *testing.T) {
	list := []modelRecord{{Class: "Clip", Loaded: 1561, Device: "cpu"}, {Class: "SDXL", Loaded: 478, Device: "cuda:0"}, {Class: "SDXL", Loaded: 2, Device: "cuda:0"}}
	gone := map[string]*memtrix.Series{memtrix.WeightsPrefix + "VAE": nil}
	if got, want := byClass(list, gone), map[string]int64{"SDXL": 480, "VAE": 0}; !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestAccount splits up the card: before any model 2500 of 10000 were used, of which
// the trial had 600.
func TestAccount(t *testing.T) {
	p, _ := readCard(t)
	if _, ok := p.Account(p.Nodes[1].After); ok {
		t.Error("an account without a context")
	}
	context := int64(600)
	p.Context = &context
	got, ok := p.Account(p.Nodes[1].After)
	want := memtrix.Account{Used: 6200, Context: 600, Torch: 1200, Aimdo: 3900, Buffers: 20, Rest: 480}
	if !ok || got != want {
		t.Errorf("got %+v, %v, want %+v", got, ok, want)
	}
	least, ok := memtrix.NonEvictable(p.Nodes, func(n memtrix.NodeRun) (int64, bool) {
		a, ok := p.Account(n.After)
		return a.Used, ok
	})
	// Work of 950, and outside of torch and of weights 6200 - 1200 - 3900.
	if !ok || least != 950+1100 {
		t.Errorf("non-evictable %d, %v, want 2050", least, ok)
	}
}

// TestFoldRecorded reads what the module said in real ComfyUIs on the CPU.
func TestFoldRecorded(t *testing.T) {
	files, err := filepath.Glob("testdata/cpu-*.jsonl.gz")
	if err != nil || len(files) == 0 {
		t.Fatal("no recordings", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			f, err := os.Open(file)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			z, err := gzip.NewReader(f)
			if err != nil {
				t.Fatal(err)
			}
			p, series, err := Read(z, 0, nil)
			if err != nil {
				t.Fatal(err)
			}
			checkRecorded(t, p, series)
		})
	}
}

func checkRecorded(t *testing.T, p *memtrix.Probe, series []memtrix.Series) {
	t.Helper()
	if len(p.Faults) > 0 || p.Dropped > 0 || len(p.Prompts) != 2 {
		t.Errorf("faults %q, dropped %d, %d prompts", p.Faults, p.Dropped, len(p.Prompts))
	}
	runs := map[string]int{}
	for _, n := range p.Nodes {
		runs[n.Node.ClassType]++
		if n.State != "success" || n.End <= n.Start || n.After[memtrix.RAMProcessRSS] < 500<<20 {
			t.Errorf("node %+v", n)
		}
		if len(n.Peaks) > 0 {
			t.Errorf("a node on the CPU has torch's peaks: %v", n.Peaks)
		}
	}
	// The second prompt has another seed only; the third ran with the probe off.
	want := map[string]int{"CheckpointLoaderSimple": 1, "EmptyLatentImage": 1, "CLIPTextEncode": 2, "KSampler": 2, "VAEDecode": 2, "SaveImage": 2}
	if !maps.Equal(runs, want) {
		t.Errorf("runs %v, want %v", runs, want)
	}
	loaded := map[string]int64{}
	for _, l := range p.Loads {
		if l.How == "load" && l.Model != nil {
			loaded[l.Model.Class] = l.Model.Resident
		}
	}
	if loaded["BaseModel"] < 1<<30 || loaded["AutoencoderKL"] == 0 || loaded["SD1ClipModel"] == 0 {
		t.Errorf("loaded %v", loaded)
	}
	for _, s := range series {
		if strings.HasPrefix(s.Meter.Name, "vram.") {
			t.Errorf("%s on the CPU", s.Meter.Name)
		}
	}
}
