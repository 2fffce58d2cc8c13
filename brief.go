package memtrix

import "strconv"

// Brief is a trial in short: what it was, how it ended, and its numbers. A history
// reads years of them.
type Brief struct {
	// Trial is the trial without spans, prompts, readings, series, imports and what a
	// probe told.
	Trial *Trial
	// Session that it belongs to.
	Session Session
	// Cell and Series are the cell's id and its series key, VersionID stands for what
	// its version is, without the name.
	Cell, Series, VersionID string
	// Numbers are by meter: see Number.
	Numbers map[string]Number
}

// Number is one quantity of a trial. Its meter is
//
//   - a meter's own name for its peak over the trial's work ("vram.device.used");
//   - RestedPrefix or FreedPrefix and a meter's name for the readings at rest;
//   - IdlePrefix and one of IdleMeters for its peak between the server's start and the
//     first prompt;
//   - the name that PromptSeconds gives for the time of a prompt that passed;
//   - VRAMNonEvictable;
//   - that of a Value which hangs on the trial (FloorVRAM).
type Number struct {
	Value int64   `json:"value"`
	Unit  Unit    `json:"unit"`
	How   PeakHow `json:"how,omitempty"` // of peaks
	// Low and High are the bounds of a Value, 0 of everything else.
	Low  int64 `json:"low,omitempty"`
	High int64 `json:"high,omitempty"`
}

const (
	// RestedPrefix and FreedPrefix stand before a meter's name: its value in the
	// reading at rest after the last prompt, and after POST /free has acted.
	RestedPrefix = "rested."
	FreedPrefix  = "freed."
	// IdlePrefix stands before what a server takes when it has started and done nothing.
	IdlePrefix = "idle."
	// VRAMNonEvictable is the largest PromptProbe.NonEvictable of the prompts, bytes.
	VRAMNonEvictable = "vram.non-evictable"
)

// PromptSeconds is the meter of the time that the n-th prompt took, 1 for the first,
// in nanoseconds.
func PromptSeconds(n int) string { return "prompt." + strconv.Itoa(n) + ".seconds" }

// IdleMeters are those that are kept of the time before the first prompt.
var IdleMeters = []string{VRAMDeviceUsed, RAMTreeRSS, RAMTreeAnon}
