package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"memtrix"
)

// holder is one layer: a sum and difference of series, or what is left.
type holder struct {
	name, kind string
	plus       []string // meters
	minus      []string
	role       role
}

// role says how a holder's share of the total is found. Series of different sources are
// not read at one moment, and what a probe told is as old as its last word: added up as
// they are they would give more than was in use.
type role int

const (
	asTold role = iota // no more than others leave of the total
	sure               // read together with the total: it comes before all others
	rest               // what all others leave
	beside             // not in the total
)

func ramHolders(t *memtrix.Trial) []holder {
	name := "files mapped"
	if _, ok := seriesOf(t, memtrix.RAMTreeAnon); !ok {
		name = "resident"
	}
	return []holder{
		{"anonymous", "anon", []string{memtrix.RAMTreeAnon}, nil, sure},
		{name, "file", nil, nil, rest},
		{"shared", "shmem", []string{memtrix.RAMTreeShmem}, nil, asTold},
		{"in swap, beside", "swap", []string{memtrix.SwapTreeUsed}, nil, beside},
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
	inside := false
	if has(t, memtrix.AimdoWeights) {
		// Under dynamic VRAM the weights of models are aimdo's.
		list = append(list, models...)
		list = append(list, holder{"weights paged by aimdo, others", "weights", []string{memtrix.AimdoWeights}, metersOf(models), asTold})
		inside, models = true, nil
	}
	if has(t, memtrix.AimdoBuffers) {
		list, inside = append(list, holder{"aimdo's buffers", "buffers", []string{memtrix.AimdoBuffers}, nil, asTold}), true
	}
	if _, ok := seriesOf(t, memtrix.TorchReserved); ok {
		list = append(list, models...)
		list = append(list,
			holder{"torch, in use", "torch", []string{memtrix.TorchAllocated}, metersOf(models), asTold},
			holder{"torch, kept for later", "cached", []string{memtrix.TorchReserved}, []string{memtrix.TorchAllocated}, asTold})
		inside = true
	}
	name := "this trial"
	if inside {
		name = "context, code, torch not yet told"
	}
	list = append(list, holder{name, "trial", nil, nil, rest})
	if _, ok := seriesOf(t, memtrix.VRAMTrialUsed); ok && vramTotal(t) == memtrix.VRAMDeviceUsed {
		list = append(list, holder{"others, and before the trial", "others", []string{memtrix.VRAMDeviceUsed}, []string{memtrix.VRAMTrialUsed}, sure})
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
		list = append(list, holder{name, "model" + strconv.Itoa(i), []string{m.meter}, nil, asTold})
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

// newStack divides a total among its holders at the moments that a picture of so many
// columns shows. False where there is no series of the total.
func newStack(t *memtrix.Trial, axis timeAxis, total string, holders []holder, columns int) (Stack, bool) {
	whole, ok := seriesOf(t, total)
	if !ok {
		return Stack{}, false
	}
	s := Stack{Total: total}
	moments := merge(axis.extremes(whole, columns), axis.told(t, whole, holders, columns))
	at := make([]int64, len(moments))
	for i, m := range moments {
		at[i] = m.Milliseconds()
	}
	s.T = steps(at)
	left := holder{plus: []string{total}}.at(t, moments)
	shares := make([][]int64, len(holders))
	for _, role := range []role{sure, asTold, rest, beside} {
		for i, h := range holders {
			if h.role != role {
				continue
			}
			shares[i] = h.at(t, moments)
			for k := range moments {
				switch role {
				case rest:
					shares[i][k], left[k] = left[k], 0
				case sure, asTold:
					shares[i][k] = min(shares[i][k], left[k])
					left[k] -= shares[i][k]
				}
			}
		}
	}
	for i, h := range holders {
		if slices.ContainsFunc(shares[i], func(v int64) bool { return v > 0 }) {
			s.Layers = append(s.Layers, Layer{h.name, h.kind, steps(shares[i])})
		}
	}
	return s, true
}

// told are the last moments in each column at which what was told of the holders changed,
// within the time of the whole.
func (a timeAxis) told(t *memtrix.Trial, whole memtrix.Series, holders []holder, columns int) []time.Duration {
	var times []time.Duration
	for _, h := range holders {
		if h.role != asTold {
			continue
		}
		for _, meter := range slices.Concat(h.plus, h.minus) {
			s, _ := seriesOf(t, meter)
			times = append(times, s.T...)
		}
	}
	slices.Sort(times)
	var list []time.Duration
	for _, st := range a.stretches {
		width := (st.to-st.from)/time.Duration(1+int(float64(columns)*(st.x1-st.x0))) + 1
		i, _ := slices.BinarySearch(times, max(st.from, whole.T[0]))
		for i < len(times) && times[i] <= st.to {
			end := st.from + ((times[i]-st.from)/width+1)*width
			for i < len(times) && times[i] < end && times[i] <= st.to {
				i++
			}
			list = append(list, times[i-1])
		}
	}
	return list
}

func merge(a, b []time.Duration) []time.Duration {
	list := slices.Concat(a, b)
	slices.Sort(list)
	return slices.Compact(list)
}

// at gives a holder's series at moments, in tenths of a MiB and never below zero.
func (h holder) at(t *memtrix.Trial, moments []time.Duration) []int64 {
	sums := make([]int64, len(moments))
	add := func(meters []string, sign int64) {
		for _, meter := range meters {
			s, ok := seriesOf(t, meter)
			if !ok {
				continue
			}
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
	for i, v := range sums {
		sums[i] = max(v, 0) * 10 / mib
	}
	return sums
}

// steps writes each value as its distance from the one before.
func steps(list []int64) []int64 {
	out := make([]int64, len(list))
	last := int64(0)
	for i, v := range list {
		out[i], last = v-last, v
	}
	return out
}

// unsteps is what steps was made of.
func unsteps(list []int64) []int64 {
	out := make([]int64, len(list))
	last := int64(0)
	for i, v := range list {
		last += v
		out[i] = last
	}
	return out
}

// putAside takes what others hold all the time out of the picture where they would fill
// more than half of it, as the rest of a large card does that acts as a small one: the
// trial would be a line at the bottom. It marks what there is, where that is near.
func (s *Stack) putAside(t *memtrix.Trial) {
	i := slices.IndexFunc(s.Layers, func(l Layer) bool { return l.Kind == "others" })
	top, always := s.top(), int64(0)
	if i >= 0 {
		others := unsteps(s.Layers[i].V)
		always = slices.Min(others)
		if always*2 > top {
			s.setAside(i, always, t)
			top -= always
		}
	}
	if s.Total != memtrix.VRAMDeviceUsed {
		return
	}
	limit, name := cardHas(t), "the card"
	if h := t.Cell.Hardware; h.VRAM > 0 {
		limit, name = h.VRAM*10/mib+always, OneLine(h.Name)
	}
	if s.Aside != "" {
		limit -= always
	}
	if limit > 0 && limit*2 <= top*3 {
		s.Limit, s.LimitText = limit, Bytes(limit*mib/10)+": "+name
	}
}

// setAside takes an amount out of a layer at all moments.
func (s *Stack) setAside(i int, always int64, t *memtrix.Trial) {
	v := unsteps(s.Layers[i].V)
	for k := range v {
		v[k] -= always
	}
	s.Layers[i].V = steps(v)
	if slices.Max(v) == 0 {
		s.Layers = slices.Delete(s.Layers, i, i+1)
	}
	who := "others, or before the trial"
	if h := t.Cell.Hardware; h.VRAM > 0 {
		who = fmt.Sprintf("memtrix, which left %s for %s, and others", Bytes(h.VRAM), OneLine(h.Name))
	}
	s.Aside = fmt.Sprintf("without %s that were held all the time by %s", Bytes(always*mib/10), who)
}

// top is the largest sum of all layers.
func (s *Stack) top() int64 {
	sums := make([]int64, len(s.T))
	for _, l := range s.Layers {
		for k, v := range unsteps(l.V) {
			sums[k] += v
		}
	}
	if len(sums) == 0 {
		return 0
	}
	return slices.Max(sums)
}

// cardHas is what a card can give, in tenths of a MiB: what is used and free at one
// moment. 0 where that is not known.
func cardHas(t *memtrix.Trial) int64 {
	used, ok := seriesOf(t, memtrix.VRAMDeviceUsed)
	free, known := seriesOf(t, memtrix.VRAMDeviceFree)
	if !ok || !known {
		return 0
	}
	// Both come from one reading, of which each is kept where it changes.
	return (used.V[0] + free.V[0]) * 10 / mib
}
