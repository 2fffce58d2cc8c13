package diagnosis

import (
	"memtrix"
)

// shortage is what an exception means.
type shortage struct {
	amounts
	rule   *Rule
	memory memtrix.Memory
	// why is set where the numbers overrule the words.
	why string
}

// readShortage says what an exception means; around gives the log lines about it,
// for texts that do not suffice. The second result is false when no rule knows it.
func readShortage(exception string, around func() string) (shortage, bool) {
	rule := ruleFor(MeansFailure, exception, around)
	if rule == nil {
		return shortage{}, false
	}
	s := shortage{rule: rule, memory: rule.Memory}
	if s.memory == memtrix.MemoryNone {
		return s, true
	}
	s.amounts = readAmounts(exception)
	switch {
	case s.absurd():
		s.memory = memtrix.MemoryNone
		s.why = "no machine has " + bytesText(*s.requested) + ": a size was computed wrongly, which is a bug"
	case s.memory == memtrix.MemoryVRAM && s.plentyFree() && s.holdsNothing():
		s.memory = memtrix.MemoryNone
		s.why = "the very first allocation failed beside " + bytesText(*s.free) + " of free VRAM: the driver (or a virtual GPU) refuses it"
	case s.memory == memtrix.MemoryVRAM && s.plentyFree() && !s.inFragments():
		// The card had room: a limit or a failing driver. The text does not say which.
		s.memory = memtrix.MemoryUnknown
	}
	return s, true
}
