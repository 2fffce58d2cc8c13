package html

import (
	"strings"
	"testing"
	"time"

	"memtrix"
	"memtrix/history"
	"memtrix/reports"
)

const mib = 1 << 20

// evil is text that a workflow, a node pack or a log may contain. If any of it ran, it
// would leave its mark in window.owned.
const evil = `</script><script>window.owned=1</script>` +
	`<img src=x onerror="window.owned=2">` + "\u2028window.owned=3//" + `'"` + "`${window.owned=4}`" +
	`--><svg onload=window.owned=5> javascript:window.owned=6 {{.}} &lt;b&gt; ]]>`

// trial makes a trial with series over ten seconds.
func trial(id int64, version string, settings memtrix.Settings) *memtrix.Trial {
	t := &memtrix.Trial{
		ID: id, Session: 1, Started: time.Date(2026, 11, 1, 2, int(id%60), 0, 0, time.UTC), Seconds: 10,
		Cell: memtrix.Cell{
			Version:  memtrix.Version{Name: version, Commit: version, Release: version, Target: memtrix.TargetComfyUI, Packages: map[string]string{"torch": "2.9." + version}},
			Settings: settings, Hardware: memtrix.Hardware{Name: "as-is"}, Workflow: memtrix.Workflow{Name: "sdxl", Hash: "w"},
		},
		Outcome:     memtrix.Outcome{Kind: memtrix.Pass},
		Prompts:     []memtrix.PromptResult{{Index: 1, Seconds: 5, Outcome: memtrix.Pass}},
		Environment: memtrix.Environment{"driver": "580." + version, "kernel": "6.1"},
	}
	node := &memtrix.Node{ID: "5", ClassType: "KSampler"}
	t.Spans = []memtrix.Span{
		{Kind: memtrix.SpanStart, End: 3 * time.Second},
		{Kind: memtrix.SpanPrompt, Prompt: 1, Start: 3 * time.Second, End: 8 * time.Second},
		{Kind: memtrix.SpanNode, Prompt: 1, Node: node, Start: 4 * time.Second, End: 7 * time.Second},
		{Kind: memtrix.SpanSettle, Start: 8 * time.Second, End: 10 * time.Second},
	}
	for _, m := range []struct {
		name string
		size int64
	}{
		{memtrix.RAMTreeRSS, 6000}, {memtrix.RAMTreeAnon, 4000}, {memtrix.RAMTreeFile, 2000},
		{memtrix.VRAMDeviceUsed, 8000}, {memtrix.VRAMTrialUsed, 7400},
	} {
		s := memtrix.Series{Meter: memtrix.Meter{Name: m.name, Unit: memtrix.UnitBytes, Source: "test"}}
		for i := range int64(500) {
			s.T = append(s.T, time.Duration(i)*20*time.Millisecond)
			s.V = append(s.V, m.size*mib*min(i, 400)/400+(id*7+i*i)%13*mib)
		}
		t.Series = append(t.Series, s)
		t.Spans[1].Peaks = append(t.Spans[1].Peaks, memtrix.Peak{Meter: m.name, Value: (m.size + id%9*12) * mib, How: memtrix.PeakSampled})
		t.Spans[2].Peaks = append(t.Spans[2].Peaks, memtrix.Peak{Meter: m.name, Value: m.size * mib, How: memtrix.PeakSampled})
	}
	t.Readings = []memtrix.Reading{{Kind: memtrix.Rested, At: 9 * time.Second, Values: map[string]int64{memtrix.RAMTreeRSS: 3000 * mib}}}
	return t
}

// planted puts evil text into every field that text from outside reaches.
func planted(id int64) *memtrix.Trial {
	t := trial(id, "1.0"+evil, memtrix.Settings{"cache" + evil: evil})
	t.Cell.Workflow.Name, t.Cell.Hardware.Name, t.Cell.Version.Commit = evil, evil, evil
	t.Cell.Version.Packages[evil] = evil
	t.Cell.Version.Dirty = []string{evil}
	t.Cell.Version.Packs = []memtrix.Pack{{Name: evil, Hash: evil, Commit: evil}}
	t.Argv = []string{"--" + evil}
	node := &memtrix.Node{ID: evil, ClassType: evil, Title: evil, DisplayID: evil}
	t.Spans[2].Node = node
	t.Outcome = memtrix.Outcome{
		Kind: memtrix.OOM, Memory: memtrix.MemoryVRAM, Phase: memtrix.Phase(evil), Node: node, Message: evil,
		Evidence: []string{evil, "plain"}, Advice: []string{evil}, FallBacks: []string{evil},
		Holders: []memtrix.Holder{{Name: evil, Bytes: mib}},
	}
	t.Warnings = []string{evil}
	t.Readings[0].Note = evil
	t.Environment = memtrix.Environment{"env." + evil: evil, "driver": evil}
	for i := range t.Series {
		t.Series[i].Meter.Source = evil
	}
	return t
}

// page makes a page of trials, each a place of one line for each setting.
func page(trials []*memtrix.Trial) Page {
	s := reports.Session{Name: "nightly-1", Spec: "nightly", Trials: trials}
	var briefs []*memtrix.Brief
	p := Page{Made: time.Date(2026, 11, 1, 3, 0, 0, 0, time.UTC), Program: "memtrix test"}
	for _, t := range trials {
		b := &memtrix.Brief{
			Trial: t, Session: memtrix.Session{ID: 1, Name: s.Name, Spec: s.Spec, Started: t.Started},
			Cell: t.Cell.ID(), Series: t.Cell.Series(), VersionID: t.Cell.Version.Name, Numbers: map[string]memtrix.Number{},
		}
		for _, meter := range []string{memtrix.RAMTreeRSS, memtrix.VRAMDeviceUsed} {
			if peak, ok := t.Peak(meter); ok {
				b.Numbers[meter] = memtrix.Number{Value: peak.Value, Unit: memtrix.UnitBytes, How: peak.How}
			}
		}
		briefs = append(briefs, b)
		p.Charts = append(p.Charts, reports.NewChart(t, min(260, 100_000/len(trials))))
	}
	lines := history.Lines(briefs, "")
	meters, _, _ := history.Meters(briefs, nil)
	changes := make([][]history.Change, len(lines))
	for i, l := range lines {
		changes[i] = history.Changes(l, meters)
	}
	s.Trends = reports.NewTrends(lines, meters, changes)
	s.Alarms = []history.Alarm{{
		ID: 1, State: history.Open, Title: evil, Name: evil, Note: evil, Session: 1,
		Changes: []history.Change{{Workflow: evil, Settings: evil, Hardware: evil, Kind: "shift", Reason: evil, TrialAfter: trials[0].ID, Causes: []history.Cause{{Kind: history.CausePackage, Name: evil, Before: evil, After: evil}}}},
	}}
	p.Report = reports.NewReport(s)
	return p
}

func written(tb testing.TB, p Page) string {
	tb.Helper()
	var b strings.Builder
	if err := Write(&b, p); err != nil {
		tb.Fatal(err)
	}
	return b.String()
}

// night is a small session with a failure, a step and planted text.
func night() []*memtrix.Trial {
	var trials []*memtrix.Trial
	id := int64(0)
	for _, version := range []string{"0.1.0", "0.2.0", "0.3.0"} {
		for _, settings := range []memtrix.Settings{nil, {"cache": "none", "dynamic-vram": "off", "pinned-memory": "off", "async-offload": "off"}} {
			for repeat := range 4 {
				id++
				t := trial(id, version, settings)
				t.Repeat = repeat
				if version == "0.3.0" && settings == nil {
					for i := range t.Spans[1].Peaks {
						t.Spans[1].Peaks[i].Value += 700 * mib
					}
				}
				trials = append(trials, t)
			}
		}
	}
	trials[5].Outcome = memtrix.Outcome{Kind: memtrix.OOM, Memory: memtrix.MemoryVRAM, Node: &memtrix.Node{ID: "5", ClassType: "KSampler"}, Message: "out of memory", Evidence: []string{"torch.OutOfMemoryError: Allocation on device"}}
	trials[5].Prompts[0].Outcome = memtrix.OOM
	// Two that passed make a trend of planted names.
	for _, version := range []string{"7", "8"} {
		id++
		t := planted(id)
		t.Cell.Version.Name, t.Outcome = version+evil, memtrix.Outcome{Kind: memtrix.Pass}
		trials = append(trials, t)
	}
	return append(trials, planted(id+1))
}

// many are so many trials of one spec over versions.
func many(n int) []*memtrix.Trial {
	var trials []*memtrix.Trial
	words := []string{"on", "off", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15", "16", "17", "18"}
	for i := range n {
		t := trial(int64(i+1), "0."+words[2+i/20%18]+".0", memtrix.Settings{"cache-lru": words[i%20]})
		t.Repeat = i / 360
		if i%37 == 0 {
			t.Outcome = memtrix.Outcome{Kind: memtrix.OOM, Memory: memtrix.MemoryVRAM, Message: "out of memory", Evidence: []string{"torch.OutOfMemoryError: Allocation on device"}}
		}
		trials = append(trials, t)
	}
	return trials
}
