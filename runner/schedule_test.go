package runner

import (
	"fmt"
	"testing"
	"time"

	"memtrix"
)

func planned(name string, status memtrix.Status, repeats int) memtrix.PlannedCell {
	return memtrix.PlannedCell{
		Cell:    memtrix.Cell{Version: memtrix.Version{Name: name, Commit: name}},
		Status:  status,
		Repeats: repeats,
	}
}

// TestMissing checks what an interrupted session still has to do.
func TestMissing(t *testing.T) {
	a := planned("a", memtrix.StatusRun, 2)
	b := planned("b", memtrix.StatusNotApplicable, 2)
	c := planned("c", memtrix.StatusLeftOut, 1)
	d := planned("d", memtrix.StatusRun, 1)
	plan := &memtrix.Plan{Cells: []memtrix.PlannedCell{a, b, c, d}}
	done := map[string]map[int]memtrix.OutcomeKind{
		a.Cell.ID(): {0: memtrix.Pass},
		d.Cell.ID(): {0: memtrix.OOM},
	}
	var got []string
	for _, w := range missing(plan, done) {
		got = append(got, w.cell.Cell.Version.Name+string(rune('0'+w.repeat)))
	}
	if want := "[a1 b0]"; want != fmt.Sprint(got) {
		t.Errorf("missing = %v, want %s", got, want)
	}
	got = nil
	for _, w := range missing(plan, nil) {
		got = append(got, w.cell.Cell.Version.Name+string(rune('0'+w.repeat)))
	}
	if want := "[a0 a1 b0 d0]"; want != fmt.Sprint(got) {
		t.Errorf("missing of a new session = %v, want %s", got, want)
	}
	a.First = 1 // others are somebody else's
	if got := missing(&memtrix.Plan{Cells: []memtrix.PlannedCell{a}}, nil); len(got) != 1 || got[0].repeat != 1 {
		t.Errorf("missing of one repeat = %v, want the second", got)
	}
}

// With order abba versions run forth and back, cell by cell; what is done is left out and
// changes no order.
func TestForthAndBack(t *testing.T) {
	cell := func(version, workflow string) memtrix.PlannedCell {
		c := planned(version, memtrix.StatusRun, 4)
		c.Cell.Workflow = memtrix.Workflow{Name: workflow, Hash: workflow}
		return c
	}
	plan := &memtrix.Plan{Order: memtrix.OrderABBA, Cells: []memtrix.PlannedCell{cell("A", "x"), cell("A", "y"), cell("B", "x"), cell("B", "y")}}
	show := func(done map[string]map[int]memtrix.OutcomeKind) string {
		text := ""
		for _, w := range missing(plan, done) {
			text += w.cell.Cell.Version.Name + w.cell.Cell.Workflow.Name + " "
		}
		return text
	}
	if got, want := show(nil), "Ax Bx Bx Ax Ax Bx Bx Ax Ay By By Ay Ay By By Ay "; got != want {
		t.Errorf("order %q, want %q", got, want)
	}
	done := map[string]map[int]memtrix.OutcomeKind{plan.Cells[0].Cell.ID(): {0: memtrix.Pass, 1: memtrix.Pass}, plan.Cells[2].Cell.ID(): {0: memtrix.Pass}}
	if got, want := show(done), "Bx Ax Bx Bx Ax Ay By By Ay Ay By By Ay "; got != want {
		t.Errorf("order of the rest %q, want %q", got, want)
	}
}

// TestEstimate checks that a version's own trials predict it, and that others do
// until it has some.
func TestEstimate(t *testing.T) {
	work := []item{
		{planned("a", memtrix.StatusRun, 1), 0},
		{planned("a", memtrix.StatusNotApplicable, 1), 0},
		{planned("a", memtrix.StatusRun, 1), 0},
		{planned("b", memtrix.StatusRun, 1), 0},
	}
	e := newEstimate(work)
	work[0].cell.Seconds = 7
	if got, want := e.left(0), 7*time.Second; got != want {
		t.Errorf("before any trial: %v, want the plan's %v", got, want)
	}
	e.took(0, 10)
	e.took(1, 0) // not applicable: takes no time and teaches nothing
	if got, want := e.left(1), 20*time.Second; got != want {
		t.Errorf("left(1) = %v, want %v", got, want)
	}
	e.took(2, 20)
	if got, want := e.left(3), 15*time.Second; got != want {
		t.Errorf("left(3) = %v, want %v", got, want)
	}
}

// TestDescribe checks the one-line verdicts of the progress display.
func TestDescribe(t *testing.T) {
	check := func(trial memtrix.Trial, want string) {
		t.Helper()
		if got := describe(&trial); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	oom := memtrix.Outcome{Kind: memtrix.OOM, Memory: memtrix.MemoryVRAM, Node: &memtrix.Node{ID: "5", ClassType: "KSampler"}}
	check(memtrix.Trial{Outcome: oom}, "oom (vram) in KSampler (5)")
	check(memtrix.Trial{Outcome: oom, Expect: memtrix.OOM}, "oom (vram) in KSampler (5), as expected")
	check(memtrix.Trial{Outcome: memtrix.Outcome{Kind: memtrix.Pass}}, "pass")
	check(memtrix.Trial{Outcome: memtrix.Outcome{Kind: memtrix.Killed, Memory: memtrix.MemoryNone}}, "killed")
}
