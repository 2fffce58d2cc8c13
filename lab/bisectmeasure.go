package lab

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"memtrix"
)

// Measure is what a bisection compares: an outcome, or one value of a trial.
//
//	outcome               how the trial ended
//	METER                 the peak of a meter over the trial's work (ram.tree.rss)
//	start:METER           its peak until the first prompt: the start-up
//	rested:METER          its reading at rest after the last prompt; freed: after POST /free
//	floor.vram, floor.ram the least memory with which it passes: of the ends, and then the
//	                      outcome at a size between theirs
//	seconds               the last prompt; start-seconds until the server answered
type Measure string

// Measures that are no meter's.
const (
	MeasureOutcome      Measure = "outcome"
	MeasureSeconds      Measure = "seconds"
	MeasureStartSeconds Measure = "start-seconds"
)

const (
	startPrefix  = "start:"
	restedPrefix = "rested:" // memtrix.Rested
	freedPrefix  = "freed:"  // memtrix.Freed
)

// ParseMeasure reads a measure as a person writes it; "" is left to be decided.
func ParseMeasure(text string) (Measure, error) {
	m := Measure(text)
	if text == "" || m == MeasureOutcome || m == MeasureSeconds || m == MeasureStartSeconds {
		return m, nil
	}
	if _, ok := m.Floor(); ok {
		return m, nil
	}
	meter := m.meter()
	for _, prefix := range []string{"floor.", memtrix.CeilingPrefix, memtrix.LeakPrefix, "oom."} {
		if strings.HasPrefix(meter, prefix) {
			return "", fmt.Errorf("%q is no value of one trial; of those that take several only the floor can be bisected: floor.vram, floor.ram", text)
		}
	}
	if strings.Contains(meter, ":") || !strings.Contains(meter, ".") {
		return "", fmt.Errorf("%q is no measure: outcome, seconds, start-seconds, floor.vram, floor.ram, or a meter (ram.tree.rss, vram.trial.used ...), as its peak, or after start:, rested: or freed: (start:ram.tree.rss)", text)
	}
	return m, nil
}

// Floor is the memory of whose floor a measure is, or false.
func (m Measure) Floor() (FloorMeter, bool) {
	switch m {
	case memtrix.FloorVRAM:
		return FloorOfVRAM, true
	case memtrix.FloorRAM:
		return FloorOfRAM, true
	}
	return "", false
}

func (m Measure) meter() string {
	for _, prefix := range []string{startPrefix, restedPrefix, freedPrefix} {
		if meter, ok := strings.CutPrefix(string(m), prefix); ok {
			return meter
		}
	}
	return string(m)
}

// Bytes reports whether values are bytes; else they are seconds.
func (m Measure) Bytes() bool { return m != MeasureSeconds && m != MeasureStartSeconds }

// Alone reports whether other trials on the machine at the same time, on other cards,
// leave a value as it is. They take from the host's memory, by which ComfyUI decides what
// it keeps there, and slow each other down; a card is one trial's alone.
func (m Measure) Alone() bool {
	if at, ok := m.Floor(); ok {
		return at == FloorOfVRAM
	}
	return m == MeasureOutcome || strings.HasPrefix(m.meter(), "vram.")
}

// Words say what a value is, for people.
func (m Measure) Words() string {
	switch {
	case m == MeasureOutcome:
		return "the outcome"
	case m == memtrix.FloorVRAM:
		return "the floor of VRAM"
	case m == memtrix.FloorRAM:
		return "the floor of RAM"
	case m == MeasureSeconds:
		return "seconds of the last prompt"
	case m == MeasureStartSeconds:
		return "seconds of the start"
	case strings.HasPrefix(string(m), startPrefix):
		return "start-up peak of " + m.meter()
	case strings.HasPrefix(string(m), restedPrefix):
		return m.meter() + " at rest"
	case strings.HasPrefix(string(m), freedPrefix):
		return m.meter() + " after /free"
	}
	return "peak of " + m.meter()
}

// Of is the value of a trial, or false where it has none. Of a trial that did not pass
// only the start can be told, where that was passed.
func (m Measure) Of(t *memtrix.Trial) (float64, bool) {
	early := m == MeasureStartSeconds || strings.HasPrefix(string(m), startPrefix)
	if t.Outcome.Kind != memtrix.Pass && (!early || !started(t)) {
		return 0, false
	}
	switch {
	case m == MeasureSeconds:
		for _, p := range slices.Backward(t.Prompts) {
			if p.Outcome == memtrix.Pass {
				return p.Seconds, true
			}
		}
		return 0, false
	case m == MeasureStartSeconds:
		for _, s := range t.Spans {
			if s.Kind == memtrix.SpanStart {
				return (s.End - s.Start).Seconds(), true
			}
		}
		return 0, false
	case early:
		return startPeak(t, m.meter())
	case strings.HasPrefix(string(m), restedPrefix):
		return reading(t, memtrix.Rested, m.meter())
	case strings.HasPrefix(string(m), freedPrefix):
		return reading(t, memtrix.Freed, m.meter())
	}
	p, ok := t.Peak(m.meter())
	return float64(p.Value), ok
}

// started reports whether the server of a trial answered.
func started(t *memtrix.Trial) bool {
	return slices.ContainsFunc(t.Spans, func(s memtrix.Span) bool { return s.Kind == memtrix.SpanIdle || s.Kind == memtrix.SpanPrompt })
}

func startPeak(t *memtrix.Trial, meter string) (float64, bool) {
	best, found := 0.0, false
	for _, s := range t.Spans {
		if s.Kind != memtrix.SpanStart && s.Kind != memtrix.SpanIdle {
			continue
		}
		for _, p := range s.Peaks {
			if p.Meter == meter {
				best, found = max(best, float64(p.Value)), true
			}
		}
	}
	return best, found
}

func reading(t *memtrix.Trial, kind memtrix.ReadingKind, meter string) (float64, bool) {
	for _, r := range slices.Backward(t.Readings) {
		if v, ok := r.Values[meter]; ok && r.Kind == kind {
			return float64(v), true
		}
	}
	return 0, false
}

// measures are those that are looked at where none was asked for, those of memory
// first.
var measures = []Measure{
	memtrix.VRAMTrialUsed, memtrix.VRAMDeviceUsed, restedPrefix + memtrix.VRAMTrialUsed,
	memtrix.RAMTreeRSS, memtrix.RAMTreeAnon, restedPrefix + memtrix.RAMTreeRSS, restedPrefix + memtrix.RAMTreeAnon,
	startPrefix + memtrix.RAMTreeRSS, startPrefix + memtrix.RAMTreeAnon,
	// Of the first process alone: a child that is forked counts its parent's memory
	// once more, for a moment, in what is summed over the tree.
	memtrix.RAMProcessRSS, startPrefix + memtrix.RAMProcessRSS,
	MeasureSeconds,
}

// Gap is by how much the ends differ in one measure.
type Gap struct {
	Measure   Measure `json:"measure"`
	Good, Bad float64 `json:"-"`
	// Noise is the difference in units of the noise.
	Noise float64 `json:"noise_units"`
}

// Least noise that is believed: of some runs it may look smaller than it is.
const (
	leastNoiseShare = 0.001
	leastNoiseBytes = 1 << 20
	leastNoiseTime  = 0.05
)

// Gaps measures how far the ends are apart, the measure that differs most first. Of
// two that differ alike that one comes first that is named first in measures; seconds
// come last, whatever they say: memory is what is asked for.
func Gaps(good, bad []*memtrix.Trial) []Gap {
	var gaps []Gap
	for _, m := range measures {
		g, b := valuesOf(m, good), valuesOf(m, bad)
		if len(g) == 0 || len(b) == 0 {
			continue
		}
		mg, sg := meanAndSquares(g)
		mb, sb := meanAndSquares(b)
		sd := 0.0
		if n := len(g) + len(b) - 2; n > 0 {
			sd = math.Sqrt((sg + sb) / float64(n))
		}
		least := float64(leastNoiseBytes)
		if !m.Bytes() {
			least = leastNoiseTime
		}
		sd = max(sd, least, leastNoiseShare*max(mg, mb))
		gaps = append(gaps, Gap{Measure: m, Good: mg, Bad: mb, Noise: math.Abs(mb-mg) / sd})
	}
	slices.SortStableFunc(gaps, func(a, b Gap) int {
		if a.Measure.Bytes() != b.Measure.Bytes() {
			return map[bool]int{true: -1, false: 1}[a.Measure.Bytes()]
		}
		switch {
		case a.Noise > b.Noise*1.25:
			return -1
		case b.Noise > a.Noise*1.25:
			return 1
		}
		return 0
	})
	return gaps
}

func valuesOf(m Measure, trials []*memtrix.Trial) []float64 {
	var out []float64
	for _, t := range trials {
		if v, ok := m.Of(t); ok {
			out = append(out, v)
		}
	}
	return out
}

// meanAndSquares gives the mean, and the sum of the squares of what differs from it.
func meanAndSquares(v []float64) (mean, squares float64) {
	for _, x := range v {
		mean += x / float64(len(v))
	}
	for _, x := range v {
		squares += (x - mean) * (x - mean)
	}
	return mean, squares
}

// clearly is how many noise units apart the ends must be, by how many runs each of them
// has. A dozen measures are looked at, several times: with noise alone one of them gets
// there in less than one of a hundred bisections.
var clearly = map[int]float64{2: 14, 3: 8, 4: 6, 5: 5}

// mostEndRuns are the runs of each end after which no difference was found.
const mostEndRuns = 5
