package progress

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"memtrix"
)

var update = flag.Bool("update", false, "rewrite the golden")

// play shows two cells as a run would, advancing a clock.
func play(d *Display, wait func(time.Duration)) {
	d.Prompts(2)
	d.Left(4 * time.Minute)
	d.Say("no card found: VRAM is not recorded")
	d.CellStart(1, "0.29.0 default")
	wait(26600 * time.Millisecond)
	d.Event(memtrix.Event{Kind: memtrix.EventReady, At: 26600 * time.Millisecond})
	prompt := func(n int, at time.Duration) {
		node := &memtrix.Node{ID: "5", ClassType: "KSampler"}
		d.Event(memtrix.Event{Kind: memtrix.EventPromptStart, Prompt: n, At: at})
		d.Event(memtrix.Event{Kind: memtrix.EventCached, Prompt: n, Nodes: []string{"1"}})
		d.Event(memtrix.Event{Kind: memtrix.EventNodeStart, Prompt: n, Node: &memtrix.Node{ID: "1", ClassType: "CheckpointLoaderSimple"}})
		d.Memory(map[string]int64{memtrix.VRAMDeviceUsed: 1 << 40, memtrix.VRAMTrialUsed: 7964 << 20, memtrix.RAMTreeRSS: 2390 << 20, memtrix.SwapTreeUsed: 0})
		wait(2 * time.Second)
		d.Event(memtrix.Event{Kind: memtrix.EventNodeStart, Prompt: n, Node: node})
		d.Event(memtrix.Event{Kind: memtrix.EventNodeStart, Prompt: n, Node: node})
		for step := range 8 {
			wait(3 * time.Second)
			d.Event(memtrix.Event{Kind: memtrix.EventProgress, Prompt: n, Node: node, Value: step + 1, Max: 8})
		}
	}
	prompt(1, 27*time.Second)
	d.Event(memtrix.Event{Kind: memtrix.EventReconnect})
	d.Event(memtrix.Event{Kind: memtrix.EventPromptEnd, Prompt: 1, At: 53 * time.Second})
	prompt(2, 54*time.Second)
	d.Event(memtrix.Event{Kind: memtrix.EventPromptEnd, Prompt: 2, At: 80 * time.Second})
	wait(11 * time.Second)
	d.CellEnd("pass", 93.2)
	d.Left(90 * time.Second)
	d.CellStart(2, "0.29.0 vram-mode=high")
	d.Event(memtrix.Event{Kind: memtrix.EventError, Failure: &memtrix.Failure{Type: "torch.OutOfMemoryError\x1b[2J"}})
	wait(5 * time.Second)
	d.CellEnd("oom vram, KSampler (5)", 5)
	d.Close()
	d.Say("2 cells done")
	d.CellStart(3, "after the end")
	d.CellEnd("pass", 1)
	d.Close()
}

func TestPlain(t *testing.T) {
	var b bytes.Buffer
	now := time.Date(2026, 8, 1, 23, 59, 0, 0, time.UTC)
	d := newDisplay(&b, 2, func() time.Time { return now })
	play(d, func(wait time.Duration) { now = now.Add(wait) })
	const path = "testdata/plain.golden"
	if *update {
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := b.String(); got != string(want) {
		t.Errorf("want\n%s\ngot\n%s", want, got)
	}
}

func TestQuiet(t *testing.T) {
	var b bytes.Buffer
	play(Quiet(&b), func(time.Duration) {})
	if got, want := b.String(), "no card found: VRAM is not recorded\n2 cells done\n"; got != want {
		t.Errorf("want %q, got %q", want, got)
	}
}

// screen is what a terminal of endless height shows after some output.
func screen(t *testing.T, out string) []string {
	t.Helper()
	lines, row := []string{""}, 0
	for len(out) > 0 {
		switch {
		case strings.HasPrefix(out, "\x1b["):
			end := strings.IndexAny(out[2:], "ABCDEFGHJKm") + 2
			n, _ := strconv.Atoi(out[2:end])
			switch out[end] {
			case 'A':
				row -= max(n, 1)
			case 'J':
				lines = append(lines[:row], "")
			default:
				t.Fatalf("escape sequence %q", out[:end+1])
			}
			if row < 0 {
				t.Fatal("the cursor left the screen")
			}
			out = out[end+1:]
		case out[0] == '\n':
			if row++; row == len(lines) {
				lines = append(lines, "")
			}
			out = out[1:]
		default:
			n := strings.IndexAny(out, "\n\x1b")
			if n < 0 {
				n = len(out)
			}
			lines[row] += out[:n]
			out = out[n:]
		}
	}
	return lines
}

// A session that goes on counts on where it stopped, and repeats to be sure count beyond
// the plan.
func TestNumbers(t *testing.T) {
	s := state{total: 3}
	var got []string
	for _, i := range []int{2, 3, 1, 2} {
		s.start(i, "x")
		got = append(got, s.cellText())
		s.end()
	}
	if want := []string{"trial 2/3", "trial 3/3", "trial 4", "trial 5"}; !slices.Equal(got, want) {
		t.Errorf("want %q, got %q", want, got)
	}
}

// On a terminal every message and ended cell stands on a line of its own, in
// order, and the bar is left below them.
func TestTerminal(t *testing.T) {
	var b shared
	d := New(&b, true, 2)
	waits := 0
	play(d, func(wait time.Duration) {
		time.Sleep(wait / 100)
		// In the first step that is told: however late a busy machine draws.
		if waits++; waits == 4 {
			for deadline := time.Now().Add(10 * time.Second); !strings.Contains(b.String(), "KSampler (5)  step") && time.Now().Before(deadline); {
				time.Sleep(10 * time.Millisecond)
			}
		}
	})
	lines := screen(t, b.String())
	want := []string{
		"no card found: VRAM is not recorded",
		"trial 1/2  pass  93.2 s  0.29.0 default",
		"trial 2/2  oom vram, KSampler (5)  5.0 s  0.29.0 vram-mode=high",
	}
	if len(lines) != 6 {
		t.Fatalf("want 5 lines, got %q", lines)
	}
	for i, w := range want {
		if lines[i] != w {
			t.Errorf("line %d: want %q, got %q", i, w, lines[i])
		}
	}
	if !strings.HasPrefix(lines[3], "trial 2/2 ") || !strings.Contains(lines[3], "=") {
		t.Errorf("want a bar, got %q", lines[3])
	}
	if lines[4] != "2 cells done" || lines[5] != "" {
		t.Errorf("want the last message below the bar, got %q", lines[4:])
	}
	if frames := b.String(); !strings.Contains(frames, "prompt 1/2  KSampler (5)  step") || !strings.Contains(frames, "VRAM 7.78 GiB  RAM 2.33 GiB") {
		t.Errorf("no node, step and memory in %q", frames)
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

// A terminal that went away ends neither the run nor hangs Close.
func TestTerminalGone(t *testing.T) {
	d := New(errWriter{}, true, 2)
	play(d, func(wait time.Duration) { time.Sleep(wait / 200) })
}

type errWriter struct{}

func (errWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestConcurrentUse(t *testing.T) {
	for _, tty := range []bool{false, true} {
		var b bytes.Buffer
		d := New(&b, tty, 0)
		var group sync.WaitGroup
		for g := range 8 {
			group.Go(func() {
				for i := range 50 {
					d.CellStart(i, "title")
					d.Event(memtrix.Event{Kind: memtrix.EventProgress, Value: i, Max: 50})
					d.Memory(map[string]int64{memtrix.RAMTreeRSS: int64(i)})
					d.Left(time.Duration(i) * time.Second)
					d.Say(fmt.Sprintf("message %d of %d", i, g))
					d.CellEnd("pass", 1)
				}
			})
		}
		group.Go(func() { time.Sleep(5 * time.Millisecond); d.Close() })
		group.Wait()
		text := b.String()
		if tty {
			text = strings.Join(screen(t, text), "\n") + "\n"
		}
		for g := range 8 {
			for i := range 50 {
				if want := fmt.Sprintf("message %d of %d\n", i, g); strings.Count(text, want) != 1 {
					t.Errorf("tty %v: want %q once, got it %d times", tty, want, strings.Count(text, want))
				}
			}
		}
	}
}

func TestTimeText(t *testing.T) {
	now := time.Unix(1000, 0)
	check := func(want string, change func(*state)) {
		t.Helper()
		s := state{total: 2, began: now.Add(-65 * time.Second), left: -1, leftSet: now}
		change(&s)
		if got := s.timeText(now); got != want {
			t.Errorf("want %q, got %q", want, got)
		}
	}
	check("65 s", func(s *state) {})
	check("65 s, about 30 s left", func(s *state) { s.left = 30 * time.Second })
	check("65 s, about 12 min left", func(s *state) { s.left = 700 * time.Second })
	check("65 s, about 2 h 05 min left", func(s *state) { s.left = 125 * time.Minute })
	check("65 s, about 20 s left", func(s *state) { s.left, s.leftSet = 30*time.Second, now.Add(-10*time.Second) })
	check("65 s, nearly done", func(s *state) { s.left, s.leftSet = 30*time.Second, now.Add(-time.Minute) })
	check("65 s", func(s *state) { s.left, s.done = 30*time.Second, 2 })
}
