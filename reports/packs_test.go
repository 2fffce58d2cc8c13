package reports

import (
	"strings"
	"testing"

	"memtrix"
)

// A version's packs are told once, with what their import cost or why that is not
// known.
func TestPackNotes(t *testing.T) {
	seconds, ram := 1.5, int64(200<<20)
	v := memtrix.Version{Name: "0.29.0", Packs: []memtrix.Pack{{Name: "a", Commit: "0123456789", Hash: "x"}, {Name: "b", Hash: "abcdef0123", Dirty: false}}}
	trial := func(id int64, imports ...memtrix.PackImport) *memtrix.Trial {
		return &memtrix.Trial{ID: id, Cell: memtrix.Cell{Version: v}, Imports: imports}
	}
	got := packNotes([]*memtrix.Trial{
		trial(1),
		trial(2, memtrix.PackImport{Pack: "a", Seconds: &seconds, RAMWhy: "for a reason"}, memtrix.PackImport{Pack: "b", Failed: true, Seconds: &seconds},
			memtrix.PackImport{Pack: "*", Seconds: &seconds, RAM: &ram}),
		trial(3, memtrix.PackImport{Pack: "a", Seconds: &seconds}),
	})
	why := "the log does not say"
	shared := packNotes([]*memtrix.Trial{trial(4, memtrix.PackImport{Pack: "a", Seconds: &seconds, RAMWhy: why}, memtrix.PackImport{Pack: "b", Seconds: &seconds, RAMWhy: why})})
	if got, want := strings.Join(shared, "\n"), "custom nodes of 0.29.0 (trial 4): a 01234567 (imported in 1.5 s); b #abcdef01 (imported in 1.5 s); RAM of each not told: the log does not say"; got != want {
		t.Errorf("one reason for all: got %q, want %q", got, want)
	}
	want := "custom nodes of 0.29.0 (trial 2): a 01234567 (imported in 1.5 s, RAM not told: for a reason); " +
		"b #abcdef01 (import failed); all together (imported in 1.5 s, RAM +200 MiB)"
	if strings.Join(got, "\n") != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
