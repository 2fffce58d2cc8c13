package reports

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"memtrix"
)

// Chart is a trial over time as a page draws it: for each kind of memory who holds it,
// stacked, above each other in such a way that a moment's layers sum up; and the
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

// holder is one layer: a sum and difference of series.
type holder struct {
	name, kind string
	plus       []string // meters
	minus      []string
}

func ramHolders(t *memtrix.Trial) []holder {
	return []holder{
		{"anonymous", "anon", []string{memtrix.RAMTreeAnon}, nil},
		{"files mapped", "file", []string{memtrix.RAMTreeFile}, nil},
		{"shared", "shmem", []string{memtrix.RAMTreeShmem}, nil},
		{"in swap, beside", "swap", []string{memtrix.SwapTreeUsed}, nil},
	}
}

// vramTotal is the whole card where that is known, since others hold a part of it.
func vramTotal(t *memtrix.Trial) string {
	if _, ok := seriesOf(t, memtrix.VRAMDeviceUsed); ok {
		return memtrix.VRAMDeviceUsed
	}
	return memtrix.VRAMTrialUsed
}

// vramHolders divide what is used of a card. What torch and aimdo hold is known where
// a probe told it; between two of its readings it stands still.
func vramHolders(t *memtrix.Trial) []holder {
	models := modelHolders(t)
	var list []holder
	inside := []string{}
	if has(t, memtrix.AimdoWeights) {
		// Under dynamic VRAM the weights of models are aimdo's.
		list = append(list, models...)
		list = append(list, holder{"weights paged by aimdo, others", "weights", []string{memtrix.AimdoWeights}, metersOf(models)})
		inside, models = append(inside, memtrix.AimdoWeights), nil
	}
	if has(t, memtrix.AimdoBuffers) {
		list, inside = append(list, holder{"aimdo's buffers", "buffers", []string{memtrix.AimdoBuffers}, nil}), append(inside, memtrix.AimdoBuffers)
	}
	if _, ok := seriesOf(t, memtrix.TorchReserved); ok {
		list = append(list, models...)
		list = append(list,
			holder{"torch, in use", "torch", []string{memtrix.TorchAllocated}, metersOf(models)},
			holder{"torch, kept for later", "cached", []string{memtrix.TorchReserved}, []string{memtrix.TorchAllocated}})
		inside = append(inside, memtrix.TorchReserved)
	}
	name := "this trial"
	if len(inside) > 0 {
		name = "context, code, libraries"
	}
	list = append(list, holder{name, "trial", []string{memtrix.VRAMTrialUsed}, inside})
	if vramTotal(t) == memtrix.VRAMDeviceUsed {
		list = append(list, holder{"others, and before the trial", "others", []string{memtrix.VRAMDeviceUsed}, []string{memtrix.VRAMTrialUsed}})
	}
	return list
}

// shownModels bounds the layers of single models to the largest.
const shownModels = 4

// modelHolders are the resident weights of the largest models, as far as a probe told
// them apart.
func modelHolders(t *memtrix.Trial) []holder {
	type model struct {
		meter string
		most  int64
	}
	var models []model
	for _, s := range t.Series {
		if strings.HasPrefix(s.Meter.Name, memtrix.WeightsPrefix) && len(s.V) > 0 && slices.Max(s.V) > 0 {
			models = append(models, model{s.Meter.Name, slices.Max(s.V)})
		}
	}
	slices.SortStableFunc(models, func(a, b model) int { return cmp.Compare(b.most, a.most) })
	var list []holder
	for i, m := range models[:min(len(models), shownModels)] {
		name := "weights of " + OneLine(strings.TrimPrefix(m.meter, memtrix.WeightsPrefix))
		list = append(list, holder{name, "model" + strconv.Itoa(i), []string{m.meter}, nil})
	}
	return list
}

func metersOf(holders []holder) []string {
	var list []string
	for _, h := range holders {
		list = append(list, h.plus...)
	}
	return list
}

// has reports whether a trial has anything of a meter.
func has(t *memtrix.Trial, meter string) bool {
	s, ok := seriesOf(t, meter)
	return ok && slices.Max(s.V) > 0
}

// newStack reads the layers at the moments that a picture of so many columns shows.
// False where there is no series of the total.
func newStack(t *memtrix.Trial, axis timeAxis, total string, holders []holder, columns int) (Stack, bool) {
	whole, ok := seriesOf(t, total)
	if !ok {
		return Stack{}, false
	}
	s := Stack{Total: total}
	moments := axis.extremes(whole, columns)
	last := int64(0)
	for _, at := range moments {
		s.T = append(s.T, at.Milliseconds()-last)
		last = at.Milliseconds()
	}
	for _, h := range holders {
		if v, ok := h.at(t, moments); ok {
			s.Layers = append(s.Layers, Layer{h.name, h.kind, v})
		}
	}
	return s, true
}

// at gives the holder's sizes at moments in tenths of a MiB, each less the one before;
// false where it holds nothing, or no such series exists.
func (h holder) at(t *memtrix.Trial, moments []time.Duration) ([]int64, bool) {
	sums := make([]int64, len(moments))
	found := false
	add := func(meters []string, sign int64) {
		for _, meter := range meters {
			s, ok := seriesOf(t, meter)
			if !ok {
				continue
			}
			found = found || sign > 0
			k := 0
			for i, at := range moments {
				for k < len(s.T) && s.T[k] <= at {
					k++
				}
				if k > 0 {
					sums[i] += sign * s.V[k-1]
				}
			}
		}
	}
	add(h.plus, 1)
	add(h.minus, -1)
	something := false
	last := int64(0)
	for i, v := range sums {
		// Series of different sources are not read at one moment.
		v = max(v, 0) * 10 / mib
		something = something || v > 0
		sums[i], last = v-last, v
	}
	return sums, found && something
}

// extremes are the moments at which a series is least and largest in each column, and
// both ends of each stretch of the axis.
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
			list = append(list, s.T[min(low, high)], s.T[max(low, high)])
		}
		list = append(list, max(st.to, s.T[0]))
	}
	slices.Sort(list)
	return slices.Compact(list)
}
