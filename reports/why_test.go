package reports

import (
	"strings"
	"testing"

	"memtrix/why"
)

// A suggestion begins with a word of its own: without one it reads as if it belonged to
// the line of a script that stands above it.
func TestWhySteps(t *testing.T) {
	a := why.Answer{Found: true, What: "VRAM ran out", Steps: []why.Step{
		{Text: "start without --highvram", Where: &why.Where{File: "run.bat", Line: 2, New: "python main.py"}},
		{Text: "the same model in FP8"},
		{Text: "a smaller picture"},
	}}
	var b strings.Builder
	if err := WhyText(&b, a); err != nil {
		t.Fatal(err)
	}
	want := `VRAM ran out.
  change    start without --highvram
  where     line 2 of run.bat becomes
              python main.py
  or        the same model in FP8
  or        a smaller picture
`
	if got := b.String(); !strings.HasPrefix(got, want) {
		t.Errorf("want\n%sgot\n%s", want, got)
	}
}
