package history

import (
	"fmt"
	"slices"
	"strings"

	"memtrix"
	"memtrix/regress"
)

// Of chooses trials by a word: a series key, a workflow's name or a part of it; "" is all.
// Of a word that means nothing the error lists the workflows.
func Of(word string, trials []*memtrix.Brief) ([]*memtrix.Brief, error) {
	if word == "" {
		return trials, nil
	}
	for _, is := range []func(t *memtrix.Brief) bool{
		func(t *memtrix.Brief) bool { return t.Series == word },
		func(t *memtrix.Brief) bool { return t.Trial.Cell.Workflow.Name == word },
		func(t *memtrix.Brief) bool {
			return strings.Contains(strings.ToLower(t.Trial.Cell.Workflow.Name), strings.ToLower(word))
		},
	} {
		var found []*memtrix.Brief
		for _, t := range trials {
			if is(t) {
				found = append(found, t)
			}
		}
		if len(found) > 0 {
			return found, nil
		}
	}
	var names []string
	for _, t := range trials {
		if n := t.Trial.Cell.Workflow.Name; !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	if names == nil {
		return nil, fmt.Errorf("no trial is stored yet, so none of %q", word)
	}
	return nil, fmt.Errorf("nothing is called %q: it is neither a series (history --json has their keys) nor one of the workflows %s", word, strings.Join(names, ", "))
}

// Marked are a line's changes with those that were found in the night in which they came
// (known): where both tell of the same, within two places, the one of the whole line.
func Marked(l Line, meters []string, known []Change) []Change {
	all := Changes(l, meters)
	for _, k := range known {
		if k.Line != l.Key || k.How != HowTonight || !slices.Contains(meters, k.Meter) {
			continue
		}
		k.Place = slices.IndexFunc(l.Places, func(p Place) bool { return p.Session == k.Session && len(p.Trials) > 0 })
		told := slices.ContainsFunc(all, func(c Change) bool {
			if k.Kind == regress.Drift && c.Kind == regress.Slope {
				return c.Meter == k.Meter && c.Place <= k.Place // where it began
			}
			return c.Meter == k.Meter && c.Place >= k.Place-2 && c.Place <= k.Place+2
		})
		if k.Place > 0 && !told {
			all = append(all, k)
		}
	}
	return all
}
