package history

import (
	"strings"
	"testing"

	"memtrix"
	"memtrix/regress"
)

// twoVersions is one session with so many trials of each of two versions.
func twoVersions(n int, a, b run) Line {
	book := &book{}
	var runs []run
	a.version, a.release, b.version, b.release = "0.1.0", "0.1.0", "0.2.0", "0.2.0"
	for range n {
		runs = append(runs, a, b)
	}
	book.night(runs...)
	return Lines(book.trials, ByVersion)[0]
}

// Neighbouring versions of four repeats are compared as compare does, in how they end,
// too; of fewer it is said that they are too few.
func TestNeighbourOutcomes(t *testing.T) {
	pass, oom := run{mib: 100}, run{outcome: memtrix.OOM}
	expected, killed := oom, run{outcome: memtrix.Killed}
	expected.expect = memtrix.OOM
	for _, c := range []struct {
		name   string
		n      int
		a, b   run
		kind   regress.Kind // "" for no change
		how    How
		worse  bool
		untold int
	}{
		{"four that newly fail", 4, pass, oom, regress.NewOOM, HowCompared, true, 0},
		{"four that pass again", 4, oom, pass, regress.FixedOOM, HowCompared, false, 0},
		{"four that are killed", 4, pass, killed, regress.NewFailure, HowCompared, true, 0},
		{"four that fail otherwise", 4, killed, oom, regress.NewOOM, HowCompared, true, 0},
		{"four as expected", 4, pass, expected, regress.NewOOM, HowCompared, false, 0},
		{"six, which a series tells", 6, pass, oom, regress.NewOOM, HowOutcomes, true, 0},
		{"six as expected", 6, pass, expected, regress.NewOOM, HowOutcomes, false, 0},
		{"three", 3, pass, oom, "", "", false, 1},
		{"one", 1, pass, oom, "", "", false, 1},
		{"one that passes again", 1, killed, pass, "", "", false, 1},
		{"nothing", 4, pass, pass, "", "", false, 0},
	} {
		l := twoVersions(c.n, c.a, c.b)
		var got []Change
		for _, x := range Changes(l, nil) {
			if x.Meter == "" {
				got = append(got, x)
			}
		}
		switch {
		case c.kind == "" && len(got) > 0, c.kind != "" && len(got) != 1:
			t.Errorf("%s: %+v", c.name, got)
		case c.kind != "":
			g := got[0]
			if g.Kind != c.kind || g.How != c.how || g.Worse != c.worse || g.Place != 1 || g.Before == g.After {
				t.Errorf("%s: %+v", c.name, g)
			}
			if wants := c.b.expect != ""; g.Expected != wants || strings.Contains(g.Reason, "as expected") != wants {
				t.Errorf("%s: expected %v, %s", c.name, g.Expected, g.Reason)
			}
		}
		if n := len(Untold(l, got)); n != c.untold {
			t.Errorf("%s: %d untold, want %d", c.name, n, c.untold)
		}
	}
}

// By date nothing is told of one night after another; a lone failure of a long history is
// that of a flaky cell.
func TestUntoldByDate(t *testing.T) {
	b := &book{}
	untold := func() int {
		l := Lines(b.trials, ByDate)[0]
		return len(Untold(l, Changes(l, nil)))
	}
	b.night(run{version: "m", mib: 1})
	b.night(run{version: "m", outcome: memtrix.OOM})
	if n := untold(); n != 1 {
		t.Errorf("%d untold after one pass, want 1", n)
	}
	b = &book{}
	for n := range 20 {
		r := run{version: "m", mib: 1}
		if n == 10 || n == 15 {
			r = run{version: "m", outcome: memtrix.OOM}
		}
		b.night(r)
	}
	if n := untold(); n != 0 {
		t.Errorf("%d untold of a flaky cell, want 0", n)
	}
}

func TestTooFew(t *testing.T) {
	for n, want := range map[int]bool{1: true, 3: true, 4: false} {
		if got := TooFew(twoVersions(n, run{mib: 1}, run{mib: 1})); (got != "") != want {
			t.Errorf("%d repeats: %q", n, got)
		}
	}
	if got := TooFew(twoVersions(4, run{mib: 1}, run{outcome: memtrix.OOM})); got == "" {
		t.Error("of one version with values nothing can be told")
	}
	b := &book{}
	for n := range 8 {
		b.night(run{version: "m", mib: 1})
		if n == 0 {
			continue
		}
		if got, want := TooFew(Lines(b.trials, ByDate)[0]), n+1 < regress.FewestPoints; (got != "") != want {
			t.Errorf("%d nights: %q", n+1, got)
		}
	}
}
