package reports

import (
	"slices"
	"testing"
	"time"

	"memtrix"
)

// TestChartKeepsExtremes: of a real recording the largest and the least reading are in
// the chart, at however few columns, and moments go forward.
func TestChartKeepsExtremes(t *testing.T) {
	trial := recorded(t, "029-8gib-default")
	for _, columns := range []int{1, 40, 260} {
		c := NewChart(trial, columns)
		if len(c.Stacks) != 2 || c.Stacks[0].Title != "VRAM" || c.Stacks[1].Title != "RAM" {
			t.Fatalf("stacks: %+v", c.Stacks)
		}
		vram := c.Stacks[0]
		at := unsteps(vram.T)
		if !slices.IsSorted(at) {
			t.Errorf("%d columns: moments go back", columns)
		}
		if got, most := len(at), 3*(columns+3)+6; got > most {
			t.Errorf("%d columns: want at most %d moments, got %d", columns, most, got)
		}
		if len(vram.Layers) != 1 || len(vram.Layers[0].V) != len(at) {
			t.Fatalf("%d columns: layers %+v", columns, vram.Layers)
		}
		s, _ := seriesOf(trial, memtrix.VRAMTrialUsed)
		got := unsteps(vram.Layers[0].V)
		if want := slices.Max(s.V) * 10 / mib; slices.Max(got) != want {
			t.Errorf("%d columns: want the peak %d, got %d", columns, want, slices.Max(got))
		}
	}
}

// TestChartKeepsLevels: what a series rests at between two columns with readings is its
// last one there, be it neither the least nor the largest, and what a probe tells while
// the total stands still is drawn.
func TestChartKeepsLevels(t *testing.T) {
	ms := time.Millisecond
	at := []time.Duration{0, 1000 * ms, 1001 * ms, 1002 * ms, 9000 * ms}
	trial := &memtrix.Trial{Spans: []memtrix.Span{{Kind: memtrix.SpanPrompt, Prompt: 1, End: 10 * time.Second}}, Series: []memtrix.Series{
		{Meter: memtrix.Meter{Name: memtrix.VRAMTrialUsed}, T: at, V: []int64{0, 1 * mib, 10 * mib, 7 * mib, 8 * mib}},
		{Meter: memtrix.Meter{Name: memtrix.TorchReserved}, T: []time.Duration{1500 * ms, 5000 * ms}, V: []int64{6 * mib, 2 * mib}},
	}}
	s := NewChart(trial, 20).Stacks[0]
	total, torch := make([]int64, len(s.T)), make([]int64, len(s.T))
	for _, l := range s.Layers {
		for k, v := range unsteps(l.V) {
			total[k] += v
			if l.Kind == "cached" {
				torch[k] = v
			}
		}
	}
	level := func(list []int64, at int64) (v int64) {
		for k, m := range unsteps(s.T) {
			if m <= at {
				v = list[k]
			}
		}
		return v
	}
	for _, c := range []struct{ at, total, torch int64 }{{900, 0, 0}, {1001, 100, 0}, {1400, 70, 0}, {2000, 70, 60}, {6000, 70, 20}, {9500, 80, 20}} {
		if got, told := level(total, c.at), level(torch, c.at); got != c.total || told != c.torch {
			t.Errorf("at %d ms: want %d, torch %d, got %d and %d", c.at, c.total, c.torch, got, told)
		}
	}
}

// TestChartHolders: what a probe told divides what is used, to the last tenth of a MiB,
// and nothing is below zero.
func TestChartHolders(t *testing.T) {
	moments := []time.Duration{0, time.Second, 2 * time.Second, 3 * time.Second}
	series := func(name string, v ...int64) memtrix.Series {
		s := memtrix.Series{Meter: memtrix.Meter{Name: name, Unit: memtrix.UnitBytes}, T: moments[:len(v)]}
		for _, n := range v {
			s.V = append(s.V, n*mib)
		}
		return s
	}
	trial := &memtrix.Trial{ID: 1, Spans: []memtrix.Span{{Kind: memtrix.SpanPrompt, Prompt: 1, End: 3 * time.Second}}, Series: []memtrix.Series{
		series(memtrix.VRAMDeviceUsed, 600, 5600, 7600, 1100),
		series(memtrix.VRAMTrialUsed, 0, 5000, 7000, 500),
		series(memtrix.TorchReserved, 0, 4000, 4200, 0),
		series(memtrix.TorchAllocated, 0, 3500, 4000, 0),
		series(memtrix.AimdoWeights, 0, 600, 2000, 100),
		series(memtrix.AimdoBuffers, 0, 0, 0, 0),
		series(memtrix.WeightsPrefix+"Flux", 0, 400, 1500, 0),
	}}
	c := NewChart(trial, 100)
	if len(c.Stacks) != 1 || c.Stacks[0].Total != memtrix.VRAMDeviceUsed {
		t.Fatalf("want one stack of the card, got %+v", c.Stacks)
	}
	s := c.Stacks[0]
	want := map[string][]int64{
		"torch": {0, 3500, 4000, 0}, "cached": {0, 500, 200, 0}, "weights": {0, 200, 500, 100}, "model0": {0, 400, 1500, 0},
		"trial": {0, 400, 800, 400}, "others": {600, 600, 600, 600},
	}
	at := unsteps(s.T)
	if len(s.Layers) != len(want) {
		t.Errorf("want %d layers, got %+v", len(want), s.Layers)
	}
	for _, l := range s.Layers {
		for i, v := range unsteps(l.V) {
			if n := want[l.Kind][at[i]/1000] * 10; v != n {
				t.Errorf("%s at %d ms: want %d, got %d", l.Name, at[i], n, v)
			}
		}
	}
}

// TestChartSums: whatever other sources told, and when, the layers of a moment sum up to
// the total that was read then; what was told long ago gives way to it.
func TestChartSums(t *testing.T) {
	second := time.Second
	series := func(name string, at []time.Duration, v ...int64) memtrix.Series {
		s := memtrix.Series{Meter: memtrix.Meter{Name: name, Unit: memtrix.UnitBytes}, T: at}
		for _, n := range v {
			s.V = append(s.V, n*mib)
		}
		return s
	}
	all, early := []time.Duration{0, second, 2 * second, 3 * second}, []time.Duration{0, 1500 * time.Millisecond, 1600 * time.Millisecond}
	trial := &memtrix.Trial{Spans: []memtrix.Span{{Kind: memtrix.SpanPrompt, Prompt: 1, End: 3 * second}}, Series: []memtrix.Series{
		series(memtrix.VRAMDeviceUsed, all, 100, 3100, 5100, 700),
		series(memtrix.VRAMTrialUsed, all, 0, 3000, 5000, 600),
		series(memtrix.TorchReserved, early, 0, 2000, 4000), // the server died after it
		series(memtrix.TorchAllocated, early, 0, 2000, 3000),
		series(memtrix.WeightsPrefix+"SDXL", early, 0, 500, 900),
		series(memtrix.RAMTreeRSS, all, 10, 900, 500, 300),
		series(memtrix.RAMTreeAnon, all, 8, 500, 400, 100),
		series(memtrix.RAMTreeShmem, early, 0, 150, 150),
	}}
	stacks := NewChart(trial, 100).Stacks
	want := []map[string][]int64{
		{"model0": {0, 0, 500, 900, 900, 600}, "torch": {0, 0, 1500, 2100, 2100, 0}, "cached": {0, 0, 0, 0, 1000, 0},
			"trial": {0, 3000, 1000, 0, 1000, 0}, "others": {100, 100, 100, 100, 100, 100}},
		{"anon": {8, 500, 500, 500, 400, 100}, "shmem": {0, 0, 150, 150, 100, 150}, "file": {2, 400, 250, 250, 0, 50}},
	}
	moments := []int64{0, 1000, 1500, 1600, 2000, 3000}
	for i, s := range stacks {
		total, _ := seriesOf(trial, s.Total)
		at, sum := unsteps(s.T), make([]int64, len(s.T))
		if len(s.Layers) != len(want[i]) || !slices.Equal(at, moments) {
			t.Fatalf("want %d layers at %d, got %+v at %d", len(want[i]), moments, s.Layers, at)
		}
		for _, l := range s.Layers {
			for k, v := range unsteps(l.V) {
				if n := want[i][l.Kind][k] * 10; v != n {
					t.Errorf("%s at %d ms: want %d, got %d", l.Name, at[k], n, v)
				}
				sum[k] += v
			}
		}
		for k, v := range sum {
			if n := total.V[at[k]/1000] * 10 / mib; v != n {
				t.Errorf("%s at %d ms: want %d in all, got %d", s.Title, at[k], n, v)
			}
		}
	}
}

// TestChartAside: what others hold all the time is drawn where it leaves room for the
// trial, and else said; what there is is marked where the trial comes near it.
func TestChartAside(t *testing.T) {
	const g = 10240 // tenths of a MiB
	for _, c := range []struct {
		name                 string
		card, others, trial  int64 // GiB
		hardware             int64
		aside, limit         string
		layers, top, limitAt int64
	}{
		{"a desktop", 8, 1, 6, 0, "", "8.00 GiB: the card", 2, 7 * g, 8 * g},
		{"a large card", 140, 0, 6, 0, "", "", 1, 6 * g, 0},
		{"a crowded card", 24, 16, 7, 0, "without 16.00 GiB that were held all the time by others, or before the trial", "8.00 GiB: the card", 1, 7 * g, 8 * g},
		{"a small machine", 140, 136, 3, 4, "without 136.00 GiB that were held all the time by memtrix, which left 4.00 GiB for card-4g, and others", "4.00 GiB: card-4g", 1, 3 * g, 4 * g},
		{"nearly the whole card", 24, 4, 19, 20, "", "24.00 GiB: card-4g", 2, 23 * g, 24 * g},
	} {
		at := []time.Duration{0, time.Second}
		series := func(name string, v ...int64) memtrix.Series {
			for i := range v {
				v[i] <<= 30
			}
			return memtrix.Series{Meter: memtrix.Meter{Name: name}, T: at, V: v}
		}
		trial := &memtrix.Trial{Spans: []memtrix.Span{{Kind: memtrix.SpanPrompt, Prompt: 1, End: time.Second}}, Series: []memtrix.Series{
			series(memtrix.VRAMDeviceUsed, c.others, c.others+c.trial), series(memtrix.VRAMDeviceFree, c.card-c.others, c.card-c.others-c.trial),
			series(memtrix.VRAMTrialUsed, 0, c.trial),
		}}
		trial.Cell.Hardware = memtrix.Hardware{Name: "card-4g", VRAM: c.hardware << 30}
		s := NewChart(trial, 100).Stacks[0]
		if s.Aside != c.aside || s.LimitText != c.limit || s.Limit != c.limitAt || int64(len(s.Layers)) != c.layers || s.top() != c.top {
			t.Errorf("%s: got aside %q, limit %q at %d, %d layers up to %d", c.name, s.Aside, s.LimitText, s.Limit, len(s.Layers), s.top())
		}
	}
}

// TestChartModels: without dynamic VRAM weights are in torch's memory; of many models
// the largest have a layer of their own.
func TestChartModels(t *testing.T) {
	trial := &memtrix.Trial{Series: []memtrix.Series{}}
	for i, name := range []string{memtrix.TorchReserved, memtrix.TorchAllocated, memtrix.WeightsPrefix + "A", memtrix.WeightsPrefix + "B", memtrix.WeightsPrefix + "C",
		memtrix.WeightsPrefix + "D", memtrix.WeightsPrefix + "E", memtrix.AimdoWeights} {
		v := int64(9-i) * mib
		if name == memtrix.AimdoWeights {
			v = 0
		}
		trial.Series = append(trial.Series, memtrix.Series{Meter: memtrix.Meter{Name: name}, T: []time.Duration{0}, V: []int64{v}})
	}
	var got []string
	for _, h := range vramHolders(trial) {
		got = append(got, h.name)
	}
	want := []string{"weights of A", "weights of B", "weights of C", "weights of D", "torch, in use", "torch, kept for later", "context, code, torch not yet told"}
	if !slices.Equal(got, want) {
		t.Errorf("want %q, got %q", want, got)
	}
	if minus := vramHolders(trial)[4].minus; len(minus) != 4 {
		t.Errorf("what models hold should not count twice, got %v", minus)
	}
}

func TestChartWithoutSeries(t *testing.T) {
	trial := fails(point(1, "a", nil, 10, 10, 10), memtrix.Outcome{Kind: memtrix.StartupFailure})
	c := NewChart(trial, 100)
	if len(c.Stacks) != 0 || len(c.Marks) != 1 || !c.Marks[0].Bad {
		t.Errorf("want no stack and the failure as a mark, got %+v", c)
	}
}
