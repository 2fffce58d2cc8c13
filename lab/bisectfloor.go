package lab

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"memtrix"
)

// A bisection by a floor does not look for the floor of every candidate: between the
// floors of the two ends lies a size at which one of them passes and the other one does
// not, and one trial there says on which side of it the floor of a candidate lies.

// FloorEnd is the floor of one end of a bisection.
type FloorEnd struct {
	FloorReport
	Name string `json:"name"`
	// Earlier is the session that found it, "" for this one.
	Earlier string `json:"earlier_session,omitempty"`
}

// FloorEnds are the floors of both ends, and where candidates are tried.
type FloorEnds struct {
	Meter FloorMeter `json:"meter"`
	Good  FloorEnd   `json:"good"`
	Bad   FloorEnd   `json:"bad"`
	FloorGap
}

// FloorGap is what lies between the floors of two ends.
type FloorGap struct {
	// Rose says that the bad end needs more than the good one; else it needs less.
	Rose bool `json:"rose"`
	// Size is where candidates are tried, bytes: one end passes there, the other does
	// not. 0 where there is no such size; Why says why.
	Size int64  `json:"size_bytes,omitempty"`
	Why  string `json:"why,omitempty"`
}

// floorBerth is how far at least from what either search tried a size must be: the borders
// are not sharp.
const floorBerth = 2 * floorGrain

// BetweenFloors chooses the size at which one trial tells the sides apart: in the middle
// of what lies between the lower floor and the largest size that failed under the higher
// one.
func BetweenFloors(good, bad FloorReport) FloorGap {
	g := FloorGap{Rose: bad.Floor > good.Floor}
	low, high := bad, good
	if g.Rose {
		low, high = good, bad
	}
	resolution := max(floorResolution, high.Floor/100)
	both := fmt.Sprintf("good %s, bad %s", good.Border(), bad.Border())
	if high.Floor-low.Floor <= resolution || high.Fails == 0 {
		g.Why = fmt.Sprintf("good and bad do not differ in their floor of %s: %s; what is nearer than %d MiB is not told apart", good.what(), both, resolution>>20)
		return g
	}
	// Where a size passed at one time and not at another, or passed below one that did not,
	// one trial says nothing.
	from, to := low.Floor, high.Fails
	for _, n := range slices.Concat(low.Mixed, high.Mixed, high.Beyond) {
		if n < to {
			from = max(from, n)
		}
	}
	switch {
	case to-from >= 2*floorBerth:
		g.Size = Search{Grain: floorGrain}.middle(from, to)
	case !low.Near || !high.Near:
		g.Why = fmt.Sprintf("whether good and bad differ in their floor of %s is not told: %s; more trials (--trials) tell more", good.what(), both)
	default:
		g.Why = fmt.Sprintf("good and bad differ in their floor of %s by too little for one size that tells them apart in one trial: %s", good.what(), both)
	}
	return g
}

// Border is a floor in words.
func (r FloorReport) Border() string {
	switch {
	case !r.Found:
		return "has none"
	case r.Fails == 0:
		return fmt.Sprintf("passes with %d MiB, the smallest size that was tried", r.Floor>>20)
	}
	text := fmt.Sprintf("passes with %d MiB and not with %d MiB", r.Floor>>20, r.Fails>>20)
	if !r.Near {
		text += ", and nothing between was tried"
	}
	mib := func(sizes []int64) string {
		var words []string
		for _, n := range sizes {
			words = append(words, fmt.Sprint(n>>20))
		}
		return strings.Join(words, ", ") + " MiB"
	}
	if len(r.Mixed) > 0 {
		text += ", not always at " + mib(r.Mixed)
	}
	if len(r.Beyond) > 0 {
		text += ", but with " + mib(r.Beyond)
	}
	return text
}

func (r FloorReport) what() string { return r.Meter.words() }

// words say of which memory a floor is, and of what machine.
func (m FloorMeter) words() string {
	if m == FloorOfRAM {
		return "RAM on this machine"
	}
	return "VRAM on this card"
}

// Memory is how the memory is called in words.
func (m FloorMeter) Memory() string { return strings.ToUpper(string(m)) }

// Words are the floors and what was done with them, for a report.
func (f FloorEnds) Words() []string {
	var out []string
	if f.Good.Found && f.Bad.Found {
		text := fmt.Sprintf("Floor of %s: the good end (%s) %s; the bad end (%s) %s (%+.1f %%).", f.Meter.words(), f.Good.Name, f.Good.Border(), f.Bad.Name, f.Bad.Border(),
			100*(float64(f.Bad.Floor)/float64(f.Good.Floor)-1))
		for _, e := range []FloorEnd{f.Good, f.Bad} {
			if e.Earlier != "" {
				text += fmt.Sprintf(" That of %s is of the earlier session %s.", e.Name, e.Earlier)
			}
		}
		out = append(out, text)
	}
	if f.Size > 0 {
		sides := "the good end passes and the bad one does not"
		if !f.Rose {
			sides = "the bad end passes and the good one does not"
		}
		out = append(out, fmt.Sprintf("Candidates were tried with %d MiB of free %s, between the two, where %s: one trial says whether a candidate's floor is above or below that size, not where it is. What is named is where the floor crosses it.", f.Size>>20, f.Meter.Memory(), sides))
	}
	return out
}

// Tries are the trials that the floors of both ends took, those of earlier sessions left out.
func (f FloorEnds) Tries() []Point {
	var all []Point
	for _, e := range []FloorEnd{f.Good, f.Bad} {
		if e.Earlier == "" {
			all = append(all, e.FloorReport.Tries...)
		}
	}
	return all
}

// Sized is the cell with so much free memory of the kind in question.
func (o FloorOptions) Sized(c memtrix.PlannedCell, size int64) memtrix.PlannedCell {
	return sized(o, c, size)
}

// Recall is the floor that stored trials of a cell tell: those of one search, that of the
// cell as it is first. False where they do not tell one, or not under the options' swap.
func (o FloorOptions) Recall(c memtrix.PlannedCell, trials []*memtrix.Trial) (FloorReport, bool) {
	r := newFloorReport(o, c)
	if len(trials) < 2 || trials[0].Cell.ID() != c.Cell.ID() || trials[0].Outcome.Kind != memtrix.Pass {
		return r, false
	}
	r.Simulated = trials[0].Simulated
	var tried []Tried
	for i, t := range trials {
		size := capacity(o.Meter, t)
		if i > 0 && (tell(t) != nil || t.Cell.ID() != sized(o, c, size).Cell.ID()) {
			return r, false
		}
		tried = append(tried, Tried{size, r.add(t, size, i == 0)})
	}
	r.Peak, r.NonEvictable = r.Tries[0].Peak, nonEvictable(o.Meter, trials[0])
	b, ok := floorSearch(r.Peak, r.NonEvictable, o.Most).Border(tried)
	if known := b.Near || b.Fails == 0 && b.Size == floorHardest; !ok || !known {
		return r, false // it was broken off
	}
	r.limit(o, trials[0])
	r.conclude(b)
	return r, true
}

// Longer is the longer of the limits of a prompt that the searches at both ends had: the
// time that a candidate's prompts may take. 0: none.
func (f FloorEnds) Longer() time.Duration {
	if f.Good.Limit == 0 || f.Bad.Limit == 0 {
		return 0
	}
	return time.Duration(max(f.Good.Limit, f.Bad.Limit) * float64(time.Second))
}

// short reports whether an outcome says that this memory did not do, whatever ended the
// trial: a server with too little RAM is killed at one size and reads its model's
// file for ever at another, until the time for the prompt was up. So what did not
// end is too little memory, as it is in the search for a floor; but not a start.
func (m FloorMeter) short(o memtrix.Outcome) bool {
	switch o.Kind {
	case memtrix.Pass, memtrix.NotApplicable, memtrix.NotInForce, memtrix.InvalidWorkflow:
		return false
	case memtrix.Hang:
		if o.Phase != memtrix.PhaseStartup {
			return true
		}
	}
	of := []memtrix.Memory{memtrix.MemoryVRAM, memtrix.MemoryUnified, memtrix.MemorySharedGPU}
	if m == FloorOfRAM {
		of = []memtrix.Memory{memtrix.MemoryRAM, memtrix.MemoryCommit, memtrix.MemoryPinned, memtrix.MemoryUnified}
	}
	return slices.Contains(of, o.Memory)
}
