package history

import (
	"slices"

	"memtrix"
	"memtrix/regress"
)

// AlarmMeters are those that open alarms when a spec's history is long enough: one
// for each kind of memory, what comes back at rest, and the time of a warm prompt.
// Values open alarms, too. More meters would be more false alarms. Of RAM it is what
// is the server's own: resident pages of files come and go with the page cache
// (FilePages), a hundred MiB with an environment that was made again.
var AlarmMeters = []string{
	memtrix.VRAMDeviceUsed,
	memtrix.VRAMNonEvictable,
	memtrix.RAMTreeAnon,
	memtrix.RAMPinned,
	memtrix.SwapTreeUsed,
	memtrix.RestedPrefix + memtrix.RAMTreeAnon,
	memtrix.PromptSeconds(2),
}

// AlarmMetersOf are the meters of some trials that open alarms.
func AlarmMetersOf(trials []*memtrix.Brief) []string {
	all, _, _ := Meters(trials, nil)
	return slices.DeleteFunc(all, func(m string) bool { return !isValue(m) && !slices.Contains(AlarmMeters, m) })
}

// Suspect is a cell of a session of which a repeat would tell.
type Suspect struct {
	Cell  string // memtrix.Cell.ID
	Meter string // "" for an outcome
	// Repeats is how many confirming trials the cell has in the session already.
	Repeats int
	Why     string
}

// Found is what a session adds to what was known.
type Found struct {
	Changes  []Change
	Suspects []Suspect
	// Nights is the longest history of a line by date before this session; Enough is
	// set when it suffices to tell changes of values.
	Nights int
	Enough bool
}

// enoughNights is what regress.Tonight needs before it says anything.
const enoughNights = 20

// Look finds what a session, the newest of its lines, adds to the changes that are
// known. Outcomes are told from five trials on; values only by date, with the error
// rate of regress.Past: about one false alarm a year for a whole suite.
func Look(lines []Line, session int64, known []Change, meters []string) Found {
	var f Found
	followed := map[[2]string]bool{} // group and version that a line by date follows
	for _, l := range lines {
		if l.Axis == ByDate && l.newest() == session {
			followed[[2]string{l.Series, l.Version}] = true
		}
	}
	for _, l := range lines {
		if l.Axis == ByDate && l.newest() != session {
			continue
		}
		for _, c := range outcomes(l) {
			if c.Session != session || l.Axis == ByVersion && followed[[2]string{l.Series, c.To}] || isKnown(known, c) {
				continue
			}
			f.Changes = append(f.Changes, c)
			if c.Worse {
				f.suspectOutcome(l, c)
			}
		}
		if l.Axis != ByDate {
			continue
		}
		f.Nights = max(f.Nights, len(l.Places)-1)
		for _, m := range meters {
			f.night(l, m, known)
		}
	}
	controlDrifts(lines, f.Changes)
	f.Enough = f.Nights >= enoughNights
	return f
}

// newest is the session of a line's last place that is no gap.
func (l Line) newest() int64 {
	for i := len(l.Places) - 1; i >= 0; i-- {
		if len(l.Places[i].Trials) > 0 {
			return l.Places[i].Session
		}
	}
	return 0
}

// isKnown reports whether a change was found in an earlier look. By version the same
// change is there in every session that runs both versions.
func isKnown(known []Change, c Change) bool {
	return slices.ContainsFunc(known, func(k Change) bool {
		if k.Line != c.Line || k.Meter != c.Meter || k.Kind != c.Kind {
			return false
		}
		return k.Session == c.Session && k.TrialAfter == c.TrialAfter || c.Axis == ByVersion && k.To == c.To
	})
}

func (f *Found) suspectOutcome(l Line, c Change) {
	p := l.Places[c.Place]
	if n := p.confirming(); n == 0 {
		f.Suspects = append(f.Suspects, Suspect{Cell: p.Trials[0].Cell, Why: c.What()})
	}
}

func (p Place) confirming() int {
	n := 0
	for _, t := range p.Trials {
		if t.Trial.Confirms {
			n++
		}
	}
	return n
}

// split are a meter's numbers of a place: those of its regular trials that passed, and
// those of the confirming ones.
func (p Place) split(meter string, unit memtrix.Unit) (regular, confirming []float64) {
	for _, t := range p.Trials {
		n, ok := t.Numbers[meter]
		if !ok || t.Trial.Outcome.Kind != memtrix.Pass {
			continue
		}
		if v := inUnit(float64(n.Value), unit); t.Trial.Confirms {
			confirming = append(confirming, v)
		} else {
			regular = append(regular, v)
		}
	}
	return regular, confirming
}

// night looks at one meter of the newest place.
func (f *Found) night(l Line, meter string, known []Change) {
	var unit memtrix.Unit
	var nights []float64
	var place []int
	last := len(l.Places) - 1
	for i, p := range l.Places[:last] {
		if unit == "" {
			unit = unitOf(p.Trials, meter)
		}
		if v, _ := p.split(meter, unit); len(v) > 0 {
			nights, place = append(nights, regress.Median(v)), append(place, i)
		}
	}
	regular, confirming := l.Places[last].split(meter, unit)
	if len(nights) == 0 || len(regular) == 0 {
		return
	}
	o := options(meter, unit, floorTimeNights)
	from := l.since(meter, known, place)
	from = max(from, lastLevel(nights, from, o))
	nights, place = nights[from:], place[from:]
	now := append([]float64{regress.Median(regular)}, confirming...)
	drifted, before := l.told(meter, known, place)
	past := regress.Past{Nights: nights, Drifted: drifted, Up: before.After > before.Before, Over: before.Over}
	switch state, c, growth := past.Tonight(now, o); {
	case growth != nil:
		f.Changes = append(f.Changes, l.drift(meter, unit, append(place, last), c, *growth))
	case state == regress.Suspect:
		f.Suspects = append(f.Suspects, Suspect{
			Cell: l.Places[last].Trials[0].Cell, Meter: meter, Repeats: len(confirming),
			Why: Label(meter) + " is far from what it was",
		})
	case state == regress.Alarm:
		at := last
		if c.At < len(place) {
			at = place[c.At]
		}
		f.Changes = append(f.Changes, l.shift(meter, unit, at, c, HowTonight))
	}
}

// since is the index of the first night after the last change of a meter's level that is
// known.
func (l Line) since(meter string, known []Change, place []int) int {
	from := 0
	for _, k := range known {
		if k.Line != l.Key || k.Meter != meter || k.Kind == regress.Drift {
			continue
		}
		i := slices.IndexFunc(place, func(p int) bool { return l.Places[p].Session >= k.Session })
		if i < 0 {
			i = len(place)
		}
		from = max(from, i)
	}
	return from
}

// lastLevel is where the level that lasts until now begins, as far as nights before alarms
// were kept tell: a change must be as old as a history must be long, since a younger
// one is for Tonight to find. A drift is no levels.
func lastLevel(nights []float64, from int, o regress.Options) int {
	if regress.NoLevels(nights[from:], o) {
		return from
	}
	points := make([]regress.Point, 0, len(nights))
	for _, v := range nights[from:] {
		points = append(points, regress.Point{Outcome: memtrix.Pass, Value: v, Known: true})
	}
	at := 0
	for _, c := range regress.Levels(points, o) {
		if c.Kind == regress.Shift && len(points)-c.At >= enoughNights {
			at = max(at, from+c.At)
		}
	}
	return at
}
