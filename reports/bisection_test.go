package reports

import (
	"bytes"
	"strings"
	"testing"
)

func TestDrawBisection(t *testing.T) {
	d := BisectionDrawing{
		Title: "bisection along commits: peak", Axis: "commits", Values: "MiB", Candidates: 40, Posterior: make([]float64, 40), From: 17, To: 17, Note: "abc",
		Points: []BisectionPoint{{Index: 0, Value: 10}, {Index: 39, Value: 20}, {Index: 20, Untestable: true}, {Index: 17, Value: 20}},
	}
	d.Posterior[17] = 0.97
	var svg bytes.Buffer
	if err := DrawBisection(&svg, d, SVG); err != nil || !strings.Contains(svg.String(), "first bad") || !strings.Contains(svg.String(), "</svg>") {
		t.Errorf("got %d bytes, %v", svg.Len(), err)
	}
	// What was stopped early has nothing to be scaled by.
	for _, empty := range []BisectionDrawing{{}, {Candidates: 2, Points: []BisectionPoint{{Bad: true}, {Index: 1}}}, {Candidates: 2, Values: "MiB", Points: []BisectionPoint{{Untestable: true}}}} {
		var png bytes.Buffer
		if err := DrawBisection(&png, empty, PNG); err != nil || png.Len() == 0 {
			t.Errorf("%+v: %v", empty, err)
		}
	}
}
