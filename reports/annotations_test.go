package reports

import (
	"strings"
	"testing"

	"memtrix"
	"memtrix/history"
)

// What a server or a person wrote ends no workflow command and starts none.
func TestAnnotations(t *testing.T) {
	trial := &memtrix.Trial{
		Cell:    memtrix.Cell{Version: memtrix.Version{Name: "a,b:c"}, Workflow: memtrix.Workflow{Name: "x\n::error::y"}},
		Outcome: memtrix.Outcome{Kind: memtrix.Error, Message: "100 % wrong\r\n::stop-commands::z"},
	}
	var b strings.Builder
	r := Review{Opened: []history.Alarm{{ID: 3, Title: "new-oom in sdxl"}}, Fixed: []history.Alarm{{ID: 2, Title: "old"}}}
	if err := Annotations(&b, []*memtrix.Trial{trial, {Outcome: memtrix.Outcome{Kind: memtrix.Pass}}}, r); err != nil {
		t.Fatal(err)
	}
	want := "::error title=memtrix alarm 3::new-oom in sdxl\n" +
		"::error title=x %3A%3Aerror%3A%3Ay%2C default on a%2Cb%3Ac::error: 100 %25 wrong%0A::stop-commands::z\n" +
		"::notice title=memtrix alarm 2 is fixed::old\n"
	if got := b.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
