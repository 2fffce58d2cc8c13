package workflows

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"memtrix"
)

func mustLoad(t *testing.T, path string) memtrix.Workflow {
	t.Helper()
	w, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func mustDecode(t *testing.T, data string) memtrix.Workflow {
	t.Helper()
	w, err := Decode("w", "w.json", []byte(data))
	if err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	return w
}

// What ComfyUI's own front end exports is read, all of it.
func TestLoadAPIFormat(t *testing.T) {
	files, err := filepath.Glob("testdata/traps/*.api.json")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range append(files, "testdata/029-cpu-sd15.json") {
		w, err := Load(file)
		if filepath.Base(file) == "missing_types.api.json" {
			if err == nil || !strings.Contains(err.Error(), "has no class_type (the frontend leaves it out for nodes whose package is not installed)") {
				t.Errorf("%s: got %v", file, err)
			}
			continue
		}
		if err != nil {
			t.Error(err)
			continue
		}
		var want map[string]memtrix.GraphNode
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(data, &want); err != nil {
			t.Fatal(err)
		}
		if got := Hash(w.Graph); got != Hash(want) || len(w.Graph) != len(want) || w.Hash != got {
			t.Errorf("%s: what was read is not what is there", file)
		}
	}
	w := mustLoad(t, "testdata/traps/text.api.json")
	if w.Name != "text.api" || w.Source != "testdata/traps/text.api.json" {
		t.Errorf("got name %q, source %q", w.Name, w.Source)
	}
	if got, want := w.Graph["1"].Meta.Title, "Load Checkpoint"; got != want {
		t.Errorf("title: got %q, want %q", got, want)
	}
}

// A workflow in UI format keeps its form; what can be told without a server is
// its nodes and its identity.
func TestUIFormat(t *testing.T) {
	files, err := filepath.Glob("testdata/traps/*.ui.json")
	if err != nil || len(files) < 3 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		w, err := Load(file)
		if err != nil {
			t.Fatal(err)
		}
		if w.UI == nil || len(w.Graph) == 0 || !strings.HasPrefix(w.Hash, "ui") || len(w.Vary) > 0 {
			t.Errorf("%s: got %d nodes, hash %q, vary %v", file, len(w.Graph), w.Hash, w.Vary)
		}
	}
	for _, text := range []string{
		`{"version": 1, "state": {}, "nodes": [{"id": 3, "type": "A"}, {"id": 4, "type": "Note"}, {"id": 5, "type": "B", "mode": 2}]}`,
		`{"workflow": {"nodes": [{"id": 3, "type": "A"}], "links": []}}`,
		`{"prompt": {"nodes": [{"id": 3, "type": "A", "pos": [NaN, Infinity]}], "links": []}, "nodes": [{"id": 3, "type": "A"}]}`,
	} {
		if w := mustDecode(t, text); len(w.Graph) != 1 || w.Graph["3"].ClassType != "A" {
			t.Errorf("%s: got %v", text, w.Graph)
		}
	}
	if _, err := Decode("x", "x.json", []byte(`{"nodes": [], "links": []}`)); err == nil || !strings.Contains(err.Error(), "x.json holds no nodes that a server would run") {
		t.Errorf("got %v", err)
	}
	// Places and colours are not content; values and links are.
	base := mustDecode(t, `{"nodes": [{"id": 3, "type": "A", "widgets_values": [1, "x"], "pos": [1, 2]}], "links": [], "version": 0.4}`)
	moved := mustDecode(t, `{"nodes": [{"id": 3, "type": "A", "widgets_values": [1.0, "x"], "pos": [7, 2], "color": "#fff"}], "groups": [], "links": [], "extra": {"ds": {}}, "version": 0.4}`)
	other := mustDecode(t, `{"nodes": [{"id": 3, "type": "A", "widgets_values": [2, "x"], "pos": [1, 2]}], "links": [], "version": 0.4}`)
	if base.Hash != moved.Hash && base.Hash == other.Hash {
		t.Errorf("got %s, %s, %s", base.Hash, moved.Hash, other.Hash)
	}
}

func TestWrappedPrompt(t *testing.T) {
	plain := mustDecode(t, `{"1": {"class_type": "A", "inputs": {"seed": 1}}}`)
	wrapped := mustDecode(t, "\ufeff"+`{"client_id": "x", "prompt": {"1": {"class_type": "A", "inputs": {"seed": 1}}}, "extra_data": {}}`)
	if plain.Hash != wrapped.Hash {
		t.Errorf("got %s, want %s", wrapped.Hash, plain.Hash)
	}
	// A node may be called prompt, or nodes.
	w := mustDecode(t, `{"prompt": {"class_type": "A", "inputs": {"seed": 1}}, "nodes": {"class_type": "B"}}`)
	if w.Graph["prompt"].ClassType != "A" || w.Graph["nodes"].ClassType != "B" {
		t.Errorf("got %v", w.Graph)
	}
	if w.Graph["nodes"].Inputs == nil {
		t.Error("a node without inputs must be sent with empty ones")
	}
}

func TestDecodeRefuses(t *testing.T) {
	check := func(data, want string) {
		t.Helper()
		_, err := Decode("w", "w.json", []byte(data))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q:\ngot  %v\nwant %s", data, err, want)
		}
		if err != nil && !strings.Contains(err.Error(), "w.json") {
			t.Errorf("%v does not name the file", err)
		}
	}
	check("", "w.json is empty")
	check(" \n\t", "w.json is empty")
	check("\ufeff", "w.json is empty")
	check("{}", "w.json holds no nodes")
	check("[]", "its outermost value is not an object")
	check("null", "its outermost value is not an object")
	check("3", "its outermost value is not an object")
	check(`"x"`, "its outermost value is not an object")
	check(`{"name": "x", "version": "2"}`, "no workflow in API format: none of its values has a class_type")
	check("{\n  \"1\": {\"é\": x}}", "w.json:2:14: not JSON: invalid character 'x'")
	check("{\n  \"1\": {", "w.json:2:8: not JSON: unexpected end of JSON input")
	check(`{"1": {"class_type": "A", "inputs": {"x": NaN}}}`, "w.json:1:43: not JSON: NaN is no JSON value; Python writes it")
	check(`{"1": {"class_type": "A", "inputs": {"x": -Infinity}}}`, "w.json:1:43: not JSON: -Infinity is no JSON value")
	check(`{"1": {"class_type": "A"}} trailing`, "w.json:1:28: not JSON: invalid character 't' after top-level value")
	check(`{"1": {"class_type": "A"}, "10": {"inputs": {}}, "2": 3, "3": {"class_type": 5}, "4": {"class_type": "B", "inputs": []}}`,
		`w.json: node "2" is not an object; node "3" has a class_type that is not a text; node "4" (B) has inputs that are not an object; node "10" has no class_type`)
	check(`{"7": {"class_type": "Save", "inputs": {"images": ["6", 0]}}, "8": {"class_type": "B", "inputs": {"b": ["9", 1], "a": ["7", 0]}}}`,
		`w.json: input images of node 7 (Save) is linked to node "6", which is not in the workflow; input b of node 8 (B) is linked to node "9"`)
	check(`{"1": {"class_type": "A", "inputs": {"a": ["2", 0]}}, "2": {"class_type": "A", "inputs": {"a": ["3", 0]}}, "3": {"class_type": "A", "inputs": {"a": ["2", 0], "b": ["1", 0]}}}`,
		"take from each other in a circle")
	check("\xff\xfe{\x00", "UTF-16 text (save it as UTF-8)")
	check("{\"a\": \"\xff\"}", "neither UTF-8 text nor a known kind of file")
	check("\x89PNG\r\n\x1a\n....", "w.json: it is a PNG image without a readable workflow: it ends early")
	check("\xff\xd8\xff\xd9", "it is a JPEG image")
	check("GIF89a", "a GIF image, which cannot carry one")
	check("\x00\x00\x00\x08ftypisom", "an MP4 or MOV video")
	check("\x80\x00\x00\x00\x00\x00\x00\x00{\"__metadata__\":{}}", "a safetensors file")
	mustDecode(t, `{"abc":{"class_type": "A"}}`)
	mustDecode(t, `  {"ftyp":{"class_type": "A"}}`)
}

func TestCircleIsNamed(t *testing.T) {
	_, err := Decode("w", "w.json", []byte(`{"1": {"class_type": "A", "inputs": {"a": ["2", 0]}}, "2": {"class_type": "A", "inputs": {"a": ["3", 0]}}, "3": {"class_type": "A", "inputs": {"a": ["2", 0]}}, "4": {"class_type": "A"}}`))
	if err == nil || !strings.Contains(err.Error(), "nodes 2 -> 3 -> 2 take") && !strings.Contains(err.Error(), "nodes 3 -> 2 -> 3 take") {
		t.Errorf("got %v", err)
	}
}

func TestLoadRefuses(t *testing.T) {
	if _, err := Load("testdata/none.json"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if _, err := Load("testdata"); err == nil || !strings.Contains(err.Error(), "testdata is not a file") {
		t.Errorf("got %v", err)
	}
	big := filepath.Join(t.TempDir(), "big.safetensors")
	if err := os.WriteFile(big, []byte("\x07\x00\x00\x00\x00\x00\x00\x00{\"a\":1}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(big, maxSize+1); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(big); err == nil || !strings.Contains(err.Error(), "a safetensors file") {
		t.Errorf("got %v", err)
	}
}

func TestHash(t *testing.T) {
	const base = `{"1": {"class_type": "A", "inputs": {"x": 7, "y": ["2", 0]}}, "2": {"class_type": "B", "inputs": {"s": "a<b>", "o": {"p": 1, "q": [1, 2]}}}}`
	want := mustDecode(t, base).Hash
	same := func(data string) {
		t.Helper()
		if got := mustDecode(t, data).Hash; got != want {
			t.Errorf("another hash for %s", data)
		}
	}
	differs := func(data string) {
		t.Helper()
		if got := mustDecode(t, data).Hash; got == want {
			t.Errorf("the same hash for %s", data)
		}
	}
	same(`{"2": {"inputs": {"o": {"q": [1, 2.0], "p": 1e0}, "s": "a\u003cb>"}, "class_type": "B", "_meta": {"title": "t"}}, "1": {"class_type": "A", "inputs": {"y": ["2", 0], "x": 7.0}}}`)
	differs(strings.Replace(base, `"x": 7`, `"x": 7.5`, 1))
	differs(strings.Replace(base, `"x": 7`, `"x": "7"`, 1))
	differs(strings.Replace(base, `"x": 7`, `"x": null`, 1))
	differs(strings.Replace(base, `"x": 7, `, ``, 1))
	differs(strings.Replace(base, `"A"`, `"C"`, 1))
	differs(strings.Replace(base, `[1, 2]`, `[2, 1]`, 1))
	differs(strings.Replace(base, `[1, 2]`, `[12]`, 1))
	differs(strings.Replace(base, `["2", 0]`, `["2", 1]`, 1))
	// Seeds beyond float64's whole numbers stay apart.
	a := mustDecode(t, `{"1": {"class_type": "A", "inputs": {"x": 18446744073709551614}}}`).Hash
	b := mustDecode(t, `{"1": {"class_type": "A", "inputs": {"x": 18446744073709551615}}}`).Hash
	if a == b {
		t.Error("two seeds of 64 bits have the same hash")
	}
}

func TestOutputNodes(t *testing.T) {
	check := func(w memtrix.Workflow, want string) {
		t.Helper()
		if got := strings.Join(OutputNodes(w), " "); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	check(mustLoad(t, "testdata/029-cpu-sd15.json"), "7")
	check(mustDecode(t, `{"10": {"class_type": "PreviewAny"}, "9": {"class_type": "SaveText", "inputs": {"a": ["2", 0]}}, "2": {"class_type": "A"}, "3:1": {"class_type": "B", "inputs": {"a": ["9", 0]}}}`), "3:1 9 10")
}

func TestCompareIDs(t *testing.T) {
	ids := sortedIDs(map[string]int{"10": 0, "2": 0, "b": 0, "12:7:3": 0, "12": 0, "12:7": 0, "12:10": 0, "a": 0})
	if got, want := strings.Join(ids, " "), "2 10 12 12:7 12:7:3 12:10 a b"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func FuzzDecode(f *testing.F) {
	for _, glob := range []string{"testdata/*.json", "testdata/traps/*"} {
		files, err := filepath.Glob(glob)
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
	}
	f.Add([]byte(`{"1": {"class_type": "A", "inputs": {"seed": ["2", 0]}}, "2": {"class_type": "PrimitiveInt", "inputs": {"value": 3}}}`))
	f.Add([]byte(`{"nodes": [{"id": 1, "type": ""}], "links": []}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		w, err := Decode("fuzz", "fuzz.json", data)
		if err != nil {
			return
		}
		if len(OutputNodes(w)) == 0 {
			t.Errorf("no end in a graph without circles: %s", data)
		}
		Needed(w)
		if len(w.UI) > 0 {
			return // no prompt yet: a server makes one of it
		}
		sent, err := json.Marshal(Vary(w, 3))
		if err != nil {
			t.Fatalf("cannot be sent: %v", err)
		}
		again, err := Decode("fuzz", "fuzz.json", sent)
		if err != nil {
			t.Fatalf("cannot be read again: %v", err)
		}
		if len(w.Vary) > 0 && again.Hash == w.Hash {
			t.Errorf("the third prompt is the first: %s", data)
		}
	})
}
