package convert

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"memtrix"
)

// Native writes names of files in subfolders as the server does: a workflow that was
// saved on Windows says "sdxl\model.safetensors", and a server on Linux has
// "sdxl/model.safetensors" (folder_paths.py joins with the system's separator). Only
// values that the server does not have and would have with the other separator are
// changed; the prompt that is given stays as it is. Notes say what was changed.
func Native(prompt map[string]memtrix.GraphNode, defs *Defs) (native map[string]memtrix.GraphNode, notes []string) {
	native = prompt
	for _, id := range slices.SortedFunc(maps.Keys(prompt), compareIDs) {
		n := prompt[id]
		class := defs.class(n.ClassType)
		if class == nil {
			continue
		}
		for _, s := range class.defined {
			var value string
			if s.typ != "COMBO" || json.Unmarshal(n.Inputs[s.name], &value) != nil {
				continue
			}
			other, ok := s.respelt(value)
			if !ok {
				continue
			}
			if len(notes) == 0 {
				native = maps.Clone(prompt)
			}
			changed := native[id]
			changed.Inputs = maps.Clone(changed.Inputs)
			changed.Inputs[s.name], _ = json.Marshal(other) // a string
			native[id] = changed
			notes = append(notes, fmt.Sprintf("node %s (%s): %s %q is sent as %q, as this server writes it", id, n.ClassType, s.name, value, other))
		}
	}
	return native, notes
}

// respelt is a value of a list that differs from one which is not in it only in the
// separators of folders.
func (s *spec) respelt(value string) (string, bool) {
	if !strings.ContainsAny(value, `/\`) {
		return "", false
	}
	slashes := func(v string) string { return strings.ReplaceAll(v, `\`, "/") }
	found := ""
	for _, v := range s.values {
		text, ok := v.(string)
		switch {
		case !ok:
		case text == value:
			return "", false
		case slashes(text) == slashes(value):
			found = text
		}
	}
	return found, found != ""
}
