package workflows

import (
	"encoding/json"
	"strings"
	"testing"

	"memtrix"
)

const uiInfo = `{
	"EmptyImage": {"input": {"required": {"width": ["INT", {"min": 1, "max": 64}], "height": ["INT"], "batch_size": ["INT"], "color": ["INT"]}}, "output": ["IMAGE"]},
	"Sampler": {"input": {"required": {"image": ["IMAGE"], "noise_seed": ["INT", {"control_after_generate": true}], "steps": ["INT", {"control_after_generate": true}], "model": [["a.safetensors"]]}}, "output": ["IMAGE"]},
	"Out": {"input": {"required": {"image": ["IMAGE"]}}, "output_node": true}}`

const uiFile = `{"version": 0.4, "nodes": [
	{"id": 1, "type": "EmptyImage", "outputs": [{"type": "IMAGE", "links": [1]}], "widgets_values": [8, 8, 1, 0]},
	{"id": 2, "type": "Sampler", "title": "Mine", "inputs": [{"name": "image", "type": "IMAGE", "link": 1}], "outputs": [{"type": "IMAGE", "links": [2]}], "widgets_values": [5, "fixed", 20, "increment", "b.safetensors"]},
	{"id": 3, "type": "Out", "inputs": [{"name": "image", "type": "IMAGE", "link": 2}]}],
	"links": [[1, 1, 0, 2, 0, "IMAGE"], [2, 2, 0, 3, 0, "IMAGE"]]}`

func mustBuildUI(t *testing.T, set []Value, vary []string) memtrix.Workflow {
	t.Helper()
	w := mustDecode(t, uiFile)
	w, err := later(w, Request{Set: set, Vary: vary})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// A person's changes reach the prompt that is made later, and make another cell.
func TestFitChanges(t *testing.T) {
	plain := mustBuildUI(t, nil, nil)
	fitted := Fit(plain, []byte(uiInfo))
	if len(fitted.Wrong) > 0 || len(fitted.Doubts) != 1 || !strings.Contains(fitted.Doubts[0].Message, `node 2 "Mine" (Sampler): input "model": the server has no model "b.safetensors"`) {
		t.Errorf("got %v, %v", fitted.Wrong, fitted.Doubts)
	}
	// A seed by its name, and a number that the person lets change.
	if got, want := varied(fitted.Workflow), "2.noise_seed 2.steps"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	changed := mustBuildUI(t, []Value{{"1.width", json.RawMessage("4")}, {"Sampler.model", json.RawMessage(`"a.safetensors"`)}}, []string{"EmptyImage.color"})
	if changed.Hash == plain.Hash {
		t.Error("changes make no other cell")
	}
	fitted = Fit(changed, []byte(uiInfo))
	w := fitted.Workflow
	if len(fitted.Wrong)+len(fitted.Doubts) > 0 || string(w.Graph["1"].Inputs["width"]) != "4" || string(w.Graph["2"].Inputs["model"]) != `"a.safetensors"` {
		t.Errorf("got %v, %v, %v", fitted.Wrong, fitted.Doubts, w.Graph)
	}
	if got, want := varied(w), "1.color"; got != want || w.Hash != changed.Hash || w.UI != nil {
		t.Errorf("got %s, want %s", got, want)
	}
}

func varied(w memtrix.Workflow) string {
	var all []string
	for _, in := range w.Vary {
		all = append(all, in.Node+"."+in.Name)
	}
	return strings.Join(all, " ")
}

func TestFitWrong(t *testing.T) {
	check := func(w memtrix.Workflow, info string, want ...string) {
		t.Helper()
		f := Fit(w, []byte(info))
		if len(f.Wrong) != len(want) {
			t.Errorf("got %v, want %v", f.Wrong, want)
			return
		}
		for i := range want {
			if !strings.Contains(f.Wrong[i].Message, want[i]) || !f.Wrong[i].Refused {
				t.Errorf("got %+v, want %s", f.Wrong[i], want[i])
			}
		}
	}
	ui := mustBuildUI(t, nil, nil)
	check(ui, `nothing`, "object_info")
	check(ui, `{"Out": {"input": {}}}`, "node 1 (EmptyImage): the server has no node class", `node 2 "Mine" (Sampler): the server has no node class`)
	check(mustBuildUI(t, []Value{{"1.depth", json.RawMessage("4")}}, nil), uiInfo, `node 1 (EmptyImage) has no input "depth"`)
	check(mustBuildUI(t, nil, []string{"2.image"}), uiInfo, "only a whole number or a text can be varied")
	check(mustDecode(t, `{"1": {"class_type": "Gone", "inputs": {}}, "2": {"class_type": "Out", "inputs": {"image": ["1", 0]}}, "3": {"class_type": "Lost", "inputs": {}}}`), uiInfo,
		"node 1 (Gone): the server has no node class", "node 3 (Lost): the server has no node class")
	if _, err := later(mustDecode(t, uiFile), Request{Set: []Value{{"9.width", json.RawMessage("4")}, {"1.width", json.RawMessage("x")}}, Vary: []string{"Nope.seed"}}); err == nil ||
		!strings.Contains(err.Error(), `there is no node "9"`) || !strings.Contains(err.Error(), "x is not a JSON value") || !strings.Contains(err.Error(), `there is no node "Nope"`) {
		t.Errorf("got %v", err)
	}
}

func TestIsSeed(t *testing.T) {
	for name, want := range map[string]bool{
		"seed": true, "noise_seed": true, "Seed": true, "variation_seed": true, "seed_2": true, "seed2": true, "seed_num": true, "model.seed": true, "noise seed": true,
		"seed_mode": false, "seeds": false, "proceed": false, "steps": false, "": false, "seed_behavior": false,
	} {
		if got := isSeed(name); got != want {
			t.Errorf("%q: got %v, want %v", name, got, want)
		}
	}
}

// The models of a workflow in UI format are known before a server is there.
func TestNeededOfUI(t *testing.T) {
	for _, file := range []string{"testdata/traps/text.ui.json", "testdata/traps/subgraph_nested.ui.json", "testdata/traps/png_text.png"} {
		got := Needed(mustLoad(t, file))
		if len(got) != 1 || got[0].Folder != "checkpoints" || got[0].Name != "sd15.safetensors" {
			t.Errorf("%s: got %v", file, got)
		}
	}
}

// Ensure that the id of a subgraph, or a title, leads to the ids of the nodes.
func TestSetNamesNodesInSubgraphs(t *testing.T) {
	check := func(path string, want ...string) {
		t.Helper()
		_, err := Build(Request{File: "convert/testdata/traps/subgraph_nested.ui.json", Set: []Value{{Path: path, Value: []byte(`1`)}}})
		if err == nil {
			t.Fatalf("%s is taken", path)
		}
		for _, w := range want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %v\ndoes not say %q", path, err, w)
			}
		}
	}
	check("4.text", "name of a subgraph or a title", "4:201:101 (CLIPTextEncode)", "4:202 (VAEDecode)")
	check("4:201.steps", "4:201:102 (KSampler)")
	check("77.steps", `there is no node "77" in the workflow; it has 1 (`)
}
