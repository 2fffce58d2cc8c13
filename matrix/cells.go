package matrix

import (
	"maps"
	"slices"

	"memtrix"
)

// maxSettings bounds what one spec may ask of one version and workflow.
const maxSettings = 10000

// Cells are the settings of all cells, the base first, each once.
func (s SettingsEntry) Cells() []memtrix.Settings {
	cells, _ := s.expand()
	return cells
}

// size is the number of cells before any is dropped, or a number above
// maxSettings.
func (s SettingsEntry) size() int {
	n := 1
	if s.Mode == Full {
		for _, a := range s.Axes {
			n = min(n*len(a.Values), maxSettings+1)
		}
	}
	return n + len(s.List) + len(s.Include)
}

// idle names the entries that changed nothing, by index.
type idle struct{ exclude, include, list []int }

func (s SettingsEntry) expand() ([]memtrix.Settings, idle) {
	var cells []memtrix.Settings
	var unused idle
	seen := map[string]bool{}
	add := func(c memtrix.Settings) bool {
		key := c.String()
		if seen[key] {
			return false
		}
		seen[key] = true
		cells = append(cells, c)
		return true
	}
	switch {
	case len(s.List) > 0:
		for i, extra := range s.List {
			if !add(over(s.Base, extra)) {
				unused.list = append(unused.list, i)
			}
		}
	case s.Mode == Full:
		s.full(func(c memtrix.Settings) { add(c) })
	default:
		s.flips(func(c memtrix.Settings) { add(c) })
	}
	for i, pattern := range s.Exclude {
		before := len(cells)
		cells = slices.DeleteFunc(cells, func(c memtrix.Settings) bool {
			drop := matches(c, pattern)
			if drop {
				delete(seen, c.String())
			}
			return drop
		})
		if len(cells) == before {
			unused.exclude = append(unused.exclude, i)
		}
	}
	for i, extra := range s.Include {
		if !add(over(s.Base, extra)) {
			unused.include = append(unused.include, i)
		}
	}
	return cells, unused
}

// flips yields the base and every cell that differs from it by one value.
func (s SettingsEntry) flips(yield func(memtrix.Settings)) {
	yield(over(s.Base, nil))
	for _, a := range s.Axes {
		for i, v := range a.Values {
			if !s.isBase(a, i) {
				yield(over(s.Base, memtrix.Settings{a.Setting: v}))
			}
		}
	}
}

// isBase reports whether the base does already what an axis's value asks for.
// Where the base does not name the setting, only a first value that is the
// default counts as the base: [on, off] flips once, [off] flips, too, and
// [2, 4] flips twice.
func (s SettingsEntry) isBase(a Axis, i int) bool {
	if v, ok := s.Base[a.Setting]; ok {
		return v == a.Values[i]
	}
	def, _ := memtrix.Setting(a.Setting)
	return i == 0 && a.Values[0] == def.Default
}

// full yields every combination, the last axis moving fastest.
func (s SettingsEntry) full(yield func(memtrix.Settings)) {
	var walk func(axes []Axis, so memtrix.Settings)
	walk = func(axes []Axis, so memtrix.Settings) {
		if len(axes) == 0 {
			yield(so)
			return
		}
		for _, v := range axes[0].Values {
			walk(axes[1:], over(so, memtrix.Settings{axes[0].Setting: v}))
		}
	}
	walk(s.Axes, over(s.Base, nil))
}

func over(base, extra memtrix.Settings) memtrix.Settings {
	out := make(memtrix.Settings, len(base)+len(extra))
	maps.Copy(out, base)
	maps.Copy(out, extra)
	return out
}
