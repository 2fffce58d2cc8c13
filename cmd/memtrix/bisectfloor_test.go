package main

import (
	"testing"

	"memtrix"
)

// A floor of another card, or found under other flags, does not serve.
func TestSameMachine(t *testing.T) {
	now := memtrix.Environment{"gpu.0.uuid": "GPU-1", "ram.total": "8", "env.A": "1", "kernel": "6.8"}
	for _, c := range []struct {
		name string
		then memtrix.Environment
		want bool
	}{
		{"the same", memtrix.Environment{"gpu.0.uuid": "GPU-1", "ram.total": "8", "env.A": "1", "kernel": "6.9", "banner.vram-state": "NORMAL"}, true},
		{"another card", memtrix.Environment{"gpu.0.uuid": "GPU-2", "ram.total": "8", "env.A": "1"}, false},
		{"two cards", memtrix.Environment{"gpu.0.uuid": "GPU-1", "gpu.1.uuid": "GPU-2", "ram.total": "8", "env.A": "1"}, false},
		{"no card", memtrix.Environment{"ram.total": "8", "env.A": "1"}, false},
		{"more RAM", memtrix.Environment{"gpu.0.uuid": "GPU-1", "ram.total": "16", "env.A": "1"}, false},
		{"a flag", memtrix.Environment{"gpu.0.uuid": "GPU-1", "ram.total": "8", "env.A": "1", "args": "--fast"}, false},
		{"a variable", memtrix.Environment{"gpu.0.uuid": "GPU-1", "ram.total": "8"}, false},
	} {
		if got := sameMachine(now, c.then); got != c.want {
			t.Errorf("%s: got %t", c.name, got)
		}
	}
}
