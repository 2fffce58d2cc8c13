package main

import (
	"context"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// Scripts depend on exit statuses: each command's help tells them, or that of the command
// it belongs to, and once.
func TestHelpTellsStatuses(t *testing.T) {
	parser, err := kong.New(&cli{})
	if err != nil {
		t.Fatal(err)
	}
	own := map[string]bool{"run": true, "report": true, "export": true, "leak": true, "floor": true, "ceiling": true, "diagnose": true, "record": true}
	seen := 0
	for _, n := range parser.Model.Leaves(true) {
		seen++
		words := strings.Fields(n.FullPath())[1:]
		told := 0
		for i := range words {
			var out strings.Builder
			if code := run(app{context.Background(), strings.NewReader(""), &out, &out}, append(append([]string{}, words[:i+1]...), "--help")); code != exitOK {
				t.Errorf("%q --help exits with %d", words, code)
			}
			text := strings.Join(strings.Fields(out.String()), " ")
			told += strings.Count(text, exitWord+":") + strings.Count(text, exitWord+" of ")
			if own[words[0]] && strings.Contains(text, plainStatus) {
				t.Errorf("%q has more to tell than the plain statuses", words)
			}
		}
		if told != 1 {
			t.Errorf("%q --help tells exit statuses %d times, want once", words, told)
		}
	}
	if seen < 25 {
		t.Errorf("%d commands were looked at, want all", seen)
	}
}
