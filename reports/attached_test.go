package reports

import (
	"bytes"
	"strings"
	"testing"

	"memtrix"
)

// TestAttached ensures that trials on servers that ran before are marked, and held
// against nothing that they cannot be held against.
func TestAttached(t *testing.T) {
	trial := func(id int64, name string, ram int64, a *memtrix.Attached, shared bool) *memtrix.Trial {
		tr := &memtrix.Trial{ID: id, Shared: shared, Outcome: memtrix.Outcome{Kind: memtrix.Pass}}
		tr.Cell.Version = memtrix.Version{Name: name, Commit: name, Attached: a}
		tr.Spans = []memtrix.Span{{Kind: memtrix.SpanPrompt, Prompt: 1, Peaks: []memtrix.Peak{{Meter: memtrix.RAMTreeRSS, Value: ram, How: memtrix.PeakSampled}}}}
		return tr
	}
	here := &memtrix.Attached{URL: "http://127.0.0.1:8188", Local: true}
	table := func(trials ...*memtrix.Trial) string {
		var b bytes.Buffer
		if err := Markdown(&b, Session{Trials: trials}); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	check := func(text string, has bool, words string) {
		t.Helper()
		if strings.Contains(text, words) != has {
			t.Errorf("has %q: want %v:\n%s", words, has, text)
		}
	}
	fresh := table(trial(1, "0.29.0", 1<<30, nil, false), trial(2, "0.30.0", 2<<30, here, false))
	check(fresh, true, "0.30.0 (attached)")
	check(fresh, true, "on a server that ran before")
	check(fresh, false, "100 %")
	both := table(trial(1, "0.29.0", 1<<30, here, false), trial(2, "0.30.0", 2<<30, here, false))
	check(both, true, "100 %")
	shared := table(trial(1, "0.29.0", 1<<30, here, false), trial(2, "0.30.0", 2<<30, here, true))
	check(shared, true, "0.30.0 (attached, shared)")
	check(shared, false, "100 %")
}
