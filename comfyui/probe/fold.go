package probe

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"memtrix"
)

// eventKinds are the records that become events, with the events' words.
var eventKinds = map[string]string{
	"gc": "gc", "empty": "empty-cache", "free": "free-memory", "unload-all": "unload-all",
	"fit": "load-models", "evict": "evict", "oom": "oom",
}

// fold makes a probe's nouns of its records.
func fold(records []record, c clock, number func(id string) int) (*memtrix.Probe, []memtrix.Series) {
	// Threads send as they come.
	records = slices.Clone(records)
	slices.SortStableFunc(records, func(a, b record) int { return cmp.Compare(a.when(), b.when()) })
	f := &folder{clock: c, number: number, probe: &memtrix.Probe{}, prompts: map[string]int{}, open: map[string]int{}}
	for _, r := range records {
		f.record(r)
	}
	slices.Sort(f.probe.Missing)
	return f.probe, seriesOf(records, c)
}

// when is the moment at which a record became true.
func (r record) when() int64 {
	if r.T != 0 {
		return r.T
	}
	return r.T1
}

type folder struct {
	clock   clock
	number  func(id string) int
	probe   *memtrix.Probe
	prompts map[string]int // number of a prompt by its id
	open    map[string]int // index of the node that runs, by its id
	most    int            // highest number of a prompt so far
}

func (f *folder) record(r record) {
	p := f.probe
	switch r.Kind {
	case "hello":
		if got := strings.TrimSpace(string(r.Values)); got != fmt.Sprint(Version) {
			p.Faults = append(p.Faults, fmt.Sprintf("its records are of version %s instead of %d", got, Version))
		}
	case "prompt":
		f.prompt(r)
	case "ns":
		f.open[r.node()] = len(p.Nodes)
		p.Nodes = append(p.Nodes, memtrix.NodeRun{
			Prompt: f.promptOf(r.Prompt),
			Node:   memtrix.Node{ID: r.node(), DisplayID: r.Display, ClassType: r.class()},
			Start:  f.clock.at(r.T), Before: r.values(),
		})
	case "ne":
		f.nodeEnd(r)
	case "load":
		f.load(r)
	case "fault":
		p.Faults = append(p.Faults, r.Where+": "+r.Fault)
	case "dropped":
		p.Dropped = max(p.Dropped, r.Count)
	case "reply":
		f.status(r)
	default:
		if kind, ok := eventKinds[r.Kind]; ok {
			p.Events = append(p.Events, f.event(kind, r))
		}
	}
	if r.listsModels() {
		p.Models = models(r.Models)
	}
}

// listsModels tells records that list all loaded models from those about one.
func (r record) listsModels() bool {
	switch r.Kind {
	case "ne", "fit", "unload-all":
		return true
	case "reply":
		return r.Hooks != nil
	}
	return false
}

// promptOf numbers prompts as the trial does; those that it does not know go on
// from the last one.
func (f *folder) promptOf(id string) int {
	n, ok := f.prompts[id]
	if !ok {
		if f.number != nil {
			n = f.number(id)
		}
		if n == 0 {
			n = f.most + 1
		}
		f.prompts[id] = n
		f.most = max(f.most, n)
	}
	return n
}

func (f *folder) prompt(r record) {
	p, n := f.probe, f.promptOf(r.Prompt)
	if r.State == "start" {
		p.Prompts = append(p.Prompts, memtrix.ProbePrompt{Prompt: n, Start: f.clock.at(r.T), Before: r.values()})
		return
	}
	for i := range p.Prompts {
		if p.Prompts[i].Prompt == n {
			p.Prompts[i].End, p.Prompts[i].After = f.clock.at(r.T), r.values()
		}
	}
}

func (f *folder) nodeEnd(r record) {
	i, ok := f.open[r.node()]
	if !ok {
		return // its start was dropped
	}
	delete(f.open, r.node())
	n := &f.probe.Nodes[i]
	n.End, n.State, n.Error, n.After = f.clock.at(r.T), r.State, r.Error, r.values()
	n.Loads, n.OOMs = r.Loads, r.OOMs
	for meter, value := range map[string]*int64{
		memtrix.TorchAllocated: r.Peak, memtrix.TorchReserved: r.Reserve, memtrix.TorchWork: r.Work,
	} {
		if value != nil {
			if n.Peaks == nil {
				n.Peaks = memtrix.Values{}
			}
			n.Peaks[meter] = *value
		}
	}
}

func (f *folder) load(r record) {
	l := memtrix.ModelLoad{
		How: r.How, Start: f.clock.at(r.T0), End: f.clock.at(r.T1), Node: r.node(), Asked: r.Asked, Error: r.Error,
	}
	if r.Was != nil {
		l.Before = *r.Was
	}
	if len(r.Models) > 0 {
		m := r.Models[0].model()
		l.Model = &m
	}
	f.probe.Loads = append(f.probe.Loads, l)
}

func (f *folder) event(kind string, r record) memtrix.ProbeEvent {
	e := memtrix.ProbeEvent{Kind: kind, Start: f.clock.at(r.T0), End: f.clock.at(r.when()), Node: r.node(), Count: r.Count, Bytes: r.Asked}
	if r.T0 == 0 {
		e.Start = e.End
	}
	switch kind {
	case "evict":
		e.Bytes = r.Freed
	case "empty-cache":
		// What torch gave back to the driver.
		if after, ok := r.values()[memtrix.TorchReserved]; ok && r.Was != nil {
			given := *r.Was - after
			e.Bytes = &given
		}
	case "load-models":
		classes := r.classes()
		e.Count, e.Text = int64(len(classes)), strings.Join(classes, ", ")
	case "oom":
		e.Text = r.Type + ": " + r.Text
	case "free-memory":
		e.Text = r.Device
	}
	if r.Error != "" {
		e.Text = strings.TrimPrefix(e.Text+"; "+r.Error, "; ")
	}
	return e
}

// status is what the module says about itself when it is asked.
func (f *folder) status(r record) {
	if r.Hooks == nil {
		return
	}
	p := f.probe
	p.Dropped = max(p.Dropped, r.Dropped)
	p.Missing = nil
	for _, name := range slices.Sorted(maps.Keys(r.Hooks)) {
		if why := r.Hooks[name]; why != "" {
			p.Missing = append(p.Missing, name+": "+why)
		}
	}
	for _, module := range r.Pending {
		p.Missing = append(p.Missing, module+": this server has not imported it")
	}
	if len(p.Prompts) == 0 && p.Idle == nil {
		p.Idle = &memtrix.ProbeMoment{At: f.clock.at(r.T), Values: r.values()}
	}
}
