package comfyui

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"memtrix"
)

// given is one flag as it was given, by its full name, with its values.
type given struct {
	name   string
	values []string
}

func (g given) String() string { return strings.Join(append([]string{g.name}, g.values...), " ") }

// givenFlags reads a command line as Python's argparse does, as far as that
// matters here: "--x=1" is "--x 1", and a beginning that only one flag has is that
// flag. What stands before the first flag is left out.
func givenFlags(argv []string, known map[string]bool) []given {
	t := &translator{known: known}
	var all []given
	for _, word := range argv {
		if !strings.HasPrefix(word, "--") {
			if len(all) > 0 {
				all[len(all)-1].values = append(all[len(all)-1].values, word)
			}
			continue
		}
		name, value, has := strings.Cut(word, "=")
		if long := t.longer(name); !known[name] && len(long) == 1 {
			name = long[0]
		}
		g := given{name: name}
		if has {
			g.values = []string{value}
		}
		all = append(all, g)
	}
	return all
}

// placeFlags say where a server listens, where its files lie and how it shows
// itself: a server with others is no other server.
var placeFlags = []string{
	"--listen", "--port", "--tls-keyfile", "--tls-certfile", "--enable-cors-header", "--max-upload-size",
	"--base-directory", "--user-directory", "--input-directory", "--output-directory", "--temp-directory",
	"--extra-model-paths-config", "--database-url", "--front-end-root", "--front-end-version",
	"--auto-launch", "--disable-auto-launch", "--windows-standalone-build", "--log-stdout", "--dont-print-server",
	"--verbose", "--multi-user", "--comfy-api-base",
}

// lastingFlags are what of a server's sys.argv counts: without the script and
// without placeFlags, in a fixed order.
func lastingFlags(argv []string, known map[string]bool) []string {
	all := givenFlags(argv, known)
	slices.SortStableFunc(all, func(a, b given) int { return strings.Compare(a.String(), b.String()) })
	flags := []string{}
	for _, g := range all {
		if !slices.Contains(placeFlags, g.name) {
			flags = append(flags, append([]string{g.name}, g.values...)...)
		}
	}
	return flags
}

// Argv gives the flags that the server has. A reason says that it cannot be what
// the cell asks for: its settings and the size of its machine are its user's.
func (t *AttachTarget) Argv(c memtrix.Cell) (argv []string, reason string) {
	a := c.Version.Attached
	if a == nil {
		return nil, fmt.Sprintf("%s names no server", c.Version.Name)
	}
	if reason := otherSize(c.Hardware); reason != "" {
		return nil, reason
	}
	if reason := newTranslator(c.Version, c.Settings).clash(); reason != "" {
		return nil, reason
	}
	has := givenFlags(a.Argv, knownFlags(c.Version))
	for _, def := range memtrix.SettingDefs {
		value, asked := c.Settings[def.Name]
		if !asked {
			continue
		}
		if reason := denied(c, has, def, value); reason != "" {
			return nil, fmt.Sprintf("%s=%s: %s", def.Name, value, reason)
		}
	}
	return a.Argv, ""
}

// otherSize says that a machine is asked for that is not the server's, "" where none is.
func otherSize(h memtrix.Hardware) string {
	if h.VRAM == 0 && h.RAM == 0 && h.Swap == nil {
		return ""
	}
	return fmt.Sprintf("hardware %s: a server that runs cannot be given a machine of another size", h.Name)
}

// denied says why a setting is not what a server with these flags does: it lacks a
// flag that the value needs, or has one that another value needs.
func denied(c memtrix.Cell, has []given, def memtrix.SettingDef, value string) string {
	wanted, reason := flagsOf(c, def.Name, value)
	if reason != "" {
		return reason
	}
	for _, g := range has {
		if contradicts(c, g, wanted, def, value) {
			return fmt.Sprintf("the server was started with %s, and a server that runs cannot be changed", g)
		}
	}
	for _, w := range wanted {
		if !holdsFlag(has, w) {
			return fmt.Sprintf("the server was started without %s, and a server that runs cannot be changed", w)
		}
	}
	return ""
}

// contradicts reports whether a flag of the server belongs to another value of the
// setting. Of the settings about the node cache all flags are of one choice.
func contradicts(c memtrix.Cell, g given, wanted []given, def memtrix.SettingDef, value string) bool {
	if holdsFlag(wanted, g) || slices.ContainsFunc(wanted, func(w given) bool { return w.name == g.name }) {
		return false
	}
	if strings.HasPrefix(def.Name, "cache") && (strings.HasPrefix(g.name, "--cache-") || g.name == "--high-ram") {
		return true
	}
	others := slices.Clone(def.Words)
	if def.Number != "" && value != "on" { // any number is on
		others = append(others, "1") // for the flag that takes the number
	}
	for _, other := range others {
		if other == value {
			continue
		}
		flags, reason := flagsOf(c, def.Name, other)
		if reason == "" && slices.ContainsFunc(flags, func(f given) bool {
			return f.name == g.name && (def.Number != "" || holdsFlag([]given{g}, f))
		}) {
			return true
		}
	}
	return false
}

// flagsOf are the flags for one value of one setting, beside the cell's others.
func flagsOf(c memtrix.Cell, name, value string) ([]given, string) {
	s := maps.Clone(c.Settings)
	s[name] = value
	t := newTranslator(c.Version, s)
	flags, reason := intents()[name](t, value)
	if reason != "" {
		return nil, reason
	}
	return givenFlags(append(flags, t.fastFlag()...), t.known), ""
}

// holdsFlag reports whether a flag is among those given. One without a value is
// held by itself with any; bare --fast has every feature.
func holdsFlag(has []given, want given) bool {
	return slices.ContainsFunc(has, func(g given) bool {
		switch {
		case g.name != want.name:
			return false
		case want.name == "--fast":
			return len(g.values) == 0 || len(want.values) > 0 && !slices.ContainsFunc(want.values, func(v string) bool { return !slices.Contains(g.values, v) })
		case len(want.values) == 0:
			return true
		}
		return slices.EqualFunc(g.values, want.values, sameValue)
	})
}

// sameValue compares numbers as numbers.
func sameValue(a, b string) bool {
	x, err1 := strconv.ParseFloat(a, 64)
	y, err2 := strconv.ParseFloat(b, 64)
	return a == b || err1 == nil && err2 == nil && x == y
}
