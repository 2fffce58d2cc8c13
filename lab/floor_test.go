package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"memtrix"
)

// fakeMachine runs cells that pass from a floor on.
type fakeMachine struct {
	t        *testing.T
	floor    int64 // bytes
	peak     int64
	evict    int64 // non-evictable
	retries  int64 // hidden retries below
	outcomes map[int]memtrix.OutcomeKind
	ran      []memtrix.PlannedCell
	repeats  map[string]int
}

func (m *fakeMachine) try(_ context.Context, c memtrix.PlannedCell, repeat int) (*memtrix.Trial, error) {
	if m.repeats == nil {
		m.repeats = map[string]int{}
	}
	if want := m.repeats[c.Cell.ID()]; repeat != want {
		m.t.Errorf("%s: repeat %d, want %d", c.Cell.Hardware.Name, repeat, want)
	}
	m.repeats[c.Cell.ID()]++
	m.ran = append(m.ran, c)
	t := &memtrix.Trial{ID: int64(len(m.ran)), Cell: c.Cell, Repeat: repeat, Prompts: []memtrix.PromptResult{{Seconds: 9, Outcome: memtrix.Pass}, {Seconds: 2, Outcome: memtrix.Pass}}}
	size := c.Cell.Hardware.VRAM
	if c.Cell.Hardware.RAM > 0 {
		size = c.Cell.Hardware.RAM
	}
	if size == 0 {
		size = 140 * gib
		t.Probe = &memtrix.Probe{Prompts: []memtrix.ProbePrompt{{NonEvictable: nil}, {NonEvictable: &m.evict}}}
	}
	t.Environment = memtrix.Environment{"banner.total-vram": fmt.Sprint(140 * gib), "ram.total": fmt.Sprint(140 * gib)}
	t.Spans = []memtrix.Span{{Kind: memtrix.SpanStart, Peaks: []memtrix.Peak{
		{Meter: memtrix.VRAMTrialUsed, Value: m.peak}, {Meter: memtrix.RAMTreeRSS, Value: m.peak},
	}}}
	t.Outcome.Kind = memtrix.Pass
	if size < m.retries {
		t.Outcome.HiddenRetries = 1
	}
	if size < m.floor {
		t.Outcome = memtrix.Outcome{Kind: memtrix.OOM, Memory: memtrix.MemoryVRAM, Message: "VRAM ran out"}
	}
	if k, ok := m.outcomes[len(m.ran)]; ok {
		t.Outcome = memtrix.Outcome{Kind: k, Message: "as told"}
	}
	return t, nil
}

func aCell() memtrix.PlannedCell {
	graph := map[string]memtrix.GraphNode{
		"4": {ClassType: "EmptyLatentImage", Inputs: map[string]json.RawMessage{"width": raw("1024"), "height": raw("768"), "batch_size": raw("1")}},
		"5": {ClassType: "KSampler", Inputs: map[string]json.RawMessage{"seed": raw("1"), "latent_image": raw(`["4", 0]`)}},
	}
	return memtrix.PlannedCell{Status: memtrix.StatusRun, Cell: memtrix.Cell{
		Version: memtrix.Version{Name: "0.29.0"}, Workflow: memtrix.Workflow{Name: "w", Graph: graph, Hash: "base"}, Hardware: memtrix.Hardware{Name: "as-is"},
	}}
}

func raw(s string) json.RawMessage { return json.RawMessage(s) }

func TestFloor(t *testing.T) {
	m := &fakeMachine{t: t, floor: 3000 * mib, peak: 8 * gib, retries: 4 * gib}
	var limit time.Duration
	r, err := Floor(context.Background(), FloorOptions{Meter: FloorOfVRAM, Most: 12, Slower: 10, Limit: func(d time.Duration) { limit = d }}, aCell(), m.try)
	if err != nil {
		t.Fatal(err)
	}
	if r.Floor < m.floor || r.Floor > m.floor+128*mib || r.Fails >= m.floor || !r.Near || !r.Sure || !r.Monotonic || r.Peak != 8*gib || !r.Found {
		t.Errorf("%+v", r)
	}
	for _, want := range []string{"on this card", "each tried twice", "only after allocations that failed"} {
		if !strings.Contains(r.Verdict, want) {
			t.Errorf("verdict %q lacks %q", r.Verdict, want)
		}
	}
	if limit != 90*time.Second {
		t.Errorf("prompts are bound by %v, want 10 times the slowest", limit)
	}
	if first := r.Tries[0]; !first.AsIs || first.Size != 140*gib || first.First != 9 || first.Last != 2 || first.Trial != 1 {
		t.Errorf("first try: %+v", first)
	}
	if h := m.ran[1].Cell.Hardware; h.VRAM == 0 || h.RAM != 0 || h.Name != fmt.Sprintf("vram-%dMiB", h.VRAM>>20) {
		t.Errorf("a smaller card: %+v", h)
	}
	v, ok := r.Value()
	if !ok || v.Meter != memtrix.FloorVRAM || v.Value != r.Floor || v.Low != r.Fails || v.Trial != 1 || len(v.Trials) != len(r.Tries) {
		t.Errorf("value: %+v", v)
	}
}

// The non-evictable peak of the first trial saves tries.
func TestFloorFromNonEvictable(t *testing.T) {
	m := &fakeMachine{t: t, floor: 3000 * mib, peak: 80 * gib, evict: 2950 * mib}
	r, err := Floor(context.Background(), FloorOptions{Meter: FloorOfVRAM, Most: 12}, aCell(), m.try)
	if err != nil || r.Floor < m.floor || !r.Near || r.NonEvictable != m.evict || len(r.Tries) > 9 {
		t.Errorf("%v %+v", err, r)
	}
}

func TestFloorOfRAM(t *testing.T) {
	m := &fakeMachine{t: t, floor: 3000 * mib, peak: 5 * gib}
	c := aCell()
	c.Cell.Hardware = memtrix.Hardware{Name: "card", VRAM: 8 * gib}
	swap := int64(0)
	r, err := Floor(context.Background(), FloorOptions{Meter: FloorOfRAM, Most: 12, Swap: &swap}, c, m.try)
	if err != nil || r.Floor < m.floor || r.Floor > m.floor+128*mib {
		t.Fatalf("%v %+v", err, r)
	}
	h := m.ran[1].Cell.Hardware
	if h.RAM == 0 || h.VRAM != 8*gib || h.Swap == nil || *h.Swap != 0 || !strings.HasPrefix(h.Name, "card ram-") {
		t.Errorf("a smaller machine: %+v", h)
	}
	if !strings.Contains(r.Verdict, "on this machine, without swap") {
		t.Errorf("verdict %q", r.Verdict)
	}
}

func TestNoFloor(t *testing.T) {
	m := &fakeMachine{t: t, floor: 200 * gib}
	r, err := Floor(context.Background(), FloorOptions{Meter: FloorOfVRAM, Most: 12}, aCell(), m.try)
	if err != nil || r.Found || !strings.Contains(r.Verdict, "does not pass as it is") {
		t.Errorf("%v %+v", err, r)
	}
	if _, ok := r.Value(); ok {
		t.Error("no floor has a value")
	}
	m = &fakeMachine{t: t, peak: gib, outcomes: map[int]memtrix.OutcomeKind{1: memtrix.NotInForce}}
	if _, err := Floor(context.Background(), FloorOptions{Meter: FloorOfVRAM, Most: 12}, aCell(), m.try); err == nil {
		t.Error("a setting that is not in force gives a floor")
	}
	stopped := func(context.Context, memtrix.PlannedCell, int) (*memtrix.Trial, error) { return nil, context.Canceled }
	if _, err := Floor(context.Background(), FloorOptions{Meter: FloorOfVRAM, Most: 12}, aCell(), stopped); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
}

// pixels passes up to so many pixels.
func pixels(most int64) Try {
	n := int64(0)
	return func(_ context.Context, c memtrix.PlannedCell, repeat int) (*memtrix.Trial, error) {
		n++
		t := &memtrix.Trial{ID: n, Cell: c.Cell, Outcome: memtrix.Outcome{Kind: memtrix.Pass}}
		var w, h, b int64
		in := c.Cell.Workflow.Graph["4"].Inputs
		for name, v := range map[string]*int64{"width": &w, "height": &h, "batch_size": &b} {
			if err := json.Unmarshal(in[name], v); err != nil {
				return nil, err
			}
		}
		if w*h*b > most {
			t.Outcome.Kind = memtrix.OOM
		}
		return t, nil
	}
}

func TestCeiling(t *testing.T) {
	r, err := Ceiling(context.Background(), CeilingOptions{Most: 12}, aCell(), pixels(5_000_000))
	if err != nil || r.Vary != VaryPixels || r.Ceiling > 5_000_000 || r.Fails <= 5_000_000 || !r.Near || !r.Sure {
		t.Errorf("%v %+v", err, r)
	}
	if r.Tries[0].Label != "1024x768" || !r.Tries[0].AsIs || r.Tries[1].Label != "2048x1536" || strings.Join(r.Inputs, " ") != "4.width 4.height" {
		t.Errorf("%+v", r)
	}
	r, err = Ceiling(context.Background(), CeilingOptions{Vary: VaryBatch, Most: 12}, aCell(), pixels(9*1024*768))
	if err != nil || r.Ceiling != 9 || r.Fails != 10 || !strings.Contains(r.Verdict, "passes with 9 images on this card, and not with 10 images") {
		t.Errorf("%v %+v", err, r)
	}
	if v, ok := r.Value(); !ok || v.Meter != "ceiling.batch" || v.Value != 9 {
		t.Errorf("%+v", v)
	}
	r, err = Ceiling(context.Background(), CeilingOptions{Vary: VaryBatch, Most: 12}, aCell(), pixels(5))
	if err != nil || r.Found {
		t.Errorf("%v %+v", err, r)
	}
	if _, err := Ceiling(context.Background(), CeilingOptions{Vary: VaryFrames, Most: 12}, aCell(), pixels(5)); err == nil {
		t.Error("frames of a picture are raised")
	}
}

func TestLadders(t *testing.T) {
	video := func(class, length string) memtrix.Workflow {
		return memtrix.Workflow{Name: "v", Graph: map[string]memtrix.GraphNode{
			"1": {ClassType: class, Inputs: map[string]json.RawMessage{"length": raw(length), "width": raw("832"), "height": raw("480"), "batch_size": raw("1")}},
		}}
	}
	check := func(w memtrix.Workflow, vary Vary, rungs int64, want string) {
		t.Helper()
		l, err := newLadder(w, vary)
		if err != nil {
			t.Fatal(err)
		}
		got := []string{l.label(l.first), l.label(l.first + rungs)}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %s", l.vary, got, want)
		}
		up, err := l.at(l.first + rungs)
		if err != nil || up.Hash == w.Hash {
			t.Errorf("%v: hash %q", err, up.Hash)
		}
		same, err := l.at(l.first)
		if err != nil || same.Hash != w.Hash || same.Name != w.Name {
			t.Errorf("the workflow as it is was changed: %v", err)
		}
	}
	check(video("EmptyHunyuanLatentVideo", "33"), "", 1, "33 frames 37 frames")
	check(video("EmptyLTXVLatentVideo", "97"), VaryFrames, 2, "97 frames 113 frames")
	check(video("SVD_img2vid_Conditioning", "14"), VaryFrames, 3, "14 frames 17 frames")
	check(video("EmptyHunyuanLatentVideo", "33"), VaryPixels, 1, "832x480 896x512")
	check(video("EmptyHunyuanLatentVideo", "33"), VaryBatch, 1, "1 image 2 images")
}

// A floor that was found before is looked at first: where it still holds, a few trials
// say so, and where it moved, a few more.
func TestFloorAgain(t *testing.T) {
	for name, c := range map[string]struct {
		floor int64
		most  int
	}{"holds": {3000 * mib, 6}, "a little more": {3200 * mib, 10}, "a little less": {2700 * mib, 10}, "twice": {6000 * mib, 12}, "half": {1500 * mib, 12}} {
		m := &fakeMachine{t: t, floor: c.floor, peak: 80 * gib}
		r, err := Floor(context.Background(), FloorOptions{Meter: FloorOfVRAM, Most: 12, Before: 3072 * mib, BeforeFails: 2960 * mib}, aCell(), m.try)
		if err != nil || r.Floor < m.floor || r.Floor > m.floor+128*mib || len(r.Tries) > c.most {
			t.Errorf("%s: %v floor %d MiB after %d tries: %+v", name, err, r.Floor/mib, len(r.Tries), r.Tries)
		}
	}
}
