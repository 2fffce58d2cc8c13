package convert

import "strings"

// Nodes that exist in the front end only, of custom node packs. /object_info
// does not list them. Whether a server has the pack is told from its other
// classes; without it, the node is missing as it is for the front end.

// packOnly maps such types to a word in the folder of the pack that brings them.
var packOnly = map[string]string{
	"SetNode":                          "kjnodes",
	"GetNode":                          "kjnodes",
	"easy setNode":                     "easy-use",
	"easy getNode":                     "easy-use",
	"Fast Groups Muter (rgthree)":      "rgthree",
	"Fast Groups Bypasser (rgthree)":   "rgthree",
	"Fast Muter (rgthree)":             "rgthree",
	"Fast Bypasser (rgthree)":          "rgthree",
	"Fast Actions Button (rgthree)":    "rgthree",
	"Mute / Bypass Relay (rgthree)":    "rgthree",
	"Mute / Bypass Repeater (rgthree)": "rgthree",
	"Random Unmuter (rgthree)":         "rgthree",
	"Label (rgthree)":                  "rgthree",
	"Bookmark (rgthree)":               "rgthree",
	"Reroute (rgthree)":                "rgthree",
}

// linkers are classes whose packs add links of their own when a prompt is
// queued (cg-use-everywhere): what they would add cannot be told here.
var linkers = []string{"Anything Everywhere", "Seed Everywhere", "Prompts Everywhere", "Simple String Everywhere"}

func isLinker(typ string) bool {
	for _, l := range linkers {
		if strings.HasPrefix(typ, l) {
			return true
		}
	}
	return false
}

func (l *loader) isFrontEndOnly(typ string) bool {
	pack, ok := packOnly[typ]
	return ok && (l.defs.loadersOnly || l.defs.hasPack(pack)) // without a server nobody can tell
}

// carrier finds the Set node of a Get node, in its own graph, and the input that
// it carries.
func (n *node) carrier() (*node, int) {
	setType := ""
	switch n.typ {
	case "GetNode":
		setType = "SetNode"
	case "easy getNode":
		setType = "easy setNode"
	default:
		return nil, 0
	}
	name := n.carried()
	for _, m := range n.in.nodes {
		if m.virtual && m.typ == setType && m.carried() == name && name != "" {
			return m, 0
		}
	}
	return nil, 0
}

// carried is the name under which a Set node keeps, and a Get node takes.
func (n *node) carried() string {
	if values := list(n.values); len(values) > 0 {
		return text(values[0])
	}
	return ""
}
