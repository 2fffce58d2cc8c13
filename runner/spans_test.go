package runner

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"memtrix"
)

func ms(n int) time.Duration { return time.Duration(n) * time.Millisecond }

func node(id string) *memtrix.Node { return &memtrix.Node{ID: id, ClassType: "C" + id} }

// TestSpans checks each shape that a trial's life can take.
func TestSpans(t *testing.T) {
	whole := []memtrix.Event{
		{At: ms(110), Kind: memtrix.EventPromptStart, Prompt: 1},
		{At: ms(120), Kind: memtrix.EventNodeStart, Prompt: 1, Node: node("1")},
		{At: ms(150), Kind: memtrix.EventNodeStart, Prompt: 1, Node: node("5")},
		{At: ms(160), Kind: memtrix.EventProgress, Prompt: 1, Node: node("5"), Value: 1, Max: 2},
		{At: ms(200), Kind: memtrix.EventPromptEnd, Prompt: 1},
		{At: ms(210), Kind: memtrix.EventPromptStart, Prompt: 2},
		{At: ms(220), Kind: memtrix.EventNodeStart, Prompt: 2, Node: node("5")},
		{At: ms(250), Kind: memtrix.EventPromptEnd, Prompt: 2},
	}
	check := func(name string, events []memtrix.Event, m marks, want string) {
		t.Helper()
		var got []string
		for _, s := range spansOf(events, m) {
			got = append(got, fmt.Sprintf("%s[%d-%d]", s.Name(), s.Start.Milliseconds(), s.End.Milliseconds()))
		}
		if g := strings.Join(got, " "); g != want {
			t.Errorf("%s:\n got %s\nwant %s", name, g, want)
		}
	}
	check("whole", whole, marks{ready: ms(100), settle: ms(260), settled: ms(300), stop: ms(300), stopped: ms(320)},
		"start[0-100] idle[100-110] prompt 1[110-200] C1 (1)[120-150] C5 (5)[150-200] prompt 2[210-250] C5 (5)[220-250] settle[260-300] stop[300-320]")
	check("no settle", whole[:5], marks{ready: ms(100), stop: ms(300), stopped: ms(320)},
		"start[0-100] idle[100-110] prompt 1[110-200] C1 (1)[120-150] C5 (5)[150-200] stop[300-320]")
	check("died in a node", whole[:4], marks{ready: ms(100), stop: ms(180), stopped: ms(181)},
		"start[0-100] idle[100-110] prompt 1[110-180] C1 (1)[120-150] C5 (5)[150-180] stop[180-181]")
	check("never ready", nil, marks{stop: ms(50), stopped: ms(51)}, "start[0-50] stop[50-51]")
	check("ready and no prompt", nil, marks{ready: ms(40), stop: ms(50), stopped: ms(51)}, "start[0-40] idle[40-50] stop[50-51]")
	check("a node outside any prompt", []memtrix.Event{{At: ms(45), Kind: memtrix.EventNodeStart, Node: node("9")}},
		marks{ready: ms(40), stop: ms(50), stopped: ms(51)}, "start[0-40] idle[40-50] stop[50-51]")
}

// TestKernelPeaks checks that a span gets the kernel's peak only where the
// kernel was asked over the whole of it.
func TestKernelPeaks(t *testing.T) {
	k := &kernelPeaks{segments: []segment{{0, ms(100), 5}, {ms(100), ms(120), 9}, {ms(120), ms(200), 7}}}
	check := func(from, to int, want int64) {
		t.Helper()
		var got int64
		if p := k.peaks(ms(from), ms(to)); len(p) == 1 {
			got = p[0].Value
		}
		if got != want {
			t.Errorf("peak in [%d, %d] = %d, want %d", from, to, got, want)
		}
	}
	check(0, 100, 5)
	check(100, 200, 9)
	check(120, 200, 7)
	check(100, 250, 0) // the end is not known
	check(110, 120, 0) // begins within a stretch
}
