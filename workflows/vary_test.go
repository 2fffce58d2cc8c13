package workflows

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"memtrix"
)

func inputs(list []memtrix.Input) string {
	var out []string
	for _, in := range list {
		out = append(out, in.Node+"."+in.Name)
	}
	return strings.Join(out, " ")
}

func TestFindVary(t *testing.T) {
	check := func(data, want string, warnings ...string) {
		t.Helper()
		w := mustDecode(t, data)
		if got := inputs(w.Vary); got != want {
			t.Errorf("got %q, want %q in %s", got, want, data)
		}
		if got := strings.Join(w.Warnings, "\n"); got != strings.Join(warnings, "\n") {
			t.Errorf("warnings: got %q, want %q", got, warnings)
		}
	}
	check(`{"5": {"class_type": "KSampler", "inputs": {"seed": 3, "steps": 4}}}`, "5.seed")
	check(`{"5": {"class_type": "RandomNoise", "inputs": {"noise_seed": 3}}, "12": {"class_type": "K", "inputs": {"seed": 3}}}`, "5.noise_seed 12.seed")
	check(`{"5": {"class_type": "K", "inputs": {"model_seed": -1, "image_seed": 5.0}}}`, "5.image_seed 5.model_seed")
	// The seed comes from a node that holds a number.
	check(`{"5": {"class_type": "K", "inputs": {"seed": ["6", 0]}}, "6": {"class_type": "PrimitiveInt", "inputs": {"value": 3}}}`, "6.value")
	check(`{"5": {"class_type": "K", "inputs": {"seed": ["6", 0]}}, "7": {"class_type": "K", "inputs": {"seed": ["6", 0]}}, "6": {"class_type": "PrimitiveInt", "inputs": {"value": 3}}}`, "6.value")
	check(`{"5": {"class_type": "K", "inputs": {"seed": ["6", 0]}}, "6": {"class_type": "Math", "inputs": {"a": 3, "b": 4}}}`, "")
	// No seed: the colour, else a text; each output gets its own.
	check(`{"1": {"class_type": "EmptyImage", "inputs": {"color": 255, "width": 512}}, "2": {"class_type": "SaveImage", "inputs": {"images": ["1", 0]}}}`, "1.color")
	check(`{"1": {"class_type": "CLIPTextEncode", "inputs": {"text": "a"}}, "2": {"class_type": "Show", "inputs": {"x": ["1", 0]}}}`, "1.text")
	check(`{"1": {"class_type": "EmptyImage", "inputs": {"color": 255}}, "2": {"class_type": "SaveImage", "inputs": {"images": ["1", 0]}}, "3": {"class_type": "K", "inputs": {"seed": 1}}}`, "3.seed 1.color")
	check(`{"1": {"class_type": "LoadImage", "inputs": {"image": "a.png"}}, "2": {"class_type": "SaveImage", "inputs": {"images": ["1", 0]}}, "3": {"class_type": "K", "inputs": {"seed": 1}}}`, "3.seed",
		"nothing that 2 (SaveImage) depends on can be varied: from the second prompt on it is served from the cache")
	// Nothing at all; a file name prefix would make no other node work.
	check(`{"1": {"class_type": "LoadImage", "inputs": {"image": "a.png"}}, "2": {"class_type": "SaveImage", "inputs": {"images": ["1", 0], "filename_prefix": "x"}}}`, "")
	// A seed that is a text or a fraction is left alone.
	check(`{"1": {"class_type": "K", "inputs": {"seed": "5", "noise_seed": 5.5, "seeds": 3}}}`, "")
}

func TestVaryCounts(t *testing.T) {
	check := func(base string, n int, want string) {
		t.Helper()
		if got := string(Varied(json.RawMessage(base), n)); got != want {
			t.Errorf("%s in prompt %d: got %s, want %s", base, n, got, want)
		}
	}
	check("1", 1, "1")
	check("1", 2, "2")
	check("1", 3, "3")
	check("5.0", 1, "5.0")
	check("5.0", 2, "6")
	check("-1", 2, "0")
	check("18446744073709551614", 2, "18446744073709551615")
	check("18446744073709551615", 2, "0")
	check("18446744073709551615", 3, "1")
	check("9007199254740993", 2, "9007199254740994")
	check("16777215", 2, "0") // the largest colour
	check("16777215", 3, "1")
	check("4294967295", 2, "0")
	check("2147483647", 2, "0")
	check(`"a cat"`, 1, `"a cat"`)
	check(`"a <cat> é"`, 2, `"a <cat> é 2"`)
	check(`""`, 3, `" 3"`)
	for _, bad := range []string{"7.5", "1e3", "true", "null", `["1", 0]`, `{}`, "", "-"} {
		check(bad, 2, "")
	}
}

func TestVaryLeavesTheWorkflowAlone(t *testing.T) {
	w := mustLoad(t, "testdata/029-cpu-sd15.json")
	before := w.Hash
	seen := map[string]bool{}
	for n := 1; n <= 3; n++ {
		graph := Vary(w, n)
		seen[Hash(graph)] = true
		if got, want := string(graph["5"].Inputs["seed"]), fmt.Sprint(n); got != want {
			t.Errorf("prompt %d: got seed %s, want %s", n, got, want)
		}
		if got := string(graph["5"].Inputs["steps"]); got != "2" {
			t.Errorf("prompt %d: got steps %s", n, got)
		}
	}
	if len(seen) != 3 || Hash(w.Graph) != before {
		t.Errorf("%d different prompts, want 3; unchanged %v", len(seen), Hash(w.Graph) == before)
	}
	if Hash(Vary(w, 1)) != before {
		t.Error("the first prompt is not the file's")
	}
}

func TestSet(t *testing.T) {
	w := mustLoad(t, "testdata/029-cpu-sd15.json")
	before := w.Hash
	for _, path := range []string{"5.steps", "KSampler.steps"} {
		got, err := Set(w, path, json.RawMessage("9"))
		if err != nil {
			t.Fatal(err)
		}
		if string(got.Graph["5"].Inputs["steps"]) != "9" || got.Hash == before || got.Hash != Hash(got.Graph) {
			t.Errorf("%s: got %s, hash %s", path, got.Graph["5"].Inputs["steps"], got.Hash)
		}
	}
	if Hash(w.Graph) != before {
		t.Error("Set changed the workflow it was given")
	}
	if got, err := Set(w, "5.positive", json.RawMessage(`["3", 0]`)); err != nil || string(got.Graph["5"].Inputs["positive"]) != `["3", 0]` {
		t.Errorf("a link: got %v", err)
	}
	dotted := mustDecode(t, `{"1": {"class_type": "Seed v1.2", "inputs": {"combo.sub": 1, "seed": 2}}, "2": {"class_type": "Empty"}}`)
	for _, path := range []string{"1.combo.sub", "Seed v1.2.combo.sub", "Seed v1.2.seed"} {
		if _, err := Set(dotted, path, json.RawMessage("9")); err != nil {
			t.Error(err)
		}
	}
	check := func(w memtrix.Workflow, path, value, want string) {
		t.Helper()
		got, err := Set(w, path, json.RawMessage(value))
		var in *InputError
		if !errors.As(err, &in) || in.InputPath() != path || err.Error() != want {
			t.Errorf("%s:\ngot  %v\nwant %s", path, err, want)
		}
		if got.Hash != w.Hash || Hash(got.Graph) != Hash(w.Graph) {
			t.Errorf("%s: a failed Set changed something", path)
		}
	}
	check(w, "9.steps", "1", `9.steps: there is no node "9" in the workflow; it has 1 (CheckpointLoaderSimple), 2 (CLIPTextEncode), 3 (CLIPTextEncode), 4 (EmptyLatentImage), 5 (KSampler), 6 (VAEDecode), 7 (SaveImage)`)
	check(w, "Ksampler.steps", "1", `Ksampler.steps: there is no node "Ksampler" in the workflow; it has 1 (CheckpointLoaderSimple), 2 (CLIPTextEncode), 3 (CLIPTextEncode), 4 (EmptyLatentImage), 5 (KSampler), 6 (VAEDecode), 7 (SaveImage)`)
	check(w, "4.widht", "1", `4.widht: node 4 (EmptyLatentImage) has no input "widht"; it has batch_size, height, width`)
	check(w, "CLIPTextEncode.text", `"x"`, `CLIPTextEncode.text: nodes 2, 3 are all of class CLIPTextEncode; name one by its id, as in "2.text"`)
	check(w, "steps", "1", `"steps" is no input; write node.input, for example "5.steps" or "KSampler.steps"`)
	check(w, "5.steps", "NaN", `5.steps: NaN is not a JSON value`)
	check(w, "5.positive", `["99", 0]`, `5.positive: ["99", 0] links to node "99", which is not in the workflow`)
	check(w, "2.clip", `["6", 0]`, `2.clip: with ["6", 0] nodes 2 -> 5 -> 6 -> 2 take from each other in a circle`)
	check(dotted, "2.x", "1", `2.x: node 2 (Empty) has no inputs`)
}

func TestUseVary(t *testing.T) {
	w := mustLoad(t, "testdata/029-cpu-sd15.json")
	got, err := UseVary(w, []string{"KSampler.seed", "2.text", "5.seed"})
	if err != nil || inputs(got.Vary) != "5.seed 2.text" {
		t.Errorf("got %q, %v", inputs(got.Vary), err)
	}
	_, err = UseVary(w, []string{"5.cfg", "5.seed", "5.model", "9.x", "5.denoise"})
	want := `5.model is a link to node "1"; only a whole number or a text can be varied`
	if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), `no node "9"`) {
		t.Errorf("got %v", err)
	}
}

func TestBuiltInsAreTheRecordedGraphs(t *testing.T) {
	check := func(name, recorded, vary string, set ...Value) {
		t.Helper()
		w, err := Build(Request{BuiltIn: name, Set: set})
		if err != nil {
			t.Fatal(err)
		}
		if want := mustLoad(t, "testdata/"+recorded+".json"); w.Hash != want.Hash {
			t.Errorf("%s with %v is not the graph of %s", name, set, recorded)
		}
		if w.Name != name || w.Source != "built-in" || inputs(w.Vary) != vary || len(w.Warnings) > 0 {
			t.Errorf("%s: got name %q, source %q, vary %q, warnings %q", name, w.Name, w.Source, inputs(w.Vary), w.Warnings)
		}
	}
	prefix := func(node, value string) Value {
		return Value{node + ".filename_prefix", json.RawMessage(value)}
	}
	check("sdxl", "029-8gib-default", "5.seed", prefix("7", `"x"`))
	check("sd15", "029-cpu-sd15", "5.seed", prefix("SaveImage", `"x"`), Value{"4.width", json.RawMessage("64")},
		Value{"EmptyLatentImage.height", json.RawMessage("64")}, Value{"KSampler.steps", json.RawMessage("2")})
	check("image", "029-cpu-image-only", "1.color", prefix("3", `"s"`))
	if _, err := BuiltIn("flux9"); err == nil || !strings.Contains(err.Error(), `no built-in workflow "flux9"; there are image, upscale,`) {
		t.Errorf("got %v", err)
	}
}

func TestBuild(t *testing.T) {
	w, err := Build(Request{File: "testdata/029-cpu-sd15.json", Name: "small", Vary: []string{"2.text"}})
	if err != nil || w.Name != "small" || inputs(w.Vary) != "2.text" {
		t.Errorf("got %q, %q, %v", w.Name, inputs(w.Vary), err)
	}
	_, err = Build(Request{BuiltIn: "image", Set: []Value{{"9.x", json.RawMessage("1")}, {"1.y", json.RawMessage("1")}}, Vary: []string{"3.images"}})
	many, ok := err.(interface{ Unwrap() []error })
	if !ok || strings.Count(err.Error(), "\n") != 2 {
		t.Fatalf("want three errors, got %v", err)
	}
	for _, one := range many.Unwrap()[:2] {
		var in *InputError
		if !errors.As(one, &in) {
			t.Errorf("%T has no path", one)
		}
	}
	// What is varied is found after what was set.
	w, err = Build(Request{BuiltIn: "sd15", Set: []Value{{"5.seed", json.RawMessage("7.5")}}})
	if err != nil || inputs(w.Vary) != "2.text" {
		t.Errorf("got %q, %v", inputs(w.Vary), err)
	}
}
