package reports

import (
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"

	"memtrix"
)

const (
	// workShare is the part of a timeline's width that its prompts should have.
	workShare = 0.6
	// mostStretch limits by how much they are drawn wider than they are.
	mostStretch = 12
)

// timeAxis maps time to the width of a picture, 0 to 1, in stretches of
// different scale: a server starts and rests for longer than it works, and the
// work is what one wants to see. Its ticks tell the true time.
type timeAxis struct {
	stretches []stretch
	// folded is set when scales differ.
	folded bool
}

type stretch struct {
	from, to time.Duration
	x0, x1   float64
}

// newTimeAxis makes the axis of a trial that ended at end.
func newTimeAxis(spans []memtrix.Span, end time.Duration) timeAxis {
	if end <= 0 {
		end = time.Second
	}
	first, last := end, time.Duration(0)
	for _, s := range spans {
		if s.Kind == memtrix.SpanPrompt {
			first, last = min(first, max(s.Start, 0)), max(last, min(s.End, end))
		}
	}
	natural := (last - first).Seconds() / end.Seconds()
	if last <= first || natural >= workShare {
		return timeAxis{stretches: []stretch{{0, end, 0, 1}}}
	}
	work := min(workShare, natural*mostStretch)
	before := (1 - work) * first.Seconds() / (end - last + first).Seconds()
	all := []stretch{{0, first, 0, before}, {first, last, before, before + work}, {last, end, before + work, 1}}
	axis := timeAxis{folded: true}
	for _, s := range all {
		if s.to > s.from {
			axis.stretches = append(axis.stretches, s)
		}
	}
	return axis
}

// at is the place of a time, from 0 to 1.
func (a timeAxis) at(t time.Duration) float64 {
	for i, s := range a.stretches {
		if t <= s.to || i == len(a.stretches)-1 {
			share := (t - s.from).Seconds() / (s.to - s.from).Seconds()
			return min(1, max(0, s.x0+share*(s.x1-s.x0)))
		}
	}
	return 0
}

// ticks are the times to be written below an axis of some width: in each stretch
// at its own distance, and never so close that they touch.
func (a timeAxis) ticks(width vg.Length) []plot.Tick {
	const apart = 34 * vg.Length(1)
	var ticks []plot.Tick
	used := -apart
	for _, s := range a.stretches {
		room := width * vg.Length(s.x1-s.x0)
		if room < apart {
			continue
		}
		step, decimals := niceStep((s.to - s.from).Seconds() / max(1, float64(room/(apart*1.4))))
		for _, t := range (fixedTicks{step, decimals}).Ticks(s.from.Seconds(), s.to.Seconds()) {
			at := a.at(time.Duration(t.Value * float64(time.Second)))
			if width*vg.Length(at)-used < apart {
				continue
			}
			used = width * vg.Length(at)
			ticks = append(ticks, plot.Tick{Value: at, Label: t.Label})
		}
	}
	return ticks
}

// thinned are the corners of a line over the whole axis, as many a stretch as
// its part of the columns.
func (a timeAxis) thinned(s memtrix.Series, columns int) []sample {
	var line []sample
	for _, st := range a.stretches {
		line = append(line, thin(s, st.from, st.to, 1+int(float64(columns)*(st.x1-st.x0)))...)
	}
	return line
}
