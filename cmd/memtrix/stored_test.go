package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"memtrix"
	"memtrix/results"
)

// stored makes results without running anything:
//
//	stored nights DIR    10 nights of two cells and a control; sdxl runs out of memory in the last
//	stored drift DIR     105 nights of one cell, which takes 3 MiB more each night from the 61st on
//	stored pair DIR      two versions, six repeats each, one session; and a simulated session
//	stored grid DIR      a release and a changed tree with a wheel of one's own, two workflows, two sizes of card
//	stored floor DIR N   the newest trial's cell passes with N MiB, and not with 64 less
//	stored clone DIR N   N more sessions like the last one
func stored(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: stored nights|drift|pair|grid|floor|clone DIR [N]")
	}
	ctx := context.Background()
	ts.Check(os.MkdirAll(ts.MkAbs(args[1]), 0o755))
	db, err := results.Open(ctx, ts.MkAbs(args[1]))
	ts.Check(err)
	defer func() { ts.Check(db.Close()) }()
	switch args[0] {
	case "nights":
		ts.Check(storeNights(ctx, db))
	case "drift":
		ts.Check(storeDrift(ctx, db))
	case "pair":
		ts.Check(storePair(ctx, db))
	case "grid":
		ts.Check(storeGrid(ctx, db))
	case "floor":
		n, err := strconv.ParseInt(args[2], 10, 64)
		ts.Check(err)
		last, err := db.FindSession(ctx, "last")
		ts.Check(err)
		trials, err := db.Trials(ctx, last.ID)
		ts.Check(err)
		ts.Check(db.SaveValue(ctx, memtrix.Value{Trial: trials[0].ID, Meter: memtrix.FloorVRAM, Unit: memtrix.UnitBytes, Value: n << 20, Low: (n - 64) << 20, High: n << 20}))
	case "clone":
		n, err := strconv.Atoi(args[2])
		ts.Check(err)
		ts.Check(storeClones(ctx, db, n))
	}
}

func storeNights(ctx context.Context, db *results.DB) error {
	for n := range 10 {
		last := n == 9
		v := memtrix.Version{Name: "master", Target: memtrix.TargetComfyUI, Release: "0.29.0", Commit: fmt.Sprintf("%040x", 0xc0ffee00+n)}
		sd15, sdxl := passing("sd15", v, n), passing("sdxl", v, n+1)
		frozen := passing("sd15", memtrix.Version{Name: "frozen", Target: memtrix.TargetComfyUI, Release: "0.28.0", Commit: "f00dfeed"}, n+2)
		frozen.Control = true
		if last {
			sdxl.Outcome = memtrix.Outcome{Kind: memtrix.OOM, Memory: memtrix.MemoryVRAM, Phase: memtrix.PhaseSample, Node: &memtrix.Node{ID: "5", ClassType: "KSampler"}}
			sdxl.Prompts, sdxl.Environment["package.torch"] = nil, "2.12.0"
		}
		if err := storeSession(ctx, db, "nightly", fmt.Sprintf("night-%02d", n), sd15, sdxl, frozen); err != nil {
			return err
		}
	}
	_, err := review(ctx, db, nil, "night-09")
	return err
}

func storeDrift(ctx context.Context, db *results.DB) error {
	name := ""
	for n := range 105 {
		t := passing("sdxl", memtrix.Version{Name: "master", Target: memtrix.TargetComfyUI, Release: "0.29.0", Commit: fmt.Sprintf("%040x", 0xc0ffee00+n)}, n)
		t.Spans[0].Peaks[0].Value += int64(max(n-59, 0)) * 3 << 20
		name = fmt.Sprintf("night-%03d", n)
		if err := storeSession(ctx, db, "nightly", name, t); err != nil {
			return err
		}
	}
	_, err := review(ctx, db, nil, name)
	return err
}

func storePair(ctx context.Context, db *results.DB) error {
	var all []*memtrix.Trial
	for k := range 6 {
		a := passing("sdxl", memtrix.Version{Name: "master", Target: memtrix.TargetComfyUI, Release: "0.29.0", Commit: "aaaaaaaaaaaa"}, k)
		b := passing("sdxl", memtrix.Version{Name: "pr:15886", Target: memtrix.TargetComfyUI, Release: "0.29.0", Commit: "bbbbbbbbbbbb", Dirty: []string{"nodes.py"}}, k)
		b.Spans[0].Peaks[1].Value -= 900 << 20
		b.Prompts[1].Seconds += 0.5
		a.Repeat, b.Repeat = k, k
		all = append(all, a, b)
	}
	if err := storeSession(ctx, db, "pr", "pair", all...); err != nil {
		return err
	}
	sim := passing("sdxl", memtrix.Version{Name: "sim", Target: memtrix.TargetSim, Release: "0.29.0"}, 0)
	sim.Simulated = true
	return storeSession(ctx, db, "demo", "simulated", sim)
}

func storeGrid(ctx context.Context, db *results.DB) error {
	var all []*memtrix.Trial
	for _, workflow := range []string{"sdxl", "sd15"} {
		for i, h := range []memtrix.Hardware{{Name: "card-12g", VRAM: 12 << 30}, {Name: "card-8g", VRAM: 8 << 30}} {
			before := passing(workflow, memtrix.Version{Name: "0.29.0", Target: memtrix.TargetComfyUI, Release: "0.29.0", Commit: "aaaaaaaaaaaa"}, 0)
			after := passing(workflow, memtrix.Version{Name: "mine", Target: memtrix.TargetComfyUI, Release: "0.29.0", Commit: "aaaaaaaaaaaa", Dirty: []string{"nodes.py", "comfy/ops.py"}}, 0)
			for _, t := range []*memtrix.Trial{before, after} {
				t.Cell.Hardware = h
				t.Environment["package.comfy-aimdo"], t.Environment["package-hash.comfy-aimdo"] = "0.4.10", t.Cell.Version.Name
				t.Spans[0].Peaks = append(t.Spans[0].Peaks, memtrix.Peak{Meter: memtrix.WeightsResident, Value: int64(4000-1000*i) << 20, How: memtrix.PeakSampled})
			}
			after.Spans[0].Peaks[0].Value -= 500 << 20
			all = append(all, before, after)
		}
	}
	return storeSession(ctx, db, "grid", "grid", all...)
}

// passing is a trial that passed; n makes its numbers differ a little.
func passing(workflow string, v memtrix.Version, n int) *memtrix.Trial {
	noise := int64(n*7919%13) << 20
	return &memtrix.Trial{
		Cell:    memtrix.Cell{Version: v, Hardware: memtrix.Hardware{Name: "as-is"}, Workflow: memtrix.Workflow{Name: workflow, Hash: workflow}},
		Started: time.Date(2026, 10, 1, 2, 0, 0, 0, time.UTC).AddDate(0, 0, n),
		Outcome: memtrix.Outcome{Kind: memtrix.Pass},
		Prompts: []memtrix.PromptResult{{Index: 1, Seconds: 8.2, Outcome: memtrix.Pass}, {Index: 2, Seconds: 4.1 + float64(n%3)/100, Outcome: memtrix.Pass}},
		Spans: []memtrix.Span{{Kind: memtrix.SpanPrompt, Prompt: 1, Peaks: []memtrix.Peak{
			{Meter: memtrix.VRAMDeviceUsed, Value: 6000<<20 + noise, How: memtrix.PeakSampled},
			{Meter: memtrix.RAMTreeRSS, Value: 9000<<20 + noise, How: memtrix.PeakKernel},
		}}},
		Readings: []memtrix.Reading{{Kind: memtrix.Rested, Values: map[string]int64{memtrix.RAMTreeRSS: 7000<<20 + noise}}},
		Series: []memtrix.Series{
			{Meter: memtrix.Meter{Name: memtrix.VRAMDeviceUsed, Unit: memtrix.UnitBytes, Source: "NVML"}},
			{Meter: memtrix.Meter{Name: memtrix.RAMTreeRSS, Unit: memtrix.UnitBytes, Source: "/proc"}},
		},
		Environment: memtrix.Environment{
			"driver": "580.95", "gpu.0.name": "NVIDIA GeForce RTX 4070", "gpu.0.vram.total": "12878610432", "ram.total": "34359738368",
			"kernel": "6.17", "distro": "Debian 13", "package.torch": "2.11.0", "models.disk": "ssd",
		},
	}
}

func storeSession(ctx context.Context, db *results.DB, spec, name string, trials ...*memtrix.Trial) error {
	s, err := db.StartSession(ctx, spec, name)
	if err != nil {
		return err
	}
	for _, t := range trials {
		t.Session = s.ID
		if err := db.SaveTrial(ctx, t); err != nil {
			return err
		}
	}
	return db.EndSession(ctx, s.ID)
}

func storeClones(ctx context.Context, db *results.DB, n int) error {
	last, err := db.FindSession(ctx, "last")
	if err != nil {
		return err
	}
	for range n {
		trials, err := db.Trials(ctx, last.ID)
		if err != nil {
			return err
		}
		for _, t := range trials {
			t.ID, t.Series, t.Dir = 0, nil, ""
		}
		if err := storeSession(ctx, db, last.Spec, "", trials...); err != nil {
			return err
		}
	}
	return nil
}
