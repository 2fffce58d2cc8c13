package evidence

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"memtrix"
	"memtrix/reports/redact"
)

// Input is what there is about a trial.
type Input struct {
	// Trial with its series, where they are kept.
	Trial *memtrix.Trial
	// Others are trials of the same workflow in the same store; the trial itself may
	// be among them.
	Others []*memtrix.Trial
	// Log is the server's output as it was printed, Events the record of what was sent
	// and seen (events.jsonl), Prompt what a workflow with UI became (prompt.json),
	// Command the words of the command line; nil and "" where there is none.
	Log     string
	Events  []byte
	Prompt  []byte
	Command []string
	// Missing are reasons why some of that is not there, for people.
	Missing []string
	// HidePrompts takes the texts of prompts and the names of output files out.
	HidePrompts bool
	// Users and Hosts are names of the person and the machine, to be taken out.
	Users, Hosts []string
	// Results is the results folder as it is now; its path is taken out, too.
	Results string
}

// Case is what is known about a trial, with nothing in it that must not be shown.
type Case struct {
	// Trial is the redacted trial: outcome, spans, series.
	Trial *memtrix.Trial
	// Headline says in one line what happened and where.
	Headline string
	// Facts of the machine and the software, in the order in which they are shown.
	Facts []Fact
	// Environment are all facts by name.
	Environment memtrix.Environment
	// Packages are the Python packages, "name==version", in order.
	Packages []string
	Launch   Launch
	Prompts  []SentPrompt
	// Workflow is the workflow's file as it was given, in JSON.
	Workflow []byte
	Models   []Model
	// Sizes are what the workflow's memory depends on most: pixels, frames, batch, steps.
	Sizes string
	// StandIns says whether it happens with stand-ins.
	StandIns string
	Compared []Row
	Log      []string
	// Unknown is what could not be had, and why; Notes what a reader should know.
	Unknown, Notes []string
	// Redacted counts what was taken out, by kind.
	Redacted []redact.Count
	// Hidden is set when prompts were taken out.
	Hidden bool

	best int // index in Compared of the counterpart, -1 for none
}

// Fact is one figure or name with where it comes from.
type Fact struct{ Label, Value, Source string }

// Gather makes the case of a trial. All texts are read before the first one counts: what
// the last one shows is taken out of the first one, too.
func Gather(in Input) (*Case, error) {
	r := redact.New(options(in))
	learn(r, in)
	read := in
	read.Log = "" // is read by now
	if _, err := gather(r, read, false); err != nil {
		return nil, err
	}
	return gather(r, in, true)
}

func gather(r *redact.Redactor, in Input, images bool) (*Case, error) {
	t := in.Trial
	c := &Case{Trial: clean(r, t), Environment: cleanEnvironment(r, t.Environment), Hidden: in.HidePrompts, best: -1}
	c.Log = readable(r.Text(in.Log))
	c.Facts = facts(c.Trial, c.Environment)
	c.Packages = packages(t.Cell.Version.Packages)
	c.Launch = launch(r, t, in.Command)
	var err error
	if c.Prompts, err = sent(r, in); err != nil {
		return nil, err
	}
	if c.Workflow, err = original(r, t.Cell.Workflow); err != nil {
		return nil, err
	}
	needs := t.Cell.Workflow
	needs.Graph = graphOf(in)
	c.Workflow = rename(r, needs, c.Workflow)
	for i := range c.Prompts {
		c.Prompts[i].Body = rename(r, needs, c.Prompts[i].Body)
	}
	if c.Models, err = models(r, t.Cell.Workflow, graphOf(in), images); err != nil {
		return nil, err
	}
	c.Sizes = sizes(r, graphOf(in))
	c.Compared, c.best = compare(r, t, in.Others)
	c.StandIns = standIns(t, in.Others, c.Models)
	c.Headline = headline(c.Trial)
	c.Unknown = unknown(r, c, in)
	c.Notes = notes(r, t)
	c.Redacted = r.Found()
	return c, nil
}

// Simulated reports whether nothing of it was measured.
func (c *Case) Simulated() bool { return c.Trial.Simulated }

// Failed reports whether the trial did not pass.
func (c *Case) Failed() bool { return c.Trial.Outcome.Kind != memtrix.Pass }

// Best is the counterpart that says most: mostly one that passes, nil for none.
func (c *Case) Best() *Row {
	if c.best < 0 {
		return nil
	}
	return &c.Compared[c.best]
}

// options says what the trial itself tells about words that look like others.
func options(in Input) redact.Options {
	t := in.Trial
	o := redact.Options{Users: in.Users, Hosts: in.Hosts, Folders: folders(in)}
	for name, version := range t.Cell.Version.Packages {
		o.Versions = append(o.Versions, version)
		o.Keep = append(o.Keep, name)
	}
	for name, value := range t.Environment {
		if strings.HasPrefix(name, "package.") || strings.HasPrefix(name, "banner.") || name == "driver" || name == "cuda" {
			o.Versions = append(o.Versions, value)
		}
	}
	graph := graphOf(in)
	for _, n := range graph {
		o.Keep = append(o.Keep, n.ClassType)
	}
	for _, p := range t.Cell.Version.Packs {
		o.Keep = append(o.Keep, p.Name)
	}
	slices.Sort(o.Versions)
	slices.Sort(o.Keep)
	if in.HidePrompts {
		o.Prompts = promptTexts(graph, t.Cell.Workflow)
	}
	return o
}

// learn shows all texts to the redactor before the first one is written, in a fixed
// order.
func learn(r *redact.Redactor, in Input) {
	t := in.Trial
	for _, name := range slices.Sorted(maps.Keys(t.Environment)) {
		r.Value(variable(name), t.Environment[name])
	}
	r.Args(in.Command)
	r.Args(t.Argv)
	r.Learn(t.Cell.Version.Dir, t.Cell.Version.Python, t.Dir, t.Cell.Workflow.Source, in.Log)
	for _, p := range t.Cell.Version.Packs {
		r.Learn(p.Dir, p.Source)
	}
	r.Learn(t.Warnings...)
	r.Learn(t.Outcome.Evidence...)
	for _, id := range slices.Sorted(maps.Keys(t.Cell.Workflow.Graph)) {
		n := t.Cell.Workflow.Graph[id]
		for _, input := range slices.Sorted(maps.Keys(n.Inputs)) {
			r.JSON(n.Inputs[input])
			r.Learn(input)
		}
	}
	if t.Cell.Workflow.UI != nil {
		r.JSON(t.Cell.Workflow.UI)
	}
}

// variable is the name of an environment variable among facts, or the fact's own.
func variable(fact string) string { return strings.TrimPrefix(fact, "env.") }

func cleanEnvironment(r *redact.Redactor, e memtrix.Environment) memtrix.Environment {
	out := memtrix.Environment{}
	for _, name := range slices.Sorted(maps.Keys(e)) {
		out[r.Text(name)] = r.Value(variable(name), e[name])
	}
	return out
}

// clean is a copy of a trial in which every text that a person or a server wrote is
// redacted: pictures and verdicts are made of it.
func clean(r *redact.Redactor, t *memtrix.Trial) *memtrix.Trial {
	c := *t
	c.Cell.Version.Name = r.Text(t.Cell.Version.Name)
	c.Cell.Version.Commit = t.Cell.Version.Commit
	c.Cell.Version.Dirty = texts(r, t.Cell.Version.Dirty)
	c.Cell.Version.Dir, c.Cell.Version.Python, c.Dir = r.Text(t.Cell.Version.Dir), r.Text(t.Cell.Version.Python), ""
	c.Cell.Version.Packs = slices.Clone(t.Cell.Version.Packs)
	for i := range c.Cell.Version.Packs {
		p := &c.Cell.Version.Packs[i]
		p.Name, p.Dir, p.Source, p.Requirements = r.Text(p.Name), "", r.Text(p.Source), texts(r, p.Requirements)
	}
	c.Cell.Workflow.Name, c.Cell.Workflow.Source = r.Text(t.Cell.Workflow.Name), r.Text(t.Cell.Workflow.Source)
	c.Cell.Workflow.VaryPaths = texts(r, t.Cell.Workflow.VaryPaths)
	c.Cell.Workflow.Changes = cleanChanges(r, t.Cell.Workflow.Changes)
	if a := t.Cell.Version.Attached; a != nil {
		shown := *a
		shown.URL, shown.Argv, shown.NoPID = r.Text(a.URL), r.Args(a.Argv), r.Text(a.NoPID)
		c.Cell.Version.Attached = &shown
	}
	c.Cell.Hardware.Name = r.Text(t.Cell.Hardware.Name)
	c.Argv, c.Warnings = r.Args(t.Argv), texts(r, t.Warnings)
	c.Outcome = cleanOutcome(r, t.Outcome)
	c.Spans = slices.Clone(t.Spans)
	for i := range c.Spans {
		c.Spans[i].Node = cleanNode(r, c.Spans[i].Node)
	}
	c.Readings = slices.Clone(t.Readings)
	for i := range c.Readings {
		c.Readings[i].Note = r.Text(c.Readings[i].Note)
	}
	c.Imports = slices.Clone(t.Imports)
	for i := range c.Imports {
		c.Imports[i].Pack, c.Imports[i].Reason = r.Text(c.Imports[i].Pack), r.Text(c.Imports[i].Reason)
	}
	return &c
}

func cleanChanges(r *redact.Redactor, changes []memtrix.Change) []memtrix.Change {
	var out []memtrix.Change
	for _, c := range changes {
		value, err := r.JSON(c.Value)
		if err != nil {
			value = []byte("null") // it was none of JSON's
		}
		_, input, _ := strings.Cut(c.Path, ".")
		var whole string
		if json.Unmarshal(c.Value, &whole) == nil {
			value = []byte(text(r.Value(input, whole)))
		}
		out = append(out, memtrix.Change{Path: r.Text(c.Path), Value: bytes.TrimSpace(value)})
	}
	return out
}

func cleanOutcome(r *redact.Redactor, o memtrix.Outcome) memtrix.Outcome {
	o.Message, o.Evidence, o.Advice, o.FallBacks = r.Text(o.Message), texts(r, o.Evidence), texts(r, o.Advice), texts(r, o.FallBacks)
	o.Node = cleanNode(r, o.Node)
	o.Holders = slices.Clone(o.Holders)
	for i := range o.Holders {
		o.Holders[i].Name = r.Text(o.Holders[i].Name)
	}
	if o.Slow != nil {
		slow := *o.Slow
		slow.Moved = texts(r, slow.Moved)
		o.Slow = &slow
	}
	return o
}

func cleanNode(r *redact.Redactor, n *memtrix.Node) *memtrix.Node {
	if n == nil {
		return nil
	}
	return &memtrix.Node{ID: r.Text(n.ID), DisplayID: r.Text(n.DisplayID), ClassType: r.Text(n.ClassType), Title: r.Text(n.Title)}
}

func texts(r *redact.Redactor, list []string) []string {
	if list == nil {
		return nil
	}
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = r.Text(s)
	}
	return out
}

// headline says what happened, as a title of an issue would.
func headline(t *memtrix.Trial) string {
	o := t.Outcome
	what := string(o.Kind)
	switch {
	case o.Kind == memtrix.Pass:
		what = "nothing failed"
		if o.HiddenRetries > 0 {
			what = "passes, after allocations that failed and were got over"
		}
	case strings.HasPrefix(o.Message, "out of memory") || o.Message != "" && strings.Contains(o.Message, what):
		what = o.Message
	case o.Message != "":
		what += ": " + o.Message
	case o.Node != nil:
		what += " in " + nodeText(*o.Node)
	}
	return program(t) + ": " + oneLine(what)
}

// program is "ComfyUI 0.29.0", and the spec's own word for it where that is none.
func program(t *memtrix.Trial) string {
	v := t.Cell.Version
	release := cmp.Or(v.Release, t.Environment["banner.comfyui"], t.Environment["server.comfyui"])
	switch {
	case release == "":
		return "ComfyUI (" + v.Name + ")"
	case t.Simulated:
		return "simulated ComfyUI " + release
	}
	return "ComfyUI " + release
}

func nodeText(n memtrix.Node) string {
	text := memtrix.Span{Node: &n}.Name()
	if n.Title != "" && n.Title != n.ClassType {
		text += " \"" + n.Title + "\""
	}
	return text
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
