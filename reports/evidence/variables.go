package evidence

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"memtrix/internal/shell"
)

// ofMachine are variables that say which card it is and what an image holds (as all of
// NVIDIA_ do): their values mean nothing on another machine.
var ofMachine = []string{"CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "CUDA_HOME", "CUDA_PATH", "CUDA_VERSION"}

// env are the variables of the trial's server, name and value: those that can be set
// elsewhere, too, and those that cannot.
func (c *Case) env() (here, not [][2]string) {
	for _, fact := range slices.Sorted(maps.Keys(c.Environment)) {
		name, ok := strings.CutPrefix(fact, "env.")
		if !ok {
			continue
		}
		v := [2]string{name, c.Environment[fact]}
		switch {
		case !variableName.MatchString(name):
		case slices.Contains(ofMachine, name), strings.HasPrefix(name, "NVIDIA_"), takenOut.MatchString(v[1]), strings.ContainsAny(v[1], "\x00\n"):
			not = append(not, v)
		default:
			here = append(here, v)
		}
	}
	return here, not
}

var (
	variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	takenOut     = regexp.MustCompile(`<[a-z][a-z0-9\-]*>`)
)

// assignments writes variables for a shell.
func assignments(list [][2]string) string {
	words := make([]string, len(list))
	for i, v := range list {
		words[i] = v[0] + "=" + shell.Word(v[1])
	}
	return strings.Join(words, " ")
}

// specEnv are the variables of the server. What was taken out of one, and what is
// of one machine, cannot be the same elsewhere.
func (c *Case) specEnv(line func(string, ...any)) {
	here, not := c.env()
	if c.Launch.Attached {
		if all := slices.Concat(here, not); len(all) > 0 {
			line("# the server had: %s", brieflySet(all))
		}
		return
	}
	if len(here) > 0 {
		line("env:")
		for _, v := range here {
			line("  %s: %s", v[0], text(v[1]))
		}
	}
	if len(not) > 0 {
		line("# also set, to something of that machine: %s", brieflySet(not))
	}
}

// brieflySet writes variables for a comment.
func brieflySet(list [][2]string) string {
	const longest = 100
	words := make([]string, len(list))
	for i, v := range list {
		if words[i] = oneLine(v[0] + "=" + v[1]); len(v[1]) > longest {
			words[i] = v[0] + " (see system.json)"
		}
	}
	return strings.Join(words, ", ")
}
