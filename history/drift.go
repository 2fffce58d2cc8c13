package history

import (
	"fmt"
	"slices"
	"time"

	"memtrix"
	"memtrix/regress"
)

// Growth is what is known of a drift, in the unit of the change's levels.
type Growth struct {
	PerNight float64 `json:"per_night"`
	Low      float64 `json:"low"` // interval of 95 %
	High     float64 `json:"high"`
	// Nights is how long it went on until it was told.
	Nights int `json:"nights"`
	// After and Until are the times of the nights between which it began (95 %).
	After time.Time `json:"began_after"`
	Until time.Time `json:"began_until"`
}

// overlaps reports whether two drifts may have begun in the same night.
func (g Growth) overlaps(o Growth) bool {
	return !g.After.After(o.Until) && !o.After.After(g.Until)
}

// drift describes one that was told in a line's newest place. nights are the places of what
// was looked at, the newest place last. Its versions, trials and causes are those between
// which it began: that is as well as it is known.
func (l Line) drift(meter string, unit memtrix.Unit, nights []int, c regress.Change, g regress.Growth) Change {
	last := len(l.Places) - 1
	from, until := nights[max(g.Earliest-1, 0)], nights[g.Latest]
	before, after := l.Places[from].last(), l.Places[until].Trials[0]
	change := l.change(last, before, after)
	change.Meter, change.Unit, change.Kind, change.How = meter, shownUnit(unit), c.Kind, HowTonight
	change.Before, change.After, change.Confidence = c.Before, c.After, c.Confidence
	change.Worse = c.After > c.Before != moreIsBetter(meter)
	change.Growth = &Growth{PerNight: g.PerNight, Low: g.Low, High: g.High, Nights: g.Nights, After: l.Places[from].Started, Until: l.Places[until].Started}
	began := "it began between " + l.Places[from].Name + " and " + l.Places[until].Name
	if g.Earliest == 0 {
		began = "it began before " + l.Places[until].Name
	}
	change.Reason = c.Reason + "; " + began
	return change
}

func (p Place) last() *memtrix.Brief { return p.Trials[len(p.Trials)-1] }

// told is the last drift of a meter that is known, as an index of the nights before which
// it was told; 0 for none.
func (l Line) told(meter string, known []Change, place []int) (drifted int, last Change) {
	for _, k := range known {
		if k.Line != l.Key || k.Meter != meter || k.Kind != regress.Drift {
			continue
		}
		i := slices.IndexFunc(place, func(p int) bool { return l.Places[p].Session > k.Session })
		if i < 0 {
			i = len(place)
		}
		if i >= drifted {
			drifted, last = i, k
		}
	}
	return drifted, last
}

// controlDrifts marks drifts along which a control drifts: those are the machine's. A
// control whose own version moved says nothing.
func controlDrifts(lines []Line, found []Change) {
	for i := range found {
		c := &found[i]
		if c.Kind != regress.Drift {
			continue
		}
		c.ControlMoved = c.Control && !slices.ContainsFunc(c.Causes, func(x Cause) bool { return x.Kind.ofVersion() })
		for _, l := range lines {
			if l.Control && l.Axis == ByDate && l.Simulated == c.Simulated && l.Key != c.Line && l.drifts(c) {
				c.ControlMoved = true
			}
		}
	}
}

// drifts reports whether a line of a control goes where a drift does, with the version that
// it had when that began.
func (l Line) drifts(c *Change) bool {
	var nights []float64
	var unit memtrix.Unit
	for _, p := range l.Places {
		if len(p.Trials) == 0 {
			continue
		}
		if unit == "" {
			unit = unitOf(p.Trials, c.Meter)
		}
		if v, _ := p.split(c.Meter, unit); len(v) > 0 {
			nights = append(nights, regress.Median(v))
		}
		if p.VersionID != l.Places[len(l.Places)-1].VersionID && !p.Started.Before(c.Growth.After) {
			return false
		}
	}
	return len(nights) > 0 && regress.Drifts(nights, c.After > c.Before, options(c.Meter, unit, floorTimeNights))
}

// driftAlarms groups drifts that may have begun in the same night and go the same way;
// those of the machine are one alarm. An alarm that is not fixed takes those of its cause,
// and of the same series whatever began when.
func (r *Review) driftAlarms(found []Change, session memtrix.Session, known []Alarm) {
	first := len(r.Opened)
	for _, c := range found {
		same := func(a Alarm) bool {
			return a.State != Fixed && slices.ContainsFunc(a.Changes, func(k Change) bool {
				if k.Kind != regress.Drift || k.Worse != c.Worse || k.Simulated != c.Simulated {
					return false
				}
				if k.Line == c.Line && k.Meter == c.Meter {
					return true
				}
				return a.Machine == c.ControlMoved && (c.ControlMoved || k.Growth.overlaps(*c.Growth))
			})
		}
		if i := slices.IndexFunc(known, same); i >= 0 {
			r.Joined[known[i].ID] = append(r.Joined[known[i].ID], c)
			continue
		}
		if i := slices.IndexFunc(r.Opened[first:], same); i >= 0 {
			r.Opened[first+i].Changes = append(r.Opened[first+i].Changes, c)
			continue
		}
		r.Opened = append(r.Opened, Alarm{
			State: Open, Machine: c.ControlMoved, Session: session.ID, Name: session.Name, Changes: []Change{c}, Simulated: c.Simulated,
			CauseKey: fmt.Sprintf("drift of %s in session %d from %s on", c.Meter, session.ID, c.Growth.After.UTC().Format(time.DateOnly)),
		})
	}
	for i := first; i < len(r.Opened); i++ {
		r.Opened[i].finish()
	}
}

// Close marks the drifts that belong to alarms that are fixed: should they go on, that is
// news.
func Close(known []Change, alarms []Alarm) {
	for _, a := range alarms {
		if a.State != Fixed {
			continue
		}
		for _, c := range a.Changes {
			for i := range known {
				if k := &known[i]; k.Kind == regress.Drift && k.Line == c.Line && k.Meter == c.Meter && k.Session == c.Session {
					k.Over = true
				}
			}
		}
	}
}
