package comfyui

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"memtrix"
)

func TestRefuses(t *testing.T) {
	dir := t.TempDir()
	pack := filepath.Join(dir, "custom_nodes", "here")
	if err := os.MkdirAll(pack, 0o755); err != nil {
		t.Fatal(err)
	}
	v := memtrix.Version{Name: "0.29.0", Release: "0.29.0", Dir: dir}
	check := func(job memtrix.Job, want map[string]string) {
		t.Helper()
		got := (&Target{}).Refuses(v, job)
		if len(got) != len(want) {
			t.Errorf("want %v, got %v", want, got)
		}
		for key, text := range want {
			if got[key] == nil || !strings.Contains(got[key].Error(), text) {
				t.Errorf("%s: want %q, got %v", key, text, got[key])
			}
		}
	}
	check(memtrix.Job{}, nil)
	check(memtrix.Job{Extra: []string{"--verbose", "DEBUG"}, Models: []string{dir}, CustomNodes: []string{"here"}}, nil)
	check(memtrix.Job{Extra: []string{"--listen=0.0.0.0"}}, map[string]string{"args": "memtrix sets --listen itself"})
	check(memtrix.Job{Extra: []string{"word"}}, map[string]string{"args": `"word" is no flag`})
	check(memtrix.Job{Models: []string{dir, dir + "/nothere"}, CustomNodes: []string{"gone"}},
		map[string]string{"models": "nothere does not exist", "custom-nodes": `"gone" is not there`})
}
