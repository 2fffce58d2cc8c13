package history

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"memtrix"
	"memtrix/regress"
)

// side is a session of its own for each first letter of a name.
func side(name string, runs ...run) Side {
	b := &book{nights: int64(name[0]), next: 1000 * int64(name[0])}
	for _, r := range runs {
		b.add(r)
	}
	return Side{Name: name, Trials: b.trials}
}

func compare(t *testing.T, a, b Side) Comparison {
	t.Helper()
	c, err := CompareSides(a, b, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Outcomes that changed come before numbers, the worst first, however few trials there are.
func TestCompareOutcomes(t *testing.T) {
	c := compare(t,
		side("a", run{version: "1", workflow: "x", mib: 100}, run{version: "1", workflow: "y", mib: 100}, run{version: "1", workflow: "z", outcome: memtrix.OOM}),
		side("b", run{version: "2", workflow: "x", mib: 100}, run{version: "2", workflow: "y", outcome: memtrix.OOM}, run{version: "2", workflow: "z", mib: 100}))
	var got []string
	for _, p := range c.Cells {
		got = append(got, p.Workflow+" "+string(p.Outcome.Kind))
	}
	if want := []string{"y new-oom", "z fixed-oom", "x "}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if o := c.Cells[0].Outcome; !o.Worse || o.More != 3 || o.A != "1 pass" || o.B != "1 oom (vram)" {
		t.Errorf("%+v", o)
	}
	if n := len(c.Changes()); n != 2 {
		t.Errorf("%d changes", n)
	}
}

// What is not alike is said; what was simulated is refused.
func TestCompareUnlike(t *testing.T) {
	a := side("a", run{version: "1", mib: 100})
	b := side("b", run{version: "2", mib: 100, facts: memtrix.Environment{"driver": "590", "gpu.0.name": "RTX 5090", "ram.total": "68719476736"}})
	b.Trials[0].Trial.Cell.Probe = true
	b.Trials[0].Series = b.Trials[0].Trial.Cell.Series()
	c := compare(t, a, b)
	for _, want := range []string{"card: RTX 4070 against RTX 5090", "driver: 580 against 590", "probe: off against on", "RAM: nothing against 64 GiB"} {
		if !slices.Contains(c.Warnings, "not alike: "+want) {
			t.Errorf("%q is not among %q", want, c.Warnings)
		}
	}
	_, err := CompareSides(a, side("s", run{version: "2", mib: 100, sim: true}), nil)
	if !errors.Is(err, ErrUnlike) || !strings.Contains(err.Error(), "s is simulated") {
		t.Errorf("%v", err)
	}
	_, err = CompareSides(side("a", run{workflow: "x"}, run{workflow: "y"}), side("b", run{workflow: "z"}), nil)
	if !errors.Is(err, ErrUnlike) || !strings.Contains(err.Error(), "no cell in common") {
		t.Errorf("%v", err)
	}
	shared := side("a", run{version: "1", mib: 100}, run{version: "1", mib: 900})
	shared.Trials[1].Trial.Shared = true
	if c := compare(t, shared, b); len(c.Cells[0].A) != 1 || !strings.Contains(c.Warnings[0], "prompts of others") {
		t.Errorf("%q", c.Warnings)
	}
}

// A session of several versions is paired version by version; two versions cell by cell.
func TestComparePairs(t *testing.T) {
	night := func(mib float64) []run {
		return []run{{version: "master", mib: mib}, {version: "0.29.0", mib: 50}, {version: "master", mib: mib, settings: memtrix.Settings{"cache": "none"}}}
	}
	c := compare(t, side("one", night(100)...), side("two", night(200)...))
	if len(c.Cells) != 3 {
		t.Fatalf("%d cells", len(c.Cells))
	}
	for _, p := range c.Cells {
		if p.A[0].Trial.Cell.Version.Name != p.B[0].Trial.Cell.Version.Name {
			t.Errorf("%s is paired with %s", p.A[0].Trial.Cell.Version.Name, p.B[0].Trial.Cell.Version.Name)
		}
	}
	var a, b []run
	for range 6 {
		a, b = append(a, run{version: "m", mib: 1000}), append(b, run{version: "pr", mib: 1100})
	}
	c = compare(t, side("m", a...), side("pr", b...))
	m := c.Cells[0].Meters[0]
	if m.Verdict != regress.Differs || !m.Worse || m.P > 0.01 {
		t.Errorf("%+v", m)
	}
	if d, ok := m.Delta(); !ok || d < 0.0999 || d > 0.1001 {
		t.Errorf("delta %g", d)
	}
	if len(c.Warnings) != 0 {
		t.Errorf("two sessions: %q", c.Warnings)
	}
	book := &book{nights: 1}
	for i := range a {
		book.add(a[i])
		book.add(b[i])
	}
	var first, second []*memtrix.Brief
	for i, x := range book.trials {
		if i%2 == 0 {
			first = append(first, x)
		} else {
			second = append(second, x)
		}
	}
	if c := compare(t, Side{"m", first}, Side{"pr", second}); len(c.Warnings) != 0 {
		t.Errorf("in turn: %q", c.Warnings)
	}
	if c := compare(t, Side{"m", first[:2]}, Side{"pr", second[2:]}); len(c.Warnings) != 1 || !strings.Contains(c.Warnings[0], "order: abba") {
		t.Errorf("one after the other: %q", c.Warnings)
	}
	_, err := CompareSides(side("m", a...), side("pr", b...), []string{"ram.tree.ano"})
	if err == nil || !strings.Contains(err.Error(), "did you mean ram.tree.anon?") {
		t.Errorf("%v", err)
	}
}

// A meter that one side has keeps its median; the other side's is none.
func TestCompareOneSide(t *testing.T) {
	c := compare(t, side("a", run{version: "1", mib: 100}, run{version: "1", mib: 140}), side("b", run{version: "2", outcome: memtrix.OOM}))
	m := c.Cells[0].Meters[0]
	if m.A.Median != 120<<20 || m.A.Confidence == 0 || m.B != (regress.Interval{}) || m.Reason != "only one side has it" {
		t.Errorf("%+v", m)
	}
	if _, ok := m.Delta(); ok {
		t.Error("a difference from nothing")
	}
}

// A failure that the spec expects is told, and is not worse.
func TestCompareExpected(t *testing.T) {
	c := compare(t, side("a", run{version: "1", mib: 100}), side("b", run{version: "2", outcome: memtrix.OOM, expect: memtrix.OOM}))
	if o := c.Cells[0].Outcome; o.Kind != regress.NewOOM || !o.Expected || o.Worse {
		t.Errorf("%+v", o)
	}
	changes := c.Changes()
	if len(changes) != 1 || changes[0].Worse || !changes[0].Expected || !strings.HasSuffix(changes[0].Reason, "as expected by the spec") {
		t.Errorf("%+v", changes)
	}
}

// All fail on both sides, in another way: the test is about the way.
func TestCompareOtherFailure(t *testing.T) {
	var a, b []run
	for range 4 {
		a, b = append(a, run{outcome: memtrix.Error}), append(b, run{outcome: memtrix.OOM})
	}
	if o := compare(t, side("a", a...), side("b", b...)).Cells[0].Outcome; o.Kind != regress.NewOOM || o.P > 0.03 || o.More != 0 {
		t.Errorf("%+v", o)
	}
}

// What is compared with itself is refused, what is so in part is said; what was only
// looked on at is compared with nothing.
func TestCompareRefused(t *testing.T) {
	refused := func(a, b Side, want string) {
		t.Helper()
		if _, err := CompareSides(a, b, nil); !errors.Is(err, ErrUnlike) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	a := side("a", run{version: "1", mib: 100}, run{version: "1", mib: 100})
	refused(a, a, "a and a are the same 2 trials")
	refused(Side{"x", a.Trials[:1]}, Side{"y", a.Trials[:1]}, "x and y are the same trial")
	c := compare(t, a, Side{"y", a.Trials[:1]})
	if !slices.ContainsFunc(c.Warnings, func(w string) bool { return strings.Contains(w, "both sides have the same trial") }) {
		t.Errorf("%q", c.Warnings)
	}
	watch := func(name string, runs ...run) Side {
		s := side(name, runs...)
		for _, x := range s.Trials {
			x.Trial.Cell.Workflow = memtrix.Watched(name)
			x.Series = x.Trial.Cell.Series()
		}
		return s
	}
	refused(watch("w", run{mib: 1}), watch("v", run{mib: 2}), "w was only looked on at")
	refused(a, watch("v", run{mib: 2}), "v was only looked on at")
	both := Side{"b", append(side("b", run{version: "2", mib: 100}).Trials, watch("v", run{mib: 2}).Trials...)}
	if c := compare(t, a, both); len(c.Cells) != 1 || !slices.ContainsFunc(c.Warnings, func(w string) bool { return strings.Contains(w, "only looked on") }) {
		t.Errorf("%d cells, %q", len(c.Cells), c.Warnings)
	}
	if Says(both.Trials[1]) {
		t.Error("a watch says something of its version")
	}
}

// Of names that no trial has, those that they resemble are told, and not all there are.
func TestUnknownMeters(t *testing.T) {
	known := []string{"freed.vram.device.used", "prompt.1.seconds", "ram.pinned", "ram.tree.anon", "ram.tree.rss", "rested.ram.tree.rss", "vram.device.used"}
	for word, want := range map[string]string{
		"ram.tree.rs": "no trial has the meter ram.tree.rs (did you mean ram.tree.rss or rested.ram.tree.rss?); --meter all shows all 7 that there are",
		"pinned":      "no trial has the meter pinned (did you mean ram.pinned?); --meter all shows all 7 that there are",
		"RAM_tree_as": "no trial has the meter RAM_tree_as (did you mean ram.tree.rss or ram.tree.anon?); --meter all shows all 7 that there are",
		"bogus":       "no trial has the meter bogus; --meter all shows all 7 that there are",
	} {
		if got := UnknownMeters([]string{word}, known).Error(); got != want {
			t.Errorf("%s:\n got %s\nwant %s", word, got, want)
		}
	}
	if got := UnknownMeters([]string{"x"}, nil).Error(); !strings.Contains(got, "no trial has any meter") {
		t.Error(got)
	}
}

func TestPick(t *testing.T) {
	b := &book{}
	b.night(run{version: "master", release: "0.29.0", commit: "aaaaaaaaaa"}, run{version: "0.28.0", release: "0.28.0", commit: "bbbbbbbbbb"})
	b.night(run{version: "master", release: "0.29.0", commit: "cccccccccc"})
	b.night(run{version: "7", release: "0.30.0", commit: "dddddddddd"})
	var sessions []memtrix.Session
	for n := range 3 {
		sessions = append(sessions, (&book{nights: int64(n + 1)}).session())
	}
	check := func(word string, prefer int64, want ...int64) {
		t.Helper()
		s, err := Pick(word, b.trials, sessions, prefer)
		var got []int64
		for _, x := range s.Trials {
			got = append(got, x.Trial.ID)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v: %v", word, got, want, err)
		}
	}
	check("last", 0, 4)
	check("last~2", 0, 1, 2)
	check("nightly-002", 0, 3)
	check("master", 0, 3)
	check("master", 1, 1)
	check("master@nightly-001", 0, 1)
	check("0.28.0", 0, 2)
	check("v0.28.0", 0, 2)
	check("bbbbbbb", 0, 2)
	check("0.30.0", 0, 4)
	check("trial:2", 0, 2)
	check("3", 0, 3)
	if n := Common("master", "0.28.0", b.trials); n != 1 {
		t.Errorf("common session %d", n)
	}
	bad := func(word, want string) {
		t.Helper()
		if s, err := Pick(word, b.trials, sessions, 0); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v %v, want %q", word, s, err, want)
		}
	}
	bad("maste", "nor a version (0.28.0, master, 7)")
	bad("trial:99", "no trial 99")
	bad("master@nightly-009", "there is no session")
	bad("0.30.0@nightly-001", "has no version")
	b.night(run{version: "x"}, run{version: "x"}, run{version: "x"})
	bad("7", "may be version 7 (7@nightly-003) or trial:7: say which")
}

// Flags of the spec, what came and went, and files of a package with a new version.
func TestCauses(t *testing.T) {
	trial := func(argv []string, facts memtrix.Environment) *memtrix.Trial {
		return &memtrix.Trial{Argv: argv, Environment: facts}
	}
	got := Causes(
		trial([]string{"--lowvram"}, memtrix.Environment{"args": "--fast a", "kernel": "6.1", "package.a": "1", "package.torch": "2", "package-hash.torch": "x", "package-hash.triton": "x", "banner.attention": "quad", "gpu.0.uuid": "1"}),
		trial([]string{"--lowvram", "--cpu"}, memtrix.Environment{"args": "--fast b", "kernel": "6.2", "package.a": "2", "package.torch": "3", "package-hash.torch": "y", "package-hash.triton": "y", "gpu.0.uuid": "2"}))
	var text []string
	for _, c := range got {
		text = append(text, c.Text())
	}
	want := []string{"torch 2 -> 3", "triton (files) x -> y", "a 1 -> 2", "flag --fast a is gone", "flag --fast b is new", "flag --cpu is new", "kernel 6.1 -> 6.2"}
	if !slices.Equal(text, want) {
		t.Errorf("got  %q\nwant %q", text, want)
	}
}

// A night of a suite of 60 cells with a year behind it.
func BenchmarkLook(b *testing.B) {
	book := &book{}
	for n := range 220 {
		var runs []run
		for c := range 60 {
			runs = append(runs, run{version: "master", workflow: string(rune('A' + c)), mib: 6000 + float64((n*7919+c)%31)})
		}
		book.night(runs...)
	}
	for b.Loop() {
		Look(Lines(book.trials, ""), book.nights, nil, AlarmMetersOf(book.trials))
	}
}

// Of a search what it found is compared, not the sizes that it tried.
func TestCompareFloors(t *testing.T) {
	search := func(name string, floor int64) Side {
		s := side(name, run{version: name, mib: 100}, run{version: name, workflow: "step " + name, mib: 100}, run{version: name, workflow: "step", outcome: memtrix.OOM})
		for _, x := range s.Trials {
			x.Session.Spec = "nightly.floor-vram"
		}
		s.Trials[0].Numbers[memtrix.FloorVRAM] = memtrix.Number{Value: floor << 20, Unit: memtrix.UnitBytes, Low: (floor - 128) << 20, High: floor << 20}
		return s
	}
	for b, want := range map[int64]regress.Verdict{2000: regress.Differs, 3500: regress.Differs, 3100: regress.Same} {
		m := compare(t, search("a", 3000), search("b", b)).Cells[0].Meters
		if f := m[len(m)-1]; f.Meter != memtrix.FloorVRAM || f.Verdict != want || f.Worse != (b == 3500) || f.More != 0 {
			t.Errorf("3000 and %d: %+v", b, f)
		}
	}
	c := compare(t, search("a", 3000), search("b", 2000))
	if len(c.Cells) != 1 || !slices.ContainsFunc(c.Cells[0].Meters, func(m MeterPair) bool { return m.Meter == memtrix.FloorVRAM }) {
		t.Errorf("%+v", c.Cells)
	}
	if len(c.Warnings) == 0 || !strings.Contains(c.Warnings[0], "2 trials take no part, since they are steps of a search") {
		t.Errorf("%q", c.Warnings)
	}
}
