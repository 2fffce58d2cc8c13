package history

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"memtrix"
)

// Lines puts trials in order along an axis; "" takes both, each where it says
// something: by date what has one name in several sessions, by version what has
// several names.
//
// By date a place is a session, in the order of time, and a session of the spec in which
// the line has no trial is a gap. By version a place is a name that a spec gives
// versions, with the trials of its newest session, releases first in their own order:
// several releases in one session are a history, though they ran in one night.
func Lines(trials []*memtrix.Brief, axis Axis) []Line {
	var all []Line
	groups, order := grouped(trials)
	for _, key := range order {
		g := groups[key]
		if axis != ByVersion {
			all = append(all, g.byDate(sessionsOf(trials, g.spec))...)
		}
		if axis != ByDate {
			all = append(all, g.byVersion()...)
		}
	}
	return all
}

// group is trials that belong on one line but for their versions.
type group struct {
	key    string
	spec   string
	trials []*memtrix.Brief
}

func grouped(trials []*memtrix.Brief) (map[string]*group, []string) {
	groups := map[string]*group{}
	var order []string
	for _, t := range trials {
		key := strings.Join([]string{t.Series, t.Session.Spec, Card(t.Trial.Environment), strconv.FormatBool(t.Trial.Simulated)}, "|")
		if groups[key] == nil {
			groups[key] = &group{key: key, spec: t.Session.Spec}
			order = append(order, key)
		}
		if Says(t) && (!experiment(t.Session.Spec) || hasValue(t)) {
			groups[key].trials = append(groups[key].trials, t)
		}
	}
	return groups, order
}

// experiments are what searches add to the name of their spec. They try one size or commit
// after another: their trials are no nights of anything, but for those on which what was
// found hangs.
var experiments = []string{"floor", "ceiling", "leak", "oom-detail", "bisect", "diagnose"}

func experiment(spec string) bool {
	if strings.HasSuffix(spec, " abba") {
		return true
	}
	i := strings.LastIndex(spec, ".")
	return i >= 0 && slices.ContainsFunc(experiments, func(name string) bool {
		return spec[i+1:] == name || strings.HasPrefix(spec[i+1:], name+"-")
	})
}

func hasValue(t *memtrix.Brief) bool {
	for m := range t.Numbers {
		if isValue(m) {
			return true
		}
	}
	return false
}

// Says reports whether a trial says something about its version: it was measured, with
// the settings that were asked for, and alone. What a server's user ran while memtrix looked
// on is the user's choice and no version's.
func Says(t *memtrix.Brief) bool {
	switch t.Trial.Outcome.Kind {
	case memtrix.Interrupted, memtrix.HarnessFailure, memtrix.NotApplicable, memtrix.NotInForce:
		return false
	}
	return !t.Trial.Shared && !t.Trial.Watched()
}

// Card names the cards of an environment, "" where there is none.
func Card(e memtrix.Environment) string {
	var names []string
	for name, value := range e {
		if strings.HasPrefix(name, "gpu.") && strings.HasSuffix(name, ".name") {
			names = append(names, value)
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// sessionsOf are the sessions of a spec that any of the trials is of.
func sessionsOf(trials []*memtrix.Brief, spec string) []memtrix.Session {
	found := map[int64]memtrix.Session{}
	for _, t := range trials {
		if t.Session.Spec == spec {
			found[t.Session.ID] = t.Session
		}
	}
	all := slices.Collect(maps.Values(found))
	slices.SortFunc(all, func(a, b memtrix.Session) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// fewestPlaces is how many a line must have to be one.
const fewestPlaces = 2

func (g *group) byDate(sessions []memtrix.Session) []Line {
	byName := map[string]map[int64][]*memtrix.Brief{}
	var names []string
	for _, t := range g.trials {
		name := t.Trial.Cell.Version.Name
		if byName[name] == nil {
			byName[name] = map[int64][]*memtrix.Brief{}
			names = append(names, name)
		}
		byName[name][t.Session.ID] = append(byName[name][t.Session.ID], t)
	}
	var all []Line
	for _, name := range names {
		if len(byName[name]) < fewestPlaces {
			continue
		}
		var places []Place
		for _, s := range sessions {
			if trials := byName[name][s.ID]; len(trials) > 0 {
				places = append(places, placeOf(trials, s.Name))
			} else if len(places) > 0 {
				places = append(places, Place{Session: s.ID, Name: s.Name, Started: s.Started, Version: name})
			}
		}
		all = append(all, g.line(ByDate, name, places))
	}
	return all
}

func (g *group) byVersion() []Line {
	newest := map[string]int64{} // session, by name
	for _, t := range g.trials {
		newest[t.Trial.Cell.Version.Name] = max(newest[t.Trial.Cell.Version.Name], t.Session.ID)
	}
	if len(newest) < fewestPlaces {
		return nil
	}
	byName := map[string][]*memtrix.Brief{}
	for _, t := range g.trials {
		if name := t.Trial.Cell.Version.Name; t.Session.ID == newest[name] {
			byName[name] = append(byName[name], t)
		}
	}
	var places []Place
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		places = append(places, placeOf(byName[name], name))
	}
	order := inOrderOfTime
	if !slices.ContainsFunc(places, func(p Place) bool { return numbers(p.Release) == nil }) {
		order = inOrderOfVersions
	}
	slices.SortStableFunc(places, order)
	return []Line{g.line(ByVersion, "", places)}
}

func placeOf(trials []*memtrix.Brief, name string) Place {
	t := trials[0]
	v := t.Trial.Cell.Version
	return Place{
		Session: t.Session.ID, Name: name, Started: started(t), Version: v.Name, Release: v.Release, Commit: v.Commit,
		VersionID: t.VersionID, Trials: trials,
	}
}

func started(t *memtrix.Brief) time.Time {
	if t.Trial.Started.IsZero() {
		return t.Session.Started
	}
	return t.Trial.Started
}

func (g *group) line(axis Axis, version string, places []Place) Line {
	l := Line{Key: strings.Join([]string{g.key, string(axis), version}, "|"), Axis: axis, Version: version, Places: places}
	newest := g.trials[len(g.trials)-1]
	for i := len(places) - 1; i >= 0; i-- {
		if len(places[i].Trials) > 0 {
			newest = places[i].Trials[0]
			break
		}
	}
	c := newest.Trial.Cell
	l.Series, l.Workflow, l.Settings, l.Hardware = newest.Series, c.Workflow.Name, c.Settings, c.Hardware.Name
	l.Card, l.Probe, l.Simulated = Card(newest.Trial.Environment), c.Probe, newest.Trial.Simulated
	l.Attached = c.Version.Attached != nil
	l.Control = newest.Trial.Control
	return l
}

// inOrderOfVersions puts lower releases first; of one release its own commit before
// branches that still carry its number, the earlier measured first.
func inOrderOfVersions(a, b Place) int {
	if c := slices.Compare(numbers(a.Release), numbers(b.Release)); c != 0 {
		return c
	}
	own := func(p Place) int {
		if strings.TrimPrefix(p.Version, "v") == p.Release {
			return 0
		}
		return 1
	}
	if c := cmp.Compare(own(a), own(b)); c != 0 {
		return c
	}
	return inOrderOfTime(a, b)
}

func inOrderOfTime(a, b Place) int { return a.Started.Compare(b.Started) }

// numbers are the parts of a release, "0.29.1" as 0, 29, 1; nil where it is none.
func numbers(release string) []int {
	var all []int
	for _, part := range strings.Split(strings.TrimPrefix(release, "v"), ".") {
		n, err := strconv.Atoi(part)
		if err != nil {
			return nil
		}
		all = append(all, n)
	}
	return all
}

// Trials are all trials of a line.
func (l Line) Trials() []*memtrix.Brief {
	var all []*memtrix.Brief
	for _, p := range l.Places {
		all = append(all, p.Trials...)
	}
	return all
}
