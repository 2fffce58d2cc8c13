package matrix

import (
	"slices"
	"strings"
	"testing"

	"memtrix"
)

// Cells get the packs of their version and workflow; what a workflow misses on all
// versions is a mistake, on some it is not applicable there.
func TestPlanPacks(t *testing.T) {
	const text = "versions: [{sim: 0.29.0}, {sim: 0.3.64}]\nworkflows: [sd15, sdxl]\nsettings: {list: [{}]}\n"
	missing := map[string]bool{}
	plan := func() (*memtrix.Plan, error) {
		s, err := Parse("nightly.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		w := world(nil)
		w.Load = func(e VersionEntry, v memtrix.Version, f memtrix.Workflow) (memtrix.Version, Loading) {
			if f.Name == "sdxl" {
				v.Packs = []memtrix.Pack{{Name: "p", Hash: e.Sim}}
			}
			l := Loading{Notes: []string{"a note"}, Warnings: []string{"a warning"}}
			if missing[v.Name+" "+f.Name] {
				l.Missing = []string{"no X"}
			}
			return v, l
		}
		return s.Plan(w)
	}
	p, err := plan()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range p.Cells {
		if want := c.Cell.Workflow.Name == "sdxl"; (len(c.Cell.Version.Packs) == 1) != want || !slices.Contains(c.Notes, "a note") {
			t.Errorf("%s on %s: packs %v, notes %q", c.Cell.Workflow.Name, c.Cell.Version.Name, c.Cell.Version.Packs, c.Notes)
		}
	}
	if n := strings.Count(strings.Join(p.Warnings, "\n"), "a warning"); n != 2 {
		t.Errorf("warnings of two workflows on two versions: %q", p.Warnings)
	}

	missing["0.3.64 sdxl"] = true
	if p, err = plan(); err != nil {
		t.Fatal(err)
	}
	for _, c := range p.Cells {
		lacks := c.Cell.Workflow.Name == "sdxl" && c.Cell.Version.Name == "0.3.64"
		if lacks != (c.Status == memtrix.StatusNotApplicable) || lacks != (c.Reason == "no X") {
			t.Errorf("%s on %s is %s: %q", c.Cell.Workflow.Name, c.Cell.Version.Name, c.Status, c.Reason)
		}
	}
	if !slices.ContainsFunc(p.Warnings, func(w string) bool { return strings.Contains(w, "cannot run on 0.3.64: no X") }) {
		t.Errorf("warnings %q do not tell it", p.Warnings)
	}

	missing["0.29.0 sdxl"] = true
	if _, err = plan(); err == nil || err.Error() != "nightly.yaml:2:19: workflow sdxl: no X" {
		t.Errorf("on no version: %v", err)
	}
}
