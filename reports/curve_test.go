package reports

import (
	"bytes"
	"image/png"
	"strings"
	"testing"
)

func someCurve() Curve {
	return Curve{
		Title: "least free VRAM on this card", Axis: "free VRAM, GiB", Notes: []string{"sdxl: passes with 3072 MiB"},
		Lines: []CurveLine{
			{Name: "default", Border: 3, Points: []CurvePoint{
				{Size: 140, Label: "143360 MiB", Seconds: 1.1, Pass: true, AsIs: true, Outcome: "pass", Trial: 1},
				{Size: 4, Label: "4096 MiB", Seconds: 2.2, Pass: true, Outcome: "pass", Detail: "took 3.9 GiB", Trial: 2},
				{Size: 2, Label: "2048 MiB", Outcome: "oom (vram)", Trial: 3},
				{Size: 3, Label: "3072 MiB", Seconds: 4.4, Pass: true, Outcome: "pass", Trial: 4},
			}},
			{Name: "none passes", Points: []CurvePoint{{Size: 5, Label: "5120 MiB", Outcome: "killed", AsIs: true, Trial: 5}}},
		},
	}
}

func TestCurveTable(t *testing.T) {
	var b bytes.Buffer
	if err := CurveTable(&b, someCurve()); err != nil {
		t.Fatal(err)
	}
	golden(t, "curve", b.String())
}

// Also of a search that has only begun there is a picture.
func TestDrawCurve(t *testing.T) {
	simulated := someCurve()
	simulated.Simulated = true
	for name, c := range map[string]Curve{"some": someCurve(), "simulated": simulated, "empty": {}, "one": {Lines: []CurveLine{{Points: []CurvePoint{{Size: 1, Pass: true}}}}}} {
		var p, s bytes.Buffer
		if err := DrawCurve(&p, c, PNG); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if _, err := png.Decode(&p); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := DrawCurve(&s, c, SVG); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := strings.Contains(s.String(), "SIMULATED"); got != c.Simulated {
			t.Errorf("%s: marked as simulated: %v", name, got)
		}
	}
}
