package history

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"memtrix"
	"memtrix/regress"
)

func names(l Line) []string {
	var all []string
	for _, p := range l.Places {
		all = append(all, p.Name)
	}
	return all
}

// A spec with a release that stays and a branch that moves gives a line by date for each
// name, and one by version; releases come in their own order.
func TestLines(t *testing.T) {
	b := &book{}
	for n := range 4 {
		b.night(
			run{version: "master", release: "0.29.0", commit: fmt.Sprint("c", n), mib: 100},
			run{version: "0.9.2", release: "0.9.2", commit: "old", mib: 90},
			run{version: "0.29.0", release: "0.29.0", commit: "new", mib: 90},
		)
	}
	b.night(run{version: "0.9.2", release: "0.9.2", commit: "old", outcome: memtrix.Interrupted})
	b.night(run{version: "master", release: "0.29.0", commit: "c9", mib: 100})
	lines := Lines(b.trials, "")
	if len(lines) != 4 {
		t.Fatalf("%d lines, want 4", len(lines))
	}
	for _, l := range lines[:3] {
		if l.Axis != ByDate {
			t.Errorf("%s is by %s", l.Version, l.Axis)
		}
	}
	if l := lines[0]; l.Version != "master" || len(l.Places) != 6 || len(l.Places[4].Trials) != 0 || l.newest() != 6 {
		t.Errorf("master: %v, newest %d", names(l), l.newest())
	}
	if got, want := names(lines[3]), []string{"0.9.2", "0.29.0", "master"}; lines[3].Axis != ByVersion || !reflect.DeepEqual(got, want) {
		t.Errorf("by version: %v, want %v", got, want)
	}
	if n := lines[3].Places[2].Trials[0].Trial.Cell.Version.Commit; n != "c9" {
		t.Errorf("by version master is %s, want its newest", n)
	}
}

// Other cards, simulated trials and other specs are other lines; a search's trials are none.
func TestLinesApart(t *testing.T) {
	b := &book{}
	for range 3 {
		b.night(run{version: "a", mib: 1}, run{version: "a", mib: 1, sim: true}, run{version: "a", mib: 1, facts: memtrix.Environment{"gpu.0.name": "RTX 5090"}})
	}
	for range 3 {
		b.night(run{version: "a", mib: 1})
		b.trials[len(b.trials)-1].Session.Spec = "nightly.floor-vram"
	}
	if lines := Lines(b.trials, ""); len(lines) != 3 {
		t.Errorf("%d lines, want 3", len(lines))
	}
	// What it found hangs on a trial, and is followed.
	for _, x := range b.trials[9:] {
		x.Numbers[memtrix.FloorVRAM] = memtrix.Number{Value: 3 << 30, Unit: memtrix.UnitBytes}
	}
	lines := Lines(b.trials, ByDate)
	if len(lines) != 4 {
		t.Fatalf("%d lines, want 4", len(lines))
	}
	if meters, _, _ := Meters(lines[3].Trials(), nil); !slices.Contains(meters, memtrix.FloorVRAM) {
		t.Errorf("followed are %v", meters)
	}
}

// look does what is done after a run: with one repeat of each suspect, if repeat is given.
func look(b *book, known []Change, repeat func(cell string) run) ([]Change, int) {
	repeats := 0
	for {
		f := Look(Lines(b.trials, ""), b.nights, known, AlarmMetersOf(b.trials))
		if len(f.Suspects) == 0 || repeat == nil || repeats == 6 {
			return f.Changes, repeats
		}
		for _, s := range f.Suspects {
			r := repeat(s.Cell)
			r.confirms = true
			b.add(r)
			repeats++
		}
	}
}

// The first out-of-memory after five passes is a change, asks for one repeat, and is no
// news in the nights after. Passing again fixes the alarm.
func TestOOMNightAfterNight(t *testing.T) {
	b := &book{}
	var known []Change
	var alarms []Alarm
	for n := range 16 {
		r := run{version: "master", commit: fmt.Sprint("c", n), mib: 1000}
		if n >= 6 && n < 10 {
			r.outcome, r.mib = memtrix.OOM, 0
		}
		b.night(r)
		found, repeats := look(b, known, func(string) run { return r })
		if want := n == 6 || n == 10; (len(found) == 1) != want {
			t.Fatalf("night %d: %+v", n, found)
		}
		if n == 10 && (found[0].Kind != regress.FixedOOM || found[0].Worse) {
			t.Errorf("%+v", found)
		}
		if n == 6 {
			if repeats != 1 || found[0].Kind != regress.NewOOM || !found[0].Worse || found[0].FromCommit != "c5" || found[0].ToCommit != "c6" {
				t.Errorf("%d repeats, %+v", repeats, found)
			}
			if found[0].Causes[0].Kind != CauseComfyUI {
				t.Errorf("causes: %v", found[0].Causes)
			}
			g := Group(found, b.session(), alarms)
			if len(g.Opened) != 1 {
				t.Fatalf("%+v", g)
			}
			a := g.Opened[0]
			a.ID = 1
			a.Confirm(Lines(b.trials, ""))
			if a.Confirming != 1 || a.Confirmed != 1 || !strings.Contains(a.Title, "new-oom in sdxl") || !strings.Contains(a.Title, "master (c6)") {
				t.Errorf("%+v", a)
			}
			alarms = append(alarms, a)
		}
		known = append(known, found...)
		gone := Gone(Lines(b.trials, ""), alarms)
		if want := n >= 14; (len(gone) == 1) != want {
			t.Errorf("night %d: gone %v", n, gone)
		}
	}
}

// An out-of-memory that the spec expects needs nobody.
func TestExpectedOOM(t *testing.T) {
	b := &book{}
	for range 6 {
		b.night(run{version: "a", mib: 1})
	}
	b.night(run{version: "a", outcome: memtrix.OOM, expect: memtrix.OOM})
	found, _ := look(b, nil, nil)
	if len(found) != 1 || found[0].Worse {
		t.Errorf("%+v", found)
	}
}

// A step of memory is an alarm in the night in which it comes, with repeats, once; a package
// and a driver that changed there are its causes, the package first.
func TestShiftTonight(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	b := &book{}
	var known []Change
	value := func(n int) run {
		x := run{version: "master", commit: "same", mib: 6000 + 20*r.NormFloat64(), facts: memtrix.Environment{"package.torch": "2.10", "package-hash.torch": "a"}}
		if n >= 40 {
			x.mib += 300
			x.facts = memtrix.Environment{"package.torch": "2.11", "package-hash.torch": "b", "driver": "590", "banner.torch": "2.11"}
		}
		return x
	}
	alarm := -1
	for n := range 70 {
		b.night(value(n))
		found, _ := look(b, known, func(string) run { return value(n) })
		if len(found) > 0 {
			if alarm >= 0 || n < 40 || n > 41 {
				t.Fatalf("night %d: %+v", n, found)
			}
			alarm = n
			c := found[0]
			if c.How != HowTonight || c.Meter != memtrix.RAMTreeAnon || !c.Worse || c.Unit != memtrix.UnitBytes || !strings.Contains(c.Reason, "MiB (+") {
				t.Errorf("%+v", c)
			}
			want := []Cause{{CausePackage, "torch", "2.10", "2.11"}, {CauseDriver, "driver", "580", "590"}}
			if !reflect.DeepEqual(c.Causes, want) {
				t.Errorf("causes %+v, want %+v", c.Causes, want)
			}
		}
		known = append(known, found...)
	}
	if alarm < 0 {
		t.Error("nothing was found")
	}
	// The same from the whole line.
	l := Lines(b.trials, ByDate)[0]
	marked := Marked(l, []string{memtrix.RAMTreeAnon}, known)
	if len(marked) != 1 || marked[0].Place != 40 || marked[0].How != HowLevels {
		t.Errorf("marked: %+v", marked)
	}
}

// Changes of many cells with one cause are one alarm, later ones of the same cause join
// it, and others are another.
func TestGroup(t *testing.T) {
	s := memtrix.Session{ID: 9, Name: "n"}
	change := func(line, from, to string, kind regress.Kind) Change {
		return Change{Line: line, Workflow: line, Settings: "default", Kind: kind, Worse: true, Before: 100, After: 110, Session: 9,
			From: "master", To: "master", FromCommit: from, ToCommit: to, Causes: []Cause{{CauseComfyUI, "commit", from, to}}}
	}
	better := change("x", "a", "b", regress.FixedOOM)
	better.Worse = false
	found := []Change{change("one", "a", "b", regress.Shift), change("two", "a", "b", regress.NewOOM), change("three", "b", "c", regress.Shift), better}
	r := Group(found, s, nil)
	if len(r.Opened) != 2 || len(r.Opened[0].Changes) != 2 || len(r.Better) != 1 {
		t.Fatalf("%+v", r)
	}
	if a := r.Opened[0]; a.Changes[0].Kind != regress.NewOOM || a.Cause != "commit a -> b" || !strings.Contains(a.Title, "1 more in 2 cells") {
		t.Errorf("%+v", a)
	}
	r.Opened[0].ID = 7
	if again := Group(found[:1], memtrix.Session{ID: 10}, r.Opened[:1]); len(again.Opened) != 0 || len(again.Joined[7]) != 1 {
		t.Errorf("%+v", again)
	}
	r.Opened[0].State = Fixed
	if again := Group(found[:1], memtrix.Session{ID: 10}, r.Opened[:1]); len(again.Opened) != 1 {
		t.Errorf("a fixed alarm takes a new change: %+v", again)
	}
}

// When the control moved and its version did not, it is the machine; when its version
// moved, too, it is not.
func TestMachine(t *testing.T) {
	c := Change{Line: "one", Kind: regress.Shift, Worse: true, Before: 1, After: 2, FromCommit: "a", ToCommit: "b"}
	control := Change{Line: "control", Kind: regress.Shift, Before: 2, After: 1, Control: true, Causes: []Cause{{CauseDriver, "driver", "1", "2"}}}
	r := Group([]Change{c, control}, memtrix.Session{ID: 1}, nil)
	if len(r.Opened) != 1 || !r.Opened[0].Machine || len(r.Opened[0].Changes) != 2 || !strings.HasPrefix(r.Opened[0].Title, "the machine, not ComfyUI") {
		t.Errorf("%+v", r)
	}
	control.Causes = append([]Cause{{CauseComfyUI, "commit", "a", "b"}}, control.Causes...)
	r = Group([]Change{c, control}, memtrix.Session{ID: 1}, nil)
	if len(r.Opened) != 1 || r.Opened[0].Machine {
		t.Errorf("%+v", r)
	}
}

// Six releases of four repeats in one session: the one that takes more is found by
// comparing neighbours.
func TestReleasesOfOneSession(t *testing.T) {
	b := &book{nights: 1}
	for i, v := range []string{"0.12.0", "0.3.50", "0.18.1"} {
		for k := range 4 {
			r := run{version: v, release: v, commit: v, mib: 6000 + float64(k)}
			if i == 2 {
				r.mib += 200
			}
			b.add(r)
		}
	}
	l := Lines(b.trials, "")
	if len(l) != 1 {
		t.Fatalf("%d lines", len(l))
	}
	got := Changes(l[0], []string{memtrix.RAMTreeAnon})
	if len(got) != 1 || got[0].To != "0.18.1" || got[0].From != "0.12.0" || got[0].How != HowCompared || !got[0].Worse {
		t.Errorf("%+v", got)
	}
}

func TestFailOn(t *testing.T) {
	f, err := ParseFailOn("new-oom, shift:5%")
	if err != nil {
		t.Fatal(err)
	}
	check := func(c Change, want bool) {
		t.Helper()
		if got := f.Fails(c); got != want {
			t.Errorf("%+v: %t", c, got)
		}
	}
	check(Change{Kind: regress.NewOOM, Worse: true}, true)
	check(Change{Kind: regress.NewOOM}, false)
	check(Change{Kind: regress.NewFailure, Worse: true}, false)
	check(Change{Kind: regress.Shift, Worse: true, Before: 100, After: 105}, true)
	check(Change{Kind: regress.Shift, Worse: true, Before: 100, After: 104.9}, false)
	check(Change{Kind: regress.Shift, Before: 100, After: 50}, false)
	for _, bad := range []string{"oom", "shift:5", "shift:x%", "new-oom:5%", "shift:-1%", ","} {
		if _, err := ParseFailOn(bad); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
}

// Resident memory that moved without the server's own part is the page cache's.
func TestFilePages(t *testing.T) {
	b := &book{}
	for n := range 24 {
		b.night(run{version: "master", commit: "c", mib: 1000 + float64(n*7919%5)})
		own := b.trials[n].Numbers[memtrix.RAMTreeAnon]
		total := own
		total.Value += 400 << 20
		if n >= 12 {
			total.Value += 120 << 20
		}
		b.trials[n].Numbers[memtrix.RAMTreeRSS] = total
	}
	l := Lines(b.trials, ByDate)[0]
	got := Changes(l, []string{memtrix.RAMTreeRSS, memtrix.RAMTreeAnon})
	if len(got) != 1 || got[0].Worse || !got[0].FilesOnly() {
		t.Errorf("%+v", got)
	}
	c := compare(t, Side{"a", b.trials[:12]}, Side{"b", b.trials[12:]})
	if m := c.Cells[0].Meters[0]; !m.Files || m.Worse || m.Verdict != regress.Differs {
		t.Errorf("%+v", m)
	}
	for n := range 12 { // and with it
		x := b.trials[12+n].Numbers[memtrix.RAMTreeAnon]
		x.Value += 120 << 20
		b.trials[12+n].Numbers[memtrix.RAMTreeAnon] = x
	}
	for _, c := range Changes(l, []string{memtrix.RAMTreeRSS, memtrix.RAMTreeAnon}) {
		if !c.Worse || c.FilesOnly() {
			t.Errorf("%+v", c)
		}
	}
}
