package results

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"testing"
	"time"

	"memtrix"
)

func ptr[T any](v T) *T { return &v }

// fullTrial has a value other than zero in every field.
func fullTrial(session int64) *memtrix.Trial {
	node := &memtrix.Node{ID: "5.0.1", DisplayID: "5", ClassType: "KSampler", Title: "the <sampler> & \"é\""}
	return &memtrix.Trial{
		Session: session,
		Cell: memtrix.Cell{
			Version: memtrix.Version{
				Name: "0.29.0", Target: memtrix.TargetComfyUI, Dir: "/srv/comfy", Python: "/srv/venv/bin/python",
				Release: "0.29.0", Commit: "a8c44f9b", Dirty: []string{"nodes.py"}, Packages: map[string]string{"torch": "2.11.0+cu130"},
				Packs:    []memtrix.Pack{{Name: "p", Dir: "/p", Source: "https://h/p", Commit: "c1", Dirty: true, Hash: "h1", Requirements: []string{"gguf"}}},
				Attached: &memtrix.Attached{URL: "http://127.0.0.1:8188", Argv: []string{"--lowvram"}, Local: true, Simulated: true},
			},
			Settings: memtrix.Settings{"dynamic-vram": "off", "vram-mode": "low"},
			Hardware: memtrix.Hardware{Name: "8gib", VRAM: 8 << 30, RAM: 16 << 30, Swap: ptr(int64(4 << 30))},
			Workflow: memtrix.Workflow{
				Name: "sdxl", Source: "built-in", Hash: "abc",
				Graph: map[string]memtrix.GraphNode{"5": {
					ClassType: "KSampler", Meta: &memtrix.GraphMeta{Title: "t"},
					Inputs: map[string]json.RawMessage{"text": json.RawMessage(`"<lora:x> & é"`), "cfg": json.RawMessage(`7.50`), "model": json.RawMessage(`["1",0]`)},
				}},
				UI: json.RawMessage(`{"nodes":[{"id":5}]}`), Changes: []memtrix.Change{{Path: "5.steps", Value: json.RawMessage(`2`)}}, VaryPaths: []string{"5.seed"},
				Vary: []memtrix.Input{{Node: "5", Name: "seed"}}, StandIns: []memtrix.StandIn{{Name: "sdxl.safetensors", Family: "sdxl", DType: "fp16", Fill: "zero", Bytes: 6938040464}},
			},
			Probe: true,
		},
		Repeat: 2, Argv: []string{"--lowvram", "--disable-dynamic-vram"},
		Started: time.Date(2026, 11, 30, 15, 4, 5, 123456789, time.UTC),
		Seconds: 51.718, OwnSeconds: 0.1 + 0.2,
		Outcome: memtrix.Outcome{
			Kind: memtrix.OOM, Memory: memtrix.MemoryVRAM, How: memtrix.HowException, Phase: memtrix.PhaseSample, Node: node,
			Requested: ptr(int64(1006632960)), Free: ptr(int64(0)), HiddenRetries: 3, Message: "VRAM ran out",
			Unallocated: ptr(int64(7)), Holders: []memtrix.Holder{{PID: 581, Name: "jupyter", Bytes: 9}}, FallBacks: []string{"Pin error."}, Rule: "torch.native",
			Slow:     &memtrix.Slow{Before: 1.5, After: 20, Memory: memtrix.MemoryRAM, Moved: []string{"swap"}},
			Evidence: []string{"Requested : 960.00 MiB"}, Advice: []string{"less"},
		},
		Expect: memtrix.OOM, Shared: true, Control: true, Confirms: true,
		Prompts: []memtrix.PromptResult{
			{Index: 1, ID: "a", Seconds: 8.19, Outcome: memtrix.Pass, Executed: []string{"1", "5"}, Cached: []string{"2"}},
			{Index: 2, ID: "b", Seconds: 1.06, Outcome: memtrix.OOM},
		},
		Spans: []memtrix.Span{
			{Kind: memtrix.SpanStart, End: 14 * time.Second, Peaks: []memtrix.Peak{
				{Meter: memtrix.RAMTreeRSS, Value: 1, How: memtrix.PeakSampled, At: 3},
				{Meter: memtrix.RAMTreeRSS, Value: 2, How: memtrix.PeakKernel},
			}},
			{Kind: memtrix.SpanIdle, Start: 14 * time.Second, End: 15 * time.Second},
			{Kind: memtrix.SpanNode, Prompt: 2, Node: node, Start: 15 * time.Second, End: 16*time.Second + 1, Peaks: []memtrix.Peak{
				{Meter: memtrix.VRAMDeviceUsed, Value: math.MaxInt64, How: memtrix.PeakProbe, At: 15*time.Second + 7},
			}},
		},
		Imports: []memtrix.PackImport{
			{Pack: "good", Seconds: ptr(1.5), PrestartSeconds: ptr(0.0), RAM: ptr(int64(-4096)), Begin: 3, End: 4},
			{Pack: "bad.py", Failed: true, Reason: "No module named 'x'", RAMWhy: "not told"},
		},
		Readings: []memtrix.Reading{
			{Kind: memtrix.Rested, At: 30 * time.Second, Values: map[string]int64{memtrix.RAMTreeRSS: 9, memtrix.VRAMTrialUsed: -4096}},
			{Kind: memtrix.Freed, At: 40 * time.Second, Note: "had not acted after 10 s"},
		},
		Series: []memtrix.Series{
			{Meter: memtrix.Meter{Name: memtrix.RAMTreeRSS, Unit: memtrix.UnitBytes, Source: "/proc/PID/status"},
				T: []time.Duration{0, 10_000_123, 20_000_456}, V: []int64{4096, 1 << 30, 12288}},
			{Meter: memtrix.Meter{Name: memtrix.FaultsTreeMajor, Unit: memtrix.UnitCount, Source: "/proc/PID/stat", Counter: true},
				T: []time.Duration{0, 20_000_456}, V: []int64{0, 7}},
			{Meter: memtrix.Meter{Name: memtrix.VRAMDeviceUsed, Unit: memtrix.UnitBytes, Source: "simulated card", Simulated: true}},
		},
		Exit:        memtrix.Exit{Asked: true, Status: 137, Signal: "KILL", BySignal: "INT", Unknown: true},
		Environment: memtrix.Environment{"driver": "580.159", "kernel": "6.18"},
		Dir:         "/srv/elsewhere/trials/one", Simulated: true, Warnings: []string{"warm-up failed"}, Probe: fullProbe(),
		Keep: memtrix.KeepFull, Marked: true,
	}
}

// same compares two trials and names the first field that differs.
func same(t *testing.T, want, got *memtrix.Trial) {
	t.Helper()
	if reflect.DeepEqual(want, got) {
		return
	}
	w, g := reflect.ValueOf(*want), reflect.ValueOf(*got)
	for i := range w.NumField() {
		if a, b := w.Field(i).Interface(), g.Field(i).Interface(); !reflect.DeepEqual(a, b) {
			t.Errorf("%s:\nwant %+v\n got %+v", w.Type().Field(i).Name, a, b)
		}
	}
}

// Ensure that the example really has a value in each field, so that a field
// which is added later and not stored fails the round trip.
func TestFullTrialIsFull(t *testing.T) {
	trial := fullTrial(1)
	trial.ID = 1
	var look func(path string, v reflect.Value)
	look = func(path string, v reflect.Value) {
		if v.IsZero() {
			t.Errorf("%s is zero", path)
			return
		}
		if v.Kind() == reflect.Pointer {
			v = v.Elem()
		}
		if v.Kind() == reflect.Struct && v.Type() != reflect.TypeFor[time.Time]() {
			for i := range v.NumField() {
				if v.Type().Field(i).Tag.Get("json") == "-" {
					continue // never stored
				}
				look(path+"."+v.Type().Field(i).Name, v.Field(i))
			}
		}
	}
	trial.Outcome.Free = ptr(int64(1)) // the real one is 0: told, and nothing was free
	look("Trial", reflect.ValueOf(*trial))
}

func TestTrialRoundTrip(t *testing.T) {
	ctx := context.Background()
	db := mustOpen(t, t.TempDir())
	session := mustStart(t, db, "nightly", "one")
	empty := &memtrix.Trial{Session: session.ID}
	for name, want := range map[string]*memtrix.Trial{"full": fullTrial(session.ID), "empty": empty} {
		mustSave(t, db, want)
		if want.ID == 0 {
			t.Fatalf("%s: no ID", name)
		}
		got, err := db.Trial(ctx, want.ID)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		same(t, want, got)
		if err := db.SaveTrial(ctx, want); err == nil {
			t.Errorf("%s: stored twice without an error", name)
		}
	}
	if _, err := db.Trial(ctx, 4711); !errors.Is(err, ErrNotFound) {
		t.Errorf("no such trial: got %v", err)
	}
}

// Ensure that trials of one cell keep their own names and paths, and that a
// session's trials come in order, their series without points.
func TestTrials(t *testing.T) {
	ctx := context.Background()
	db := mustOpen(t, t.TempDir())
	one, other := mustStart(t, db, "nightly", "one"), mustStart(t, db, "nightly", "other")
	var want []*memtrix.Trial
	for i := range 3 {
		trial := fullTrial(one.ID)
		trial.Repeat = i
		trial.Cell.Version.Name = fmt.Sprint("name ", i)
		trial.Cell.Workflow.Source = fmt.Sprint("source ", i)
		mustSave(t, db, trial)
		want = append(want, trial)
	}
	mustSave(t, db, fullTrial(other.ID))
	got, err := db.Trials(ctx, one.ID)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != len(want) {
		t.Fatalf("want %d trials, got %d", len(want), len(got))
	}
	for i := range want {
		for j, s := range want[i].Series {
			want[i].Series[j] = memtrix.Series{Meter: s.Meter}
		}
		same(t, want[i], got[i])
	}
	if got, err := db.Trials(ctx, 4711); err != nil || len(got) != 0 {
		t.Errorf("no such session: got %d trials, %v", len(got), err)
	}
	for table, want := range map[string]int{"cells": 1, "environments": 1, "meters": 3, "versions": 4, "workflows": 4, "trials": 4} {
		var n int
		if err := db.sql.QueryRow("SELECT count(*) FROM " + table).Scan(&n); err != nil || n != want {
			t.Errorf("%s: want %d rows, got %d, %v", table, want, n, err)
		}
	}
}

// Ensure that a trial that cannot be stored leaves nothing behind.
func TestSaveTrialFails(t *testing.T) {
	ctx := context.Background()
	db := mustOpen(t, t.TempDir())
	session := mustStart(t, db, "nightly", "one")
	check := func(change func(*memtrix.Trial), words ...string) {
		t.Helper()
		trial := fullTrial(session.ID)
		change(trial)
		says(t, db.SaveTrial(ctx, trial), words...)
		if trial.ID != 0 {
			t.Errorf("ID set to %d", trial.ID)
		}
		for _, table := range []string{"trials", "cells", "spans", "series", "environments"} {
			var n int
			if err := db.sql.QueryRow("SELECT count(*) FROM " + table).Scan(&n); err != nil || n != 0 {
				t.Errorf("%s: %d rows left, %v", table, n, err)
			}
		}
	}
	check(func(t *memtrix.Trial) { t.Session = 4711 }, "session 4711", "not found")
	check(func(t *memtrix.Trial) { t.Series[0].V = t.Series[0].V[:1] }, memtrix.RAMTreeRSS, "3 moments and 1 values")
	check(func(t *memtrix.Trial) { t.Series[0].T[1] = -1 }, memtrix.RAMTreeRSS, "before the one in front of it")
	check(func(t *memtrix.Trial) {
		t.Cell.Workflow.Graph = map[string]memtrix.GraphNode{"1": {Inputs: map[string]json.RawMessage{"x": json.RawMessage(`{`)}}}
	}, "JSON")
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	if err := db.SaveTrial(canceled, fullTrial(session.ID)); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: got %v", err)
	}
}

// Ensure that a damaged series is an error, and that the rest of the trial can
// still be read.
func TestDamagedSeries(t *testing.T) {
	ctx := context.Background()
	db := mustOpen(t, t.TempDir())
	session := mustStart(t, db, "nightly", "one")
	trial := fullTrial(session.ID)
	mustSave(t, db, trial)
	if _, err := db.sql.Exec(`UPDATE series SET data = x'0100' || substr(data, 3) || x'00' WHERE seq = 1`); err != nil {
		t.Fatal(err)
	}
	_, err := db.Trial(ctx, trial.ID)
	says(t, err, memtrix.FaultsTreeMajor, "damaged")
	if got, err := db.Trials(ctx, session.ID); err != nil || len(got) != 1 {
		t.Errorf("without series: got %d trials, %v", len(got), err)
	}
}

func BenchmarkSaveTrial(b *testing.B) {
	db := mustOpen(b, b.TempDir())
	session := mustStart(b, db, "nightly", "one")
	series := rough(recorded(b, "029-8gib-disable-dynamic-vram"))
	for b.Loop() {
		trial := fullTrial(session.ID)
		trial.Series = series
		mustSave(b, db, trial)
	}
}
