package reports

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"memtrix"
)

func tableText(t *testing.T, s Session, o TableOptions) string {
	t.Helper()
	var b strings.Builder
	if err := Table(&b, s, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestTable(t *testing.T) {
	golden(t, "table-wide", tableText(t, nightly(), TableOptions{}))
	golden(t, "table-120", tableText(t, nightly(), TableOptions{Width: 120}))
	golden(t, "table-80", tableText(t, nightly(), TableOptions{Width: 80}))
	golden(t, "table-empty", tableText(t, Session{}, TableOptions{}))
}

// On a machine without a card there are no VRAM columns; simulated trials,
// repeats, workflows and sizes of machine are told apart; kernel peaks are marked.
func TestTableOtherShapes(t *testing.T) {
	sim := point(1, "0.29.0", nil, 0, 2400, 1600)
	sim.Simulated = true
	kernel := point(2, "0.29.0", on("cpu-vae", "on", "unet-dtype", "fp8_e8m0fnu", "attention", "pytorch"), 0, 2390, 1588)
	kernel.Spans[0].Peaks[0].How = memtrix.PeakKernel
	kernel.Cell.Workflow = memtrix.Workflow{Name: "a/very/long/path/to/some_workflow.json", Hash: "w2"}
	kernel.Cell.Hardware.Name = "8gib"
	repeat := point(3, "0.29.0", nil, 0, 2410, 1600)
	repeat.Repeat = 1
	golden(t, "table-shapes", tableText(t, Session{Trials: []*memtrix.Trial{repeat, kernel, sim}}, TableOptions{Width: 100}))
}

func TestTableFitsWidth(t *testing.T) {
	for _, width := range []int{80, 100, 120, 200} {
		for line := range strings.SplitSeq(tableText(t, nightly(), TableOptions{Width: width}), "\n") {
			if n := utf8.RuneCountInString(line); n > width {
				t.Errorf("width %d: a line has %d: %s", width, n, line)
			}
		}
	}
}

// Colours are only there when asked for, and change no letter.
func TestTableColor(t *testing.T) {
	colored := tableText(t, nightly(), TableOptions{Width: 80, Color: true})
	if !strings.Contains(colored, "\x1b[31m") {
		t.Error("no red for a failure")
	}
	plain := tableText(t, nightly(), TableOptions{Width: 80})
	if strings.Contains(plain, "\x1b") {
		t.Error("escape sequence without colour")
	}
	for _, code := range []string{"\x1b[31m", "\x1b[33m", "\x1b[2m", "\x1b[0m"} {
		colored = strings.ReplaceAll(colored, code, "")
	}
	if trimLines(colored) != trimLines(plain) {
		t.Errorf("colours moved text:\n%s\n%s", colored, plain)
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("pipe closed") }

func TestTableWriteError(t *testing.T) {
	if err := Table(brokenWriter{}, nightly(), TableOptions{}); err == nil {
		t.Error("want the writer's error, got nil")
	}
}

// What a server or a person wrote cannot move the cursor of a terminal.
func TestTableControlCharacters(t *testing.T) {
	trial := fails(point(1, "0.29\x1b[2J", on("a", "b\rc\n"), 1, 1, 1), memtrix.Outcome{
		Kind: memtrix.Error, Node: &memtrix.Node{ID: "1", ClassType: "A\x07\xffB"}, Message: "x\u202e\x1b]0;y\x07"})
	trial.Warnings = []string{"w\u009b1A"}
	text := tableText(t, Session{Name: "s\x1b[31m", Trials: []*memtrix.Trial{trial}, Plan: memtrix.Plan{Warnings: []string{"p\x1b[A"}}}, TableOptions{Width: 80})
	if strings.ContainsAny(text, "\x1b\r\x07\u009b\u202e") || !utf8.ValidString(text) {
		t.Errorf("control characters in %q", text)
	}
}

func TestLines(t *testing.T) {
	const text, want = "a\x1b[2J\r\n  b\u202ec \x07\n", "a [2J\n  b c\n"
	if got := Lines(text); got != want {
		t.Errorf("want %q, got %q", want, got)
	}
}

func TestWrap(t *testing.T) {
	check := func(text string, width int, want string) {
		t.Helper()
		if got := strings.Join(wrap(text, width), "|"); got != want {
			t.Errorf("%q at %d: want %q, got %q", text, width, want, got)
		}
	}
	check("a b", 0, "a b")
	check("", 5, "")
	check("dynamic-vram=off vram-mode=low", 18, "dynamic-vram=off|vram-mode=low")
	check("text-encoder-dtype=fp8_e4m3fn", 20, "text-encoder-dtype=|fp8_e4m3fn")
	check("aaaaaaaaaa b", 4, "aaaa|aaaa|aa b")
	check("oom vram, KSampler (5)", 16, "oom vram,|KSampler (5)")
	check("CheckpointLoader (5)", 16, "CheckpointLoader|(5)")
	check("äöü äöü", 3, "äöü|äöü")
}

func TestOutcomeText(t *testing.T) {
	check := func(want string, o memtrix.Outcome, expect memtrix.OutcomeKind) {
		t.Helper()
		if got := outcomeText(&memtrix.Trial{Outcome: o, Expect: expect}); got != want {
			t.Errorf("want %q, got %q", want, got)
		}
	}
	node := &memtrix.Node{ID: "5", ClassType: "KSampler"}
	check("pass", memtrix.Outcome{Kind: memtrix.Pass, Memory: memtrix.MemoryNone}, "")
	check("pass, 1 hidden oom retry", memtrix.Outcome{Kind: memtrix.Pass, HiddenRetries: 1}, "")
	check("pass, expected oom", memtrix.Outcome{Kind: memtrix.Pass}, memtrix.OOM)
	check("oom vram, KSampler (5)", memtrix.Outcome{Kind: memtrix.OOM, Memory: memtrix.MemoryVRAM, Node: node}, "")
	check("oom as expected: vram, KSampler (5)", memtrix.Outcome{Kind: memtrix.OOM, Memory: memtrix.MemoryVRAM, Node: node}, memtrix.OOM)
	check("oom ram by thrash in load", memtrix.Outcome{Kind: memtrix.OOM, Memory: memtrix.MemoryRAM, How: memtrix.HowThrash, Phase: memtrix.PhaseLoad}, "")
	check("killed as expected", memtrix.Outcome{Kind: memtrix.Killed}, memtrix.Killed)
	check("error 12", memtrix.Outcome{Kind: memtrix.Error, Node: &memtrix.Node{ID: "12"}}, "")
	check("unknown", memtrix.Outcome{}, "")
}
