package versions

import (
	"strings"
	"testing"

	"memtrix"
)

// A Python without torch is told before anything runs; one of which nothing is known
// is not accused.
func TestLacksTorch(t *testing.T) {
	for _, c := range []struct {
		packages map[string]string
		want     string
	}{
		{map[string]string{"pip": "24"}, "/usr/bin/python3 has no torch"},
		{map[string]string{"torch": "2.11.0"}, ""},
		{nil, ""},
	} {
		got := LacksTorch(memtrix.Version{Name: "mine", Python: "/usr/bin/python3", Packages: c.packages})
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%v: got %q, want %q", c.packages, got, c.want)
		}
	}
}
