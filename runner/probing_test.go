package runner

import (
	"slices"
	"testing"
	"time"

	"memtrix"
)

const second = time.Second

// insideProbe is a server of which the card knows: 10000 in all, others have 1000.
// Idle it holds 600, of which 100 are torch's; a node of the first prompt leaves 2500
// free, one of the second 1500.
func insideProbe() *memtrix.Probe {
	node := func(prompt int, id string, end time.Duration, free, reserved, aimdo, work int64) memtrix.NodeRun {
		return memtrix.NodeRun{
			Prompt: prompt, Node: memtrix.Node{ID: id}, Start: end - second/2, End: end, State: "success",
			After: memtrix.Values{memtrix.VRAMDriverFree: free, memtrix.TorchReserved: reserved, memtrix.AimdoWeights: aimdo},
			Peaks: memtrix.Values{memtrix.TorchAllocated: work + 10, memtrix.TorchWork: work},
		}
	}
	return &memtrix.Probe{
		Idle:    &memtrix.ProbeMoment{At: 2 * second, Values: memtrix.Values{memtrix.VRAMDriverFree: 8400, memtrix.TorchReserved: 100}},
		Prompts: []memtrix.ProbePrompt{{Prompt: 1}, {Prompt: 2}, {Prompt: 3}},
		Nodes: []memtrix.NodeRun{
			node(1, "4", 5*second, 4000, 900, 3000, 50),
			node(1, "5", 6*second, 2500, 2000, 3500, 1500),
			node(2, "5", 9*second, 1500, 2200, 4000, 1700),
		},
	}
}

func usedSeries(t ...time.Duration) []memtrix.Series {
	s := memtrix.Series{Meter: memtrix.Meter{Name: memtrix.VRAMTrialUsed}}
	for _, at := range t {
		s.T, s.V = append(s.T, at), append(s.V, 600)
	}
	return []memtrix.Series{{Meter: memtrix.Meter{Name: memtrix.RAMTreeRSS}}, s}
}

func TestSettleAccounts(t *testing.T) {
	p := insideProbe()
	settleAccounts(p, usedSeries(0, 20*second), nil)
	if p.Context == nil || *p.Context != 500 {
		t.Errorf("context %v, want 600 less torch's 100", p.Context)
	}
	// After node 5 of prompt 1 the trial has 600 + 8400 - 2500 = 6500, of which 2000 and
	// 3500 are torch's and aimdo's: 1000 outside. After node 4 it was 5000 - 3900 = 1100.
	want := []int64{1500 + 1100, 1700 + 7500 - 2200 - 4000, 0}
	for i, prompt := range p.Prompts {
		switch {
		case want[i] == 0 && prompt.NonEvictable != nil:
			t.Errorf("prompt %d: %d without any node", prompt.Prompt, *prompt.NonEvictable)
		case want[i] != 0 && (prompt.NonEvictable == nil || *prompt.NonEvictable != want[i]):
			t.Errorf("prompt %d: %v, want %d", prompt.Prompt, prompt.NonEvictable, want[i])
		}
	}
}

// TestSettleCode: what is left on the card when models were given back came with the
// first work; so much of what nothing else explains is not unexplained.
func TestSettleCode(t *testing.T) {
	freed := func(free, weights int64) memtrix.Reading {
		return memtrix.Reading{Kind: memtrix.Freed, Values: map[string]int64{
			memtrix.VRAMDriverFree: free, memtrix.TorchReserved: 60, memtrix.WeightsResident: weights}}
	}
	for _, test := range []struct {
		readings   []memtrix.Reading
		code, rest []int64 // of the three nodes
	}{
		// Outside of torch and aimdo are 1100, 1000 and 1300 after the nodes, the context
		// is 500; 8400 free were 600 used, so 8040 are 960: 400 of code.
		{[]memtrix.Reading{freed(8040, 0)}, []int64{400, 400, 400}, []int64{200, 100, 400}},
		{[]memtrix.Reading{freed(7890, 0)}, []int64{550, 500, 550}, []int64{50, 0, 250}},
		{[]memtrix.Reading{freed(8040, 5)}, []int64{0, 0, 0}, []int64{600, 500, 800}}, // models are still there
		{nil, []int64{0, 0, 0}, []int64{600, 500, 800}},
	} {
		p := insideProbe()
		settleAccounts(p, usedSeries(0, 20*second), test.readings)
		for i, n := range p.Nodes {
			a, ok := p.Account(n.After)
			if !ok || a.Code != test.code[i] || a.Rest != test.rest[i] {
				t.Errorf("%v, node %d: got code %d, rest %d, want %d, %d", test.readings, i, a.Code, a.Rest, test.code[i], test.rest[i])
			}
			if sum := a.Context + a.Code + a.Torch + a.Aimdo + a.Buffers + a.Rest; sum != a.Used {
				t.Errorf("node %d: the parts make %d of %d", i, sum, a.Used)
			}
		}
	}
}

// TestSettleUnknown: what was not measured from outside is not made up.
func TestSettleUnknown(t *testing.T) {
	late := insideProbe()
	settleAccounts(late, usedSeries(3*second, 20*second), nil) // not yet read at the time
	hidden := insideProbe()
	settleAccounts(hidden, nil, nil)
	blind := insideProbe()
	delete(blind.Idle.Values, memtrix.VRAMDriverFree)
	settleAccounts(blind, usedSeries(0, 20*second), nil)
	for i, p := range []*memtrix.Probe{late, hidden, blind} {
		if p.Context != nil || p.Prompts[0].NonEvictable != nil {
			t.Errorf("%d: context %v, non-evictable %v, want neither", i, p.Context, p.Prompts[0].NonEvictable)
		}
	}
}

func TestProbePeaks(t *testing.T) {
	p := insideProbe()
	check := func(s memtrix.Span, want ...memtrix.Peak) {
		t.Helper()
		if got := probePeaks(p, s); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", s.Name(), got, want)
		}
	}
	peaks := func(work int64, at time.Duration) []memtrix.Peak {
		return []memtrix.Peak{
			{Meter: memtrix.TorchAllocated, Value: work + 10, How: memtrix.PeakProbe, At: at},
			{Meter: memtrix.TorchWork, Value: work, How: memtrix.PeakProbe, At: at},
		}
	}
	check(memtrix.Span{Kind: memtrix.SpanPrompt, Prompt: 1, Start: 3 * second, End: 7 * second}, peaks(1500, 6*second)...)
	check(memtrix.Span{Kind: memtrix.SpanNode, Prompt: 1, Node: &memtrix.Node{ID: "4"}, Start: 4400 * time.Millisecond, End: 5 * second}, peaks(50, 5*second)...)
	check(memtrix.Span{Kind: memtrix.SpanNode, Prompt: 1, Node: &memtrix.Node{ID: "9"}, Start: 4 * second, End: 7 * second})
	check(memtrix.Span{Kind: memtrix.SpanIdle, Start: 2 * second, End: 3 * second})
	if got := probePeaks(nil, memtrix.Span{Kind: memtrix.SpanPrompt, Prompt: 1}); got != nil {
		t.Errorf("peaks without a probe: %v", got)
	}
}
