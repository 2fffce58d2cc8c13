package live

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"time"

	"memtrix"
)

// clock is a time that a test moves.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func display(w *bytes.Buffer) (*Display, *clock) {
	c := &clock{time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)}
	d := New(w, false, false)
	d.now, d.state.began = c.now, c.at
	return d, c
}

// TestPlain ensures that a line is written for each change, and memory seldom.
func TestPlain(t *testing.T) {
	var out bytes.Buffer
	d, c := display(&out)
	d.CellStart(1, "127.0.0.1:8188")
	memory := map[string]int64{memtrix.VRAMTreeUsed: 7 << 30, memtrix.VRAMOthersUsed: 1 << 30, memtrix.RAMTreeRSS: 3 << 30}
	d.Memory(memory)
	d.Event(memtrix.Event{Kind: memtrix.EventPromptStart, Prompt: 1})
	c.at = c.at.Add(2 * time.Second)
	d.Memory(memory) // too early for another line
	d.Event(memtrix.Event{Kind: memtrix.EventNodeStart, Prompt: 1, Node: &memtrix.Node{ID: "5", ClassType: "KSampler"}})
	d.Event(memtrix.Event{Kind: memtrix.EventProgress, Prompt: 1, Value: 2, Max: 20})
	d.Event(memtrix.Event{Kind: memtrix.EventPromptEnd, Prompt: 1})
	d.Verdict(memtrix.PromptResult{Index: 1, Seconds: 2.5}, memtrix.Outcome{Kind: memtrix.OOM, Memory: memtrix.MemoryVRAM, Node: &memtrix.Node{ID: "5", ClassType: "KSampler"}})
	d.Close()
	want := `12:00:00  VRAM  this server 7.00 GiB, others 1.00 GiB  RAM   this server 3.00 GiB
12:00:00  prompt 1  0.00 s
12:00:02  prompt 1  KSampler (5)  2.0 s
12:00:02  prompt 1  oom vram, KSampler (5)  2.5 s
`
	if got := out.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestLines ensures that a terminal's lines say what is known, and nothing that is not.
func TestLines(t *testing.T) {
	d, c := display(&bytes.Buffer{})
	d.CellStart(1, "evil\x1b[2J server")
	lines := d.state.lines(c.at)
	for i, want := range []string{"watching evil [2J server for 0.00 s", "no card is read here", "RAM   not read", "now   idle", "no prompt has ended yet"} {
		if !strings.Contains(lines[i], want) {
			t.Errorf("line %d: %q, want %q in it", i, lines[i], want)
		}
	}
	d.Memory(map[string]int64{memtrix.VRAMDeviceUsed: 9 << 30, memtrix.VRAMDeviceFree: 3 << 30, memtrix.RAMTreeRSS: 2 << 30, memtrix.SwapTreeUsed: 0})
	d.Holders([]memtrix.Holder{{PID: 7, Name: "jupyter", Bytes: 1 << 30}, {PID: 8, Name: "vllm", Bytes: 4 << 30}, {PID: 9, Name: "unknown"}, {PID: 10, Name: "x"}})
	d.Event(memtrix.Event{Kind: memtrix.EventPromptStart, Prompt: 3})
	d.Event(memtrix.Event{Kind: memtrix.EventProgress, Prompt: 3, Value: 2, Max: 20})
	c.at = c.at.Add(12 * time.Second)
	lines = d.state.lines(c.at)
	for i, want := range map[int]string{
		1: "VRAM  used 9.00 GiB, free 3.00 GiB, by vllm (8) 4.00 GiB, jupyter (7) 1.00 GiB, unknown (9)",
		2: "RAM   this server 2.00 GiB, swap 0 MiB",
		3: "now   prompt 3  step 2/20  12.0 s",
	} {
		if lines[i] != want {
			t.Errorf("line %d: %q, want %q", i, lines[i], want)
		}
	}
}

// TestTerminal ensures that verdicts stay readable above the lines that move.
func TestTerminal(t *testing.T) {
	var out shared
	d := New(&out, true, false)
	d.CellStart(1, "theirs")
	d.Verdict(memtrix.PromptResult{Index: 1, Seconds: 1}, memtrix.Outcome{Kind: memtrix.Pass})
	for deadline := time.Now().Add(10 * time.Second); !strings.Contains(out.String(), "watching theirs") && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
	}
	d.Close()
	d.Close()
	if got := out.String(); !strings.Contains(got, "prompt 1  pass  1.0 s\n") || !strings.Contains(got, "watching theirs") {
		t.Errorf("drawn: %q", got)
	}
}

// shared is a terminal that is looked at while it is drawn on.
type shared struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.Write(p)
}

func (s *shared) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.String()
}
