package reports

import (
	"maps"
	"slices"
	"strings"

	"memtrix"
)

// EnvironmentView is one state of a machine and a version, as facts by name, with the
// trials that ran in it.
type EnvironmentView struct {
	Label  string `json:"label"`
	Trials string `json:"trials"` // "1, 3-5"
	// Facts are in the order in which they are likely to explain a difference.
	Facts [][2]string `json:"facts"`
	key   string
}

// environmentKey tells environments apart: the facts, and what the version is.
func environmentKey(t *memtrix.Trial) string {
	v := t.Cell.Version
	return memtrix.Environment(facts(t)).Hash() + v.Name
}

// facts are what could explain that two trials of one series differ.
func facts(t *memtrix.Trial) map[string]string {
	all := map[string]string{}
	maps.Copy(all, t.Environment)
	v := t.Cell.Version
	for name, value := range map[string]string{
		"comfyui.release": v.Release, "comfyui.commit": v.Commit, "comfyui.changed files": strings.Join(v.Dirty, " "),
	} {
		if value != "" {
			all[name] = value
		}
	}
	delete(all, "python.path") // says more of the machine than of the trial
	for name, value := range v.Packages {
		all["package."+name] = value
	}
	for _, p := range v.Packs {
		all["pack."+p.Name] = p.Short()
	}
	return all
}

// environments are the different ones of a session, in the order of its versions.
func environments(s Session) []EnvironmentView {
	ids := map[string][]int64{}
	settings := map[string][]string{}
	perVersion := map[string]int{}
	var list []EnvironmentView
	for _, e := range s.entries() {
		if e.trial == nil {
			continue
		}
		key := environmentKey(e.trial)
		if ids[key] == nil {
			all := facts(e.trial)
			view := EnvironmentView{Label: OneLine(e.cell.Version.Name), key: key}
			for _, name := range slices.SortedFunc(maps.Keys(all), compareFacts) {
				view.Facts = append(view.Facts, [2]string{OneLine(name), OneLine(all[name])})
			}
			list = append(list, view)
			perVersion[view.Label]++
		}
		ids[key] = append(ids[key], e.trial.ID)
		if text := OneLine(asAsked(e.cell)); !slices.Contains(settings[key], text) {
			settings[key] = append(settings[key], text)
		}
	}
	for i, view := range list {
		list[i].Trials = rangesText(ids[view.key])
		// A server's banner differs with its settings.
		if perVersion[view.Label] > 1 && len(settings[view.key]) == 1 {
			list[i].Label += ", " + settings[view.key][0]
		}
	}
	return list
}

// likely are beginnings of names of facts, the likeliest causes of a change of memory
// first. It is an order to read in, and no verdict.
var likely = []string{
	"comfyui.", "package.torch", "package.comfy", "driver", "cuda", "pack.", "gpu", "env.",
	"package-hash.", "package.", "kernel", "ram.", "swap.", "cgroup", "vm.",
}

func compareFacts(a, b string) int {
	rank := func(name string) int {
		for i, prefix := range likely {
			if strings.HasPrefix(name, prefix) {
				return i
			}
		}
		return len(likely)
	}
	if n := rank(a) - rank(b); n != 0 {
		return n
	}
	return strings.Compare(a, b)
}
