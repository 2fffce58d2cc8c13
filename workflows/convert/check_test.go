package convert

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"memtrix"
)

func mustPrompt(t *testing.T, text string) map[string]memtrix.GraphNode {
	t.Helper()
	var p map[string]memtrix.GraphNode
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestCheck(t *testing.T) {
	defs, err := ParseDefs([]byte(`{
		"Loader": {"input": {"required": {"ckpt": [["a/sd15.safetensors", "sdxl.safetensors"], {}], "empty": [[], {}], "image": [["x.png"], {"image_upload": true}]}}, "display_name": "Load"},
		"Numbers": {"input": {"required": {
			"steps": ["INT", {"min": 1, "max": 100}], "seed": ["INT", {"min": 0, "max": 18446744073709551615}], "cfg": ["FLOAT", {"min": 0.5}],
			"kind": ["COMBO", {"options": ["fast", 2, true]}],
			"mode": ["COMFY_DYNAMICCOMBO_V3", {"options": [{"key": "small", "inputs": {"required": {"width": ["INT", {"max": 8}]}}}]}],
			"images": ["COMFY_AUTOGROW_V3", {}], "model": ["MODEL", {}]}, "optional": {"mask": ["MASK", {}]}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	check := func(prompt string, want ...string) {
		t.Helper()
		var got []string
		for _, f := range Check(mustPrompt(t, prompt), defs, map[string]string{"Gone": "some-pack (1.0)"}) {
			got = append(got, fmt.Sprintf("%s: %s", f.Kind, f))
			if f.Certain != (f.Kind == "missing-node") {
				t.Errorf("%v: certain is %v", f, f.Certain)
			}
		}
		if a, b := strings.Join(got, "\n"), strings.Join(want, "\n"); a != b {
			t.Errorf("got:\n%s\nwant:\n%s", a, b)
		}
	}
	check(`{"2": {"class_type": "Numbers", "inputs": {"steps": 100, "seed": 18446744073709551615, "cfg": "0.5", "kind": 2, "mode": "small", "mode.width": 8, "model": ["1", 0]}}}`)
	check(`{"2": {"class_type": "Numbers", "inputs": {"steps": ["1", 0], "seed": ["1", 0], "cfg": ["1", 0], "kind": ["1", 0], "mode": "small", "mode.width": ["1", 0], "model": ["1", 0]}}}`)
	check(`{"10": {"class_type": "Numbers", "_meta": {"title": "Mine"}, "inputs": {"steps": 0, "seed": 18446744073709552000, "cfg": "hot", "kind": "slow", "mode": "small", "mode.width": 9}},
		"9": {"class_type": "Gone", "inputs": {}},
		"3": {"class_type": "Loader", "inputs": {"ckpt": "SD15.safetensors", "empty": "m.gguf", "image": "y.png"}}}`,
		`missing-model: node 3 (Loader): input "ckpt": the server has no model "SD15.safetensors" there; of 2, the most alike: a/sd15.safetensors, sdxl.safetensors`,
		`missing-model: node 3 (Loader): input "empty": the server has no model "m.gguf" there (it has none)`,
		`missing-file: node 3 (Loader): input "image": the server has no input file "y.png"`,
		`missing-node: node 9 (Gone): the server has no node class of this name; the workflow says it is of the pack some-pack (1.0)`,
		`out-of-range: node 10 "Mine" (Numbers): input "steps": 0 is not within 1 and 100`,
		`out-of-range: node 10 "Mine" (Numbers): input "seed": 18446744073709552000 is above 18446744073709551615: a browser rounds such numbers, and this one up`,
		`wrong-type: node 10 "Mine" (Numbers): input "cfg": "hot" is no number (FLOAT)`,
		`not-in-list: node 10 "Mine" (Numbers): input "kind": "slow" is none of the 3 values that it takes; of 3, the most alike: fast`,
		`out-of-range: node 10 "Mine" (Numbers): input "mode.width": 9 is not within no limit and 8`,
		`missing-input: node 10 "Mine" (Numbers): input "model": it is required and is not there`)
	check(`{"1": {"class_type": "Numbers", "inputs": {"steps": null, "seed": true, "cfg": [1, 2, 3], "kind": "fast", "mode": "huge", "model": ["1", 0]}}}`,
		`wrong-type: node 1 (Numbers): input "steps": null is no number (INT)`,
		`wrong-type: node 1 (Numbers): input "cfg": [1,2,3] is no number (FLOAT)`,
		`not-in-list: node 1 (Numbers): input "mode": "huge" is none of the 1 values that it takes; of 1, the most alike: small`)
}

// Ensure that a message stays one that a person can read.
func TestCheckShort(t *testing.T) {
	defs := testDefs(t)
	long := strings.Repeat("[", 5000) + strings.Repeat("]", 5000)
	p := mustPrompt(t, `{"1": {"class_type": "EmptyImage", "inputs": {"width": `+long+`, "height": "`+strings.Repeat("9x", 5000)+`", "batch_size": 1, "color": 1}},
		"2": {"class_type": "CheckpointLoaderSimple", "inputs": {"ckpt_name": "`+strings.Repeat("x", 5000)+`.safetensors"}}}`)
	found := Check(p, defs, nil)
	if len(found) != 3 || found[2].Kind != "missing-model" {
		t.Errorf("got %d findings: %.300v", len(found), found)
	}
	for _, f := range found {
		if n := len(f.String()); n > 400 {
			t.Errorf("%d bytes: %.100s ...", n, f)
		}
	}
}

// TestNative checks that names of files are written as the server writes them, and
// nothing else is touched.
func TestNative(t *testing.T) {
	defs := func(models string) *Defs {
		d, err := ParseDefs([]byte(`{"Loader": {"input": {"required": {"ckpt": [[` + models + `], {}], "text": ["STRING", {}]}, "optional": {"vae": ["COMBO", {"options": [` + models + `]}]}}}}`))
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	linux, windows := defs(`"sdxl/a.safetensors", "b.safetensors"`), defs(`"sdxl\\a.safetensors", "b.safetensors"`)
	check := func(d *Defs, inputs, want string, notes int) {
		t.Helper()
		prompt := mustPrompt(t, `{"1": {"class_type": "Loader", "inputs": `+inputs+`}, "2": {"class_type": "Gone", "inputs": {"ckpt": "x\\y"}}}`)
		got, told := Native(prompt, d)
		text, err := json.Marshal(got["1"].Inputs)
		if err != nil || string(text) != want || len(told) != notes {
			t.Errorf("%s: got %s, notes %q, want %s", inputs, text, told, want)
		}
		if before := mustPrompt(t, `{"1": {"class_type": "Loader", "inputs": `+inputs+`}}`); string(prompt["1"].Inputs["ckpt"]) != string(before["1"].Inputs["ckpt"]) {
			t.Errorf("%s: the prompt that was given is changed", inputs)
		}
	}
	check(linux, `{"ckpt":"sdxl\\a.safetensors","text":"a\\b"}`, `{"ckpt":"sdxl/a.safetensors","text":"a\\b"}`, 1)
	check(linux, `{"ckpt":"sdxl\\a.safetensors","vae":"sdxl\\a.safetensors"}`, `{"ckpt":"sdxl/a.safetensors","vae":"sdxl/a.safetensors"}`, 2)
	check(windows, `{"ckpt":"sdxl/a.safetensors"}`, `{"ckpt":"sdxl\\a.safetensors"}`, 1)
	check(linux, `{"ckpt":"sdxl/a.safetensors"}`, `{"ckpt":"sdxl/a.safetensors"}`, 0)
	check(linux, `{"ckpt":"other\\a.safetensors"}`, `{"ckpt":"other\\a.safetensors"}`, 0)
	check(linux, `{"ckpt":["2",0]}`, `{"ckpt":["2",0]}`, 0)
}
