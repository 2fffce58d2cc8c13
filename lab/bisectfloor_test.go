package lab

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"memtrix"
	"memtrix/bisect"
)

func TestBetweenFloors(t *testing.T) {
	floor := func(passes, fails int64) FloorReport {
		return FloorReport{Meter: FloorOfVRAM, Found: true, Near: true, Floor: passes * mib, Fails: fails * mib}
	}
	with := func(r FloorReport, change func(*FloorReport)) FloorReport {
		change(&r)
		return r
	}
	far := floor(3072, 2960)
	for name, c := range map[string]struct {
		good, bad FloorReport
		rose      bool
		from, to  int64 // of the size, MiB; 0 for none
		why       string
	}{
		"rose":                       {floor(1328, 1248), far, true, 1360, 2928, ""},
		"fell":                       {far, floor(1328, 1248), false, 1360, 2928, ""},
		"the same":                   {far, far, false, 0, 0, "do not differ in their floor of VRAM on this card: good passes with 3072 MiB and not with 2960 MiB, bad passes with 3072"},
		"by less than is told apart": {far, floor(3200, 3088), true, 0, 0, "do not differ"},
		"of large ones less is told": {floor(60000, 59500), floor(60400, 59900), true, 0, 0, "nearer than 604 MiB is not told apart"},
		"by a little":                {far, floor(3264, 3152), true, 3104, 3120, ""},
		"by too little for one size": {far, floor(3216, 3104), true, 0, 0, "by too little for one size"},
		"wide borders":               {far, with(floor(6000, 3088), func(r *FloorReport) { r.Near = false }), true, 0, 0, "--trials"},
		"wide but apart":             {with(floor(1500, 1000), func(r *FloorReport) { r.Near = false }), with(floor(6000, 3000), func(r *FloorReport) { r.Near = false }), true, 1532, 2968, ""},
		"the least passes":           {with(floor(128, 0), func(*FloorReport) {}), far, true, 160, 2928, ""},
		"both pass with the least":   {floor(128, 0), floor(128, 0), false, 0, 0, "smallest size that was tried"},
		"not monotonic":              {floor(1328, 1248), with(far, func(r *FloorReport) { r.Beyond = []int64{2400 * mib} }), true, 2432, 2928, ""},
		"not sharp":                  {with(floor(1328, 1248), func(r *FloorReport) { r.Mixed = []int64{1400 * mib} }), far, true, 1432, 2928, ""},
	} {
		got := BetweenFloors(c.good, c.bad)
		if size := got.Size / mib; got.Rose != c.rose || size < c.from || size > c.to || got.Size%floorGrain != 0 {
			t.Errorf("%s: got %d MiB, rose %t, want %d to %d, %t (%s)", name, size, got.Rose, c.from, c.to, c.rose, got.Why)
		}
		if (got.Why == "") != (c.why == "") || !strings.Contains(got.Why, c.why) {
			t.Errorf("%s: got %q, want %q", name, got.Why, c.why)
		}
	}
}

// states is a list of versions with a floor each, on machines of any size.
type states struct {
	t        *testing.T
	floors   []int64 // MiB; -1: cannot be run
	machines []*fakeMachine
	stored   map[string]*memtrix.Trial // as a results folder keeps them
}

// try runs a trial, or gives the one that is stored: a size that a search for a floor came
// by may be the one between them.
func (s *states) try(i int) Try {
	return func(ctx context.Context, c memtrix.PlannedCell, repeat int) (*memtrix.Trial, error) {
		key := fmt.Sprint(c.Cell.ID(), repeat)
		if t, ok := s.stored[key]; ok {
			return t, nil
		}
		t, err := s.machine(i).try(ctx, c, repeat)
		s.stored[key] = t
		return t, err
	}
}

func (s *states) cell(i int) memtrix.PlannedCell {
	c := aCell()
	c.Cell.Version.Commit = fmt.Sprint(i)
	return c
}

func (s *states) machine(i int) *fakeMachine {
	if s.machines == nil {
		s.machines = make([]*fakeMachine, len(s.floors))
	}
	if s.machines[i] == nil {
		s.machines[i] = &fakeMachine{t: s.t, floor: s.floors[i] * mib, peak: 8 * gib}
	}
	return s.machines[i]
}

// search finds both floors and bisects at the size between them.
func (s *states) search(deterministic bool) (FloorEnds, *BisectReport) {
	s.t.Helper()
	o := FloorOptions{Meter: FloorOfVRAM, Most: 12}
	last := len(s.floors) - 1
	f := FloorEnds{Meter: o.Meter, Good: FloorEnd{Name: "first"}, Bad: FloorEnd{Name: "last"}}
	for i, e := range map[int]*FloorEnd{0: &f.Good, last: &f.Bad} {
		var err error
		if e.FloorReport, err = Floor(context.Background(), o, s.cell(i), s.try(i)); err != nil {
			s.t.Fatal(err)
		}
	}
	if f.FloorGap = BetweenFloors(f.Good.FloorReport, f.Bad.FloorReport); f.Size == 0 {
		s.t.Fatal(f.Why)
	}
	b := Bisection{Measure: MeasureOutcome, At: o.Meter, Search: bisect.Config{N: len(s.floors), Deterministic: deterministic}}
	b.Try = func(ctx context.Context, i, repeat int) (Attempt, error) {
		if s.floors[i] < 0 {
			return Attempt{Untestable: "does not install"}, nil
		}
		t, err := s.try(i)(ctx, o.Sized(s.cell(i), f.Size), repeat)
		return Attempt{Trial: t}, err
	}
	r, err := Bisect(context.Background(), b)
	if err != nil {
		s.t.Fatal(err)
	}
	return f, r
}

// The first version with another floor is found by one trial of each candidate, whether the
// floor rose or fell.
func TestBisectFloor(t *testing.T) {
	rises := make([]int64, 64)
	for i := range rises {
		rises[i] = 1300 + int64(i%3)*10 // not sharp from version to version
		if i >= 41 {
			rises[i] += 1500
		}
	}
	rises[20] = -1
	falls := make([]int64, len(rises))
	for i := range falls {
		falls[i] = rises[len(rises)-1-i]
	}
	for name, c := range map[string]struct {
		floors []int64
		first  int
		rose   bool
		bad    string
	}{"rose": {rises, 41, true, "too little VRAM"}, "fell": {falls, len(rises) - 41, false, "pass"}} {
		s := states{t: t, floors: c.floors, stored: map[string]*memtrix.Trial{}}
		f, r := s.search(true)
		if r.Verdict != bisect.Found || r.From != c.first || r.To != c.first || r.BadClass != c.bad || f.Rose != c.rose {
			t.Errorf("%s: got %v %d..%d by %q, rose %t, want %d", name, r.Verdict, r.From, r.To, r.BadClass, f.Rose, c.first)
		}
		if len(r.Runs) > 10 {
			t.Errorf("%s: %d runs for 64 candidates", name, len(r.Runs))
		}
		words := strings.Join(f.Words(), "\n")
		for _, want := range []string{"the good end (first) passes with", "the bad end (last) passes with", fmt.Sprintf("with %d MiB of free VRAM", f.Size/mib)} {
			if !strings.Contains(words, want) {
				t.Errorf("%s: words %q lack %q", name, words, want)
			}
		}
		// No candidate between the ends had a floor search of its own.
		for i, m := range s.machines[1 : len(s.machines)-1] {
			for n := 0; m != nil && n < len(m.ran); n++ {
				if got := m.ran[n].Cell.Hardware.VRAM; got != f.Size {
					t.Errorf("%s: candidate %d ran with %d MiB, want %d", name, i+1, got/mib, f.Size/mib)
				}
			}
		}
	}
}

// Too little RAM is one outcome, whatever ends the trial; another failure is none.
func TestFloorShort(t *testing.T) {
	for _, c := range []struct {
		m    FloorMeter
		o    memtrix.Outcome
		want string
	}{
		{FloorOfRAM, memtrix.Outcome{Kind: memtrix.OOM, Memory: memtrix.MemoryRAM}, "too little RAM"},
		{FloorOfRAM, memtrix.Outcome{Kind: memtrix.Killed, Memory: memtrix.MemoryRAM}, "too little RAM"},
		{FloorOfRAM, memtrix.Outcome{Kind: memtrix.Hang, Phase: memtrix.PhaseLoad}, "too little RAM"},
		{FloorOfRAM, memtrix.Outcome{Kind: memtrix.Hang, Phase: memtrix.PhaseStartup}, "hang"},
		{FloorOfRAM, memtrix.Outcome{Kind: memtrix.OOM, Memory: memtrix.MemoryVRAM}, "oom of vram"},
		{FloorOfRAM, memtrix.Outcome{Kind: memtrix.StartupFailure}, "startup-failure"},
		{FloorOfRAM, memtrix.Outcome{Kind: memtrix.Pass, Memory: memtrix.MemoryRAM}, "pass of ram"},
		{FloorOfVRAM, memtrix.Outcome{Kind: memtrix.OOM, Memory: memtrix.MemoryVRAM}, "too little VRAM"},
		{FloorOfVRAM, memtrix.Outcome{Kind: memtrix.Error}, "error"},
		{"", memtrix.Outcome{Kind: memtrix.OOM, Memory: memtrix.MemoryRAM}, "oom of ram"},
	} {
		if got := (classes{at: c.m}).class(c.o); got != c.want {
			t.Errorf("%s %+v: got %q, want %q", c.m, c.o, got, c.want)
		}
	}
}

// The stored trials of a search tell its floor again, those of another cell nothing.
func TestRecallFloor(t *testing.T) {
	m := &fakeMachine{t: t, floor: 3000 * mib, peak: 8 * gib}
	var trials []*memtrix.Trial
	try := func(ctx context.Context, c memtrix.PlannedCell, repeat int) (*memtrix.Trial, error) {
		got, err := m.try(ctx, c, repeat)
		trials = append(trials, got)
		return got, err
	}
	o := FloorOptions{Meter: FloorOfVRAM, Most: 12, Slower: 10}
	want, err := Floor(context.Background(), o, aCell(), try)
	if err != nil {
		t.Fatal(err)
	}
	got, ok := o.Recall(aCell(), trials)
	if !ok || got.Verdict != want.Verdict || got.Floor != want.Floor || got.Fails != want.Fails || len(got.Tries) != len(want.Tries) {
		t.Errorf("got %t %+v, want %+v", ok, got, want)
	}
	other := aCell()
	other.Cell.Version.Commit = "another"
	if _, ok := o.Recall(other, trials); ok {
		t.Error("another version's trials are taken")
	}
	if _, ok := o.Recall(aCell(), trials[:3]); ok {
		t.Error("a search that was stopped is taken for a floor")
	}
	if _, ok := o.Recall(aCell(), nil); ok {
		t.Error("no trials are a floor")
	}
	o.Meter = FloorOfRAM
	if _, ok := o.Recall(aCell(), trials); ok {
		t.Error("a floor of VRAM is one of RAM")
	}
}
