package pyenv

import (
	"reflect"
	"testing"
)

// What `pip index versions` says, the newest first.
func TestCutVersions(t *testing.T) {
	const said = "comfy-kitchen (0.2.40)\nAvailable versions: 0.2.10, 0.2.9, 0.2.8, 0.2.7, 0.2.6\n  INSTALLED: 0.2.8\n"
	for _, c := range []struct {
		from, to string
		want     []string
	}{
		{"0.2.6", "0.2.10", []string{"0.2.7", "0.2.8", "0.2.9"}},
		{"0.2.10", "0.2.7", []string{"0.2.9", "0.2.8"}},
		{"0.2.9", "0.2.10", []string{}},
		{"0.2.10", "0.2.9", []string{}},
	} {
		if got, err := cutVersions(said, "comfy-kitchen", c.from, c.to); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s to %s: got %q (%v), want %q", c.from, c.to, got, err, c.want)
		}
	}
	for _, bad := range []string{"0.1.0", ""} {
		if got, err := cutVersions(said, "comfy-kitchen", bad, "0.2.10"); err == nil {
			t.Errorf("%q is not listed: got %q", bad, got)
		}
	}
	if _, err := cutVersions("", "x", "1", "2"); err == nil {
		t.Error("nothing said is an error")
	}
}
