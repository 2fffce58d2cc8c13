package reports

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"memtrix"
	"memtrix/history"
)

// trendOf makes a trend of a line by version: sizes in MiB, 0 for an out-of-memory.
func trendOf(t *testing.T, sizes ...int64) Trend {
	t.Helper()
	var briefs []*memtrix.Brief
	for i, size := range sizes {
		tr := point(int64(i+1), fmt.Sprintf("0.%d.0", 10+i/4), nil, size, 4000, 3000)
		tr.Cell.Version.Release = tr.Cell.Version.Name
		tr.Started = time.Date(2026, 11, 1, 2, i, 0, 0, time.UTC)
		tr.Environment = memtrix.Environment{"package.torch": fmt.Sprintf("2.%d", i/8)}
		b := &memtrix.Brief{Trial: tr, Session: memtrix.Session{ID: 1, Name: "n", Spec: "s"}, Series: tr.Cell.Series(), VersionID: tr.Cell.Version.Name, Numbers: map[string]memtrix.Number{
			memtrix.VRAMDeviceUsed:   {Value: size * mib, Unit: memtrix.UnitBytes, How: memtrix.PeakSampled},
			memtrix.PromptSeconds(1): {Value: int64(1500 * time.Millisecond), Unit: memtrix.UnitNanoseconds},
		}}
		if size == 0 {
			fails(tr, memtrix.Outcome{Kind: memtrix.OOM, Memory: memtrix.MemoryVRAM})
			b.Numbers = nil
		}
		briefs = append(briefs, b)
	}
	lines := history.Lines(briefs, history.ByVersion)
	meters, _, _ := history.Meters(briefs, nil)
	trends := NewTrends(lines, meters, [][]history.Change{history.Changes(lines[0], meters)})
	if len(trends) != 1 {
		t.Fatalf("want one trend, got %d", len(trends))
	}
	return trends[0]
}

func TestTrend(t *testing.T) {
	trend := trendOf(t, 5000, 5002, 5000, 5004, 5002, 5000, 5002, 5000, 5702, 5700, 5702, 5704, 0, 0, 0, 0)
	if got, want := len(trend.Points), 16; got != want {
		t.Errorf("want %d points, got %d", want, got)
	}
	m := trend.Meters[0]
	if m.Meter != memtrix.VRAMDeviceUsed || m.Unit != "MiB" || *m.Values[8] != 5702 || m.Values[12] != nil {
		t.Errorf("values: %+v", m)
	}
	if s := trend.Meters[1]; s.Unit != "s" || *s.Values[0] != 1.5 {
		t.Errorf("times: %+v", s)
	}
	if len(m.Changes) != 1 || m.Changes[0].At != 8 || !m.Changes[0].Worse || m.Changes[0].After-m.Changes[0].Before < 690 || m.Changes[0].After > 6000 {
		t.Errorf("want one shift at 8, in MiB, for the worse, got %+v", m.Changes)
	}
	if causes := strings.Join(m.Changes[0].Causes, "; "); !strings.Contains(causes, "torch 2.0 → 2.1") {
		t.Errorf("causes: %s", causes)
	}
	if len(trend.Outcomes) != 1 || trend.Outcomes[0].At != 12 || trend.Outcomes[0].Kind != "new-oom" {
		t.Errorf("want new-oom at 12, got %+v", trend.Outcomes)
	}
}

// A cell of which all trials but one failed, or all, has a trend, too: its crosses.
func TestTrendOfFailures(t *testing.T) {
	one := trendOf(t, 5000, 0, 0, 0, 0)
	if len(one.Points) != 5 || *one.Meters[0].Values[0] != 5000 || one.Meters[0].Values[1] != nil {
		t.Errorf("one passed: %+v", one)
	}
	none := trendOf(t, 0, 0, 0, 0, 0)
	if len(none.Points) != 5 || len(none.Meters) != 1 || len(none.Meters[0].Values) != 5 || none.Meters[0].Changes == nil {
		t.Errorf("none passed: %+v", none)
	}
	if err := DrawTrend(&bytes.Buffer{}, none, none.Meters[0], SVG); err != nil {
		t.Error(err)
	}
	few := trendOf(t, 5000, 5000, 5000, 5000, 0)
	if len(few.Untold) != 1 || !strings.Contains(few.Untold[0], "too few repeats to tell") || few.weight() != 1 || !strings.Contains(few.TooFew, "from 4 repeats on") {
		t.Errorf("untold: %q", few.Untold)
	}
}

func TestTrendPicture(t *testing.T) {
	trend := trendOf(t, 5000, 5002, 5000, 5004, 5002, 5000, 5002, 5000, 5702, 5700, 5702, 5704, 0, 0, 0, 0)
	pictures := trend.Pictures()
	if len(pictures) != 1 {
		t.Fatalf("want a picture of what changed only, got %d", len(pictures))
	}
	draw := func(trend Trend, m TrendMeter, f Format) []byte {
		var b bytes.Buffer
		if err := DrawTrend(&b, trend, m, f); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	text := string(draw(trend, pictures[0], SVG))
	for _, want := range []string{"peak vram.device.used", "shift +70", "new-oom", "0.10.0", "0.13.0", "5200"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in the picture", want)
		}
	}
	svgSize(t, []byte(text))
	keepPNG(t, "trend", func() []byte { return draw(trend, pictures[0], PNG) })
	trend.Simulated = true
	if !strings.Contains(string(draw(trend, pictures[0], SVG)), "SIMULATED") {
		t.Error("a simulated trend must say so")
	}
	if err := DrawTrend(&bytes.Buffer{}, trend, pictures[0], "gif"); err == nil {
		t.Error("want an error for a format that there is not")
	}
}
