package reports

import (
	"slices"
	"time"

	"memtrix"
)

// Chart is a trial over time as a page draws it: for each kind of memory who holds it,
// stacked, such that a moment's layers sum up to the total that was read; and the
// prompts, nodes and readings. Times are milliseconds on the trial's clock, sizes are
// tenths of a MiB.
type Chart struct {
	Trial int64 `json:"trial"`
	// Stretches fold the axis of time: {from ms, to ms, from place, to place}, places
	// from 0 to 10,000.
	Stretches [][4]float64 `json:"stretches"`
	Stacks    []Stack      `json:"stacks"`
	Bars      []Bar        `json:"bars"`
	Marks     []ChartMark  `json:"marks,omitempty"`
}

// Stack is one kind of memory.
type Stack struct {
	Title string `json:"title"`
	Total string `json:"total"` // the meter that the layers divide
	// Aside says what of the total is not drawn, "" when all of it is.
	Aside string `json:"aside,omitempty"`
	// Limit is how much there is of what is drawn, 0 where that is not known or far
	// above it, and LimitText says of what.
	Limit     int64  `json:"limit,omitempty"`
	LimitText string `json:"limit_text,omitempty"`
	// T are moments, each as its distance from the one before. Of each column of
	// the picture they hold where the total is least and where it is largest.
	T []int64 `json:"t"`
	// Layers from the bottom up.
	Layers []Layer `json:"layers"`
}

// Layer is one holder of memory.
type Layer struct {
	Name string `json:"name"`
	// Kind names the colour: what holds the memory is alike in all trials.
	Kind string `json:"kind"`
	// V are its sizes at the moments T, each as its distance from the one before.
	V []int64 `json:"v"`
}

// Bar is a span: a phase, or a node.
type Bar struct {
	Name  string `json:"name"`
	Kind  string `json:"kind"` // "start", "prompt", "node" ...
	Class int    `json:"class,omitempty"`
	From  int64  `json:"from"`
	To    int64  `json:"to"`
}

// ChartMark is a moment: a reading at rest, or a failure.
type ChartMark struct {
	At   int64  `json:"at"`
	Text string `json:"text"`
	Bad  bool   `json:"bad,omitempty"`
}

// NewChart makes the chart of a trial that was read with its series, of so many
// columns. Much more than a picture is wide adds nothing that one could see.
func NewChart(t *memtrix.Trial, columns int) Chart {
	v := newTimeline(t)
	c := Chart{Trial: t.ID, Stacks: []Stack{}, Bars: []Bar{}}
	for _, s := range v.axis.stretches {
		c.Stretches = append(c.Stretches, [4]float64{float64(s.from.Milliseconds()), float64(s.to.Milliseconds()), s.x0 * 1e4, s.x1 * 1e4})
	}
	for _, st := range []struct {
		title, total string
		layers       []holder
	}{
		{"VRAM", vramTotal(t), vramHolders(t)},
		{"RAM", memtrix.RAMTreeRSS, ramHolders(t)},
	} {
		if s, ok := newStack(t, v.axis, st.total, st.layers, columns); ok {
			s.Title = st.title
			s.putAside(t)
			c.Stacks = append(c.Stacks, s)
		}
	}
	for _, s := range t.Spans {
		bar := Bar{Name: OneLine(s.Name()), Kind: string(s.Kind), From: s.Start.Milliseconds(), To: s.End.Milliseconds()}
		if s.Kind == memtrix.SpanNode {
			bar.Class = slices.Index(v.classes, className(s))
		}
		c.Bars = append(c.Bars, bar)
	}
	for _, r := range t.Readings {
		c.Marks = append(c.Marks, ChartMark{At: r.At.Milliseconds(), Text: string(r.Kind)})
	}
	if v.fail != nil {
		c.Marks = append(c.Marks, ChartMark{At: v.fail.at.Milliseconds(), Text: OneLine(v.fail.text), Bad: true})
	}
	return c
}

// extremes are the moments at which a series is least and largest in each column and the
// last one there, whose level stays until the next, and both ends of each stretch of the
// axis.
func (a timeAxis) extremes(s memtrix.Series, columns int) []time.Duration {
	n := min(len(s.T), len(s.V))
	var list []time.Duration
	for _, st := range a.stretches {
		width := (st.to-st.from)/time.Duration(1+int(float64(columns)*(st.x1-st.x0))) + 1
		i, _ := slices.BinarySearch(s.T[:n], st.from)
		list = append(list, max(st.from, s.T[0]))
		for i < n && s.T[i] <= st.to {
			end := st.from + ((s.T[i]-st.from)/width+1)*width
			low, high := i, i
			for ; i < n && s.T[i] < end && s.T[i] <= st.to; i++ {
				if s.V[i] < s.V[low] {
					low = i
				}
				if s.V[i] > s.V[high] {
					high = i
				}
			}
			list = append(list, s.T[min(low, high)], s.T[max(low, high)], s.T[i-1])
		}
		list = append(list, max(st.to, s.T[0]))
	}
	slices.Sort(list)
	return slices.Compact(list)
}
