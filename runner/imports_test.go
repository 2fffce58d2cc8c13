package runner

import (
	"strings"
	"testing"
	"time"

	"memtrix"
)

// The growth over an import is told where the log says when it was, else why not.
func TestGrowth(t *testing.T) {
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	series := []memtrix.Series{
		{Meter: memtrix.Meter{Name: memtrix.RAMTreeAnon}, T: []time.Duration{0}, V: []int64{5}},
		{Meter: memtrix.Meter{Name: memtrix.RAMTreeRSS}, T: []time.Duration{ms(10), ms(20), ms(30), ms(90)}, V: []int64{100, 350, 300, 300}},
	}
	check := func(p memtrix.PackImport, series []memtrix.Series, want int64, why string) {
		t.Helper()
		growth(&p, series)
		switch {
		case why == "" && (p.RAM == nil || *p.RAM != want || p.RAMWhy != ""):
			t.Errorf("got %+v, want %d", p, want)
		case why != "" && (p.RAM != nil || !strings.Contains(p.RAMWhy, why)):
			t.Errorf("got %+v, want %q", p, why)
		}
	}
	check(memtrix.PackImport{Begin: ms(15), End: ms(25)}, series, 250, "")
	check(memtrix.PackImport{Begin: ms(15), End: ms(35)}, series, 200, "")
	check(memtrix.PackImport{Begin: ms(25), End: ms(35)}, series, -50, "")
	check(memtrix.PackImport{Begin: ms(5), End: ms(25)}, series, 0, "was not read then")
	check(memtrix.PackImport{Begin: ms(15), End: ms(25)}, series[:1], 0, "was not read then")
	check(memtrix.PackImport{}, series, 0, "does not say when")
	check(memtrix.PackImport{Begin: ms(15), End: ms(15)}, series, 0, "ended before")
	check(memtrix.PackImport{RAMWhy: "for a reason", Begin: ms(15), End: ms(25)}, series, 0, "for a reason")
}
