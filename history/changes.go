package history

import (
	"fmt"
	"slices"
	"strings"

	"memtrix"
	"memtrix/regress"
)

// Changes are all changes along a line: of its outcomes, and of each of the meters.
//
// Outcomes are followed trial by trial, values place by place: the repeats of one night
// resemble each other more than nights do, and count as one point, their median. By
// version neighbours are compared as well (regress.Compare), their outcomes and their
// values, since six releases of four repeats are too few points for a series and enough
// for five comparisons; each of those is one test, not corrected for how many there are.
func Changes(l Line, meters []string) []Change {
	all := outcomes(l)
	if l.Axis == ByVersion {
		for _, s := range l.steps() {
			told := slices.ContainsFunc(all, func(c Change) bool { return c.Place == s.Place })
			if s.told() && !told {
				all = append(all, l.outcomeStep(s))
			}
		}
		slices.SortStableFunc(all, func(a, b Change) int { return a.Place - b.Place })
	}
	for _, m := range meters {
		all = append(all, values(l, m)...)
	}
	return filePages(l, all)
}

// asExpected is said of new failures that the spec expects.
const asExpected = ", as expected by the spec"

// filesOnly is said of resident memory that changed while the server's own did not.
const filesOnly = "; only pages of mapped files, which come and go with the page cache"

// filePages tells changes of resident memory that are the page cache's alone. Those need
// nobody to act.
func filePages(l Line, all []Change) []Change {
	for i := range all {
		c := &all[i]
		own := FilePages(c.Meter)
		if own == "" || unitOf(l.Trials(), own) == "" {
			continue
		}
		also := slices.ContainsFunc(values(l, own), func(o Change) bool {
			return (o.After > o.Before) == (c.After > c.Before) && o.Place >= c.Place-2 && o.Place <= c.Place+2
		})
		if !also {
			c.Worse = false
			c.Reason += filesOnly
		}
	}
	return all
}

// outcomes are the changes in how trials end.
func outcomes(l Line) []Change {
	var points []regress.Point
	var place []int
	var trials []*memtrix.Brief
	for i, p := range l.Places {
		for _, t := range p.Trials {
			points = append(points, regress.Point{Outcome: t.Trial.Outcome.Kind})
			place = append(place, i)
			trials = append(trials, t)
		}
	}
	var all []Change
	for _, c := range regress.Outcomes(points) {
		first := trials[c.At]
		if c.At == 0 {
			continue
		}
		change := l.change(place[c.At], trials[c.At-1], first)
		change.Kind, change.How, change.Before, change.After = c.Kind, HowOutcomes, c.Before, c.After
		change.Confidence, change.Reason = c.Confidence, c.Reason
		// What the spec expects needs nobody to act.
		worse := c.Kind != regress.FixedOOM && c.After > c.Before
		change.Expected = worse && first.Trial.AsExpected()
		change.Worse = worse && !change.Expected
		if change.Expected {
			change.Reason += asExpected
		}
		all = append(all, change)
	}
	return all
}

// values are the changes of one meter.
func values(l Line, meter string) []Change {
	points, place, unit := l.points(meter)
	if unit == "" {
		return nil
	}
	var all []Change
	for _, c := range regress.Levels(points, options(meter, unit, floorTimeNights)) {
		all = append(all, l.shift(meter, unit, place[c.At], c, HowLevels))
	}
	if l.Axis != ByVersion {
		return all
	}
	for _, c := range neighbours(l, meter, unit) {
		if !slices.ContainsFunc(all, func(o Change) bool { return o.Place == c.Place }) {
			all = append(all, c)
		}
	}
	slices.SortStableFunc(all, func(a, b Change) int { return a.Place - b.Place })
	return all
}

// points is one point for each place that is no gap, with the places that they are of.
func (l Line) points(meter string) (points []regress.Point, place []int, unit memtrix.Unit) {
	for i, p := range l.Places {
		if len(p.Trials) == 0 {
			continue
		}
		if unit == "" {
			unit = unitOf(p.Trials, meter)
		}
		point := regress.Point{Outcome: memtrix.Pass}
		if v := p.Values(meter); len(v) > 0 {
			point.Value, point.Known = inUnit(regress.Median(v), unit), true
		} else if n, first := p.Failed(); n > 0 {
			point.Outcome = first
		}
		points, place = append(points, point), append(place, i)
	}
	return points, place, unit
}

// neighbours compares each place with the one before that has values, too.
func neighbours(l Line, meter string, unit memtrix.Unit) []Change {
	var all []Change
	last := -1
	for i, p := range l.Places {
		now := scaled(p.Values(meter), unit)
		if len(now) == 0 {
			continue
		}
		if last >= 0 {
			was := scaled(l.Places[last].Values(meter), unit)
			c := regress.Compare(regress.Side{Values: was, Trials: len(was)}, regress.Side{Values: now, Trials: len(now)}, options(meter, unit, floorTimeNights))
			if c.Verdict == regress.Differs {
				change := regress.Change{Kind: regress.Shift, Before: c.A.Median, After: c.B.Median, Confidence: 1 - c.P, Reason: c.Reason}
				all = append(all, l.shift(meter, unit, i, change, HowCompared))
			}
		}
		last = i
	}
	return all
}

func scaled(v []float64, unit memtrix.Unit) []float64 {
	for i := range v {
		v[i] = inUnit(v[i], unit)
	}
	return v
}

func (l Line) shift(meter string, unit memtrix.Unit, place int, c regress.Change, how How) Change {
	before, after := l.around(place)
	change := l.change(place, before, after)
	change.Meter, change.Unit, change.Kind, change.How = meter, shownUnit(unit), c.Kind, how
	change.Before, change.After, change.Confidence, change.Reason = c.Before, c.After, c.Confidence, c.Reason
	change.Worse = c.After > c.Before != moreIsBetter(meter)
	return change
}

// shownUnit is the unit of the levels of a change: times are in seconds.
func shownUnit(u memtrix.Unit) memtrix.Unit {
	if u == memtrix.UnitNanoseconds {
		return UnitSeconds
	}
	return u
}

// UnitSeconds is the unit of levels of times.
const UnitSeconds memtrix.Unit = "s"

// around are the last trial before a place and the first in it.
func (l Line) around(place int) (before, after *memtrix.Brief) {
	after = l.Places[place].Trials[0]
	for i := place - 1; i >= 0; i-- {
		if n := len(l.Places[i].Trials); n > 0 {
			return l.Places[i].Trials[n-1], after
		}
	}
	return after, after
}

func (l Line) change(place int, before, after *memtrix.Brief) Change {
	p, a, b := l.Places[place], before.Trial.Cell.Version, after.Trial.Cell.Version
	return Change{
		Line: l.Key, Workflow: l.Workflow, Settings: l.Settings.String(), Hardware: hardwareText(l.Hardware), Axis: l.Axis,
		Session: p.Session, At: p.Started, From: a.Name, To: b.Name, FromCommit: a.Commit, ToCommit: b.Commit,
		TrialBefore: before.Trial.ID, TrialAfter: after.Trial.ID, Causes: Causes(before.Trial, after.Trial),
		Control: l.Control, Simulated: l.Simulated, Place: place,
	}
}

// hardwareText is "" for the machine as it stands.
func hardwareText(name string) string {
	if name == "as-is" {
		return ""
	}
	return name
}

// Where says what a line or a change is about: "sdxl, dynamic-vram=off, card-8g".
func (c Change) Where() string {
	text := c.Workflow
	if c.Settings != "default" {
		text += ", " + c.Settings
	}
	if c.Hardware != "" {
		text += ", " + c.Hardware
	}
	return text
}

// Where says what a line is about, with the version that it follows.
func (l Line) Where() string {
	return Change{Workflow: l.Workflow, Settings: l.Settings.String(), Hardware: hardwareText(l.Hardware)}.Where()
}

// What says a change in one line: "shift: peak ram.tree.rss +412 MiB ...".
func (c Change) What() string {
	return fmt.Sprintf("%s: %s", c.Kind, c.Reason)
}

// FilesOnly reports whether a change is one of the page cache: resident memory changed, and
// the server's own part of it did not.
func (c Change) FilesOnly() bool { return strings.HasSuffix(c.Reason, filesOnly) }
