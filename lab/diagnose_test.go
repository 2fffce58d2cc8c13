package lab

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"memtrix"
)

// vramOOM and ramOOM are failures of different memory.
var (
	vramOOM = memtrix.Outcome{Kind: memtrix.OOM, Memory: memtrix.MemoryVRAM, Phase: memtrix.PhaseSample}
	ramOOM  = memtrix.Outcome{Kind: memtrix.OOM, Memory: memtrix.MemoryRAM, Phase: memtrix.PhaseLoad}
	passing = memtrix.Outcome{Kind: memtrix.Pass}
)

// made is a world in which a checklist is tried: of each check what its trials give, one
// after another, the last one for ever. Checks that are not named fail as given does.
type made struct {
	offers Offers
	given  []memtrix.Outcome
	of     map[string][]memtrix.Outcome
	skip   map[string]bool
	prompt int
	most   int
}

// run asks for checks until there is a conclusion, and gives those that were tried.
func (m made) run(t *testing.T) (Conclusion, []string) {
	t.Helper()
	l := Checklist{Offers: m.offers, Most: m.most}
	var known []Checked
	var order []string
	for range 200 {
		next, more := l.Next(known)
		if !more {
			return l.Conclude(known), order
		}
		order = append(order, next.ID)
		i := slices.IndexFunc(known, func(c Checked) bool { return c.ID == next.ID })
		if i < 0 {
			i = len(known)
			known = append(known, Checked{Check: next})
		}
		if m.skip[next.ID] {
			known[i].Skipped = "cannot"
			continue
		}
		script := m.of[next.ID]
		if len(script) == 0 || next.ID == asGiven.ID {
			script = m.given
		}
		n := len(known[i].Outcomes)
		o := script[min(n, len(script)-1)]
		known[i].Outcomes = append(known[i].Outcomes, o)
		if o.Kind != memtrix.Pass && known[i].Prompt == 0 {
			known[i].Prompt = max(m.prompt, 1)
		}
	}
	t.Fatalf("no end after %v", order)
	return Conclusion{}, nil
}

// TestChecklist ensures that a cause is found, confirmed, and that luck and combinations
// are not taken for one.
func TestChecklist(t *testing.T) {
	two := memtrix.Settings{"cache": "none", "vram-mode": "high"}
	for name, c := range map[string]struct {
		made
		verdict Verdict
		check   string
		sure    bool
		order   string // of checks, "" for any
	}{
		"passes":  {made{given: []memtrix.Outcome{passing}}, VerdictPasses, "", true, "as-given as-given"},
		"invalid": {made{given: []memtrix.Outcome{{Kind: memtrix.InvalidWorkflow}}}, VerdictWrong, "", true, "as-given"},
		"a setting of one's own": {
			made{offers: Offers{Own: two}, given: []memtrix.Outcome{vramOOM}, of: map[string][]memtrix.Outcome{"own-settings": {passing}, "without vram-mode": {passing}}},
			VerdictCause, "without vram-mode", true, "as-given own-settings without cache without vram-mode as-given as-given without vram-mode",
		},
		"two settings together": {
			made{offers: Offers{Own: two}, given: []memtrix.Outcome{vramOOM}, of: map[string][]memtrix.Outcome{"own-settings": {passing}}},
			VerdictCause, "own-settings", true, "as-given own-settings without cache without vram-mode as-given as-given own-settings",
		},
		"settings that do not matter are tried at once": {
			made{offers: Offers{Own: two, Dynamic: true}, given: []memtrix.Outcome{vramOOM}, of: map[string][]memtrix.Outcome{"dynamic-vram=off": {passing}}},
			VerdictCause, "dynamic-vram=off", true, "as-given own-settings dynamic-vram=off as-given as-given dynamic-vram=off",
		},
		"a group that cannot be tried": {
			made{offers: Offers{Own: two}, given: []memtrix.Outcome{vramOOM}, skip: map[string]bool{"own-settings": true}, of: map[string][]memtrix.Outcome{"without cache": {passing}}},
			VerdictCause, "without cache", true, "as-given own-settings without cache as-given as-given without cache",
		},
		"custom nodes": {
			made{offers: Offers{Nodes: true}, given: []memtrix.Outcome{{Kind: memtrix.Killed}}, of: map[string][]memtrix.Outcome{"custom-nodes": {passing}}},
			VerdictCause, "custom-nodes", true, "as-given custom-nodes as-given as-given custom-nodes",
		},
		"packages come last of the causes": {
			made{offers: Offers{Packages: true, CPU: true}, given: []memtrix.Outcome{ramOOM}, of: map[string][]memtrix.Outcome{"packages": {passing}}},
			VerdictCause, "packages", true, "as-given cache=none cache=classic smart-memory=off mmap=off packages as-given as-given packages",
		},
		"it needs more than there is": {
			made{offers: Offers{CPU: true}, given: []memtrix.Outcome{ramOOM}, of: map[string][]memtrix.Outcome{"unet-dtype=bf16": {passing}}},
			VerdictWayOut, "unet-dtype=bf16", true, "",
		},
		"nothing helps": {made{offers: Offers{CPU: true}, given: []memtrix.Outcome{ramOOM}}, VerdictNone, "", false, ""},
		"another failure is no pass": {
			made{offers: Offers{Dynamic: true}, given: []memtrix.Outcome{vramOOM}, of: map[string][]memtrix.Outcome{"dynamic-vram=off": {ramOOM}, "cache=none": {passing}}},
			VerdictCause, "cache=none", true, "",
		},
		"what stays between prompts goes first": {
			made{offers: Offers{Dynamic: true}, prompt: 2, given: []memtrix.Outcome{vramOOM}, of: map[string][]memtrix.Outcome{"smart-memory=off": {passing}}},
			VerdictCause, "smart-memory=off", true, "as-given smart-memory=off as-given as-given smart-memory=off",
		},
		"a change that passed by luck": {
			made{offers: Offers{Dynamic: true}, given: []memtrix.Outcome{vramOOM, vramOOM, passing, vramOOM}, of: map[string][]memtrix.Outcome{"dynamic-vram=off": {passing, passing, vramOOM}, "cache=none": {passing}}},
			VerdictCause, "cache=none", true, "",
		},
		"it fails now and then, and not with the change": {
			made{offers: Offers{Dynamic: true}, given: []memtrix.Outcome{vramOOM, passing}, of: map[string][]memtrix.Outcome{"dynamic-vram=off": {passing}}},
			VerdictCause, "dynamic-vram=off", false, "",
		},
		"it passes at first": {
			made{offers: Offers{Dynamic: true}, given: []memtrix.Outcome{passing, vramOOM, vramOOM}, of: map[string][]memtrix.Outcome{"dynamic-vram=off": {passing}}},
			VerdictCause, "dynamic-vram=off", true, "",
		},
		"bounded": {made{offers: Offers{}, most: 3, given: []memtrix.Outcome{vramOOM}}, VerdictGaveUp, "", false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, order := c.run(t)
			check := ""
			if got.Check != nil {
				check = got.Check.ID
			}
			if got.Verdict != c.verdict || check != c.check || got.Sure != c.sure {
				t.Errorf("%s %q sure %v, want %s %q %v; tried %v", got.Verdict, check, got.Sure, c.verdict, c.check, c.sure, order)
			}
			if tried := strings.Join(order, " "); c.order != "" && tried != c.order {
				t.Errorf("tried %s\nwant  %s", tried, c.order)
			}
		})
	}
}

// TestChecklistLuck ensures that a failure that comes and goes by itself seldom makes an
// innocent change the cause.
func TestChecklistLuck(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	accused, sure := 0, 0
	const runs = 500
	for range runs {
		script := func() []memtrix.Outcome {
			var all []memtrix.Outcome
			for range 20 {
				o := vramOOM
				if random.Float64() < 0.5 {
					o = passing
				}
				all = append(all, o)
			}
			return all
		}
		m := made{offers: Offers{Dynamic: true}, given: script(), of: map[string][]memtrix.Outcome{}}
		m.given[0] = vramOOM
		for _, c := range m.offers.checks(vramOOM, 1) {
			m.of[c.ID] = script()
		}
		got, _ := m.run(t)
		if got.Check != nil {
			accused++
			if got.Sure {
				sure++
			}
		}
	}
	t.Logf("of %d, %d accuse an innocent change, %d surely", runs, accused, sure)
	// What was given fails three times of three in a quarter of the runs, and then looks as
	// if it did so always.
	if sure > runs/3 {
		t.Errorf("%d of %d accuse an innocent change", sure, runs)
	}
}

// TestDiagnose ensures that a diagnosis runs what its checklist asks for, and says in
// words what came out.
func TestDiagnose(t *testing.T) {
	base := memtrix.PlannedCell{Cell: memtrix.Cell{Version: memtrix.Version{Name: "0.29.0"}, Workflow: memtrix.Workflow{Name: "sd15"}, Settings: memtrix.Settings{"device": "cpu", "unet-dtype": "fp32"}}, Argv: []string{"--cpu", "--fp32-unet"}}
	id := int64(0)
	node := &memtrix.Node{ID: "1", ClassType: "CheckpointLoaderSimple"}
	try := func(_ context.Context, c memtrix.PlannedCell, _ int) (*memtrix.Trial, error) {
		id++
		tr := &memtrix.Trial{ID: id, Cell: c.Cell, Outcome: passing, Prompts: []memtrix.PromptResult{{Index: 1, Outcome: memtrix.Pass, Seconds: 3}},
			Spans: []memtrix.Span{{Kind: memtrix.SpanPrompt, Prompt: 1, Peaks: []memtrix.Peak{{Meter: memtrix.RAMTreeRSS, Value: 3 << 30}}}}}
		if _, still := c.Cell.Settings["unet-dtype"]; still {
			tr.Outcome = ramOOM
			tr.Outcome.Node = node
			tr.Prompts[0].Outcome = memtrix.OOM
		}
		return tr, nil
	}
	o := DiagnoseOptions{Prompts: 3, Offers: Offers{CPU: true, Own: memtrix.Settings{"unet-dtype": "fp32"}}, Plan: func(_ context.Context, c Check) (memtrix.PlannedCell, string, error) {
		cell := base
		cell.Cell.Settings = memtrix.Settings{"device": "cpu"}
		cell.Argv = []string{"--cpu"}
		return cell, "", nil
	}}
	r, err := Diagnose(t.Context(), o, base, try)
	if err != nil || r.Verdict != VerdictCause || r.Cause.ID != "without unet-dtype" || !r.Sure || len(r.Steps) != 2 {
		t.Fatalf("%+v, %v", r, err)
	}
	want := "sd15 on ComfyUI 0.29.0 fails: out of memory (ram) in load, node CheckpointLoaderSimple (1), at prompt 1 (3 of 3 trials as given). " +
		"Without unet-dtype=fp32 it passes (2 of 2 trials). So that setting of yours is the cause: leave it out (--fp32-unet). It then takes up to 3.00 GiB of RAM, 3.0 s for the last prompt."
	if r.Words != want {
		t.Errorf("got  %s\nwant %s", r.Words, want)
	}

	broken := errors.New("no room")
	if _, err := Diagnose(t.Context(), o, base, func(context.Context, memtrix.PlannedCell, int) (*memtrix.Trial, error) { return nil, broken }); !errors.Is(err, broken) {
		t.Errorf("what cannot be measured: %v", err)
	}
}

// TestFindings ensures that what a trial shows beside its outcome is told, and nothing
// that it does not show.
func TestFindings(t *testing.T) {
	n := func(mib int64) *int64 { v := mib << 20; return &v }
	oom := func(asked, free, unallocated *int64) *memtrix.Trial {
		o := vramOOM
		o.Requested, o.Free, o.Unallocated = asked, free, unallocated
		return &memtrix.Trial{Outcome: o, Prompts: []memtrix.PromptResult{{Index: 1, Outcome: memtrix.OOM}}}
	}
	idle := memtrix.Span{Kind: memtrix.SpanIdle, Peaks: []memtrix.Peak{{Meter: memtrix.RAMTreeAnon, Value: 400 << 20}}}
	kept := func(mib int64) *memtrix.Trial {
		return &memtrix.Trial{Outcome: passing, Spans: []memtrix.Span{idle}, Readings: []memtrix.Reading{
			{Kind: memtrix.Rested, Values: map[string]int64{memtrix.RAMTreeAnon: 5 << 30}},
			{Kind: memtrix.Freed, Values: map[string]int64{memtrix.RAMTreeAnon: mib << 20}},
		}}
	}
	low := oom(n(100), nil, nil)
	low.Spans = []memtrix.Span{{Kind: memtrix.SpanPrompt, Prompt: 1, Start: 10, End: 30}}
	low.Series = []memtrix.Series{{Meter: memtrix.Meter{Name: memtrix.VRAMDeviceFree}, T: []time.Duration{0, 5, 20, 40}, V: []int64{1 << 20, 9 << 30, 7 << 30, 0}}}
	told := func(comfy, driver, device int64) *memtrix.Trial {
		return &memtrix.Trial{Outcome: passing, Readings: []memtrix.Reading{{Kind: memtrix.Rested, Values: map[string]int64{
			memtrix.VRAMComfyUIFree: comfy << 20, memtrix.VRAMDriverFree: driver << 20, memtrix.VRAMDeviceFree: device << 20,
			memtrix.TorchReserved: 1024 << 20, memtrix.TorchAllocated: 24 << 20,
		}}}}
	}
	limited := &memtrix.Trial{Outcome: passing, Environment: memtrix.Environment{"banner.total-ram": "25769803776"}}
	limited.Cell.Hardware.RAM = 4 << 30
	second := oom(nil, nil, nil)
	second.Prompts = []memtrix.PromptResult{{Index: 1, Outcome: memtrix.Pass}, {Index: 2, Outcome: memtrix.OOM}}
	held := oom(nil, nil, nil)
	held.Outcome.Holders = []memtrix.Holder{{Name: "jupyter", PID: 7, Bytes: 3 << 30}}
	for name, c := range map[string]struct {
		trial *memtrix.Trial
		want  string // kind and a part of the text, "" for none
	}{
		"too small":            {oom(n(1000), n(100), n(50)), ""},
		"fragments":            {oom(n(1000), n(100), n(1500)), "headroom fragments: 1000 MiB were asked for, and torch held 1.46 GiB"},
		"room":                 {oom(n(1000), n(4000), nil), "headroom there was room: 1000 MiB were asked for and 3.91 GiB free, as the allocator says"},
		"room, by the driver":  {low, "headroom 7.00 GiB free, which was the least"},
		"RAM comes back":       {kept(700), ""},
		"RAM does not":         {kept(2400), "ram-kept the server's own memory is 2.34 GiB, 1.95 GiB more than before the first prompt (at rest it was 5.00 GiB)"},
		"figures agree":        {told(3000, 2000, 2000), ""},
		"ComfyUI's are stale":  {told(6000, 2000, 2000), "stale ComfyUI counts 5.86 GiB of VRAM as free"},
		"the driver's differ":  {told(3000, 2000, 5000), "stale inside the server"},
		"a limit not known to": {limited, "stale ComfyUI reckons with 24.00 GiB of RAM, and may use 4.00 GiB"},
		"second prompt":        {second, "later-prompt prompt 2 failed and the 1 prompt before it passed"},
		"others":               {held, "holder jupyter holds 3.00 GiB"},
	} {
		got := Findings(c.trial)
		kind, text, _ := strings.Cut(c.want, " ")
		switch {
		case c.want == "" && len(got) > 0:
			t.Errorf("%s: %+v", name, got)
		case c.want != "" && (len(got) != 1 || got[0].Kind != kind || !strings.Contains(got[0].Text, text)):
			t.Errorf("%s: %+v, want %s", name, got, c.want)
		}
	}
}

// TestDiagnoseInside ensures that RAM that does not come back is looked at from inside,
// and that what cannot be planned or measured is skipped with its reason.
func TestDiagnoseInside(t *testing.T) {
	base := memtrix.PlannedCell{Cell: memtrix.Cell{Version: memtrix.Version{Name: "0.29.0"}, Workflow: memtrix.Workflow{Name: "sd15"}}}
	id := int64(0)
	kept := func(c memtrix.PlannedCell) *memtrix.Trial {
		id++
		tr := &memtrix.Trial{ID: id, Cell: c.Cell, Outcome: passing,
			Spans:    []memtrix.Span{{Kind: memtrix.SpanIdle, Peaks: []memtrix.Peak{{Meter: memtrix.RAMTreeAnon, Value: 400 << 20}}}},
			Readings: []memtrix.Reading{{Kind: memtrix.Freed, Values: map[string]int64{memtrix.RAMTreeAnon: 3 << 30}}}}
		if c.Cell.Probe {
			tr.Probe = &memtrix.Probe{Inventories: []memtrix.Inventory{{CPU: memtrix.TensorBytes{BytesCount: memtrix.BytesCount{Bytes: 2 << 30}, Owners: []memtrix.TensorOwner{{Name: "class /x/pack.Keeper", BytesCount: memtrix.BytesCount{Bytes: 2 << 30}}}}}}}
		}
		return tr
	}
	o := DiagnoseOptions{Prompts: 3, Inside: true, Plan: func(_ context.Context, c Check) (memtrix.PlannedCell, string, error) {
		cell := base
		cell.Cell.Probe = c.Kind == CheckInside
		return cell, "", nil
	}}
	r, err := Diagnose(t.Context(), o, base, func(_ context.Context, c memtrix.PlannedCell, _ int) (*memtrix.Trial, error) { return kept(c), nil })
	if err != nil || r.Verdict != VerdictPasses || len(r.Findings) != 1 || !strings.Contains(r.Words, "from inside: tensors in RAM 2.00 GiB, class pack.Keeper 2.00 GiB") {
		t.Errorf("%+v, %v", r, err)
	}

	o.Inside, o.Offers = false, Offers{Nodes: true, CPU: true}
	o.Plan = func(_ context.Context, c Check) (memtrix.PlannedCell, string, error) {
		cell := base
		cell.Cell.Settings = memtrix.Settings{c.Setting: c.Value}
		if c.Kind == CheckNodes {
			return cell, "it needs them", nil
		}
		return cell, "", nil
	}
	r, err = Diagnose(t.Context(), o, base, func(_ context.Context, c memtrix.PlannedCell, _ int) (*memtrix.Trial, error) {
		if c.Cell.Settings["mmap"] == "off" {
			return nil, errors.New("memtrix could not measure it")
		}
		return &memtrix.Trial{Cell: c.Cell, Outcome: ramOOM, Prompts: []memtrix.PromptResult{{Index: 1, Outcome: memtrix.OOM}}}, nil
	})
	if err != nil || r.Verdict != VerdictNone || r.Answered() || !strings.Contains(r.Words, "Not tried: without custom nodes that it can do without, with mmap=off") {
		t.Errorf("%+v, %v", r, err)
	}
}
