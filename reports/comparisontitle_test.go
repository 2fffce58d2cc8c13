package reports

import (
	"testing"

	"memtrix"
	"memtrix/history"
)

// Two sessions may have several versions, of which each is compared with itself: the
// titles tell them apart. Where the two sides are two versions nobody needs to be told.
func TestPairTitle(t *testing.T) {
	of := func(names ...string) (list []*memtrix.Brief) {
		for _, n := range names {
			list = append(list, &memtrix.Brief{Trial: &memtrix.Trial{Cell: memtrix.Cell{Version: memtrix.Version{Name: n}}}})
		}
		return list
	}
	for want, p := range map[string]history.CellPair{
		"sd15, cache=none, ram-3g: master": {Workflow: "sd15", Settings: "cache=none", Hardware: "ram-3g", A: of("master", "master"), B: of("master")},
		"sd15 on H200: frozen":             {Workflow: "sd15", Settings: "default", Card: "H200", A: of("frozen"), B: of("frozen")},
		"sd15":                             {Workflow: "sd15", Settings: "default", A: of("0.28.0"), B: of("0.29.0")},
	} {
		if got := pairTitle(p); got != want {
			t.Errorf("want %q, got %q", want, got)
		}
	}
}
