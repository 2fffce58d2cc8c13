package history

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"memtrix"
	"memtrix/regress"
)

// growing is the memory of a night of a drift that begins at 50 and ends at 130.
func growing(n int, rate float64) float64 { return rate * float64(min(max(n-49, 0), 80)) }

// A story is what every night told of it.
type story struct {
	b      book
	known  []Change
	alarms []Alarm
	told   []Change
	fixed  int // night, 0 for never
}

// night measures cells, and repeats of them, each of which scatters by itself.
func (s *story) night(n int, noise func() float64, runs ...run) {
	measured := func(r run) run {
		r.mib += noise()
		return r
	}
	s.b.nights++
	for _, r := range runs {
		s.b.add(measured(r))
	}
	if n < 45 {
		return // nothing is told of a level so early, and looking takes time
	}
	again := func(cell string) run {
		i := slices.IndexFunc(s.b.trials, func(t *memtrix.Brief) bool { return t.Session.ID == s.b.nights && t.Cell == cell })
		k := slices.IndexFunc(runs, func(r run) bool {
			return r.workflow == "" || r.workflow == s.b.trials[i].Trial.Cell.Workflow.Name
		})
		return measured(runs[k])
	}
	found, _ := look(&s.b, s.known, again)
	r := Group(found, s.b.session(), s.alarms)
	for _, a := range r.Opened {
		a.ID = int64(len(s.alarms) + 1)
		s.alarms = append(s.alarms, a)
	}
	for id, changes := range r.Joined {
		s.alarms[id-1].Changes = append(s.alarms[id-1].Changes, changes...)
	}
	s.known, s.told = append(s.known, found...), append(s.told, found...)
	for _, id := range Gone(Lines(s.b.trials, ""), s.alarms) {
		s.alarms[id-1].State = Fixed
		s.fixed = n
	}
	Close(s.known, s.alarms)
}

// A drift of 2 MiB a night is one alarm, with its numbers and when it began; that it goes on
// is no news, no step is made of it, and it is fixed when the memory came back.
func TestDriftTonight(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 2))
	var s story
	for n := range 150 {
		x := run{version: "master", commit: fmt.Sprint("c", n), mib: 6000 + growing(n, 2)}
		if n >= 140 {
			x.mib = 6000
		}
		s.night(n, func() float64 { return 20 * r.NormFloat64() }, x)
	}
	if len(s.alarms) != 1 || len(s.alarms[0].Changes) != 1 {
		t.Fatalf("%d alarms: %+v", len(s.alarms), s.alarms)
	}
	a := s.alarms[0]
	c := a.Changes[0]
	if c.Kind != regress.Drift || !c.Worse || c.How != HowTonight || c.Session < 70 || c.Session > 120 {
		t.Errorf("%+v", c)
	}
	const mib = 1 << 20
	if g := c.Growth; g.Low > 2*mib || g.High < 2*mib || g.Low < mib || g.High > 3*mib {
		t.Errorf("%+v, want 2 MiB in the interval", g)
	}
	for _, want := range []string{"drift in sdxl: peak ram.tree.anon grows by ", " MiB a night, 95 % interval [", " nights; it began between nightly-0"} {
		if !strings.Contains(a.Title, want) {
			t.Errorf("%q is not in %q", want, a.Title)
		}
	}
	if c.FromCommit >= c.ToCommit && len(c.FromCommit) == len(c.ToCommit) || !slices.ContainsFunc(c.Causes, func(x Cause) bool { return x.Kind == CauseComfyUI }) {
		t.Errorf("from %s to %s, %v", c.FromCommit, c.ToCommit, c.Causes)
	}
	// Nights that came back are a step down, which is for the better.
	if better := s.told[1:]; slices.ContainsFunc(better, func(c Change) bool { return c.Worse || c.Kind == regress.Drift }) {
		t.Errorf("%+v", better)
	}
	if s.fixed < 142 || a.State != Fixed {
		t.Errorf("fixed in night %d, %s", s.fixed, a.State)
	}
	// In the history of the whole line it stands once.
	marked := Marked(Lines(s.b.trials[:120], ByDate)[0], []string{memtrix.RAMTreeAnon}, s.known)
	slopes := 0
	for _, c := range marked {
		if c.Kind == regress.Slope || c.Kind == regress.Drift {
			slopes++
		}
	}
	if slopes != 1 {
		t.Errorf("marked: %+v", marked)
	}
}

// Drifts that began together are one alarm, whatever night each is told in; one that began
// later is another; and along which the control drifts, the machine's.
func TestDriftsOfOneCause(t *testing.T) {
	for name, c := range map[string]struct {
		later   int     // nights by which the second workflow's drift begins later
		control float64 // of the drift of the control, beside that of others
		alarms  int
		machine bool
	}{
		"together": {0, 0, 1, false},
		"apart":    {70, 0, 2, false},
		"machine":  {0, 1, 1, true},
	} {
		r := rand.New(rand.NewPCG(3, 9))
		var s story
		for n := range 110 + c.later {
			s.night(n, func() float64 { return 20 * r.NormFloat64() },
				run{workflow: "sdxl", version: "master", commit: "c", mib: 6000 + growing(n, 2.5)},
				run{workflow: "wan", version: "master", commit: "c", mib: 6000 + growing(n-c.later, 2.5)},
				run{workflow: "sd15", version: "frozen", commit: "f", control: true, mib: 6000 + growing(n, 2.5*c.control)})
		}
		if len(s.alarms) != c.alarms {
			for _, a := range s.alarms {
				t.Log(a.Title, len(a.Changes))
			}
			t.Errorf("%s: %d alarms, want %d", name, len(s.alarms), c.alarms)
			continue
		}
		for _, a := range s.alarms {
			if a.Machine != c.machine || strings.HasPrefix(a.Title, "the machine, not ComfyUI") != c.machine {
				t.Errorf("%s: %q, machine %t", name, a.Title, a.Machine)
			}
			if slices.ContainsFunc(a.Changes, func(c Change) bool { return c.Kind != regress.Drift }) {
				t.Errorf("%s: %+v", name, a.Changes)
			}
		}
	}
}

// A drift whose alarm somebody closed is told anew when it goes on; one that is known
// otherwise is not.
func TestClosedDrift(t *testing.T) {
	for _, closed := range []bool{false, true} {
		r := rand.New(rand.NewPCG(8, 9))
		var s story
		for n := range 170 {
			s.night(n, func() float64 { return 20 * r.NormFloat64() }, run{version: "master", commit: "c", mib: 6000 + 3*float64(max(n-50, 0))})
			if closed && len(s.alarms) == 1 {
				s.alarms[0].State = Fixed
			}
		}
		if want := map[bool]int{false: 1, true: 2}[closed]; len(s.alarms) < want || !closed && len(s.alarms) > want {
			t.Errorf("closed %t: %d alarms, want %d", closed, len(s.alarms), want)
		}
	}
}
