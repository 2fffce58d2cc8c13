package comfyui

import (
	"strings"
	"testing"

	"memtrix"
)

func TestRefuses(t *testing.T) {
	dir := t.TempDir()
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
	check(memtrix.Job{Extra: []string{"--verbose", "DEBUG"}, Models: []string{dir}}, nil)
	check(memtrix.Job{Extra: []string{"--listen=0.0.0.0"}}, map[string]string{"args": "memtrix sets --listen itself"})
	check(memtrix.Job{Extra: []string{"word"}}, map[string]string{"args": `"word" is no flag`})
	check(memtrix.Job{Models: []string{dir, dir + "/nothere"}},
		map[string]string{"models": "nothere does not exist"})
}
