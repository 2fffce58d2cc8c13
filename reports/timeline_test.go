package reports

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"image/png"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"memtrix"
)

// keepPNG writes a picture to the folder named by REPORTS_PICTURES, to be looked
// at. Drawing pixels is slow under the race detector: not without being asked.
func keepPNG(t *testing.T, name string, picture func() []byte) {
	t.Helper()
	if dir := os.Getenv("REPORTS_PICTURES"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, name+".png"), picture(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// svgSize is an SVG's size in points, after checking that it is well-formed.
func svgSize(t *testing.T, data []byte) (width, height int) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(data))
	for {
		token, err := d.Token()
		if err == io.EOF {
			return width, height
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "svg" {
			for _, a := range e.Attr {
				n, _ := strconv.ParseFloat(strings.TrimSuffix(a.Value, "pt"), 64)
				switch a.Name.Local {
				case "width":
					width = int(n)
				case "height":
					height = int(n)
				}
			}
		}
	}
}

func timelinePicture(t *testing.T, trial *memtrix.Trial, f Format) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Timeline(&b, trial, f); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// recordedOOM is a trial that ran out of VRAM while loading.
func recordedOOM(t *testing.T) *memtrix.Trial {
	trial := recorded(t, "029-3gib-highvram-oom-in-load")
	trial.Cell.Settings = on("dynamic-vram", "off", "vram-mode", "high")
	trial.Outcome = memtrix.Outcome{Kind: memtrix.OOM, Memory: memtrix.MemoryVRAM, Node: &memtrix.Node{ID: "1", ClassType: "CheckpointLoaderSimple"}}
	return trial
}

// crowded is a trial of three prompts with many classes of short nodes.
func crowded() *memtrix.Trial {
	t := &memtrix.Trial{ID: 3, Cell: pointCell("main-2026-08-01", on("cache", "none")), Outcome: memtrix.Outcome{Kind: memtrix.Pass}}
	at := 4 * time.Second
	t.Spans = []memtrix.Span{{Kind: memtrix.SpanStart, End: at}}
	swap := memtrix.Series{Meter: memtrix.Meter{Name: memtrix.SwapTreeUsed, Unit: memtrix.UnitBytes, Source: "/proc/PID/status VmSwap"}}
	rss := memtrix.Series{Meter: memtrix.Meter{Name: memtrix.RAMTreeRSS, Unit: memtrix.UnitBytes}}
	r := rand.New(rand.NewPCG(1, 2))
	for p := range 3 {
		start := at
		for n := range 24 {
			d := time.Duration(50+r.IntN(400)) * time.Millisecond
			node := &memtrix.Node{ID: fmt.Sprint(n), ClassType: fmt.Sprintf("CustomNode%dLoader", n)}
			t.Spans = append(t.Spans, memtrix.Span{Kind: memtrix.SpanNode, Prompt: p + 1, Node: node, Start: at, End: at + d})
			for range 40 {
				at += d / 40
				rss.T, rss.V = append(rss.T, at), append(rss.V, int64(2000+50*n+r.IntN(300))*mib)
				swap.T, swap.V = append(swap.T, at), append(swap.V, int64(20*n)*mib)
			}
		}
		t.Spans = append(t.Spans, memtrix.Span{Kind: memtrix.SpanPrompt, Prompt: p + 1, Start: start, End: at})
		at += 200 * time.Millisecond
	}
	t.Spans = append(t.Spans, memtrix.Span{Kind: memtrix.SpanSettle, Start: at, End: at + time.Second})
	t.Series = []memtrix.Series{rss, swap}
	t.Readings = []memtrix.Reading{{Kind: memtrix.Rested, At: at + 500*time.Millisecond}, {Kind: memtrix.Freed, At: at + 600*time.Millisecond}}
	addPeaks(t)
	return t
}

func TestTimelineSizes(t *testing.T) {
	sim := recorded(t, "029-cpu-sd15")
	sim.Simulated = true
	for name, trial := range map[string]*memtrix.Trial{
		"time-8gib-default": recorded(t, "029-8gib-default"), "time-cpu-simulated": sim, "time-oom": recordedOOM(t),
		"time-crowded": crowded(), "time-empty": {ID: 9, Cell: pointCell("0.29.0", nil), Outcome: memtrix.Outcome{Kind: memtrix.StartupFailure}},
	} {
		w, h := svgSize(t, timelinePicture(t, trial, SVG))
		if w != 760 || h < 300 || h > 550 {
			t.Errorf("%s: want 760 x 300-550 points, got %d x %d", name, w, h)
		}
		keepPNG(t, name, func() []byte { return timelinePicture(t, trial, PNG) })
	}
}

func TestTimelinePNG(t *testing.T) {
	img, err := png.Decode(bytes.NewReader(timelinePicture(t, recordedOOM(t), PNG)))
	if err != nil {
		t.Fatal(err)
	}
	if got := img.Bounds().Dx(); got != 1520 {
		t.Errorf("want 1520 pixels, got %d", got)
	}
	// The red line of the failure is really drawn.
	red := 0
	for y := range img.Bounds().Dy() {
		for x := range img.Bounds().Dx() {
			if r, g, b, _ := img.At(x, y).RGBA(); r>>8 == 0xb0 && g>>8 == 0x10 && b>>8 == 0x20 {
				red++
			}
		}
	}
	if red < 500 {
		t.Errorf("want a red line of at least 500 pixels, got %d", red)
	}
}

// The picture names what it shows, and labels only what there is room for.
func TestTimelineText(t *testing.T) {
	check := func(name, svg, text string, want int) {
		t.Helper()
		if got := strings.Count(svg, ">"+text+"<"); got != want {
			t.Errorf("%s: want %q %d times, got %d", name, text, want, got)
		}
	}
	svg := string(timelinePicture(t, recorded(t, "029-8gib-default"), SVG))
	for text, want := range map[string]int{
		"0.29.0  ·  default  ·  pass": 1,
		"start":                       1, "prompt 1": 1, "prompt 2": 1, "settle": 1, "stop": 0, "rested": 1, "freed": 1,
		"KSampler":    3, // two spans and the legend
		"SaveImage":   1, // too short for a label
		"memory, GiB": 1,
		"SIMULATED":   0,
		"trial 7, workflow sdxl, hardware as-is, prompt 1: 8.2 s, prompt 2: 1.1 s":                          1,
		"VRAM used (vram.trial.used, NVML device used less use before): peak 7.78 GiB, sampled":             1,
		"RAM, resident (ram.tree.rss, /proc/PID/status VmRSS): peak 2.33 GiB, sampled":                      1,
		"seconds since the server process was started (start and rest are drawn narrower than the prompts)": 1,
	} {
		check("default", svg, text, want)
	}
	sim := recorded(t, "029-cpu-sd15")
	sim.Simulated = true
	svg = string(timelinePicture(t, sim, SVG))
	check("cpu", svg, "SIMULATED", 1)
	check("cpu", svg, "SIMULATED  ·  0.29.0  ·  default  ·  pass", 1)
	if strings.Contains(svg, "VRAM") {
		t.Error("VRAM on a machine without a card")
	}
	check("oom", string(timelinePicture(t, recordedOOM(t), SVG)), "oom vram, CheckpointLoaderSimple (1)", 1)
	svg = string(timelinePicture(t, crowded(), SVG))
	check("crowded", svg, "swap (swap.tree.used, /proc/PID/status VmSwap): peak 460 MiB, sampled", 1)
	empty := &memtrix.Trial{Outcome: memtrix.Outcome{Kind: memtrix.StartupFailure, Phase: memtrix.PhaseStartup}}
	svg = string(timelinePicture(t, empty, SVG))
	check("empty", svg, "no memory readings in this trial", 1)
	check("empty", svg, "startup-failure", 1)
}

func TestFailureOf(t *testing.T) {
	spans := []memtrix.Span{
		{Kind: memtrix.SpanStart, End: 1},
		{Kind: memtrix.SpanPrompt, Prompt: 1, Start: 2, End: 9},
		{Kind: memtrix.SpanNode, Prompt: 1, Node: &memtrix.Node{ID: "5"}, Start: 3, End: 6},
	}
	check := func(want time.Duration, spans []memtrix.Span, o memtrix.Outcome) {
		t.Helper()
		got := failureOf(&memtrix.Trial{Spans: spans, Outcome: o}, 20)
		if got == nil || got.at != want {
			t.Errorf("%+v: want %d, got %+v", o, want, got)
		}
	}
	check(6, spans, memtrix.Outcome{Kind: memtrix.OOM, Node: &memtrix.Node{ID: "5"}})
	check(9, spans, memtrix.Outcome{Kind: memtrix.OOM, Node: &memtrix.Node{ID: "77"}})
	check(9, spans, memtrix.Outcome{Kind: memtrix.Killed})
	check(1, spans[:1], memtrix.Outcome{Kind: memtrix.StartupFailure})
	check(20, nil, memtrix.Outcome{Kind: memtrix.StartupFailure})
	if got := failureOf(&memtrix.Trial{Spans: spans, Outcome: memtrix.Outcome{Kind: memtrix.Pass}}, 20); got != nil {
		t.Errorf("pass: want no failure, got %+v", got)
	}
}

// Whatever a broken recording holds, a picture comes out.
func TestTimelineOddTrials(t *testing.T) {
	node := &memtrix.Node{ID: "1", ClassType: strings.Repeat("Long", 100)}
	for name, trial := range map[string]*memtrix.Trial{
		"no spans":            {Series: []memtrix.Series{{Meter: memtrix.Meter{Name: memtrix.RAMTreeRSS}, T: []time.Duration{0}, V: []int64{5}}}},
		"one moment":          {Spans: []memtrix.Span{{Kind: memtrix.SpanPrompt, Prompt: 1}}},
		"negative span":       {Spans: []memtrix.Span{{Kind: memtrix.SpanNode, Node: node, Start: 9, End: 3}, {Kind: memtrix.SpanPrompt, Start: -5, End: 1 << 40}}},
		"node without a node": {Spans: []memtrix.Span{{Kind: memtrix.SpanNode, End: time.Second}, {Kind: memtrix.SpanNode, Node: node, End: time.Minute}}},
		"uneven series":       {Series: []memtrix.Series{{Meter: memtrix.Meter{Name: memtrix.RAMTreeRSS}, T: []time.Duration{1, 2, 3}, V: []int64{5}}}},
		"empty series":        {Series: []memtrix.Series{{Meter: memtrix.Meter{Name: memtrix.RAMTreeRSS}}}},
		"late reading":        {Spans: []memtrix.Span{{Kind: memtrix.SpanStart, End: time.Second}}, Readings: []memtrix.Reading{{Kind: memtrix.Freed, At: time.Hour}}},
		"control characters":  {Cell: pointCell("a\x1b[1m\x00<&\xff", nil), Outcome: memtrix.Outcome{Kind: memtrix.Error, Node: &memtrix.Node{ClassType: "\x01"}}},
		"long words":          {Cell: pointCell(strings.Repeat("version", 60), nil), Outcome: memtrix.Outcome{Kind: memtrix.Error, Node: node}},
	} {
		w, h := svgSize(t, timelinePicture(t, trial, SVG))
		if w != 760 || h < 300 {
			t.Errorf("%s: got %d x %d points", name, w, h)
		}
	}
}

func TestTimelineErrors(t *testing.T) {
	if err := Timeline(new(bytes.Buffer), &memtrix.Trial{ID: 4}, "bmp"); err == nil || !strings.Contains(err.Error(), `trial 4: picture format "bmp"`) {
		t.Errorf("want an error about bmp and trial 4, got %v", err)
	}
	if err := Timeline(brokenWriter{}, &memtrix.Trial{}, SVG); err == nil {
		t.Error("want the writer's error, got nil")
	}
}

func TestTimeAxis(t *testing.T) {
	prompt := func(from, to int) memtrix.Span {
		return memtrix.Span{Kind: memtrix.SpanPrompt, Start: time.Duration(from) * time.Second, End: time.Duration(to) * time.Second}
	}
	check := func(name string, end int, folded bool, at int, want float64, spans ...memtrix.Span) {
		t.Helper()
		a := newTimeAxis(spans, time.Duration(end)*time.Second)
		got := a.at(time.Duration(at) * time.Second)
		if a.folded != folded || got < want-1e-6 || got > want+1e-6 {
			t.Errorf("%s: want folded %v and %g, got %v and %g", name, folded, want, a.folded, got)
		}
		last := -1.0
		for i := -end; i <= 2*end; i++ {
			x := a.at(time.Duration(i) * time.Second)
			if x < last || x < 0 || x > 1 {
				t.Errorf("%s: at %d s goes from %g to %g", name, i, last, x)
			}
			last = x
		}
	}
	check("no prompts", 100, false, 25, 0.25)
	check("mostly prompts", 100, false, 25, 0.25, prompt(10, 90))
	check("prompts begin", 100, true, 50, 0.25, prompt(50, 60), prompt(60, 70))
	check("prompts begin, no rest", 100, true, 80, 0.4, prompt(80, 100))
	check("prompts end", 100, true, 70, 0.4*40/70+0.6, prompt(40, 70))
	check("very short work", 1000, true, 500, 0.988*500/999, prompt(500, 501))
}

func TestThin(t *testing.T) {
	s := memtrix.Series{T: []time.Duration{10, 20, 30}, V: []int64{1, 5, 2}}
	check := func(from, to time.Duration, columns int, want string) {
		t.Helper()
		if got := fmt.Sprint(thin(s, from, to, columns)); got != want {
			t.Errorf("%d-%d in %d: want %s, got %s", from, to, columns, want, got)
		}
	}
	check(0, 40, 1000, "[{10 1} {20 1} {20 5} {30 5} {30 2} {40 2}]")
	check(15, 25, 1000, "[{15 1} {20 1} {20 5} {25 5}]")
	check(35, 40, 10, "[{35 2} {40 2}]")
	check(0, 5, 10, "[]")
	check(5, 5, 10, "[]")
	check(0, 40, 1, "[{10 1} {20 1} {20 5} {30 5} {30 2} {40 2}]")
}

// A spike of one reading among a million is still drawn, with few points.
func TestThinKeepsSpikes(t *testing.T) {
	const n = 1_000_000
	s := memtrix.Series{T: make([]time.Duration, n), V: make([]int64, n)}
	for i := range n {
		s.T[i], s.V[i] = time.Duration(i)*time.Millisecond, 100+int64(i%7)
	}
	s.V[345_678], s.V[777_777] = 9000, -50
	line := thin(s, 0, n*time.Millisecond, 1400)
	if len(line) > 12*1400 {
		t.Errorf("want at most %d points, got %d", 12*1400, len(line))
	}
	high, low := int64(0), int64(0)
	for i, p := range line {
		high, low = max(high, p.v), min(low, p.v)
		if i > 0 && p.t < line[i-1].t {
			t.Fatalf("time goes back at %d: %v after %v", i, p, line[i-1])
		}
	}
	if high != 9000 || low != -50 {
		t.Errorf("want -50 and 9000, got %d and %d", low, high)
	}
}

func TestNiceStep(t *testing.T) {
	check := func(least, want float64, decimals int) {
		t.Helper()
		if got, d := niceStep(least); got < want*0.999 || got > want*1.001 || d != decimals {
			t.Errorf("%g: want %g with %d decimals, got %g with %d", least, want, decimals, got, d)
		}
	}
	check(0.9, 1, 0)
	check(1, 1, 0)
	check(1.1, 2, 0)
	check(3, 5, 0)
	check(7, 10, 0)
	check(0.03, 0.05, 2)
	check(0.07, 0.1, 1)
	check(0, 1, 0)
	check(-3, 1, 0)
}

func BenchmarkTimeline(b *testing.B) {
	trial := recorded(b, "029-cpu-sd15")
	for b.Loop() {
		if err := Timeline(new(bytes.Buffer), trial, PNG); err != nil {
			b.Fatal(err)
		}
	}
}
