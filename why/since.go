package why

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"memtrix/comfyui"
	"memtrix/versions/past"
)

// Since is what changed before the failure.
type Since struct {
	// Worked is when it last worked, "" where no log shows that; WellBefore counts
	// prompts that went well in the same start, before the failure.
	Worked     string `json:"worked,omitempty"`
	WellBefore int    `json:"well_before,omitempty"`
	// State is the state that one goes back to, nil for none. When and Source are its
	// own.
	State   *past.State   `json:"-"`
	When    string        `json:"when,omitempty"`
	Source  string        `json:"source,omitempty"`
	Changes []past.Change `json:"changes,omitempty"`
	// Packages were put in since, as far as they have to do with memory; what they
	// replaced is not known.
	Packages []string `json:"packages,omitempty"`
	// Note says in words what is known besides.
	Note string `json:"note,omitempty"`
}

// History is what is known about an installation's past.
type History struct {
	Now    past.State
	States []past.State
	Days   []past.Day
}

// since finds the state that the installation had when it last worked: of those
// known, the first that ended after that. Where no log shows that it ever worked, it
// is the state before the last change.
func since(c Choice, h History) Since {
	failed := c.Run.Started
	if failed.IsZero() {
		failed = c.Ended()
	}
	var s Since
	var from time.Time
	if c.Good != nil {
		from = c.Good.When
		s.Worked = from.Format(time.RFC3339)
		s.Changes = said(c.Good.Banner, c.Run.Banner)
		if c.Good.Same {
			s.WellBefore = c.Run.Well - c.Run.After
			s.Note = fmt.Sprintf("%s went well before in the same start: what is asked of it changed, or something stayed in memory; the installation is the same", prompts(s.WellBefore))
		}
	}
	before := slices.DeleteFunc(slices.Clone(h.States), func(st past.State) bool { return st.When.After(failed) })
	var chosen *past.State
	switch {
	case len(before) == 0:
	case c.Good == nil || c.Good.Same:
		chosen = &before[0]
	default:
		for i := range before { // newest first
			if before[i].When.Before(c.Good.When) {
				break
			}
			chosen = &before[i]
		}
	}
	if chosen != nil {
		s.State, s.When, s.Source = chosen, chosen.When.Format(time.RFC3339), chosen.Source
		s.Changes = merge(past.Diff(*chosen, h.Now), s.Changes)
		if from.IsZero() || c.Good.Same {
			from = chosen.When
		}
	}
	if !from.IsZero() {
		s.Packages = packagesSince(h.Days, from, failed, s.Changes)
	}
	if c.Good != nil && !c.Good.Same && len(s.Changes) == 0 && len(s.Packages) == 0 {
		s.Note = "nothing of the installation is known to have changed since it worked (" + c.Good.Log + "): look at the workflow, its inputs and what else uses the memory"
	}
	return s
}

func prompts(n int) string {
	if n == 1 {
		return "one prompt"
	}
	return fmt.Sprintf("%d prompts", n)
}

// said is what two servers told differently about their versions.
func said(old, new comfyui.Banner) []past.Change {
	var all []past.Change
	for _, c := range []past.Change{
		{What: "comfyui", Kind: "comfyui", Old: old.ComfyUI, New: new.ComfyUI},
		{What: "torch", Kind: "package", Old: old.Torch, New: new.Torch},
		{What: "comfy-aimdo", Kind: "package", Old: old.Aimdo, New: new.Aimdo},
		{What: "comfy-kitchen", Kind: "package", Old: old.Kitchen, New: new.Kitchen},
		{What: "python", Kind: "package", Old: old.Python, New: new.Python},
	} {
		if c.Old != "" && c.New != "" && c.Old != c.New {
			all = append(all, c)
		}
	}
	return all
}

// merge puts two lists together; the first says more about what both name.
func merge(a, b []past.Change) []past.Change {
	for _, c := range b {
		if !slices.ContainsFunc(a, func(d past.Change) bool { return d.What == c.What }) {
			a = append(a, c)
		}
	}
	return a
}

// packagesSince are those that were put in between two times, of which a change is
// not known already.
func packagesSince(days []past.Day, from, to time.Time, known []past.Change) []string {
	var names []string
	for _, d := range days {
		if d.Date.After(to) || d.Date.AddDate(0, 0, 1).Before(from) {
			continue
		}
		for _, p := range d.Memory() {
			name, _, _ := strings.Cut(p, " ")
			if !slices.ContainsFunc(known, func(c past.Change) bool { return c.What == name }) {
				names = append(names, fmt.Sprintf("%s (put in on %s)", p, d.Date.Format(time.DateOnly)))
			}
		}
	}
	return names
}
