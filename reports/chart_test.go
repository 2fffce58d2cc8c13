package reports

import (
	"slices"
	"testing"
	"time"

	"memtrix"
)

func sums(deltas []int64) []int64 {
	list := make([]int64, len(deltas))
	total := int64(0)
	for i, d := range deltas {
		total += d
		list[i] = total
	}
	return list
}

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
		at := sums(vram.T)
		if !slices.IsSorted(at) {
			t.Errorf("%d columns: moments go back", columns)
		}
		if got, most := len(at), 2*(columns+3)+6; got > most {
			t.Errorf("%d columns: want at most %d moments, got %d", columns, most, got)
		}
		if len(vram.Layers) != 1 || len(vram.Layers[0].V) != len(at) {
			t.Fatalf("%d columns: layers %+v", columns, vram.Layers)
		}
		s, _ := seriesOf(trial, memtrix.VRAMTrialUsed)
		got := sums(vram.Layers[0].V)
		if want := slices.Max(s.V) * 10 / mib; slices.Max(got) != want {
			t.Errorf("%d columns: want the peak %d, got %d", columns, want, slices.Max(got))
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
	at := sums(s.T)
	if len(s.Layers) != len(want) {
		t.Errorf("want %d layers, got %+v", len(want), s.Layers)
	}
	for _, l := range s.Layers {
		for i, v := range sums(l.V) {
			if n := want[l.Kind][at[i]/1000] * 10; v != n {
				t.Errorf("%s at %d ms: want %d, got %d", l.Name, at[i], n, v)
			}
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
	want := []string{"weights of A", "weights of B", "weights of C", "weights of D", "torch, in use", "torch, kept for later", "context, code, libraries"}
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
