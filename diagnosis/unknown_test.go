package diagnosis

import (
	"strings"
	"testing"
	"time"

	"memtrix"
)

// Ensure that the end of a server that memtrix did not start is explained as far as
// the evidence goes, and no further.
func TestEndedUnknown(t *testing.T) {
	unknown := memtrix.Exit{Unknown: true}
	events := []memtrix.Event{{Kind: memtrix.EventReady}, {At: time.Second, Kind: memtrix.EventPromptStart, Prompt: 1}}
	check := func(e Evidence, kind memtrix.OutcomeKind, memory memtrix.Memory, words string) {
		t.Helper()
		e.Events, e.Died, e.Ready = events, true, true
		o := Judge(e)
		if o.Kind != kind || o.Memory != memory || !strings.Contains(o.Message, words) {
			t.Errorf("got %s %s %q, want %s %s %q", o.Kind, o.Memory, o.Message, kind, memory, words)
		}
	}
	check(Evidence{Exit: unknown}, memtrix.Killed, memtrix.MemoryUnknown, "how it ended is not known")
	check(Evidence{Exit: unknown, Log: []memtrix.LogLine{{Stream: "kernel", Text: "Out of memory: Killed process 12 (python) total-vm:1kB, anon-rss:1kB"}}},
		memtrix.OOM, memtrix.MemoryRAM, "out of memory: ram, killed")
	short := memtrix.Series{Meter: memtrix.Meter{Name: memtrix.RAMHostAvailable}, T: []time.Duration{0, 5 * time.Second}, V: []int64{8 << 30, 100 << 20}}
	check(Evidence{Exit: unknown, Series: []memtrix.Series{short}}, memtrix.OOM, memtrix.MemoryRAM, "the server went away when it was short")
	check(Evidence{Exit: memtrix.Exit{Signal: "KILL"}, Series: []memtrix.Series{short}}, memtrix.OOM, memtrix.MemoryRAM, "out of memory: ram, killed")
	check(Evidence{}, memtrix.Killed, memtrix.MemoryNone, "exit status 0")
}
