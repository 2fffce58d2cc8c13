package calibrate

import (
	"fmt"
	"testing"
	"time"
)

func TestS(t *testing.T) {
	start := time.Now()
	for seed := range uint64(6) {
		s := Suite{Cells: 60, Meters: 6, Nights: 365, History: 60, Seed: seed, Kinds: Generators()}
		y := s.Run()
		fmt.Println(y.FalseAlarms, y.FalseOf, y.RepeatsOf, 100*float64(y.Repeats)/float64(y.Trials))
		s.Changes, s.Step = 12, 5
		y = s.Run()
		fmt.Println("   ", y.FalseAlarms, y.FalseOf, y.RepeatsOf, 100*float64(y.Repeats)/float64(y.Trials), y.Found, y.Of)
	}
	fmt.Println(time.Since(start))
}
