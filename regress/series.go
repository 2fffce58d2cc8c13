package regress

import "memtrix"

// Point is one trial of a series, or what several repeats of a night came to.
type Point struct {
	Outcome memtrix.OutcomeKind
	// Value is meant only where Known: a trial that ran out of memory has none, and
	// that is an outcome and not a gap.
	Value float64
	Known bool
}

// Kind of a change.
type Kind string

const (
	// Shift is a new level.
	Shift Kind = "shift"
	// Slope is a drift: every point a little more (or less) than the one before.
	Slope Kind = "slope"
	// Drift is a slope that was told in the night until which it had become large enough:
	// see Past.
	Drift Kind = "drift"
	// NewOOM: it ran out of memory, or does so more often than before.
	NewOOM Kind = "new-oom"
	// FixedOOM: it no longer does, or less often.
	FixedOOM Kind = "fixed-oom"
	// NewFailure is the same as NewOOM with what is not for memory: an error, a
	// process that was killed, a hang.
	NewFailure Kind = "new-failure"
)

// Change is a difference along a series that is not noise.
type Change struct {
	Kind Kind
	// At is the index of the first point after the change. Of a slope, where it
	// begins.
	At int
	// Before and After are levels in the unit of the values. Of a slope they are the
	// line's values where it begins and at the newest point. Of an outcome they are
	// the shares of trials that failed so.
	Before, After float64
	// Confidence is 1 less the share of series without a change in which something as
	// strong would be seen somewhere; of an outcome, 1 less the probability that the
	// old rate gave the new outcomes.
	Confidence float64
	// Reason says it in words with numbers that a person can check.
	Reason string
}

// Unit says how numbers of a series are written.
type Unit string

const (
	Bytes  Unit = "bytes"
	MiB    Unit = "mib"
	NoUnit Unit = ""
)

// Floor is the least size of a change that matters in practice. A change is as large
// when it reaches Size or Share, whichever is less: of 24 GiB 32 MiB count, though they
// are 0.1 %, and of 400 MiB 4 MiB do, being 1 %. Only what is below both is never called
// a change. The bars were set with this reading.
type Floor struct {
	Size  float64 // in the unit of the values; 0 for none
	Share float64 // of the level before; 0 for none
	// Least is what a change must reach besides: of levels near nothing a percent is
	// nothing, too. 0 for none.
	Least float64
}

// DefaultFloor is 32 MiB or 1 %, and of bytes not below 2 MiB, in which allocators
// take memory.
func DefaultFloor(u Unit) Floor {
	switch u {
	case Bytes:
		return Floor{Size: 32 << 20, Share: 0.01, Least: 2 << 20}
	case MiB:
		return Floor{Size: 32, Share: 0.01}
	}
	return Floor{Share: 0.01}
}

// least is the least change of a level that counts.
func (f Floor) least(level float64) float64 {
	if level < 0 {
		level = -level
	}
	share := f.Share * level
	switch {
	case f.Size == 0:
		return max(share, f.Least)
	case f.Share == 0:
		return max(f.Size, f.Least)
	}
	return max(min(f.Size, share), f.Least)
}

// Options of an analysis.
type Options struct {
	Floor Floor
	Unit  Unit
	// What the values are, for reasons: "peak VRAM". May be "".
	What string
}

// Changes are all changes of a series, in order: of its values and of its outcomes.
func Changes(points []Point, o Options) []Change {
	all := append(Outcomes(points), Levels(points, o)...)
	sortByPlace(all)
	return all
}
