package matrix

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"memtrix"
)

const smallest = "versions: [{sim: 0.29.0}]\nworkflows: [image]\n"

func mustParse(t *testing.T, text string) *Spec {
	t.Helper()
	s, err := Parse("dir/nightly.yaml", []byte(text))
	if err != nil {
		t.Fatalf("Parse: %v\n%s", err, text)
	}
	return s
}

// Every text in testdata/errors is a spec with, after "# want", the messages.
func TestParseErrors(t *testing.T) {
	files, err := filepath.Glob("testdata/errors/*.txt")
	if err != nil || len(files) < 5 {
		t.Fatalf("testdata/errors: %d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, one := range strings.Split(string(data), "\n=====\n") {
				spec, want, ok := strings.Cut(one, "# want\n")
				if !ok {
					t.Fatalf("no # want in %q", one)
				}
				_, err := Parse("nightly.yaml", []byte(spec))
				if err == nil {
					t.Errorf("no error for\n%s", spec)
					continue
				}
				if got, want := err.Error(), strings.TrimSpace(want); got != want {
					t.Errorf("spec:\n%s\ngot:\n%s\nwant:\n%s", spec, got, want)
				}
			}
		})
	}
}

// Bytes that no text file in testdata can hold.
func TestParseOddBytes(t *testing.T) {
	check := func(data, want string) {
		t.Helper()
		_, err := Parse("n.yaml", []byte(data))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%.40q): got %v, want %q", data, err, want)
		}
	}
	check("", "n.yaml:1:1: the spec is empty")
	check("# only a comment\n", "n.yaml:1:1: the spec is empty")
	check("---\n", "n.yaml:1:1: the spec is empty")
	check("name: '\xff'\n", "n.yaml:1:8: the spec is not UTF-8 text (byte 0xff)")
	check("\xff\xfen\x00a\x00", "n.yaml:1:1: the spec is not UTF-8")
	check("n\x00a\x00", "n.yaml:1:2: the spec holds a NUL byte")
	check("versions:\n\t- sim: 0.29.0\n", "n.yaml:2:1: not YAML: a tab is used for indentation")
	check("\tversions: x\n", "a tab is used for indentation")
	check(strings.Repeat("# \n", 100000), "more than 131072 bytes")
	check("a: "+strings.Repeat("[", 1000), "n.yaml:1:36: nested deeper than 32 levels")
	check(strings.Repeat("- ", 1000), "nested deeper than 32 levels")
	check("\r\n\r\nnam: x\r\n"+strings.ReplaceAll(smallest, "\n", "\r\n"), "n.yaml:3:1: unknown key \"nam\"")
	check("name: a\rnam: x\r", "n.yaml:2:1: unknown key \"nam\"")
}

func TestParseAcceptsOddFiles(t *testing.T) {
	mustParse(t, "\ufeff"+smallest)
	mustParse(t, strings.ReplaceAll(smallest, "\n", "\r\n"))
	mustParse(t, "---\n"+smallest+"...\n")
	mustParse(t, "# unclosed [[[[[ in a comment\n"+smallest)
	mustParse(t, `{"versions": [{"sim": "0.29.0"}], "workflows": ["image"]}`)
}

func TestErrorsHaveATypeAndAPlace(t *testing.T) {
	_, err := Parse("a.yaml", []byte("versions: [{sim: 0.29.0}]\nworkflows: [image]\nprompt: 3\n"))
	var one SpecError
	if !errors.As(err, &one) {
		t.Fatalf("%T is no SpecError", err)
	}
	if one.File != "a.yaml" || one.Line != 3 || one.Col != 1 {
		t.Errorf("got %+v", one)
	}
}

func TestManyErrorsAreCut(t *testing.T) {
	_, err := Parse("a.yaml", []byte(smallest+"env: {1x: y}\nmodels: ["+strings.Repeat("[], ", 200)+"]\n"))
	var all Errors
	if !errors.As(err, &all) || len(all) != 201 {
		t.Fatalf("got %d errors, want 201", len(all))
	}
	if got := strings.Count(err.Error(), "\n"); got != maxShown {
		t.Errorf("got %d lines, want %d", got+1, maxShown+1)
	}
	if !strings.HasSuffix(err.Error(), "... and 151 more") {
		t.Errorf("got end %q", err.Error()[len(err.Error())-40:])
	}
}

func TestParseDefaults(t *testing.T) {
	s := mustParse(t, smallest)
	if s.Name != "nightly" || s.Prompts != 3 || s.Repeats != 1 || s.Rest != 11*time.Second || !s.Free ||
		s.Interval != time.Millisecond || s.Budget != 0 || s.Control != nil {
		t.Errorf("got %+v", s)
	}
	want := Timeouts{5 * time.Minute, 30 * time.Minute, 10 * time.Minute, 15 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute}
	if s.Timeouts != want {
		t.Errorf("got %+v, want %+v", s.Timeouts, want)
	}
	if got, want := s.Settings, FirstLookSettings("gpu"); !reflect.DeepEqual(got, want) {
		t.Errorf("settings: got %+v, want the first look", got)
	}
	if !reflect.DeepEqual(s.Hardware, []memtrix.Hardware{AsIs}) {
		t.Errorf("hardware: got %+v", s.Hardware)
	}
}

// The example in the documentation is a spec, and says all there is.
func TestDocumentedExample(t *testing.T) {
	doc, err := os.ReadFile("../docs/spec.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(doc), -1)
	if len(blocks) != 1 {
		t.Fatalf("%d yaml blocks in docs/spec.md, want 1", len(blocks))
	}
	t.Setenv("HOME", "/home/ann")
	s := mustParse(t, blocks[0][1])
	for _, key := range specKeys {
		if !regexp.MustCompile(`(?m)^` + key + `:`).MatchString(blocks[0][1]) {
			t.Errorf("the example has no %s:", key)
		}
	}
	for _, def := range memtrix.SettingDefs {
		if !strings.Contains(string(doc), "| `"+def.Name+"` |") {
			t.Errorf("docs/spec.md does not name setting %s", def.Name)
		}
	}
	if got, want := s.Versions[2].Path, "/opt/ComfyUI"; got != want {
		t.Errorf("path: got %s, want %s", got, want)
	}
	if got, want := s.Workflows[2].File, "dir/my_workflow.json"; got != want {
		t.Errorf("file: got %s, want %s", got, want)
	}
	if got, want := s.Hardware[1], (memtrix.Hardware{Name: "card-8g", VRAM: 8 << 30}); !reflect.DeepEqual(got, want) {
		t.Errorf("hardware: got %+v, want %+v", got, want)
	}
	if got, want := string(s.Workflows[2].Set[1].Value), "1.0"; got != want {
		t.Errorf("set: got %s, want %s as it was written", got, want)
	}
	e := s.Expect[0]
	if e.Version != "0.29.0" || e.Workflow != "sd15" || e.Outcome != memtrix.OOM || e.Settings.String() != "dynamic-vram=off" {
		t.Errorf("expect: got %+v", e)
	}
	if v, ok := s.Env["PYTORCH_CUDA_ALLOC_CONF"]; !ok || v != "" {
		t.Errorf("env: got %q, %v", v, ok)
	}
	if len(s.Warnings) > 0 {
		t.Errorf("the example has warnings: %v", s.Warnings)
	}
}

func TestPaths(t *testing.T) {
	t.Setenv("HOME", "/home/ann")
	check := func(path, want string) {
		t.Helper()
		s := mustParse(t, "versions: [{path: '"+path+"', python: '"+path+"'}]\nworkflows: [image]\n")
		if got := s.Versions[0].Path; got != want {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
	check("/opt/a/../b", "/opt/b")
	check("../ComfyUI", "ComfyUI")
	check("~", "/home/ann")
	check("~/ComfyUI", "/home/ann/ComfyUI")
	check("~bob/x", "dir/~bob/x")
	s := mustParse(t, "versions: [{path: a, python: python3}, {path: b, python: venv/bin/python, name: b}]\nworkflows: [image]\n")
	if got, want := s.Versions[0].Python, "python3"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := s.Versions[1].Python, "dir/venv/bin/python"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestSettingValues(t *testing.T) {
	check := func(pair, want string) {
		t.Helper()
		s := mustParse(t, smallest+"settings: {base: {"+pair+"}}\n")
		if got := s.Settings.Base.String(); got != want {
			t.Errorf("%s: got %s, want %s", pair, got, want)
		}
	}
	for _, on := range []string{"on", "On", "yes", "true", "True", `"on"`, "'true'"} {
		check("dynamic-vram: "+on, "dynamic-vram=on")
	}
	for _, off := range []string{"off", "OFF", "no", "false", `"off"`} {
		check("dynamic-vram: "+off, "dynamic-vram=off")
	}
	check("vram-mode: no", "vram-mode=no")
	check("reserve-vram: 2", "reserve-vram=2")
	check("reserve-vram: 2.0", "reserve-vram=2")
	check("reserve-vram: 2.50", "reserve-vram=2.5")
	check("reserve-vram: '1e0'", "reserve-vram=1")
	check("async-offload: 3", "async-offload=3")
	check("async-offload: off", "async-offload=off")
	check("cache-lru: 10", "cache-lru=10")
}

func TestSetValuesAreJSON(t *testing.T) {
	check := func(yaml, want string) {
		t.Helper()
		s := mustParse(t, "versions: [{sim: 1}]\nworkflows: [{builtin: image, set: {1.x: "+yaml+"}}]\n")
		if got := string(s.Workflows[0].Set[0].Value); got != want {
			t.Errorf("%s: got %s, want %s", yaml, got, want)
		}
	}
	check("2", "2")
	check("-5", "-5")
	check("7.0", "7.0")
	check("18446744073709551615", "18446744073709551615")
	check("18446744073709551616", "18446744073709551616")
	check("0x1F", "31")
	check("1_000", "1000")
	check("1e3", "1e3")
	check("true", "true")
	check("euler", `"euler"`)
	check("'2'", `"2"`)
	check("'1e3'", `"1e3"`)
	check("enable", `"enable"`)
	check(`"a <b> \"c\" é"`, `"a <b> \"c\" é"`)
	check(`["4", 0]`, `["4",0]`)
}

func TestSizes(t *testing.T) {
	check := func(text string, want int64) {
		t.Helper()
		if got, err := parseSize(text); err != nil || got != want {
			t.Errorf("%s: got %d, %v, want %d", text, got, err, want)
		}
	}
	check("8GiB", 8<<30)
	check("8 GiB", 8<<30)
	check("1.5GiB", 3<<29)
	check("8192MiB", 8<<30)
	for _, bad := range []string{"8", "8GB", "8g", "-1GiB", "0GiB", "1KiB", "99999TiB", "x", "", "8gib"} {
		if got, err := parseSize(bad); err == nil {
			t.Errorf("%q: got %d, want an error", bad, got)
		}
	}
}

func TestWarnings(t *testing.T) {
	s := mustParse(t, smallest+`settings:
  axes: {dynamic-vram: [on, off]}
  exclude:
    - {vram-mode: low}
  include:
    - {dynamic-vram: off}
    - {cache: none}
`)
	want := "dir/nightly.yaml:6:7: exclude {vram-mode=low} matches no cell\n" +
		"dir/nightly.yaml:8:7: include {dynamic-vram=off} is there already"
	if got := s.Warnings.Error(); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestNearest(t *testing.T) {
	words := []string{"pinned-memory", "vram-mode", "cache", "cache-ram", "oom"}
	check := func(word, want string) {
		t.Helper()
		if got := nearest(word, words); got != want {
			t.Errorf("%s: got %q, want %q", word, got, want)
		}
	}
	check("pined-memory", "pinned-memory")
	check("pinned_memory", "pinned-memory")
	check("--PINNED-MEMORY", "pinned-memory")
	check("vram-moed", "vram-mode")
	check("chache", "cache")
	check("oon", "oom")
	check("x", "")
	check("something-else", "")
	check(strings.Repeat("cache", 1000), "")
	check("", "")
}

func FuzzParse(f *testing.F) {
	for _, glob := range []string{"testdata/errors/*.txt", "../docs/spec.md"} {
		files, err := filepath.Glob(glob)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			for _, one := range regexp.MustCompile("# want\n|\n=====\n|```(yaml)?\n").Split(string(data), -1) {
				f.Add([]byte(one))
			}
		}
	}
	f.Add(Template(Found{}))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Parse("fuzz.yaml", data)
		switch {
		case err == nil && (len(s.Versions) == 0 || len(s.Workflows) == 0 || len(s.Settings.Cells()) == 0):
			t.Errorf("a spec without cells passed: %q", data)
		case err != nil:
			var all Errors
			if !errors.As(err, &all) || len(all) == 0 {
				t.Errorf("error of type %T: %v", err, err)
			}
			for _, e := range all {
				if e.Line < 1 || e.Col < 1 {
					t.Errorf("no place: %v", e)
				}
			}
		}
	})
}
