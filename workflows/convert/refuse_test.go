package convert

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
)

// What cannot be converted is named all at once; leniently it goes, with all that
// depends on it, and the rest stays as it was.
func TestLenient(t *testing.T) {
	defs := testDefs(t)
	data, err := os.ReadFile("testdata/traps/missing_types.ui.json")
	if err != nil {
		t.Fatal(err)
	}
	_, err = Convert(data, defs, trapOptions)
	var refusal *Refusal
	if !errors.As(err, &refusal) {
		t.Fatalf("got %v", err)
	}
	var named []string
	for _, p := range refusal.Problems {
		named = append(named, p.Node+" "+p.Type)
	}
	if got, want := strings.Join(named, ", "), "8 NoSuchNode, 11 SetNode, 12 GetNode"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	opts := trapOptions
	opts.Lenient = true
	r, err := Convert(data, defs, opts)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(ids(r), " "), "1 2 3 4 5 6 10"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	notes := strings.Join(r.Notes, "\n")
	for _, id := range []string{"8", "11", "12", "7", "13", "14"} {
		if !strings.Contains(notes, "dropped node "+id+" ") {
			t.Errorf("nothing says that %s was dropped:\n%s", id, notes)
		}
	}
}

func ids(r Result) []string {
	var all []string
	for id := range r.Prompt {
		all = append(all, id)
	}
	for i := range all { // few
		for j := range all {
			if compareIDs(all[i], all[j]) < 0 {
				all[i], all[j] = all[j], all[i]
			}
		}
	}
	return all
}

const getSet = `{"version": 0.4, "nodes": [
	{"id": 1, "type": "EmptyImage", "mode": 0, "outputs": [{"name": "IMAGE", "type": "IMAGE", "links": [1]}], "widgets_values": [8, 8, 1, 0]},
	{"id": 2, "type": "SetNode", "mode": %d, "inputs": [{"name": "IMAGE", "type": "IMAGE", "link": 1}], "outputs": [{"name": "*", "type": "*", "links": null}], "widgets_values": ["pic"]},
	{"id": 3, "type": "GetNode", "mode": 0, "inputs": [], "outputs": [{"name": "IMAGE", "type": "IMAGE", "links": [2]}], "widgets_values": ["%s"]},
	{"id": 4, "type": "PreviewImage", "mode": 0, "inputs": [{"name": "images", "type": "IMAGE", "link": 2}], "outputs": []},
	{"id": 5, "type": "Label (rgthree)", "mode": 0}],
	"links": [[1, 1, 0, 2, 0, "IMAGE"], [2, 3, 0, 4, 0, "IMAGE"]]}`

// Nodes that only a pack's front end has are followed where the server has the
// pack, as far as its other classes tell.
func TestFrontEndNodes(t *testing.T) {
	classes := `"EmptyImage": {"input": {"required": {"width": ["INT"], "height": ["INT"], "batch_size": ["INT"], "color": ["INT"]}}, "output": ["IMAGE"]},
		"PreviewImage": {"input": {"required": {"images": ["IMAGE"]}}}`
	packs := `, "A": {"input": {}, "python_module": "custom_nodes.ComfyUI-KJNodes"}, "B": {"input": {}, "python_module": "custom_nodes.rgthree-comfy"}`
	with, err := ParseDefs([]byte("{" + classes + packs + "}"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := Convert(fmt.Appendf(nil, getSet, 0, "pic"), with, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(r.Prompt["4"].Inputs["images"]), `["1",0]`; got != want || len(r.Prompt) != 2 {
		t.Errorf("got %s of %d nodes, want %s of 2", got, len(r.Prompt), want)
	}
	// A muted Set node gives nothing.
	if r, err := Convert(fmt.Appendf(nil, getSet, never, "pic"), with, Options{}); err != nil || r.Prompt["4"].Inputs["images"] != nil {
		t.Errorf("got %v, %v", r.Prompt["4"], err)
	}
	if _, err := Convert(fmt.Appendf(nil, getSet, 0, "other"), with, Options{}); err == nil || !strings.Contains(err.Error(), `node 4 (PreviewImage): its input "images" is taken from GetNode 3, and no Set node has the name "other"`) {
		t.Errorf("got %v", err)
	}
	without, err := ParseDefs([]byte("{" + classes + "}"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Convert(fmt.Appendf(nil, getSet, 0, "pic"), without, Options{}); err == nil || strings.Count(err.Error(), "which this server does not have") != 3 {
		t.Errorf("got %v", err)
	}
}

func TestConvertRefuses(t *testing.T) {
	defs := testDefs(t)
	check := func(data, want string) {
		t.Helper()
		if _, err := Convert([]byte(data), defs, Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s:\ngot  %v\nwant %s", data, err, want)
		}
	}
	check(`x`, "not JSON")
	check(`[]`, "no workflow in UI format")
	check(`{"1": {"class_type": "A"}}`, "no workflow in UI format")
	check(`{"nodes": []}`, "no node is left")
	check(`{"nodes": [{"id": 1, "type": "Note"}, 3, null, "x"]}`, "no node is left")
	check(`{"nodes": [{"id": 1, "type": "VAEDecode", "inputs": [{"name": "samples", "type": "LATENT", "link": 7}]}], "links": [[7, 99, 0, 1, 0, "LATENT"]]}`,
		`node 1 "VAE Decode" (VAEDecode): its input "samples" is linked to node 99, which does not exist`)
	check(`{"nodes": [{"id": 1, "type": "RecordAudio"}]}`, `its "audio" is made by the page`)
	check(`{"nodes": [{"id": 1, "type": "s"}], "definitions": {"subgraphs": [{"id": "s", "name": "S", "nodes": [{"id": 2, "type": "s"}], "links": []}]}}`, `the subgraph "S" contains itself`)
	// Reroutes in a circle.
	check(`{"nodes": [{"id": 1, "type": "Reroute", "inputs": [{"name": "", "type": "*", "link": 2}], "outputs": [{"type": "*", "links": [1, 3]}]},
		{"id": 2, "type": "Reroute", "inputs": [{"name": "", "type": "*", "link": 1}], "outputs": [{"type": "*", "links": [2]}]},
		{"id": 3, "type": "PreviewImage", "inputs": [{"name": "images", "type": "IMAGE", "link": 3}]}],
		"links": [[1, 1, 0, 2, 0, "*"], [2, 2, 0, 1, 0, "*"], [3, 1, 0, 3, 0, "IMAGE"]]}`, "go round in a circle")
	for _, info := range []string{``, `[]`, `{}`, `{"A": 3}`, `{"nodes": []}`} {
		if _, err := ParseDefs([]byte(info)); err == nil {
			t.Errorf("%q: no error", info)
		}
	}
}

// Subgraphs within subgraphs multiply; that ends.
func TestManyNodes(t *testing.T) {
	var defs []string
	for i := range 8 {
		var nodes []string
		for k := range 10 {
			typ := "EmptyImage"
			if i < 7 {
				typ = fmt.Sprintf("g%d", i+1)
			}
			nodes = append(nodes, fmt.Sprintf(`{"id": %d, "type": %q}`, 10*i+k+1, typ))
		}
		defs = append(defs, fmt.Sprintf(`{"id": "g%d", "name": "g%d", "nodes": [%s], "links": []}`, i, i, strings.Join(nodes, ",")))
	}
	data := fmt.Sprintf(`{"nodes": [{"id": 500, "type": "g0"}], "definitions": {"subgraphs": [%s]}}`, strings.Join(defs, ","))
	if _, err := Convert([]byte(data), testDefs(t), Options{}); err == nil || !strings.Contains(err.Error(), "multiply") {
		t.Errorf("got %v", err)
	}
}

// Nodes of custom packs may store their values by name, and have widgets that
// only their own code knows.
func TestCustomNodes(t *testing.T) {
	defs, err := ParseDefs([]byte(`{"Combine": {"input": {"required": {"rate": ["INT", {"default": 8}], "format": [["gif", "mp4"]], "loop": ["INT"]}}, "python_module": "custom_nodes.video", "output_node": true}}`))
	if err != nil {
		t.Fatal(err)
	}
	check := func(values, want string, notes int) {
		t.Helper()
		r, err := Convert(fmt.Appendf(nil, `{"nodes": [{"id": 1, "type": "Combine", "widgets_values": %s}]}`, values), defs, Options{})
		if err != nil {
			t.Fatal(err)
		}
		got := fmt.Sprintf("%s %s %s", r.Prompt["1"].Inputs["rate"], r.Prompt["1"].Inputs["format"], r.Prompt["1"].Inputs["loop"])
		if got != want || len(r.Notes) != notes {
			t.Errorf("%s: got %s, %v, want %s", values, got, r.Notes, want)
		}
	}
	check(`{"format": "mp4", "loop": 3, "preview": {}}`, `8 "mp4" 3`, 0)
	check(`[16, "mp4", 2]`, `16 "mp4" 2`, 0)
	check(`[16, "mp4", 2, "more", 5]`, `16 "mp4" 2`, 1)
}
