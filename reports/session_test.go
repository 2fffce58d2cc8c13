package reports

import (
	"slices"
	"testing"
	"time"

	"memtrix"
)

// point makes a passing trial with peaks in MiB; 0 leaves a meter out.
func point(id int64, version string, settings memtrix.Settings, vram, rss, anon int64) *memtrix.Trial {
	t := &memtrix.Trial{
		ID:      id,
		Cell:    pointCell(version, settings),
		Seconds: 51.7,
		Outcome: memtrix.Outcome{Kind: memtrix.Pass},
		Prompts: []memtrix.PromptResult{{Index: 1, Seconds: 8.19, Outcome: memtrix.Pass}, {Index: 2, Seconds: 1.12, Outcome: memtrix.Pass}},
	}
	span := memtrix.Span{Kind: memtrix.SpanPrompt, Prompt: 1, Start: 27 * time.Second, End: 35 * time.Second}
	rested, freed := map[string]int64{}, map[string]int64{}
	for _, m := range []struct {
		name, source string
		value        int64
	}{
		{memtrix.VRAMTrialUsed, "NVML memory v2 less use before the trial", vram},
		{memtrix.RAMTreeRSS, "/proc/PID/smaps_rollup", rss},
		{memtrix.RAMTreeAnon, "/proc/PID/status RssAnon", anon},
	} {
		if m.value == 0 {
			continue
		}
		span.Peaks = append(span.Peaks, memtrix.Peak{Meter: m.name, Value: m.value * mib, How: memtrix.PeakSampled})
		t.Series = append(t.Series, memtrix.Series{Meter: memtrix.Meter{Name: m.name, Unit: memtrix.UnitBytes, Source: m.source}})
		rested[m.name], freed[m.name] = m.value*mib*2/3, m.value*mib/16
	}
	t.Spans = []memtrix.Span{span}
	t.Readings = []memtrix.Reading{{Kind: memtrix.Rested, At: 46 * time.Second, Values: rested}, {Kind: memtrix.Freed, At: 50 * time.Second, Values: freed}}
	return t
}

func pointCell(version string, settings memtrix.Settings) memtrix.Cell {
	return memtrix.Cell{
		Version:  memtrix.Version{Name: version, Commit: version, Target: memtrix.TargetComfyUI},
		Settings: settings,
		Hardware: memtrix.Hardware{Name: "as-is"},
		Workflow: memtrix.Workflow{Name: "sdxl", Hash: "w1"},
	}
}

func fails(t *memtrix.Trial, o memtrix.Outcome) *memtrix.Trial {
	t.Outcome = o
	t.Prompts = []memtrix.PromptResult{{Index: 1, Seconds: 3.8, Outcome: o.Kind}}
	t.Readings = nil
	return t
}

func on(pairs ...string) memtrix.Settings {
	s := memtrix.Settings{}
	for i := 0; i < len(pairs); i += 2 {
		s[pairs[i]] = pairs[i+1]
	}
	return s
}

// nightly is a session with something of everything.
func nightly() Session {
	oom := memtrix.Outcome{
		Kind: memtrix.OOM, Memory: memtrix.MemoryVRAM, How: memtrix.HowException, Phase: memtrix.PhaseSample,
		Node: &memtrix.Node{ID: "5", ClassType: "KSampler"}, Message: "torch.OutOfMemoryError:\nTried to allocate 2.00 GiB | 1.10 GiB is free",
	}
	high := fails(point(4, "0.28.0", on("vram-mode", "high"), 8156, 9418, 3491), oom)
	high.Expect = memtrix.OOM
	newer := point(5, "0.29.0", on(), 7964, 2390, 1588)
	retried := point(7, "0.29.0", on("pinned-memory", "off"), 8028, 2371, 1581)
	retried.Outcome.HiddenRetries = 2
	retried.Warnings = []string{"the card was used by another process for 2 s"}
	broken := fails(point(8, "0.29.0", on("vram-mode", "high"), 0, 420, 180), memtrix.Outcome{Kind: memtrix.StartupFailure, Phase: memtrix.PhaseStartup, Message: "main.py: error: unrecognized arguments: --xyz",
		Evidence: []string{"usage: main.py [-h]", "a", "b", "c", "               [--cpu]", "main.py: error: unrecognized arguments: --xyz"},
		Advice:   []string{"take --xyz out of args"}})
	broken.Expect = memtrix.OOM
	s := Session{
		Name: "nightly-3", Spec: "nightly", Interval: time.Millisecond, Slower: 10 * time.Millisecond,
		Trials: []*memtrix.Trial{
			newer,
			fails(point(6, "0.29.0", on("dynamic-vram", "off"), 7040, 14295, 8492), oom),
			retried, broken,
			point(1, "0.28.0", on(), 8092, 8686, 1563),
			point(2, "0.28.0", on("dynamic-vram", "off"), 7066, 14245, 8474),
			point(3, "0.28.0", on("pinned-memory", "off"), 7040, 2380, 1400),
			high,
		},
		Plan: memtrix.Plan{Spec: "nightly", Warnings: []string{"budget 8h: 1 cell left out"}},
	}
	for _, v := range []string{"0.29.0", "0.28.0"} {
		for _, set := range []memtrix.Settings{on(), on("dynamic-vram", "off"), on("pinned-memory", "off"), on("vram-mode", "high")} {
			s.Plan.Cells = append(s.Plan.Cells, memtrix.PlannedCell{Cell: pointCell(v, set), Status: memtrix.StatusRun, Argv: []string{"--x"}})
		}
	}
	s.Plan.Cells = append(s.Plan.Cells,
		memtrix.PlannedCell{Cell: pointCell("0.28.0", on("vram-headroom", "1")), Status: memtrix.StatusNotApplicable, Reason: "this version has no --vram-headroom"},
		memtrix.PlannedCell{Cell: pointCell("0.29.0", on("vram-headroom", "1")), Status: memtrix.StatusLeftOut, Reason: "budget of 8h is used up"},
		memtrix.PlannedCell{Cell: pointCell("0.29.0", on("cache", "none")), Status: memtrix.StatusRun},
	)
	return s
}

// Versions with numbers are ordered by number; others as they come.
func TestVersionOrder(t *testing.T) {
	order := func(versions ...string) []string {
		s := Session{}
		for _, v := range versions {
			s.Trials = append(s.Trials, point(1, v, nil, 1, 1, 1))
		}
		return s.versionOrder()
	}
	check := func(got, want []string) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("want %v, got %v", want, got)
		}
	}
	check(order("0.12.1", "0.3.77", "v0.29"), []string{"0.3.77", "0.12.1", "v0.29"})
	check(order("0.12.1", "0.3.77", "main"), []string{"0.12.1", "0.3.77", "main"})
	check(order(), nil)
	s := Session{Versions: []string{"new", "old"}, Trials: []*memtrix.Trial{point(1, "old", nil, 1, 1, 1), point(2, "other", nil, 1, 1, 1)}}
	check(s.versionOrder(), []string{"new", "old", "other"})
}

func TestSimulatedText(t *testing.T) {
	check := func(want string, simulated ...bool) {
		t.Helper()
		var trials []*memtrix.Trial
		for i, sim := range simulated {
			trials = append(trials, &memtrix.Trial{ID: int64(i + 1), Simulated: sim})
		}
		if got := simulatedText(trials); got != want {
			t.Errorf("%v: want %q, got %q", simulated, want, got)
		}
	}
	check("")
	check("", false, false)
	check("SIMULATED: nothing here is a measurement of ComfyUI", true, true)
	check("SIMULATED: trial 2 is not a measurement", false, true)
	check("SIMULATED: trials 1, 3-5 are not measurements", true, false, true, true, true)
}

// A difference is only told where two trials can be compared.
func TestDifference(t *testing.T) {
	sim := point(2, "0.29.0", nil, 200, 100, 100)
	sim.Simulated = true
	kernel := point(2, "0.29.0", nil, 100, 200, 100)
	kernel.Spans[0].Peaks[1].How = memtrix.PeakKernel
	oom := func(id int64, v string) *memtrix.Trial {
		return fails(point(id, v, nil, 100, 100, 100), memtrix.Outcome{Kind: memtrix.OOM})
	}
	check := func(name, outcome string, rss float64, now *memtrix.Trial, earlier ...*memtrix.Trial) {
		t.Helper()
		s := Session{Trials: append(earlier, now)}
		d := s.before().difference(now, peakMeters(s.Trials))
		if d.outcome != outcome || Percent(d.peaks[memtrix.RAMTreeRSS]) != Percent(rss) {
			t.Errorf("%s: want %q and %g, got %+v", name, outcome, rss, d)
		}
	}
	check("first", "", 0, point(2, "0.29.0", nil, 100, 200, 100))
	check("more", "", 1, point(2, "0.29.0", nil, 100, 200, 100), point(1, "0.28.0", nil, 100, 100, 100))
	check("at the limit", "", 0, point(2, "0.29.0", nil, 100, 110, 100), point(1, "0.28.0", nil, 100, 100, 100))
	check("less", "", -0.5, point(2, "0.29.0", nil, 100, 50, 100), point(1, "0.28.0", nil, 100, 100, 100))
	check("median of repeats", "", 1, point(9, "0.29.0", nil, 100, 200, 100),
		point(1, "0.28.0", nil, 100, 100, 100), point(2, "0.28.0", nil, 100, 90, 100), point(3, "0.28.0", nil, 100, 500, 100))
	check("nearest version", "", 0, point(9, "0.30.0", nil, 100, 100, 100),
		point(1, "0.28.0", nil, 100, 50, 100), point(2, "0.29.0", nil, 100, 100, 100))
	check("other settings", "", 0, point(2, "0.29.0", on("mmap", "off"), 100, 200, 100), point(1, "0.28.0", nil, 100, 100, 100))
	check("new oom", "new oom", 0, oom(2, "0.29.0"), point(1, "0.28.0", nil, 100, 100, 100))
	check("oom went away", "was oom", 0, point(2, "0.29.0", nil, 100, 100, 100), oom(1, "0.28.0"))
	check("sometimes oom", "", 0, oom(3, "0.29.0"), oom(1, "0.28.0"), point(2, "0.28.0", nil, 100, 100, 100))
	check("simulated against real", "", 0, sim, point(1, "0.28.0", nil, 100, 100, 100))
	check("sampled against kernel", "", 0, kernel, point(1, "0.28.0", nil, 100, 100, 100))
	check("interrupted", "", 0, fails(point(2, "0.29.0", nil, 1, 1, 1), memtrix.Outcome{Kind: memtrix.Interrupted}), point(1, "0.28.0", nil, 100, 100, 100))
}
