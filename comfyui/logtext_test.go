package comfyui

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestClean(t *testing.T) {
	for _, c := range []struct {
		line string
		want []LogToken
	}{
		{"", nil},
		{"   ", nil},
		{"plain", []LogToken{{Text: "plain"}}},
		{"windows\r", []LogToken{{Text: "windows"}}},
		{"\x1b[32m[INFO]\x1b[0m got prompt", []LogToken{{Text: "got prompt", Level: "INFO"}}},
		{"\x1b[1m\x1b[31m[ERROR]\x1b[0m Port 8470", []LogToken{{Text: "Port 8470", Level: "ERROR"}}},
		{"\x1b[32m[INFO]\x1b[0m \x1b[32mPrompt executed in 18.65 seconds\x1b[0m", []LogToken{{Text: "Prompt executed in 18.65 seconds", Level: "INFO"}}},
		{"[2026-02-20 08:30:23.426] [INFO] hello", []LogToken{{Text: "hello", Level: "INFO", Stamp: "2026-02-20 08:30:23.426"}}},
		{"[INFO] [2026-02-20 08:30:23.426] hello", []LogToken{{Text: "hello", Level: "INFO", Stamp: "2026-02-20 08:30:23.426"}}},
		{"[2026-11-30 21:00:00.000] [info]  [INFO] got prompt", []LogToken{{Text: "got prompt", Level: "INFO", Stamp: "2026-11-30 21:00:00.000"}}},
		{"[2026-11-30 21:00:00.000] [error] ComfyUI version: 0.3.64\r", []LogToken{{Text: "ComfyUI version: 0.3.64", Stamp: "2026-11-30 21:00:00.000"}}},
		{"[info]  got prompt", []LogToken{{Text: "got prompt"}}},
		{"[Prompt Server] web root: /srv", []LogToken{{Text: "[Prompt Server] web root: /srv"}}},
		{"[INFO] [INFO] twice", []LogToken{{Text: "[INFO] twice", Level: "INFO"}}},
		{"\r  0%|          | 0/2\r 50%|#####     | 1/2\r100%|##########| 2/2", []LogToken{
			{Text: "  0%|          | 0/2", Redrawn: true}, {Text: " 50%|#####     | 1/2", Redrawn: true}, {Text: "100%|##########| 2/2"}}},
		{"one\ntwo", []LogToken{{Text: "one"}, {Text: "two"}}},
		{"\x1b]0;title\x07text\x1b[2K\x1b[1;31mred", []LogToken{{Text: "textred"}}},
		{"aimdo: a.c:276:INFO:inited", []LogToken{{Text: "aimdo: a.c:276:INFO:inited"}}},
	} {
		if got := Clean(c.line); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q: got %+v, want %+v", c.line, got, c.want)
		}
	}
}

// Whatever real servers printed is clean after Clean, and nothing of it is lost.
func TestCleanRecordings(t *testing.T) {
	files, err := filepath.Glob("testdata/logs/*.txt.gz")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d logs, %v", len(files), err)
	}
	for _, file := range files {
		text := string(gunzip(t, file))
		var all []string
		levels := 0
		for line := range strings.Lines(text) {
			for _, token := range Clean(strings.TrimSuffix(line, "\n")) {
				if strings.ContainsAny(token.Text, "\x1b\r\n") || levelTag.MatchString(token.Text) {
					t.Errorf("%s: not clean: %q", file, token.Text)
				}
				if token.Level != "" {
					levels++
				}
				all = append(all, token.Text)
			}
		}
		name := strings.TrimSuffix(filepath.Base(file), ".txt.gz")
		// Level tags came with 0.23.0.
		if tagged := strings.HasPrefix(name, "029") && name != "029-startup-unknown-flag"; (levels > 0) != tagged {
			t.Errorf("%s: %d lines with a level", name, levels)
		}
		joined := strings.Join(all, "\n")
		for _, want := range []string{"Starting server", "Checkpoint files will always be loaded safely.", "got prompt", "Prompt executed in "} {
			if n := strings.Count(text, want); strings.Count(joined, want) != n {
				t.Errorf("%s: %d of %q, want %d", name, strings.Count(joined, want), want, n)
			}
		}
	}
}

func TestStandardJSON(t *testing.T) {
	for in, want := range map[string]string{
		`{"a": NaN, "b": [-Infinity, Infinity], "c": "NaN \" Infinity"}`: `{"a": null, "b": [null, null], "c": "NaN \" Infinity"}`,
		`{"a": 1}`: `{"a": 1}`,
		`"\\" NaN`: `"\\" null`,
	} {
		if got := string(standardJSON([]byte(in))); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func BenchmarkClean(b *testing.B) {
	for b.Loop() {
		Clean("\x1b[32m[INFO]\x1b[0m \x1b[32mPrompt executed in 18.65 seconds\x1b[0m")
	}
}

func FuzzClean(f *testing.F) {
	data, err := os.ReadFile("logtext.go")
	if err != nil {
		f.Fatal(err)
	}
	f.Add("\x1b[32m[INFO]\x1b[0m got\r50%")
	f.Add(string(data[:200]))
	f.Fuzz(func(t *testing.T, line string) {
		for _, token := range Clean(line) {
			if token.Text == "" || strings.ContainsAny(token.Text, "\r\n") {
				t.Errorf("%q gives %+v", line, token)
			}
		}
	})
}
