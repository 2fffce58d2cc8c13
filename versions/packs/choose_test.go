package packs

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"memtrix"
)

const knownText = `{
	"https://github.com/Me/ByCode": [["Made", "Gone"], {"title_aux": "By code"}],
	"https://github.com/far/Away.git": [["Far"], {}],
	"https://github.com/far/Patterns": [["x"], {"nodename_pattern": " \\(far\\)$"}],
	"odd": "entry of another form",
	"odder": [{"a": 1}]
}`

func graphOf(t *testing.T, text string) map[string]memtrix.GraphNode {
	t.Helper()
	var g map[string]memtrix.GraphNode
	if err := json.Unmarshal([]byte(text), &g); err != nil {
		t.Fatal(err)
	}
	return g
}

// The packs of a workflow are those that have its node types; who might have what is
// missing is said.
func TestChoose(t *testing.T) {
	known, err := parseKnown([]byte(knownText))
	if err != nil {
		t.Fatal(err)
	}
	candidate := func(name, source, registry string, unclear bool, types ...string) Candidate {
		c := Candidate{Pack: memtrix.Pack{Name: name, Source: source, Hash: name}, Registry: registry, Types: Types{Types: types}}
		if source != "" {
			c.Repository = repository(source)
		}
		if unclear {
			c.Unclear = []string{"x.py:1: made by code"}
		}
		return c
	}
	here := []Candidate{
		candidate("plain", "", "", false, "A", "B", "Twice"),
		candidate("other", "git@github.com:me/other.git", "other-pack", false, "C", "Twice"),
		candidate("ByCode", "https://github.com/me/bycode", "", true),
		candidate("third", "", "third-pack", true),
	}
	check := func(graph string, packs, missing, warnings string) {
		t.Helper()
		c := Choose(Needs(graphOf(t, graph), []string{"Core"}), here, known)
		var names, lacking []string
		for _, p := range c.Packs {
			names = append(names, p.Name)
		}
		for _, m := range c.Missing {
			lacking = append(lacking, m.String())
		}
		for _, x := range []struct {
			what, want string
			got        []string
		}{{"packs", packs, names}, {"missing", missing, lacking}, {"warnings", warnings, c.Warnings}} {
			if got := strings.Join(x.got, " | "); got != x.want {
				t.Errorf("%s: %s are %q, want %q", graph, x.what, got, x.want)
			}
		}
	}
	check(`{"1": {"class_type": "Core"}}`, "", "", "")
	check(`{"1": {"class_type": "A"}, "2": {"class_type": "B"}, "3": {"class_type": "C"}}`, "other | plain", "", "")
	check(`{"1": {"class_type": "Made"}}`, "ByCode", "", "")
	check(`{"1": {"class_type": "Any", "_meta": {"cnr_id": "third-pack"}}}`, "third", "", "")
	check(`{"1": {"class_type": "Twice"}}`, "plain", "", `node type "Twice" is in several packs (plain, other); plain is loaded. custom-nodes: can name another`)
	check(`{"1": {"class_type": "Twice", "_meta": {"aux_id": "Me/Other"}}}`, "other", "", "")
	check(`{"1": {"class_type": "Twice"}, "2": {"class_type": "C"}}`, "other", "", "")
	torn := here[0]
	torn.Name, torn.Types = "torn", Types{Unclear: []string{"x.py:1: made by code", "__init__.py:3 cannot be read: invalid syntax"}}
	m := missing(Need{Class: "Nowhere", Nodes: []string{"9"}}, []Candidate{here[0], torn}, known)
	if got, want := m.String(), `node type "Nowhere" (node 9) is in no pack that is here; what else there is cannot be told of torn (__init__.py:3 cannot be read: invalid syntax)`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	const maybe = "; ByCode, third makes node types by code and may have it: name it in custom-nodes:"
	check(`{"7": {"class_type": "Far"}}`, "", `node type "Far" (node 7) is in no pack that is here; it is in https://github.com/far/Away.git`+maybe, "")
	check(`{"7": {"class_type": "Y (far)"}}`, "", `node type "Y (far)" (node 7) is in no pack that is here; it is in https://github.com/far/Patterns`+maybe, "")
	check(`{"7": {"class_type": "Z", "_meta": {"cnr_id": "other-pack", "ver": "1.2"}}}`, "",
		`node type "Z" (node 7) is in no pack that is here; it is in the registry's pack "other-pack" (1.2); other #other is here, but not in a version that has it`+maybe, "")
}

func TestKnown(t *testing.T) {
	if _, err := parseKnown([]byte(`[]`)); err == nil {
		t.Error("a list of another form was read")
	}
	dir := t.TempDir()
	put(t, filepath.Join(dir, "comfyui-manager", knownFile), `{"https://h/a/b": [["X"]]}`)
	k, err := ReadKnown([]string{filepath.Join(dir, "gone"), dir})
	if err != nil || !slices.Equal(k.URLs("X"), []string{"https://h/a/b"}) {
		t.Errorf("got %q, %v", k.URLs("X"), err)
	}
	if k, err := ReadKnown(nil); err != nil || k.URLs("X") != nil {
		t.Errorf("without the Manager: %q, %v", k.URLs("X"), err)
	}
	put(t, filepath.Join(dir, "comfyui-manager", knownFile), `{`)
	if _, err := ReadKnown([]string{dir}); err == nil || !strings.Contains(err.Error(), knownFile) {
		t.Errorf("half a list: %v", err)
	}
}
