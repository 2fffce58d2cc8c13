package memtrix

import "testing"

// TestCurrent checks that only tries which were made up for are dropped.
func TestCurrent(t *testing.T) {
	try := func(id int64, commit string, repeat int, kind OutcomeKind) *Trial {
		return &Trial{ID: id, Cell: Cell{Version: Version{Commit: commit}}, Repeat: repeat, Outcome: Outcome{Kind: kind}}
	}
	trials := []*Trial{
		try(1, "a", 0, Interrupted),
		try(2, "a", 0, HarnessFailure),
		try(3, "a", 0, OOM),
		try(4, "a", 1, Interrupted), // nothing came after it
		try(5, "b", 0, OOM),         // a result is kept, whatever came after it
		try(6, "b", 0, Pass),
	}
	var got []int64
	for _, c := range Current(trials) {
		got = append(got, c.ID)
	}
	want := []int64{3, 4, 5, 6}
	if len(got) != len(want) {
		t.Fatalf("got trials %v, want %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("got trials %v, want %v", got, want)
		}
	}
}

// TestCellIDs checks what makes a cell and what does not.
func TestCellIDs(t *testing.T) {
	base := Cell{
		Version:  Version{Name: "0.29.0", Dir: "/a", Commit: "c1", Packages: map[string]string{"torch": "2.11"}},
		Settings: Settings{"dynamic-vram": "off"},
		Hardware: Hardware{Name: "as-is"},
		Workflow: Workflow{Name: "w", Hash: "h"},
	}
	check := func(what string, sameID, sameSeries bool, change func(*Cell)) {
		t.Helper()
		c := base
		c.Version.Packages = map[string]string{"torch": "2.11"}
		c.Settings = Settings{"dynamic-vram": "off"}
		change(&c)
		if got := c.ID() == base.ID(); got != sameID {
			t.Errorf("%s: same id is %v, want %v", what, got, sameID)
		}
		if got := c.Series() == base.Series(); got != sameSeries {
			t.Errorf("%s: same series is %v, want %v", what, got, sameSeries)
		}
	}
	check("nothing", true, true, func(*Cell) {})
	check("names and paths", true, true, func(c *Cell) { c.Version.Name, c.Version.Dir, c.Workflow.Name = "x", "/b", "y" })
	check("an empty list for none", true, true, func(c *Cell) { c.Version.Dirty = []string{} })
	check("dirty files", false, true, func(c *Cell) { c.Version.Dirty = []string{"nodes.py"} })
	check("commit", false, true, func(c *Cell) { c.Version.Commit = "c2" })
	check("package", false, true, func(c *Cell) { c.Version.Packages["torch"] = "2.12" })
	check("node packs", false, true, func(c *Cell) { c.Version.Packs = []Pack{{Name: "p", Hash: "1"}} })
	check("no node packs", true, true, func(c *Cell) { c.Version.Packs = []Pack{} })
	check("setting", false, false, func(c *Cell) { c.Settings["dynamic-vram"] = "on" })
	check("workflow content", false, false, func(c *Cell) { c.Workflow.Hash = "i" })
	check("hardware", false, false, func(c *Cell) { c.Hardware.Name = "small" })
	check("probe", false, false, func(c *Cell) { c.Probe = true })
}

// TestPeak checks that what comes after the work does not count and that kernel peaks win ties.
func TestPeak(t *testing.T) {
	span := func(kind SpanKind, how PeakHow, value int64) Span {
		return Span{Kind: kind, Peaks: []Peak{{Meter: "m", Value: value, How: how}}}
	}
	trial := Trial{Spans: []Span{
		span(SpanStart, PeakSampled, 3),
		span(SpanPrompt, PeakSampled, 5),
		span(SpanPrompt, PeakKernel, 5),
		span(SpanSettle, PeakSampled, 8),
		span(SpanStop, PeakSampled, 9),
	}}
	want := Peak{Meter: "m", Value: 5, How: PeakKernel}
	if got, ok := trial.Peak("m"); !ok || got != want {
		t.Errorf("peak = %v, %v, want %v", got, ok, want)
	}
	if got, ok := trial.Peak("n"); ok {
		t.Errorf("peak of an unknown meter = %v, want none", got)
	}
}
