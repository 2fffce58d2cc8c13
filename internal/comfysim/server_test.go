package comfysim

import (
	"encoding/json"
	"image/png"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// quick starts a server on the CPU that is fast and touches little.
func quick(t *testing.T, dir string, args ...string) (*child, *client) {
	t.Helper()
	c := start(t, dir, append([]string{"--base-directory", dir, "--sim-scale", "0.001", "--sim-speed", "1000"}, args...)...)
	c.ready()
	return c, connect(t, c)
}

// edit sets inputs of an image graph: "2.width=7" with a JSON value.
func edit(t *testing.T, graph any, edits ...string) any {
	t.Helper()
	for _, e := range edits {
		where, value, _ := strings.Cut(e, "=")
		id, name, _ := strings.Cut(where, ".")
		node, ok := graph.(object).get(id)
		if !ok {
			t.Fatalf("no node %s", id)
		}
		inputs, _ := node.(object).get("inputs")
		if value == "" {
			continue
		}
		changed := node.(object).with("inputs", inputs.(object).with(name, parse(t, value)))
		graph = graph.(object).with(id, changed)
	}
	return graph
}

func TestValidation(t *testing.T) {
	t.Parallel()
	dir := newBase(t, false, "sd15")
	c, cl := quick(t, dir)
	text := func(edits ...string) any { return edit(t, textToImage("sd15.safetensors", 64, 2), edits...) }
	img := func(edits ...string) any { return edit(t, imageGraph("ImageScale"), edits...) }
	for _, tc := range []struct {
		name  string
		graph any
		want  []string // all of them must be in the answer
	}{
		{"smaller than min", text("5.steps=0"), []string{`"value_smaller_than_min"`, `Value 0 smaller than min of 1`}},
		{"bigger than max", img("2.width=99999"), []string{`"value_bigger_than_max"`, `Value 99999 bigger than max of 16384`}},
		{"the largest seed is fine", text("5.seed=18446744073709551615"), nil},
		{"one more is not", text("5.seed=18446744073709551616"), []string{`"value_bigger_than_max"`}},
		{"no number", text(`5.steps="many"`), []string{`"invalid_input_type"`, `invalid literal for int() with base 10: 'many'`}},
		{"no float", text(`5.cfg="hot"`), []string{`"invalid_input_type"`, `could not convert string to float: 'hot'`}},
		{"null", text(`5.steps=null`), []string{`not 'NoneType'`}},
		{"a number in a string is fine", text(`5.steps="2"`), nil},
		{"not in a long list", text(`5.sampler_name="magic"`), []string{`"value_not_in_list"`, `(list of length 44)`, `"input_config":null`}},
		{"wrong type of link", text(`5.model=["4", 0]`), []string{`"return_type_mismatch"`, `received_type(LATENT) mismatch input_type(MODEL)`}},
		{"dangling link", text(`5.latent_image=["99", 0]`), []string{`"exception_during_inner_validation"`, `'99'`}},
		{"dangling link of the output", img(`3.images=["99", 0]`), []string{`"exception_during_validation"`, `Exception when validating node: '99'`}},
		{"slot that is not there", text(`5.latent_image=["4", 7]`), []string{`"exception_during_inner_validation"`}},
		{"bad link", text(`5.model=["4"]`), []string{`"bad_linked_input"`}},
		{"circle", edit(t, imageGraph("ImageScale"), `2.image=["2", 0]`), []string{`"dependency_cycle"`}},
		{"no such image", parse(t, `{"1":{"class_type":"LoadImage","inputs":{"image":"x.png"}},
			"2":{"class_type":"SaveImage","inputs":{"images":["1",0],"filename_prefix":"s"}}}`),
			[]string{`"custom_validation_failed"`, `Invalid image file: x.png`}},
		{"missing input", parse(t, `{"1":{"class_type":"SaveImage","inputs":{}}}`),
			[]string{`"required_input_missing"`, `Required input is missing`, `"dependent_outputs":["1"]`}},
		{"no output", parse(t, `{"1":{"class_type":"EmptyImage","inputs":{}}}`), []string{`"prompt_no_outputs"`}},
		{"empty", parse(t, `{}`), []string{`"prompt_no_outputs"`}},
		{"no class", parse(t, `{"1":{"inputs":{}}}`), []string{`"missing_node_type"`}},
		{"a UI file", parse(t, `{"nodes":[],"links":[]}`), []string{`"missing_node_type"`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			body, _ := json.Marshal(object{{"prompt", tc.graph}})
			status, data := cl.request("POST", "/api/prompt", body)
			if want := map[bool]int{true: http.StatusOK, false: http.StatusBadRequest}[tc.want == nil]; status != want {
				t.Errorf("status %d, want %d: %s", status, want, data)
			}
			for _, w := range tc.want {
				if !strings.Contains(string(data), w) {
					t.Errorf("want %s in %s", w, data)
				}
			}
		})
	}
	if c.cmd.ProcessState != nil {
		t.Error("the server ended")
	}
}

func TestBadBodies(t *testing.T) {
	t.Parallel()
	_, cl := quick(t, newBase(t, false))
	for _, tc := range []struct {
		path, body string
		want       int
	}{
		{"/prompt", `{`, 500}, {"/prompt", `[]`, 500}, {"/prompt", `{"prompt": 3}`, 500},
		{"/prompt", `{}`, 400}, {"/free", `nonsense`, 500}, {"/queue", `{"clear": true}`, 200},
		{"/history", `{"delete": ["x"]}`, 200}, {"/interrupt", ``, 200}, {"/interrupt", `{"prompt_id": "x"}`, 200},
	} {
		if status, data := cl.request("POST", tc.path, []byte(tc.body)); status != tc.want {
			t.Errorf("POST %s %s: %d, want %d: %s", tc.path, tc.body, status, tc.want, data)
		}
	}
}

func TestReads(t *testing.T) {
	t.Parallel()
	dir := newBase(t, false, "sd15", "sdxl")
	_, cl := quick(t, dir)
	stats := cl.get("/api/system_stats").(object)
	want := parse(t, string(mustRead(t, "testdata/system_stats.json"))).(object)
	recorded, _ := want.get("029-cpu-sd15")
	if got, want := keys(stats), keys(recorded); got != want {
		t.Errorf("system_stats: got %s, want %s", got, want)
	}
	info, _ := json.Marshal(cl.get("/object_info/CheckpointLoaderSimple"))
	if !strings.Contains(string(info), `[["sd15.safetensors","sdxl.safetensors"],`) {
		t.Errorf("object_info: %s", info)
	}
	for path, want := range map[string]string{"/prompt": `{"exec_info":{"queue_remaining":0}}`, "/history": `{}`,
		"/history/none": `{}`, "/queue": `{"queue_running":[],"queue_pending":[]}`, "/object_info/None": `{}`,
		"/features": `{"supports_preview_metadata":true,"max_upload_size":104857600}`} {
		if got, _ := json.Marshal(cl.get(path)); string(got) != want {
			t.Errorf("GET %s: got %s, want %s", path, got, want)
		}
	}
}

func mustRead(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// keys are a JSON value's keys and types.
func keys(v any) string {
	switch v := v.(type) {
	case object:
		var words []string
		for _, p := range v {
			words = append(words, p.key+":"+keys(p.value))
		}
		return "{" + strings.Join(words, " ") + "}"
	case []any:
		if len(v) == 0 {
			return "[]"
		}
		return "[" + keys(v[0]) + "]"
	case json.Number:
		return "number"
	case string:
		return "string"
	case bool:
		return "bool"
	}
	return "null"
}

// TestSystemStatsOfVersions compares keys and types with the recordings.
func TestSystemStatsOfVersions(t *testing.T) {
	t.Parallel()
	want := parse(t, string(mustRead(t, "testdata/system_stats.json"))).(object)
	for _, p := range want {
		tr := readTranscript(t, p.key)
		t.Run(p.key, func(t *testing.T) {
			dir := newBase(t, false)
			c := start(t, dir, append(tr.simFlags(), tr.flags(t, dir)...)...)
			c.ready()
			got := connect(t, c).get("/system_stats")
			if g, w := keys(got), keys(p.value); g != w {
				t.Errorf("got %s\nwant %s", g, w)
			}
			if text, _ := json.Marshal(got); !strings.Contains(string(text), "imulated") {
				t.Errorf("not marked as simulated: %s", text)
			}
		})
	}
}

func TestSavedImage(t *testing.T) {
	t.Parallel()
	dir := newBase(t, false)
	_, cl := quick(t, dir)
	cl.post(edit(t, imageGraph("ImageScale"), `3.filename_prefix="sub/pic"`, "1.batch_size=2"))
	cl.follow(nil)
	file := filepath.Join(dir, "output", "sub", "pic_00002_.png")
	data := mustRead(t, file)
	if !strings.Contains(string(data), "tEXtprompt\x00{\"1\":{\"class_type\":\"EmptyImage\"") ||
		!strings.Contains(string(data), "tEXtsimulated") {
		t.Error("the text chunks are missing")
	}
	if img, err := png.Decode(strings.NewReader(string(data))); err != nil || img.Bounds().Dx() != 64 {
		t.Errorf("image: %v", err)
	}
	if status, seen := cl.request("GET", "/view?filename=pic_00001_.png&subfolder=sub&type=output", nil); status != 200 || len(seen) == 0 {
		t.Errorf("view: %d", status)
	}
	for _, bad := range []string{"/view?filename=x.png&subfolder=../..", "/view", "/view?filename=x.png&type=secret"} {
		if status, _ := cl.request("GET", bad, nil); status != http.StatusBadRequest {
			t.Errorf("%s: %d", bad, status)
		}
	}
	cl.post(edit(t, imageGraph("ImageScale"), `3.filename_prefix="../../evil"`))
	cl.follow(nil)
	if text := eventsText(cl); !strings.Contains(text, "outside the output folder") {
		t.Errorf("an image was saved outside: %s", text)
	}
}

func eventsText(cl *client) string {
	var b strings.Builder
	for _, e := range cl.events {
		text, _ := json.Marshal(e.data)
		b.WriteString(e.kind + " " + string(text) + "\n")
	}
	return b.String()
}

// With --cache-none a repeated prompt does all of its work again; with the cache
// of the default it does none.
func TestNodeCache(t *testing.T) {
	t.Parallel()
	for flag, want := range map[string]int{"--cache-none": 3, "--cache-classic": 0} {
		_, cl := quick(t, newBase(t, false), flag)
		for range 2 {
			cl.post(imageGraph("ImageScale"))
			cl.events = nil
			cl.follow(nil)
		}
		if got := strings.Count(eventsText(cl), `"executing","data":{"node":"`); got != want {
			t.Errorf("%s: the second prompt ran %d nodes, want %d", flag, got, want)
		}
	}
}

// Two clients: each hears of its own prompt only; status is for all.
func TestEventsGoToTheirClient(t *testing.T) {
	t.Parallel()
	c, cl := quick(t, newBase(t, false))
	other := connect(t, c) // the same id: it replaces the first socket
	other.post(imageGraph("ImageScale"))
	other.follow(nil)
	if text := eventsText(other); !strings.Contains(text, "execution_success") {
		t.Errorf("the newer socket heard nothing:\n%s", text)
	}
	select {
	case v := <-cl.frames:
		t.Errorf("the older socket of the same client heard %v", v)
	default:
	}
}
