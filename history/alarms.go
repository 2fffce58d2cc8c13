package history

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"memtrix"
	"memtrix/regress"
)

// Review is what a session's changes come to.
type Review struct {
	// Opened are new alarms, without ids.
	Opened []Alarm
	// Joined are changes that have the cause of an alarm that is there, by its id.
	Joined map[int64][]Change
	// Better are changes for the better: nobody has to act.
	Better []Change
	// Fixed are alarms of which everything went back.
	Fixed []int64
}

// Group makes alarms of changes: those of one session with one cause are one. When the
// control moved while its own version stood still, everything that changed in this
// session is one alarm about the machine. Drifts began in some night that is not known to
// the day, and are grouped by that.
func Group(found []Change, session memtrix.Session, known []Alarm) Review {
	r := Review{Joined: map[int64][]Change{}}
	machine := slices.ContainsFunc(found, moved)
	var keys []string
	byKey := map[string][]Change{}
	var drifts []Change
	for _, c := range found {
		if !c.Worse && !c.ControlMoved && !(machine && c.Control) {
			r.Better = append(r.Better, c)
			continue
		}
		if c.Kind == regress.Drift {
			drifts = append(drifts, c)
			continue
		}
		key := causeKey(c)
		if machine {
			key = fmt.Sprintf("machine in session %d", session.ID)
		}
		if byKey[key] == nil {
			keys = append(keys, key)
		}
		byKey[key] = append(byKey[key], c)
	}
	for _, key := range keys {
		changes := byKey[key]
		if a := slices.IndexFunc(known, func(a Alarm) bool { return a.State != Fixed && a.CauseKey == key }); a >= 0 {
			r.Joined[known[a].ID] = append(r.Joined[known[a].ID], changes...)
			continue
		}
		a := Alarm{
			State: Open, Machine: machine, CauseKey: key, Session: session.ID, Name: session.Name,
			Changes: changes, Simulated: changes[0].Simulated,
		}
		a.finish()
		r.Opened = append(r.Opened, a)
	}
	r.driftAlarms(drifts, session, known)
	return r
}

// finish says what an alarm is, by the worst of its changes.
func (a *Alarm) finish() {
	slices.SortStableFunc(a.Changes, func(a, b Change) int { return cmp.Compare(badness(b), badness(a)) })
	a.Cause = commonCause(a.Changes)
	a.Title = title(*a)
}

// moved reports whether a change shows that the machine moved: of the control, whose
// own version is the same before and after.
func moved(c Change) bool {
	return c.Control && c.Kind != regress.Drift && !slices.ContainsFunc(c.Causes, func(x Cause) bool { return x.Kind.ofVersion() })
}

// causeKey is what two changes with one cause share: the step from one version to the
// next where there is one, else what differs of the machine, else the session.
func causeKey(c Change) string {
	if c.FromCommit != c.ToCommit {
		return "commit " + c.FromCommit + " to " + c.ToCommit
	}
	var parts []string
	for _, x := range c.Causes {
		if x.Kind.ofVersion() {
			parts = append(parts, x.Text())
		}
	}
	if len(parts) > 0 {
		return strings.Join(parts, "; ")
	}
	for _, x := range c.Causes {
		parts = append(parts, x.Text())
	}
	return fmt.Sprintf("session %d %s", c.Session, strings.Join(parts, "; "))
}

// commonCause is the likeliest cause that all changes of an alarm share.
func commonCause(changes []Change) string {
	for _, x := range changes[0].Causes {
		everywhere := !slices.ContainsFunc(changes, func(c Change) bool { return !slices.Contains(c.Causes, x) })
		if everywhere {
			return x.Text()
		}
	}
	return ""
}

// badness orders changes: new out-of-memory first, then other failures, then by size.
func badness(c Change) float64 {
	switch c.Kind {
	case regress.NewOOM:
		return 3e9 + c.After
	case regress.NewFailure:
		return 2e9 + c.After
	}
	if c.Before == 0 {
		return 1e9
	}
	return min((c.After-c.Before)/c.Before, 1e9)
}

func title(a Alarm) string {
	first := a.Changes[0]
	text := fmt.Sprintf("%s in %s: %s", first.Kind, first.Where(), first.Reason)
	if n := len(a.Changes) - 1; n > 0 {
		text += fmt.Sprintf(", and %d more", n)
		if cells := countLines(a.Changes); cells > 1 {
			text += fmt.Sprintf(" in %d cells in all", cells)
		}
	}
	if a.Machine {
		return "the machine, not ComfyUI (the control moved, too): " + text
	}
	if first.Kind == regress.Drift {
		return text
	}
	return text + ", since " + versionOf(first.To, first.ToCommit)
}

func versionOf(name, commit string) string {
	if commit == "" || strings.HasPrefix(commit, name) || strings.HasPrefix(commit, "tree:") {
		return name
	}
	return name + " (" + commit[:min(10, len(commit))] + ")"
}

func countLines(changes []Change) int {
	lines := map[string]bool{}
	for _, c := range changes {
		lines[c.Line] = true
	}
	return len(lines)
}

// Gone gives the alarms, open or acknowledged, of which every change went back on its
// line: five trials in a row that pass, or three nights within a quarter of the step
// of the level that was before.
func Gone(lines []Line, alarms []Alarm) []int64 {
	byKey := map[string]Line{}
	for _, l := range lines {
		byKey[l.Key] = l
	}
	var ids []int64
	for _, a := range alarms {
		if a.State != Open && a.State != Acknowledged || len(a.Changes) == 0 {
			continue
		}
		lasts := slices.ContainsFunc(a.Changes, func(c Change) bool {
			l, ok := byKey[c.Line]
			return !ok || !l.wentBack(c)
		})
		if !lasts {
			ids = append(ids, a.ID)
		}
	}
	return ids
}

const (
	passesBack = 5
	nightsBack = 3
)

func (l Line) wentBack(c Change) bool {
	if c.Meter == "" {
		passes := 0
		for i := len(l.Places) - 1; i >= 0; i-- {
			for k := len(l.Places[i].Trials) - 1; k >= 0; k-- {
				if t := l.Places[i].Trials[k].Trial; t.Outcome.Kind != memtrix.Pass || t.ID == c.TrialAfter {
					return false
				}
				if passes++; passes == passesBack || l.Axis == ByVersion {
					return true
				}
			}
		}
		return false
	}
	back := 0
	for i := len(l.Places) - 1; i >= 0 && l.Places[i].Session > c.Session; i-- {
		v := scaled(l.Places[i].Values(c.Meter), unitOf(l.Places[i].Trials, c.Meter))
		if len(v) == 0 {
			continue
		}
		step := c.After - c.Before
		if off := (regress.Median(v) - c.Before) / step; off > 0.25 || off < -0.25 {
			return false
		}
		if back++; back == nightsBack {
			return true
		}
	}
	return false
}

// Confirm counts the confirming repeats of an alarm's cells in its session, and how many
// of them agree with what it says.
func (a *Alarm) Confirm(lines []Line) {
	a.Confirming, a.Confirmed = 0, 0
	seen := map[int64]bool{}
	for _, c := range a.Changes {
		for _, l := range lines {
			if l.Key != c.Line {
				continue
			}
			for _, p := range l.Places {
				for _, t := range p.Trials {
					if t.Session.ID != a.Session || !t.Trial.Confirms || seen[t.Trial.ID] {
						continue
					}
					seen[t.Trial.ID] = true
					a.Confirming++
					if c.agrees(t) {
						a.Confirmed++
					}
				}
			}
		}
	}
}

// agrees reports whether a trial shows a change, too.
func (c Change) agrees(t *memtrix.Brief) bool {
	if c.Meter == "" {
		return t.Trial.Outcome.Kind != memtrix.Pass
	}
	n, ok := t.Numbers[c.Meter]
	if !ok || t.Trial.Outcome.Kind != memtrix.Pass {
		return false
	}
	v := inUnit(float64(n.Value), n.Unit)
	return (v > (c.Before+c.After)/2) == (c.After > c.Before)
}
