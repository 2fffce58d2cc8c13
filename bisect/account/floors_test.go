package account

import (
	"strings"
	"testing"

	"memtrix/bisect"
	"memtrix/lab"
)

// By the floor: both floors, the size, and what the trials for them took, those of an earlier
// session left out and a trial that serves twice counted once.
func TestFloors(t *testing.T) {
	const mib = 1 << 20
	floor := func(passes, fails int64, trials ...int64) lab.FloorReport {
		r := lab.FloorReport{Meter: lab.FloorOfRAM, Found: true, Near: true, Floor: passes * mib, Fails: fails * mib}
		for _, id := range trials {
			r.Tries = append(r.Tries, lab.Point{Trial: id, Seconds: 30})
		}
		return r
	}
	ends := &lab.FloorEnds{
		Meter: lab.FloorOfRAM, Good: lab.FloorEnd{FloorReport: floor(1000, 900, 11, 12), Name: "old", Earlier: "last week"},
		Bad: lab.FloorEnd{FloorReport: floor(3000, 2900, 21, 22, 4), Name: "new"}, FloorGap: lab.FloorGap{Rose: true, Size: 1696 * mib},
	}
	r := found(4, 2, lab.MeasureOutcome, run(0, lab.RunGood, 0), run(3, lab.RunBad, 0), run(1, lab.RunGood, 0), run(2, lab.RunBad, 0))
	r.BadClass, r.At = "too little RAM", "with 1696 MiB of free RAM"
	a := Account{Cell: "sd15", Floors: ends, Stages: []Stage{{commits("a", "b", "c", "d"), r}}}
	text := strings.Join(a.Paragraphs(), "\n")
	for _, want := range []string{
		"the good end (old) passes with 1000 MiB and not with 900 MiB; the bad end (new) passes with 3000 MiB and not with 2900 MiB (+200.0 %)",
		"That of old is of the earlier session last week",
		"Candidates were tried with 1696 MiB of free RAM, between the two, where the good end passes and the bad one does not",
		"With 1696 MiB of free RAM, before it 0 of 2 runs ended with too little RAM, from it on 2 of 2",
		"sd15. 6 runs (3 of them for the floors), 4m30s.", // trial 4 is of both
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	same := &lab.BisectReport{Measure: "floor.ram"}
	same.Verdict, same.Result.Why = bisect.Same, "good and bad do not differ in their floor"
	ends.FloorGap = lab.FloorGap{Why: same.Result.Why}
	a.Stages[0].Report = same
	text = strings.Join(a.Paragraphs(), "\n")
	if !strings.Contains(text, "No first bad one among 4 commits: good and bad do not differ in their floor") || strings.Contains(text, "Candidates were tried") {
		t.Errorf("the same: %s", text)
	}
}
