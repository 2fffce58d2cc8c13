package lab

import (
	"context"
	"fmt"

	"memtrix"
)

// FloorMove is what became of an earlier floor.
type FloorMove string

const (
	FloorHolds  FloorMove = "holds"
	FloorRose   FloorMove = "rose"
	FloorFell   FloorMove = "fell"
	FloorMixed  FloorMove = "not sharp" // a size passed at one time and not at another
	floorBeside           = floorGrain  // how far from the earlier border a try lies, since that is not sharp
)

// FloorCheck says what two trials on either side of an earlier floor told.
type FloorCheck struct {
	Move FloorMove `json:"move"`
	// Earlier is the floor, EarlierFails the next size that did not pass then, 0 where the
	// smallest size that is tried passed; bytes.
	Earlier      int64   `json:"earlier_bytes"`
	EarlierFails int64   `json:"earlier_fails_bytes,omitempty"`
	Words        string  `json:"words"`
	Tries        []Point `json:"tries"`
}

// ConfirmFloor asks whether an earlier floor of a cell (o.Before, o.BeforeFails) still holds,
// with a trial just above it and one just below. Where the first fails it is done once
// more instead of the second. now is a trial of the cell as it is, for the time that a
// prompt may take.
func ConfirmFloor(ctx context.Context, o FloorOptions, c memtrix.PlannedCell, now *memtrix.Trial, try Try) (FloorCheck, error) {
	check := FloorCheck{Earlier: o.Before, EarlierFails: o.BeforeFails}
	if o.Before <= 0 {
		return check, Settled{fmt.Errorf("%s, %s: there is no earlier floor", c.Cell.Version.Name, c.Cell.Workflow.Name)}
	}
	r := newFloorReport(o, c)
	r.limit(o, now)
	at := func(size int64, repeat int) (bool, error) {
		if o.Cold != nil {
			o.Cold()
		}
		t, err := try(ctx, sized(o, c, size), repeat)
		if err == nil {
			err = tell(t)
		}
		if err != nil {
			return false, err
		}
		return r.add(t, size, false), nil
	}
	done := func(move FloorMove, words string, args ...any) (FloorCheck, error) {
		check.Move, check.Words, check.Tries = move, fmt.Sprintf(words, args...), r.Tries
		return check, nil
	}
	above := o.Before + floorBeside
	passed, err := at(above, 0)
	if err != nil {
		return check, err
	}
	if !passed {
		if passed, err = at(above, 1); err != nil {
			return check, err
		}
		if passed {
			return done(FloorMixed, "the floor is not sharp: with %d MiB it failed and passed, earlier with %d MiB it passed", above>>20, o.Before>>20)
		}
		return done(FloorRose, "the floor rose: two trials failed with %d MiB, earlier it passed with %d MiB", above>>20, o.Before>>20)
	}
	below := o.BeforeFails - floorBeside
	if o.BeforeFails <= 0 || below < floorHardest {
		return done(FloorHolds, "the floor did not rise: it passes with %d MiB, earlier with %d MiB, the smallest size that is tried", above>>20, o.Before>>20)
	}
	if passed, err = at(below, 0); err != nil {
		return check, err
	}
	if passed {
		return done(FloorFell, "the floor fell: it passes with %d MiB, earlier not with %d MiB", below>>20, o.BeforeFails>>20)
	}
	return done(FloorHolds, "the floor did not move: it passes with %d MiB and not with %d MiB, earlier with %d MiB and not with %d MiB",
		above>>20, below>>20, o.Before>>20, o.BeforeFails>>20)
}

// Value is a floor that holds as a value of tonight's, or false: of one that moved it is not
// known where it is. trial is one of the cell as it is.
func (f FloorCheck) Value(m FloorMeter, trial int64) (memtrix.Value, bool) {
	if f.Move != FloorHolds {
		return memtrix.Value{}, false
	}
	meter := memtrix.FloorVRAM
	if m == FloorOfRAM {
		meter = memtrix.FloorRAM
	}
	v := memtrix.Value{Trial: trial, Meter: meter, Unit: memtrix.UnitBytes, Value: f.Earlier, Low: f.EarlierFails, High: f.Earlier, Note: f.Words}
	for _, p := range f.Tries {
		v.Trials = append(v.Trials, p.Trial)
	}
	return v, true
}
