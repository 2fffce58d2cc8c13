package main

import (
	"strings"
	"testing"

	"memtrix"
	"memtrix/matrix"
)

// Rows of a plan that differ in the size of the machine alone say so.
func TestPlanNamesTheMachine(t *testing.T) {
	plan := &memtrix.Plan{}
	for _, h := range []memtrix.Hardware{matrix.AsIs, {Name: "ram-3g", RAM: 3 << 30}} {
		plan.Cells = append(plan.Cells, memtrix.PlannedCell{Status: memtrix.StatusRun, Repeats: 3, Cell: memtrix.Cell{
			Version: memtrix.Version{Name: "0.29.0"}, Workflow: memtrix.Workflow{Name: "sd15"}, Hardware: h,
			Settings: memtrix.Settings{"device": "cpu"}}})
	}
	var b strings.Builder
	if err := writePlan(&b, plan); err != nil {
		t.Fatal(err)
	}
	want := "  1  0.29.0  sd15  device=cpu\n  2  0.29.0  sd15  device=cpu  ram-3g\n2 cells, 6 trials, about "
	if got := b.String(); !strings.HasPrefix(got, want) {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
