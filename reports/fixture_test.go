package reports

import (
	"bufio"
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"memtrix"
)

var update = flag.Bool("update", false, "rewrite the goldens")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != got {
		if err := os.WriteFile(filepath.Join("testdata", name+".got"), []byte(got), 0o644); err != nil {
			t.Log(err)
		}
		t.Errorf("%s differs; want\n%s\ngot\n%s", path, want, got)
	}
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// recorded builds a trial from a recording of a real run.
func recorded(t testing.TB, name string) *memtrix.Trial {
	t.Helper()
	dir := filepath.Join("testdata", name)
	var meta struct {
		ComfyUI string  `json:"comfyui"`
		Commit  string  `json:"commit"`
		Card    *string `json:"card"`
		Ready   float64 `json:"ready_s"`
		End     float64 `json:"end_s"`
		Before  int64   `json:"device_used_before_mib"`
	}
	data, err := os.ReadFile(filepath.Join(dir, "meta.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &meta); err != nil {
		t.Fatal(err)
	}
	trial := &memtrix.Trial{
		ID:      7,
		Cell:    memtrix.Cell{Version: memtrix.Version{Name: meta.ComfyUI, Commit: meta.Commit}, Workflow: memtrix.Workflow{Name: "sdxl", Hash: "w1"}, Hardware: memtrix.Hardware{Name: "as-is"}},
		Seconds: meta.End,
		Outcome: memtrix.Outcome{Kind: memtrix.Pass},
	}
	readMemory(t, trial, filepath.Join(dir, "memory.csv.gz"), meta.Before, meta.Card != nil)
	readEvents(t, trial, filepath.Join(dir, "events.jsonl.gz"))
	spans := []memtrix.Span{{Kind: memtrix.SpanStart, End: seconds(meta.Ready)}}
	if len(trial.Spans) > 0 {
		spans = append(spans, memtrix.Span{Kind: memtrix.SpanIdle, Start: seconds(meta.Ready), End: trial.Spans[0].Start})
		spans = append(spans, trial.Spans...)
		last := trial.Spans[len(trial.Spans)-1].End
		spans = append(spans, memtrix.Span{Kind: memtrix.SpanSettle, Start: last, End: seconds(meta.End)})
	}
	end := trial.Series[0].T[len(trial.Series[0].T)-1]
	trial.Spans = append(spans, memtrix.Span{Kind: memtrix.SpanStop, Start: seconds(meta.End), End: max(end, seconds(meta.End+0.4))})
	addPeaks(trial)
	return trial
}

func gunzip(t testing.TB, path string) io.Reader {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	r, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func readMemory(t testing.TB, trial *memtrix.Trial, path string, before int64, card bool) {
	t.Helper()
	rows, err := csv.NewReader(gunzip(t, path)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	series := []memtrix.Series{
		{Meter: memtrix.Meter{Name: memtrix.VRAMTrialUsed, Unit: memtrix.UnitBytes, Source: "NVML device used less use before"}},
		{Meter: memtrix.Meter{Name: memtrix.RAMTreeRSS, Unit: memtrix.UnitBytes, Source: "/proc/PID/status VmRSS"}},
		{Meter: memtrix.Meter{Name: memtrix.RAMTreeAnon, Unit: memtrix.UnitBytes, Source: "/proc/PID/status RssAnon"}},
	}
	for _, row := range rows[1:] {
		at, err := strconv.ParseFloat(row[0], 64)
		if err != nil {
			t.Fatal(err)
		}
		for i := range series {
			v, err := strconv.ParseInt(row[i+1], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			if i == 0 {
				v -= before
			}
			s := &series[i]
			s.T, s.V = append(s.T, seconds(at)), append(s.V, v*mib)
		}
	}
	if !card {
		series = series[1:]
	}
	trial.Series = series
}

// readEvents makes prompt and node spans and readings of the client's events.
func readEvents(t testing.TB, trial *memtrix.Trial, path string) {
	t.Helper()
	classes := map[string]string{"1": "CheckpointLoaderSimple", "2": "CLIPTextEncode", "3": "CLIPTextEncode", "4": "EmptyLatentImage", "5": "KSampler", "6": "VAEDecode", "7": "SaveImage"}
	var prompts, nodes []memtrix.Span
	endNode := func(at time.Duration) {
		if n := len(nodes); n > 0 && nodes[n-1].End == 0 {
			nodes[n-1].End = at
		}
	}
	lines := bufio.NewScanner(gunzip(t, path))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e struct {
			T     float64         `json:"t_s"`
			Post  json.RawMessage `json:"post_prompt"`
			Rest  json.RawMessage `json:"rested"`
			Freed json.RawMessage `json:"freed"`
			Frame struct {
				Type string `json:"type"`
				Data struct {
					Node *string `json:"node"`
				} `json:"data"`
			} `json:"frame"`
		}
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		at := seconds(e.T)
		switch {
		case e.Post != nil:
			prompts = append(prompts, memtrix.Span{Kind: memtrix.SpanPrompt, Prompt: len(prompts) + 1, Start: at})
		case e.Rest != nil:
			trial.Readings = append(trial.Readings, readingAt(trial, memtrix.Rested, at))
		case e.Freed != nil:
			trial.Readings = append(trial.Readings, readingAt(trial, memtrix.Freed, at))
		case e.Frame.Type == "executing" && e.Frame.Data.Node != nil:
			endNode(at)
			id := *e.Frame.Data.Node
			nodes = append(nodes, memtrix.Span{Kind: memtrix.SpanNode, Prompt: len(prompts), Node: &memtrix.Node{ID: id, ClassType: classes[id]}, Start: at})
		case e.Frame.Type == "execution_success", e.Frame.Type == "execution_error":
			endNode(at)
			p := &prompts[len(prompts)-1]
			p.End = at
			kind := memtrix.Pass
			if e.Frame.Type == "execution_error" {
				kind = memtrix.OOM
			}
			trial.Prompts = append(trial.Prompts, memtrix.PromptResult{Index: len(prompts), Seconds: (p.End - p.Start).Seconds(), Outcome: kind})
		}
	}
	trial.Spans = append(prompts, nodes...)
}

func readingAt(trial *memtrix.Trial, kind memtrix.ReadingKind, at time.Duration) memtrix.Reading {
	r := memtrix.Reading{Kind: kind, At: at, Values: map[string]int64{}}
	for _, s := range trial.Series {
		for i, st := range s.T {
			if st <= at {
				r.Values[s.Meter.Name] = s.V[i]
			}
		}
	}
	return r
}

func addPeaks(trial *memtrix.Trial) {
	for i := range trial.Spans {
		span := &trial.Spans[i]
		for _, s := range trial.Series {
			p := memtrix.Peak{Meter: s.Meter.Name, How: memtrix.PeakSampled, Value: -1}
			for k, at := range s.T {
				if at >= span.Start && at <= span.End && s.V[k] > p.Value {
					p.Value, p.At = s.V[k], at
				}
			}
			if p.Value >= 0 {
				span.Peaks = append(span.Peaks, p)
			}
		}
	}
}
