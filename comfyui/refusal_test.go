package comfyui

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"memtrix"
)

func TestRefusals(t *testing.T) {
	f := newFake(nil)
	f.info = map[string]string{"Loader": `{"Loader": {"input": {"hidden": {"prompt": "PROMPT"}, "required": {"name": [["sd15.safetensors", "sdxl.safetensors", "flux.safetensors", "wan.safetensors", "a", "b"], {}]}}}}`,
		"New": `{"New": {"input": {"optional": {"name": ["COMBO", {"options": ["euler", "heun"]}]}}}}`}
	srv := httptest.NewServer(f)
	defer srv.Close()
	graph := map[string]memtrix.GraphNode{"3": {ClassType: "Loader", Meta: &memtrix.GraphMeta{Title: "my loader"}}}
	one := func(class, kind, message, details, extra string) string {
		return `{"3": {"class_type": "` + class + `", "dependent_outputs": ["9"], "errors": [{"type": "` + kind + `", "message": "` + message + `", "details": "` + details + `", "extra_info": ` + extra + `}]}}`
	}
	for _, c := range []struct{ name, raw, want string }{
		{"long list", one("Loader", "value_not_in_list", "Value not in list", "name: 'sdx1.safetensors' not in (list of length 6)", `{"input_name": "name", "input_config": null, "received_value": "sdx1.safetensors"}`),
			`node 3 "my loader" (Loader), input "name": Value not in list: name: 'sdx1.safetensors' not in (list of length 6); allowed are 6 values, the most alike: sdxl.safetensors, sd15.safetensors, flux.safetensors, wan.safetensors, a`},
		{"combo with options", one("New", "value_not_in_list", "Value not in list", "name: 'eulr' not in (list of length 2)", `{"input_name": "name", "received_value": "eulr"}`),
			`node 3 "my loader" (New), input "name": Value not in list: name: 'eulr' not in (list of length 2); allowed are 2 values, the most alike: euler, heun`},
		{"class unknown to object_info", one("Other", "value_not_in_list", "Value not in list", "x", `{"input_name": "name"}`),
			`node 3 "my loader" (Other), input "name": Value not in list: x`},
		{"too big", one("KSampler", "value_bigger_than_max", "Value 20000 bigger than max of 10000", "steps", `{"input_name": "steps", "input_config": ["INT", {"default": 20, "min": 1, "max": 10000}], "received_value": 20000}`),
			`node 3 "my loader" (KSampler), input "steps": Value 20000 bigger than max of 10000: steps; allowed is 1 to 10000`},
		{"missing input", one("VAEDecode", "required_input_missing", "Required input is missing", "vae", `{"input_name": "vae"}`),
			`node 3 "my loader" (VAEDecode), input "vae": Required input is missing: vae`},
		{"odd extra", one("X", "exception_during_validation", "Exception when validating node", "boom", `[1, 2]`),
			`node 3 "my loader" (X): Exception when validating node: boom`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := refusals(json.RawMessage(c.raw), graph, newClient(srv.URL).optionsOf(context.Background()))
			if len(got) != 1 || got[0].Message != c.want {
				t.Fatalf("got %+v, want %q", got, c.want)
			}
			if n := got[0].Node; !got[0].Refused || n == nil || n.ID != "3" || n.Title != "my loader" {
				t.Errorf("got %+v, node %+v", got[0], n)
			}
		})
	}
	for _, none := range []string{`[]`, `{}`, `null`, ``, `"x"`} {
		if got := refusals(json.RawMessage(none), graph, nil); len(got) != 0 {
			t.Errorf("%s: got %+v, want none", none, got)
		}
	}
}

func TestFree(t *testing.T) {
	status := http.StatusOK
	var body string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		body = string(data)
		w.WriteHeader(status)
	}))
	defer srv.Close()
	c := newClient(srv.URL)
	if err := c.free(context.Background()); err != nil || body != `{"free_memory":true,"unload_models":true}` {
		t.Errorf("got %v, sent %s", err, body)
	}
	status = http.StatusNotFound
	if err := c.free(context.Background()); !errors.Is(err, memtrix.ErrUnsupported) {
		t.Errorf("got %v, want %v", err, memtrix.ErrUnsupported)
	}
	status = http.StatusInternalServerError
	if err := c.free(context.Background()); err == nil || errors.Is(err, memtrix.ErrUnsupported) {
		t.Errorf("got %v, want another error", err)
	}
}

func TestHistoryForms(t *testing.T) {
	for _, c := range []struct {
		name, entry string
		outcome     memtrix.OutcomeKind
		cached      []string
	}{
		{"before 2024-01", `{"prompt": [0, "id", {}, {}, ["7"]], "outputs": {}}`, memtrix.Pass, nil},
		{"success", `{"status": {"status_str": "success", "messages": [["execution_cached", {"nodes": ["1", 2]}]]}}`, memtrix.Pass, []string{"1", "2"}},
		{"error without message", `{"status": {"status_str": "error", "messages": []}}`, memtrix.Error, nil},
		{"odd messages", `{"status": {"status_str": "success", "messages": [["x"], [1, 2], ["execution_cached", []]]}}`, memtrix.Pass, nil},
		{"interrupted", `{"status": {"status_str": "error", "messages": [["execution_interrupted", {"node_id": "5"}]]}}`, memtrix.Interrupted, nil},
	} {
		var e entry
		if err := json.Unmarshal([]byte(c.entry), &e); err != nil {
			t.Fatal(err)
		}
		if v := e.judge(); v.outcome != c.outcome || !slices.Equal(v.cached, c.cached) {
			t.Errorf("%s: got %+v, want %s, cached %v", c.name, v, c.outcome, c.cached)
		}
	}
}

func TestUpstream(t *testing.T) {
	graph := sd15Graph(t)
	graph["8"] = memtrix.GraphNode{ClassType: "LoadImage"} // leads nowhere
	graph["5"].Inputs["loop"] = json.RawMessage(`["7", 0]`)
	if got, want := upstream(graph, []string{"7", "gone"}), []string{"1", "2", "3", "4", "5", "6", "7"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestFrameEvents(t *testing.T) {
	graph := map[string]memtrix.GraphNode{"12": {ClassType: "Group", Meta: &memtrix.GraphMeta{Title: "loop"}}}
	for _, c := range []struct{ text, want string }{
		{`{"type": "executing", "data": {"node": "12.0.0.3", "display_node": "12", "prompt_id": "p"}}`, "node-start 12.0.0.3 Group"},
		{`{"type": "executing", "data": {"node": 12, "prompt_id": "p"}}`, "node-start 12 Group"},
		{`{"type": "executing", "data": {"node": null, "prompt_id": "p"}}`, ""},
		{`{"type": "progress", "data": {"node": "12", "value": 3.0, "max": 20}}`, "progress 12 Group 3/20"},
		{`{"type": "progress", "data": {"value": "x", "max": null}}`, "progress 0/0"},
		{`{"type": "execution_error", "data": {"node_id": "4", "node_type": "KSampler", "exception_type": "X", "traceback": "one string", "current_outputs": {}}}`, "error 4 KSampler X"},
		{`{"type": "execution_cached", "data": {"nodes": ["1", 2]}}`, "cached 1,2"},
		{`{"type": "status", "data": {"status": {}}}`, ""},
		{`{"type": "crystools.monitor", "data": {"nodes": {"a": 1}, "value": [1]}}`, ""},
		{`{"type": "logs", "data": []}`, ""},
		{`[1]`, ""}, {`{"data": 1}`, ""}, {`not json`, ""},
	} {
		got := ""
		if f, ok := parseFrame([]byte(c.text)); ok {
			if e, ok := f.event(0, 1, graph, nil); ok {
				got = strings.Join(short([]memtrix.Event{e}), "")
			}
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", c.text, got, c.want)
		}
	}
}
