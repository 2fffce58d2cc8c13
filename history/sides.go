package history

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"memtrix"
)

// Pick finds the side that a word means: a session's name or "last" (the one before:
// "last~1"), a version as tables show it, its release or its commit, VERSION@SESSION,
// or the number of a trial ("12", "trial:12"). A version is taken from the newest session
// that has it; prefer names a session to look in first, 0 for none. Of a word that means
// several things, or nothing, the error lists what there is.
func Pick(word string, trials []*memtrix.Brief, sessions []memtrix.Session, prefer int64) (Side, error) {
	version, in, at := strings.Cut(word, "@")
	if at {
		s, ok := findSession(in, sessions)
		if !ok {
			return Side{}, fmt.Errorf("%q: there is no session %q; newest: %s", word, in, newestNames(sessions))
		}
		found := ofSession(trials, s.ID)
		side, err := pickVersion(version, found, s.ID)
		side.Name = word
		if err == nil && len(side.Trials) == 0 {
			err = fmt.Errorf("%q: session %s has no version %q, but %s", word, s.Name, version, strings.Join(versionNames(found), ", "))
		}
		return side, err
	}
	var meant []string
	var all []Side
	if s, ok := findSession(word, sessions); ok {
		meant = append(meant, "session "+s.Name)
		all = append(all, Side{Name: s.Name, Trials: ofSession(trials, s.ID)})
	}
	side, err := pickVersion(word, trials, prefer)
	if err != nil {
		return Side{}, err
	}
	if len(side.Trials) > 0 {
		meant = append(meant, "version "+side.Name+" ("+side.Name+"@"+side.Trials[0].Session.Name+")")
		all = append(all, side)
	}
	number, named := strings.CutPrefix(word, "trial:")
	if n, err := strconv.ParseInt(number, 10, 64); err == nil {
		i := slices.IndexFunc(trials, func(t *memtrix.Brief) bool { return t.Trial.ID == n })
		if i >= 0 {
			meant = append(meant, "trial:"+number)
			all = append(all, Side{Name: "trial " + number, Trials: trials[i : i+1]})
		} else if named {
			return Side{}, fmt.Errorf("there is no trial %d", n)
		}
	}
	switch len(all) {
	case 1:
		return all[0], nil
	case 0:
		if len(sessions) == 0 {
			return Side{}, fmt.Errorf("nothing is called %q: no session is stored yet", word)
		}
		return Side{}, fmt.Errorf("nothing is called %q: it is neither a session (newest: %s) nor a version (%s) nor the number of a trial",
			word, newestNames(sessions), strings.Join(versionNames(trials), ", "))
	}
	return Side{}, fmt.Errorf("%q may be %s: say which", word, strings.Join(meant, " or "))
}

// Common is the newest session in which both words are versions, 0 where there is none:
// what ran in one night is compared first.
func Common(a, b string, trials []*memtrix.Brief) int64 {
	has := func(word string, session int64) bool {
		side, err := pickVersion(word, ofSession(trials, session), session)
		return err == nil && len(side.Trials) > 0
	}
	seen := map[int64]bool{}
	for i := len(trials) - 1; i >= 0; i-- {
		id := trials[i].Session.ID
		if seen[id] {
			continue
		}
		seen[id] = true
		if has(a, id) && has(b, id) {
			return id
		}
	}
	return 0
}

// pickVersion finds the trials of a version in one session: the preferred one where that
// has it, else the newest. No trials and no error: nothing is called so.
func pickVersion(word string, trials []*memtrix.Brief, prefer int64) (Side, error) {
	for _, is := range []func(v memtrix.Version) bool{
		func(v memtrix.Version) bool { return v.Name == word },
		func(v memtrix.Version) bool { return v.Release != "" && v.Release == strings.TrimPrefix(word, "v") },
		func(v memtrix.Version) bool { return len(word) >= 7 && strings.HasPrefix(v.Commit, word) },
	} {
		session := int64(0)
		for _, t := range trials {
			if is(t.Trial.Cell.Version) && (session != prefer || prefer == 0) {
				session = t.Session.ID
			}
		}
		if session == 0 {
			continue
		}
		side := Side{Name: word}
		for _, t := range trials {
			if t.Session.ID == session && is(t.Trial.Cell.Version) {
				side.Trials = append(side.Trials, t)
			}
		}
		if names := versionNames(side.Trials); len(names) > 1 {
			return Side{}, fmt.Errorf("%q may be the version %s: say which", word, strings.Join(names, " or "))
		}
		side.Name = side.Trials[0].Trial.Cell.Version.Name
		return side, nil
	}
	return Side{}, nil
}

func findSession(word string, sessions []memtrix.Session) (memtrix.Session, bool) {
	for _, s := range sessions {
		if s.Name == word {
			return s, true
		}
	}
	back := 0
	if rest, ok := strings.CutPrefix(word, "last~"); ok {
		n, err := strconv.Atoi(rest)
		if err != nil || n < 0 {
			return memtrix.Session{}, false
		}
		back = n
	} else if word != "last" {
		return memtrix.Session{}, false
	}
	if back >= len(sessions) {
		return memtrix.Session{}, false
	}
	return sessions[len(sessions)-1-back], true
}

func ofSession(trials []*memtrix.Brief, id int64) []*memtrix.Brief {
	var found []*memtrix.Brief
	for _, t := range trials {
		if t.Session.ID == id {
			found = append(found, t)
		}
	}
	return found
}

func newestNames(sessions []memtrix.Session) string {
	const shown = 8
	var names []string
	for i := len(sessions) - 1; i >= 0 && len(names) < shown; i-- {
		names = append(names, sessions[i].Name)
	}
	if names == nil {
		return "none yet"
	}
	return strings.Join(names, ", ")
}

// versionNames are the names of versions, each once, in the order in which they ran.
func versionNames(trials []*memtrix.Brief) []string {
	const shown = 20
	var names []string
	for i := len(trials) - 1; i >= 0 && len(names) < shown; i-- {
		if n := trials[i].Trial.Cell.Version.Name; !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	slices.Reverse(names)
	return names
}
