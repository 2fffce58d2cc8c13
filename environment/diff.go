package environment

import (
	"maps"
	"slices"

	"memtrix"
)

// Difference is a fact that two environments do not share.
type Difference struct {
	Name string
	// Before and After are its values; meaningless where it is absent.
	Before, After string
	// Gone is set when it is absent after, New when it was absent before.
	Gone, New bool
}

// Diff gives the facts in which two environments differ, by name.
func Diff(before, after memtrix.Environment) []Difference {
	names := maps.Clone(before)
	if names == nil {
		names = memtrix.Environment{}
	}
	maps.Copy(names, after)
	var list []Difference
	for _, name := range slices.Sorted(maps.Keys(names)) {
		b, inBefore := before[name]
		a, inAfter := after[name]
		if b != a || inBefore != inAfter {
			list = append(list, Difference{name, b, a, !inAfter, !inBefore})
		}
	}
	return list
}
