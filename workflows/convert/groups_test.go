package convert

import (
	"fmt"
	"strings"
	"testing"
)

// Values of a group node go to its widgets in order: those of the control of a
// seed take a place, those of widgets that were inputs take none.
func TestGroupValues(t *testing.T) {
	const file = `{"version": 0.4, "last_node_id": 9, "nodes": [
		{"id": 1, "type": "CheckpointLoaderSimple", "outputs": [{"type": "MODEL", "links": [1]}, {"type": "CLIP", "links": [2]}, {"type": "VAE", "links": [3]}], "widgets_values": ["m"]},
		{"id": 2, "type": "CLIPTextEncode", "inputs": [{"name": "clip", "type": "CLIP", "link": 2}], "outputs": [{"type": "CONDITIONING", "links": [4, 5]}], "widgets_values": ["x"]},
		{"id": 3, "type": "PrimitiveInt", "outputs": [{"type": "INT", "links": [7]}], "widgets_values": [9, "fixed"]},
		{"id": 8, "type": "workflow>G", "inputs": [
			{"name": "model", "type": "MODEL", "link": 1}, {"name": "positive", "type": "CONDITIONING", "link": 4}, {"name": "negative", "type": "CONDITIONING", "link": 5},
			{"name": "vae", "type": "VAE", "link": 3}, {"name": "steps", "type": "INT", "link": 7, "widget": {"name": "steps"}}],
			"outputs": [{"type": "IMAGE", "links": [6]}], "widgets_values": %s},
		{"id": 9, "type": "PreviewImage", "inputs": [{"name": "images", "type": "IMAGE", "link": 6}]}],
		"links": [[1, 1, 0, 8, 0, "MODEL"], [2, 1, 1, 2, 0, "CLIP"], [4, 2, 0, 8, 1, "CONDITIONING"], [5, 2, 0, 8, 2, "CONDITIONING"], [3, 1, 2, 8, 3, "VAE"], [6, 8, 0, 9, 0, "IMAGE"], [7, 3, 0, 8, 4, "INT"]],
		"extra": {"groupNodes": {"G": {"nodes": [
			{"type": "EmptyLatentImage", "widgets_values": [1, 1, 1]},
			{"type": "KSampler", "inputs": [{"name": "model", "type": "MODEL"}, {"name": "positive", "type": "CONDITIONING"}, {"name": "negative", "type": "CONDITIONING"}, {"name": "latent_image", "type": "LATENT"}, {"name": "steps", "type": "INT", "widget": {"name": "steps"}}], "widgets_values": [1, "randomize", 20, 8, "euler", "normal", 1]},
			{"type": "VAEDecode", "inputs": [{"name": "samples", "type": "LATENT"}, {"name": "vae", "type": "VAE"}]}],
			"links": [[0, 0, 1, 3, 4, "LATENT"], [1, 0, 2, 0, 5, "LATENT"]], "external": []}}}}`
	check := func(values, latent, sampler, notes string) {
		t.Helper()
		r, err := Convert(fmt.Appendf(nil, file, values), testDefs(t), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := string(canonicalNode(t, r.Prompt["13:10"])); !strings.Contains(got, latent) {
			t.Errorf("got %s, want %s", got, latent)
		}
		if got := string(canonicalNode(t, r.Prompt["13:11"])); !strings.Contains(got, sampler) {
			t.Errorf("got %s, want %s", got, sampler)
		}
		if got := string(r.Prompt["9"].Inputs["images"]); got != `["13:12",0]` {
			t.Errorf("got %s", got)
		}
		if got := strings.Join(r.Notes, "\n"); !strings.Contains(got, notes) || strings.Contains(got, "look whether") != strings.Contains(notes, "look whether") {
			t.Errorf("got %s, want %s", got, notes)
		}
	}
	check(`[64, 32, 2, 5, "fixed", 3.5, "heun", "karras", 0.5]`, `{"batch_size":2,"height":32,"width":64}`,
		`"inputs":{"cfg":3.5,"denoise":0.5,"latent_image":["13:10",0],"model":["1",0],"negative":["2",0],"positive":["2",0],"sampler_name":"heun","scheduler":"karras","seed":5,"steps":["3",0]}`, "group node 8 (G) became the subgraph 13")
	check(`[64, 32]`, `"height":32,"width":64}`, `"cfg":8`, "group node 8 (G) has 2 values, and its widgets take 9: look whether each is where it belongs")
}
