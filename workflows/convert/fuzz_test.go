package convert

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// A file of any content gives a prompt or an error, and a lenient conversion
// sends nothing that depends on what it dropped.
func FuzzConvert(f *testing.F) {
	files, err := filepath.Glob("testdata/traps/*.ui.json")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	defs := testDefs(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		strict, err := Convert(data, defs, Options{})
		var refusal *Refusal
		if errors.As(err, &refusal) && len(refusal.Problems) == 0 {
			t.Error("refused without a reason")
		}
		if err == nil && len(strict.Prompt) == 0 {
			t.Error("neither nodes nor an error")
		}
		lenient, err := Convert(data, defs, Options{Lenient: true})
		if err == nil {
			for id, n := range lenient.Prompt {
				for name, raw := range n.Inputs {
					var link []any
					if !json.Valid(raw) {
						t.Errorf("node %s, input %s: %s is no JSON", id, name, raw)
					}
					if json.Unmarshal(raw, &link) == nil && isLink(any(link)) && lenient.Prompt[link[0].(string)].ClassType == "" {
						t.Errorf("node %s, input %s is linked to %v, which is not there", id, name, link)
					}
				}
			}
			Check(lenient.Prompt, defs, Packs(data))
		}
		if _, err := Sketch(data); err == nil {
			if _, err := Hash(data); err != nil {
				t.Error(err)
			}
		}
	})
}

// A server's answer of any content is read or refused, and converting with it
// ends.
func FuzzDefs(f *testing.F) {
	f.Add([]byte(`{"KSampler": {"input": {"required": {"seed": ["INT", {"control_after_generate": true}], "m": ["COMFY_DYNAMICCOMBO_V3", {"options": [{"key": "a", "inputs": {"required": {"x": ["COMFY_AUTOGROW_V3", {"template": {"input": {"required": {"v": ["IMAGE"]}}, "prefix": "v", "min": 2}}]}}}]}], "t": ["COMFY_MATCHTYPE_V3", {"template": {"template_id": "t", "allowed_types": "A,B"}}]}}, "output": ["LATENT"]}}`))
	f.Add([]byte(`{"KSampler": {"input": {"required": {"seed": [["a", 1], {"default": NaN}]}, "optional": {"b": ["BOUNDING_BOX", {}]}}, "input_order": {"required": ["seed", "seed"]}, "output": [["x"]]}}`))
	data, err := os.ReadFile("testdata/traps/old_no_widget_inputs.ui.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, info []byte) {
		defs, err := ParseDefs(info)
		if err != nil {
			return
		}
		if r, err := Convert(data, defs, Options{Lenient: true}); err == nil {
			Check(r.Prompt, defs, nil)
		}
	})
}

func FuzzText(f *testing.F) {
	for _, s := range []string{`a {b|{c|d}} // e`, `\{x\} /* y */ {`, `%date:yyyy-MM-dd% %KSampler.seed% %`, `{\`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		dynamicPrompt(s, func(n int) int { return n - 1 })
		replace(s, []*node{{title: "KSampler", widgets: []*widget{{name: "seed", value: 1.0}}}}, trapOptions.Now)
	})
}
