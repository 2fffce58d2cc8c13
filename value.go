package memtrix

import "time"

// Value is a quantity that several trials together gave, by the name of a meter of
// its own: a floor, a ceiling, a slope. It can be followed and compared as a peak can.
type Value struct {
	// Trial is the trial of the cell as it was asked for: the value is of its cell,
	// version and environment.
	Trial int64  `json:"trial"`
	Meter string `json:"meter"`
	Unit  Unit   `json:"unit"`
	Value int64  `json:"value"`
	// Low and High are the bounds within which it lies, by how it was got.
	Low  int64 `json:"low"`
	High int64 `json:"high"`
	// Trials are those that it came from.
	Trials []int64 `json:"trials"`
	// Note is for people: on this card, not monotonic.
	Note string `json:"note,omitempty"`
}

// ValueAt is a value with where it belongs in a history.
type ValueAt struct {
	Value
	Session   int64
	Cell      string // its id
	Version   string // its name
	Commit    string
	Started   time.Time // the trial that it hangs on
	Simulated bool
}

// Names of the meters of values. Peaks have their meters' own names.
const (
	// FloorVRAM and FloorRAM are the smallest free memory, bytes, at which a cell
	// passes on this card and this machine.
	FloorVRAM = "floor.vram"
	FloorRAM  = "floor.ram"
	// CeilingPrefix and what was raised ("batch", "frames", "pixels") is the most of
	// it that passes.
	CeilingPrefix = "ceiling."
	// OOMHeld is what torch held, bytes, when a cell that had run out of VRAM was
	// repeated with a record of its allocations; its note names the largest.
	OOMHeld = "oom.torch.held"
	// LeakPrefix and a meter's name is its growth at rest, bytes a prompt.
	LeakPrefix = "leak."
)
