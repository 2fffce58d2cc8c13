package reports

import (
	"strings"
	"testing"

	"memtrix"
)

// TestWithoutEffect checks which settings are said to do nothing.
func TestWithoutEffect(t *testing.T) {
	trial := func(settings memtrix.Settings, peak, rested int64, seconds float64) row {
		return row{entry: entry{trial: &memtrix.Trial{
			Cell:     memtrix.Cell{Version: memtrix.Version{Name: "1.0"}, Settings: settings},
			Outcome:  memtrix.Outcome{Kind: memtrix.Pass},
			Spans:    []memtrix.Span{{Kind: memtrix.SpanPrompt, Peaks: []memtrix.Peak{{Meter: memtrix.RAMTreeRSS, Value: peak}}}},
			Readings: []memtrix.Reading{{Kind: memtrix.Rested, Values: map[string]int64{memtrix.RAMTreeRSS: rested}}},
			Prompts:  []memtrix.PromptResult{{Seconds: 9}, {Seconds: seconds}},
		}}}
	}
	base := memtrix.Settings{"device": "cpu"}
	with := func(name, value string) memtrix.Settings { return memtrix.Settings{"device": "cpu", name: value} }
	failed := trial(with("mmap", "off"), 1000, 500, 2)
	failed.trial.Outcome.Kind = memtrix.OOM
	rows := []row{
		trial(base, 1000, 500, 2),
		trial(with("cache", "classic"), 1010, 505, 2.5),
		trial(with("attention", "split"), 1100, 500, 2),   // another peak
		trial(with("smart-memory", "off"), 1000, 300, 2),  // less at rest
		trial(with("async-offload", "off"), 1000, 500, 9), // slower
		failed,
		trial(memtrix.Settings{"cpu-vae": "on"}, 1000, 500, 2), // nothing to compare it with
	}
	want := "1.0: no effect seen (memory within 2 %, second prompt within half): cache=classic"
	if got := strings.Join(withoutEffect(rows), "|"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
