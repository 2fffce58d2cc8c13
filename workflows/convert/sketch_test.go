package convert

import (
	"encoding/json"
	"os"
	"testing"
)

// Which models a workflow loads can be told without a server, also where a
// subgraph's instance has a name of its own.
func TestSketch(t *testing.T) {
	for _, name := range []string{"text", "subgraph_nested", "subgraph_minus_one", "subgraph_id_collision", "reroute", "values", "format_1"} {
		data, err := os.ReadFile("testdata/traps/" + name + ".ui.json")
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile("testdata/traps/" + name + ".api.json")
		if err != nil {
			t.Fatal(err)
		}
		got, err := Sketch(data)
		if err != nil {
			t.Fatal(err)
		}
		graph := mustPrompt(t, string(want))
		if len(got) != len(graph) {
			t.Errorf("%s: got %d nodes, want %d", name, len(got), len(graph))
		}
		for id, n := range graph {
			if got[id].ClassType != n.ClassType {
				t.Errorf("%s: node %s: got %s, want %s", name, id, got[id].ClassType, n.ClassType)
			}
			for _, input := range []string{"ckpt_name", "unet_name", "vae_name"} {
				// A choice that is not made takes a server's first, which nobody knows.
				var name string
				if json.Unmarshal(n.Inputs[input], &name) == nil && name != "" && name != "pixel_space" && string(got[id].Inputs[input]) != string(n.Inputs[input]) {
					t.Errorf("%s: node %s: got %s, want %s", name, id, got[id].Inputs[input], n.Inputs[input])
				}
			}
		}
	}
}

func TestHash(t *testing.T) {
	hash := func(data string) string {
		h, err := Hash([]byte(data))
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	const base = `{"nodes": [{"id": 3, "type": "A", "widgets_values": [1, {"pos": 2}], "pos": [1, 2], "inputs": [{"name": "x", "link": null}]}], "links": [], "version": 0.4}`
	for _, same := range []string{
		`{"version": 0.4, "links": [], "groups": [1], "extra": {"ds": {}}, "nodes": [{"id": 3, "type": "A", "widgets_values": [1.0, {"pos": 2}], "pos": [7, 2], "color": "#fff", "title": "T", "inputs": [{"name": "x"}]}]}`,
	} {
		// An empty extra is there or not: only groupNodes in it count.
		if got, want := hash(same), hash(base); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	for _, other := range []string{
		`{"nodes": [{"id": 3, "type": "A", "widgets_values": [2, {"pos": 2}]}], "links": [], "version": 0.4}`,
		`{"nodes": [{"id": 3, "type": "A", "widgets_values": [1, {"pos": 3}]}], "links": [], "version": 0.4}`,
		`{"nodes": [{"id": 3, "type": "B", "widgets_values": [1, {"pos": 2}]}], "links": [], "version": 0.4}`,
		`{"nodes": [{"id": 3, "type": "A", "mode": 4, "widgets_values": [1, {"pos": 2}]}], "links": [], "version": 0.4}`,
	} {
		if hash(other) == hash(base) {
			t.Errorf("the same hash: %s", other)
		}
	}
}
