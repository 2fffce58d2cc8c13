package comfyui

import (
	"fmt"
	"slices"
	"strings"

	"memtrix"
)

// CheckArgs says what is doubtful about raw launch flags of a spec on a version:
// flags that it does not know (it would not start), abbreviations (argparse takes
// them, and another version may take them for another flag) and flags that memtrix
// sets itself.
func (*Target) CheckArgs(v memtrix.Version, args []string) []string {
	t := newTranslator(v, nil)
	if err := checkExtra(args, t.known); err != nil {
		return []string{err.Error()}
	}
	var warnings []string
	for _, word := range args {
		flag, _, _ := strings.Cut(word, "=")
		own := v.Target == memtrix.TargetSim && strings.HasPrefix(flag, "--sim-")
		if !strings.HasPrefix(flag, "--") || t.known[flag] || own {
			continue
		}
		switch long := t.longer(flag); len(long) {
		case 0:
			warnings = append(warnings, fmt.Sprintf("%s does not know %s and will not start with it", t.name(), flag))
		case 1:
			warnings = append(warnings, fmt.Sprintf("%s takes %s for %s", t.name(), flag, long[0]))
		default:
			warnings = append(warnings, fmt.Sprintf("%s will not start with %s: it could be %s", t.name(), flag, strings.Join(long, " or ")))
		}
	}
	return warnings
}

// longer are the version's flags that begin with the word.
func (t *translator) longer(flag string) []string {
	var found []string
	for name := range t.known {
		if strings.HasPrefix(name, flag) && !strings.Contains(name, "=") {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	return found
}
