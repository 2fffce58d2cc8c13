package reports

import (
	"bytes"
	"fmt"
	"image/png"
	"strings"
	"testing"

	"memtrix"
)

func heatPicture(t *testing.T, s Session, meter string, f Format) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Heatmap(&b, s, meter, f); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// grid is a session of many settings and versions, of which some failed.
func grid(rows, columns int) Session {
	s := Session{Name: "grid"}
	for v := range columns {
		for i := range rows {
			set := on("dynamic-vram", []string{"on", "off"}[i%2], "reserve-vram", fmt.Sprint(i))
			t := point(int64(len(s.Trials)+1), fmt.Sprintf("0.%d.0", 10+v), set, int64(3000+230*i+97*v), 4000, 3000)
			if i%7 == 3 && v > columns/2 {
				fails(t, memtrix.Outcome{Kind: memtrix.OOM, Memory: memtrix.MemoryVRAM})
			}
			s.Trials = append(s.Trials, t)
		}
	}
	return s
}

func simulate(s Session, version string) Session {
	for _, t := range s.Trials {
		t.Simulated = version == "" || t.Cell.Version.Name == version
	}
	return s
}

// Pictures grow with the matrix.
func TestHeatmapSizes(t *testing.T) {
	for _, c := range []struct {
		name                string
		session             Session
		minWidth, minHeight int // points
		maxWidth, maxHeight int
	}{
		{"heat-1x2", grid(1, 2), 400, 100, 500, 200},
		{"heat-nightly", nightly(), 400, 250, 500, 400},
		{"heat-sim", simulate(grid(4, 2), ""), 400, 200, 500, 350},
		{"heat-mixed", simulate(grid(5, 3), "0.11.0"), 400, 200, 500, 450},
		{"heat-20x12", grid(20, 12), 850, 600, 1100, 850},
	} {
		w, h := svgSize(t, heatPicture(t, c.session, "", SVG))
		if w < c.minWidth || w > c.maxWidth || h < c.minHeight || h > c.maxHeight {
			t.Errorf("%s: want %d-%d x %d-%d points, got %d x %d", c.name, c.minWidth, c.maxWidth, c.minHeight, c.maxHeight, w, h)
		}
		keepPNG(t, c.name, func() []byte { return heatPicture(t, c.session, "", PNG) })
	}
}

func TestHeatmapPNG(t *testing.T) {
	img, err := png.Decode(bytes.NewReader(heatPicture(t, simulate(grid(1, 2), ""), "", PNG)))
	if err != nil {
		t.Fatal(err)
	}
	// 430 points at 144 pixels an inch.
	if got := img.Bounds().Dx(); got != 860 {
		t.Errorf("want 860 pixels, got %d", got)
	}
}

// Every kind of cell says in words what it is.
func TestHeatmapText(t *testing.T) {
	has := func(svg string, words ...string) {
		t.Helper()
		for _, w := range words {
			if !strings.Contains(svg, ">"+w+"<") {
				t.Errorf("no text %q", w)
			}
		}
	}
	svg := string(heatPicture(t, nightly(), "", SVG))
	has(svg, "0.28.0", "0.29.0", "default", "vram-mode=high", "7.78", "6.90", "oom vram", "expected", "startup-", "failure",
		"n/a", "left out", "not run yet", "failed", "failed as expected", "not applicable", "8.31 GiB",
		"session "+nightly().Name+"; vram.trial.used, NVML memory v2 less use before the trial; sampled every 1 ms")
	if strings.Contains(svg, "SIMULATED") {
		t.Error("SIMULATED on measurements")
	}
	has(string(heatPicture(t, nightly(), memtrix.RAMTreeAnon, SVG)), "1.55")
	has(string(heatPicture(t, simulate(grid(4, 2), ""), "", SVG)), "SIMULATED", "SIMULATED  ·  peak of vram.trial.used")
	has(string(heatPicture(t, simulate(grid(4, 3), "0.11.0"), "", SVG)), "0.11.0 (sim)", "partly SIMULATED  ·  peak of vram.trial.used")
	has(string(heatPicture(t, Session{Trials: []*memtrix.Trial{point(1, "a", nil, 0, 300, 100)}}, "", SVG)), "peak of ram.tree.rss", "300", "338 MiB")
	has(string(heatPicture(t, Session{Trials: []*memtrix.Trial{point(1, "a", nil, 0, 300, 100)}}, "swap.tree.used", SVG)), "no reading")
}

func TestHeatCell(t *testing.T) {
	oom := func() *memtrix.Trial {
		return fails(point(1, "a", nil, 10, 10, 10), memtrix.Outcome{Kind: memtrix.OOM, Memory: memtrix.MemoryRAM})
	}
	expected, sim := oom(), point(1, "a", nil, 900, 10, 10)
	expected.Expect, sim.Simulated = memtrix.OOM, true
	check := func(want heatCell, trials ...*memtrix.Trial) {
		t.Helper()
		var entries []entry
		for _, tr := range trials {
			entries = append(entries, entry{trial: tr})
		}
		if got := newHeatCell(entries, memtrix.VRAMTrialUsed); got.kind != want.kind || got.value != want.value || got.words != want.words {
			t.Errorf("want %+v, got %+v", want, got)
		}
	}
	check(heatCell{words: "–"})
	check(heatCell{kind: heatValue, value: 10 * mib}, point(1, "a", nil, 10, 1, 1))
	check(heatCell{kind: heatValue, value: 20 * mib}, point(1, "a", nil, 10, 1, 1), point(2, "a", nil, 20, 1, 1), point(3, "a", nil, 90, 1, 1))
	check(heatCell{kind: heatValue, value: 10 * mib}, point(1, "a", nil, 10, 1, 1), sim)
	check(heatCell{kind: heatFailed, words: "oom ram"}, oom())
	check(heatCell{kind: heatFailed, words: "oom ram 1/2"}, oom(), point(1, "a", nil, 10, 1, 1))
	check(heatCell{kind: heatExpected, words: "oom ram"}, expected)
	check(heatCell{kind: heatFailed, words: "oom ram 2/2"}, expected, oom())
	check(heatCell{kind: heatNotRun, words: "no reading"}, point(1, "a", nil, 0, 1, 1))
	check(heatCell{kind: heatNotApplicable, words: "n/a"}, fails(point(1, "a", nil, 0, 1, 1), memtrix.Outcome{Kind: memtrix.NotApplicable}))
}

func TestHeatmapErrors(t *testing.T) {
	var b bytes.Buffer
	check := func(err error, want string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, got %v", want, err)
		}
	}
	check(Heatmap(&b, Session{Name: "x"}, "", PNG), `session "x": no cells`)
	check(Heatmap(&b, grid(1, 1), "", "gif"), `picture format "gif"`)
	check(Heatmap(&b, grid(400, 1), "", PNG), "larger than")
	check(Heatmap(brokenWriter{}, grid(1, 1), "", PNG), "pipe closed")
	check(Heatmap(brokenWriter{}, grid(1, 1), "", SVG), "pipe closed")
}

func BenchmarkHeatmap(b *testing.B) {
	s := grid(20, 12)
	for b.Loop() {
		if err := Heatmap(new(bytes.Buffer), s, "", PNG); err != nil {
			b.Fatal(err)
		}
	}
}
