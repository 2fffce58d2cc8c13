package matrix

import (
	"strings"
	"testing"
)

// TestServers reads what may stand beside url:, and checks that a spec of servers
// alone asks for no settings.
func TestServers(t *testing.T) {
	s := mustParse(t, `
versions:
  - http://127.0.0.1:8188
  - {url: "https://box/comfy/", name: mine, pid: 12, interrupt: own, free: on}
workflows: [image]
models: [/m]
timeouts: {queue: 5s}
`)
	first, second := s.Versions[0], s.Versions[1]
	if first.URL != "http://127.0.0.1:8188" || first.label() != first.URL || first.Interrupt || first.Free {
		t.Errorf("first: %+v", first)
	}
	if second.URL != "https://box/comfy/" || second.PID != 12 || !second.Interrupt || !second.Free || second.Name != "mine" {
		t.Errorf("second: %+v", second)
	}
	if got := s.Settings.Cells(); len(got) != 1 || len(got[0]) != 0 {
		t.Errorf("settings: %v, want the server as it is", got)
	}
	if s.Timeouts.Queue.Seconds() != 5 {
		t.Errorf("queue: %v", s.Timeouts.Queue)
	}
	if len(s.Warnings) != 1 || !strings.Contains(s.Warnings[0].Msg, "models: is not about") {
		t.Errorf("warnings: %v", s.Warnings)
	}
	mixed := mustParse(t, "versions: [{sim: 0.29.0}, 'http://127.0.0.1:1']\nworkflows: [image]\n")
	if got := len(mixed.Settings.Cells()); got < 5 {
		t.Errorf("a spec with others, too, has %d cells, want the first look", got)
	}
}
