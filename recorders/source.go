package recorders

import (
	"errors"
	"fmt"
	"time"

	"memtrix"
)

// Rates of the sources. FastCard and Fast are the defaults of
// Config.CardInterval and Config.Interval.
const (
	FastCard = time.Millisecond
	CalmCard = 10 * time.Millisecond // a card's, while nothing works
	Fast     = 20 * time.Millisecond
	Medium   = 100 * time.Millisecond
	Slow     = 250 * time.Millisecond
	Seldom   = time.Second
)

// share is the part of the time that a source may take which slows itself down:
// one in share.
const share = 1000

// affordable is how often a reading that takes cost may be taken, within bounds.
func affordable(cost, least, most time.Duration) time.Duration {
	return min(max(share*cost, least), max(least, most))
}

// Source is one family of meters. It is used by one goroutine.
type Source interface {
	// Meters are what the source may give. The order is that of put's index.
	Meters() []memtrix.Meter
	// Read reads now and puts the value of each meter that there is; a meter
	// that is not put has no reading this time. The error says why meters that
	// were not put are missing; it does not end the source, which is asked again
	// at the next tick. Read should not allocate.
	Read(now time.Duration, put func(i int, v int64)) error
	// Every is how often the source is worth being read. It is rounded to the
	// sampler's interval; 0 means at every tick.
	Every() time.Duration
	Close() error
}

// namedSource is a source with the name under which its cost is told.
type namedSource struct {
	name string
	Source
}

// Absence is a meter that a trial does not have, and why.
type Absence struct {
	Meter  string
	Reason string
	// Usual is set where that is no lack: no limit is set, no group counts.
	Usual bool
}

// absent gives the same reason to several meters.
func absent(err error, meters ...memtrix.Meter) []Absence {
	list := make([]Absence, len(meters))
	for i, m := range meters {
		list[i] = Absence{Meter: m.Name, Reason: err.Error()}
	}
	return list
}

// errNotStarted is why meters of the tree are missing before SetPID; those that are
// read seldom may never be in a short trial.
var errNotStarted = errors.New("the process had not started, or had ended, when it was due")

// errNotFollowed is why meters that are read seldom are missing of a short trial.
var errNotFollowed = errors.New("the process ended before it was read")

// errNoExits is why short-lived children are not known: what it takes is seldom given.
var errNoExits = fmt.Errorf("what children that live shorter than %v held is not known", Medium)

// Errors of sources that lack something on machines that lack nothing.
var (
	errCgroupParts = errors.New("the control group has no such file or sets no limit")
	errNoCgroup    = errors.New("the process is in no control group that counts memory (the root, or a container that hides it)")
)

// bytesMeter, nsMeter and countMeter keep the lists of meters readable.
func bytesMeter(name, source string) memtrix.Meter {
	return memtrix.Meter{Name: name, Unit: memtrix.UnitBytes, Source: source}
}

func nsMeter(name, source string) memtrix.Meter {
	return memtrix.Meter{Name: name, Unit: memtrix.UnitNanoseconds, Source: source, Counter: true}
}

func countMeter(name, source string) memtrix.Meter {
	return memtrix.Meter{Name: name, Unit: memtrix.UnitCount, Source: source, Counter: true}
}
