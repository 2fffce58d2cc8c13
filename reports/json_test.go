package reports

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"memtrix"
)

func TestPlanJSON(t *testing.T) {
	var b strings.Builder
	if err := PlanJSON(&b, nightly().Plan); err != nil {
		t.Fatal(err)
	}
	golden(t, "plan.json", b.String())
	b.Reset()
	if err := PlanJSON(&b, memtrix.Plan{}); err != nil {
		t.Fatal(err)
	}
	if got, want := b.String(), "{\n  \"cells\": []\n}\n"; got != want {
		t.Errorf("want %q, got %q", want, got)
	}
}

func TestSessionJSON(t *testing.T) {
	s := nightly()
	s.Trials = s.Trials[:3]
	requested := int64(2 << 30)
	s.Trials[1].Outcome.Requested = &requested
	s.Trials[2].Simulated = true
	s.Trials[2].Started = time.Date(2026, 8, 1, 2, 3, 4, 0, time.UTC)
	// Meters that do not count bytes are no peaks of bytes.
	s.Trials[0].Spans[0].Peaks = append(s.Trials[0].Spans[0].Peaks, memtrix.Peak{Meter: memtrix.FaultsTreeMajor, Value: 12, How: memtrix.PeakSampled})
	var b strings.Builder
	if err := SessionJSON(&b, s); err != nil {
		t.Fatal(err)
	}
	golden(t, "session.json", b.String())
}

// The fields that scripts depend on are there, as numbers and strings, and what
// is absent is left out instead of null or 0.
func TestSessionJSONContract(t *testing.T) {
	var b strings.Builder
	if err := SessionJSON(&b, Session{Name: "s", Trials: []*memtrix.Trial{
		fails(point(1, "0.29.0", nil, 0, 100, 50), memtrix.Outcome{Kind: memtrix.OOM, Memory: memtrix.MemoryRAM, How: memtrix.HowSignal, Phase: memtrix.PhaseLoad, Node: &memtrix.Node{ID: "1", ClassType: "Loader"}}),
		{ID: 2},
	}}); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Session string
		Trials  []map[string]json.RawMessage
	}
	if err := json.Unmarshal([]byte(b.String()), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Session != "s" || len(doc.Trials) != 2 {
		t.Fatalf("want session s with 2 trials, got %s", b.String())
	}
	byID := map[string]map[string]json.RawMessage{}
	for _, trial := range doc.Trials {
		byID[string(trial["id"])] = trial
	}
	check := func(id, field, want string) {
		t.Helper()
		got := strings.Join(strings.Fields(string(byID[id][field])), "")
		if got != want {
			t.Errorf("trial %s, %s: want %s, got %s", id, field, want, got)
		}
	}
	check("1", "outcome", `"oom"`)
	check("1", "memory", `"ram"`)
	check("1", "how", `"signal"`)
	check("1", "phase", `"load"`)
	check("1", "node", `{"id":"1","class_type":"Loader"}`)
	check("1", "peaks", `{"ram.tree.anon":52428800,"ram.tree.rss":104857600}`)
	check("1", "prompts", `[{"index":1,"seconds":3.8,"outcome":"oom"}]`)
	check("1", "simulated", "false")
	check("2", "peaks", "{}")
	check("2", "prompts", "[]")
	for _, field := range []string{"memory", "how", "phase", "node", "requested_bytes", "started", "seconds"} {
		check("2", field, "")
	}
	if strings.Contains(b.String(), "null") {
		t.Errorf("null in %s", b.String())
	}
}
