package matrix

import (
	"strings"
	"testing"

	"memtrix"
)

// TestProbe checks which cells of a spec get a probe, and that those are other cells.
func TestProbe(t *testing.T) {
	const spec = `
versions: [{path: tree, name: real}, {sim: 0.29.0, name: simulated}]
workflows: [sd15]
settings: {list: [{}]}
control: {vram-mode: low}
`
	plan := func(text string) *memtrix.Plan {
		t.Helper()
		s, err := Parse("p.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return mustPlan(t, s, nil)
	}
	without, with := plan(spec), plan(spec+"probe: on\n")
	for i, c := range with.Cells {
		real := c.Cell.Version.Name == "real"
		if c.Cell.Probe != real || without.Cells[i].Cell.Probe {
			t.Errorf("%s: probe %v with probe: on, %v without it", c.Cell.Version.Name, c.Cell.Probe, without.Cells[i].Cell.Probe)
		}
		if same := c.Cell.Series() == without.Cells[i].Cell.Series(); same == real {
			t.Errorf("%s: one series with and without a probe is %v", c.Cell.Version.Name, same)
		}
	}
	if len(with.Warnings) != 1 || !strings.Contains(with.Warnings[0], "probe: version simulated is simulated and runs without one") {
		t.Errorf("warnings %q", with.Warnings)
	}
	if _, err := Parse("p.yaml", []byte(spec+"probe: maybe\n")); err == nil || !strings.Contains(err.Error(), "p.yaml:6:8: probe") {
		t.Errorf("err = %v, want one at the value", err)
	}
}
