package runner

import (
	"slices"
	"testing"

	"memtrix"
)

// A peak of the kernel's counts where no reading was as large.
func TestAbove(t *testing.T) {
	p := func(meter string, v int64) memtrix.Peak { return memtrix.Peak{Meter: meter, Value: v} }
	others := []memtrix.Peak{p("a", 10), p("b", 10)}
	got := above([]memtrix.Peak{p("a", 11), p("b", 10), p("c", 1)}, others)
	if want := []memtrix.Peak{p("a", 11), p("c", 1)}; !slices.Equal(got, want) {
		t.Errorf("want %v, got %v", want, got)
	}
}
