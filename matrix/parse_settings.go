package matrix

import (
	"slices"

	"github.com/goccy/go-yaml/ast"

	"memtrix"
)

var settingsKeys = []string{"base", "mode", "axes", "include", "exclude", "list"}

func (r *specReader) settingsEntry(n ast.Node) {
	s := &r.spec.Settings
	at := map[string]pos{}
	ok := r.keys(n, "settings", settingsKeys, func(f field) {
		at[f.key] = f.at
		switch f.key {
		case "base":
			s.Base = r.settings(f.value, "base")
		case "mode":
			r.mode(f.value, &s.Mode)
		case "axes":
			s.Axes = r.axes(f.value)
		case "include":
			s.Include, s.includePos = r.settingsList(f.value, "include")
		case "exclude":
			s.Exclude, s.excludePos = r.settingsList(f.value, "exclude")
		case "list":
			s.List, s.listPos = r.settingsList(f.value, "list")
		}
	})
	if !ok {
		return
	}
	if len(at) == 0 {
		r.fail(position(n), "settings is empty; leave it out for a first look at the usual ones")
	}
	list, hasList := at["list"]
	if _, both := at["axes"]; both && hasList {
		r.fail(list, "settings has axes: or list:, not both")
	}
	if mode, both := at["mode"]; both && hasList {
		r.fail(mode, "mode: says how axes become cells; it has no meaning beside list:")
	}
	if s.Mode == "" {
		s.Mode = OneFlip
	}
}

func (r *specReader) mode(n ast.Node, into *Mode) {
	text, ok := r.word(n, "mode")
	if !ok {
		return
	}
	if text != string(OneFlip) && text != string(Full) {
		r.fail(position(n), "unknown mode %q%s", shorten(text), suggest(text, []string{string(OneFlip), string(Full)}))
		return
	}
	*into = Mode(text)
}

func (r *specReader) axes(n ast.Node) []Axis {
	var axes []Axis
	fields, ok := r.mapping(n, "axes")
	if ok && len(fields) == 0 {
		r.fail(position(n), "axes is empty; leave it out or put something in")
	}
	for _, f := range fields {
		def, ok := r.settingName(f.key, f.at)
		if !ok {
			continue
		}
		axis := Axis{Setting: def.Name}
		for _, item := range r.sequence(f.value, "axis "+f.key) {
			value, ok := r.settingValue(def, item)
			switch {
			case !ok:
			case slices.Contains(axis.Values, value):
				r.fail(position(item), "axis %s has the value %s twice", f.key, value)
			default:
				axis.Values = append(axis.Values, value)
			}
		}
		axes = append(axes, axis)
	}
	return axes
}

func (r *specReader) settingsList(n ast.Node, what string) ([]memtrix.Settings, []pos) {
	var list []memtrix.Settings
	var places []pos
	for _, item := range r.sequence(n, what) {
		before := len(r.errs)
		s := r.settings(item, "an item of "+what)
		if len(r.errs) > before {
			continue
		}
		// An empty item is the base itself, which an exclusion cannot mean.
		if len(s) == 0 && what == "exclude" {
			r.fail(position(item), "an empty exclude would drop every cell")
			continue
		}
		list, places = append(list, s), append(places, position(item))
	}
	return list, places
}

// checkCells builds the settings once, to warn about what has no effect.
func (r *specReader) checkCells() {
	s := &r.spec.Settings
	if s.size() > maxSettings {
		r.fail(r.spec.settingsPos, "settings make more than %d cells; that many are not planned (mode: one-flip changes one at a time)", maxSettings)
		return
	}
	cells, unused := s.expand()
	for _, i := range unused.exclude {
		r.warn(s.excludePos[i], "exclude {%s} matches no cell", s.Exclude[i])
	}
	for _, i := range unused.include {
		r.warn(s.includePos[i], "include {%s} is there already", s.Include[i])
	}
	for _, i := range unused.list {
		r.warn(s.listPos[i], "{%s} is in the list already", s.List[i])
	}
	if len(cells) == 0 {
		r.fail(r.spec.settingsPos, "settings: exclude drops every cell")
	}
}

// matches reports whether settings agree with all that the pattern names. What
// is not named counts as the default, where that is certain.
func matches(s, pattern memtrix.Settings) bool {
	for name, want := range pattern {
		if valueOf(s, name) != want {
			return false
		}
	}
	return true
}

func valueOf(s memtrix.Settings, name string) string {
	if v, ok := s[name]; ok {
		return v
	}
	def, _ := memtrix.Setting(name)
	return def.Default
}
