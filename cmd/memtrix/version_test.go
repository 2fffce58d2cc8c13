package main

import (
	"runtime/debug"
	"strings"
	"testing"
)

func TestBuildWords(t *testing.T) {
	setting := func(k, v string) debug.BuildSetting { return debug.BuildSetting{Key: k, Value: v} }
	for _, c := range []struct {
		settings []debug.BuildSetting
		want     string
	}{
		{nil, "memtrix v1.2.3, go1.26 "},
		{[]debug.BuildSetting{setting("vcs.revision", "abc")}, "memtrix v1.2.3, commit abc, go1.26 "},
		{[]debug.BuildSetting{setting("vcs.revision", "abc"), setting("vcs.modified", "true")}, "memtrix v1.2.3, commit abc with changes, go1.26 "},
	} {
		info := &debug.BuildInfo{GoVersion: "go1.26", Main: debug.Module{Version: "v1.2.3"}, Settings: c.settings}
		if got := buildWords(info); !strings.HasPrefix(got, c.want) {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}
