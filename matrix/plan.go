package matrix

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"memtrix"
)

// World is what a plan must ask others about. Its functions are called once
// for each entry or cell, in the order of the spec.
type World struct {
	// Version looks at a version. Where the entry has no name, the plan uses the
	// version's, else its release.
	Version func(VersionEntry) (memtrix.Version, error)
	// Workflow reads a workflow, with the entry's Set and Vary applied. An error
	// that has a method InputPath() string is reported at that item of Set or
	// Vary; one that has Unwrap() []error is reported one by one.
	Workflow func(WorkflowEntry) (memtrix.Workflow, error)
	// Load gives a version as it runs a workflow: with the custom node packs that are
	// loaded for it. It is called once for each pair. Nil: no packs.
	Load func(e VersionEntry, v memtrix.Version, w memtrix.Workflow) (memtrix.Version, Loading)
	// Argv turns a cell's settings into launch flags; a reason says why the cell
	// cannot be reached (see memtrix.Target).
	Argv func(memtrix.Cell) (argv []string, reason string)
	// Notes says what a person should know about a cell that can run, e.g. that a
	// setting will have no effect. Nil: nothing.
	Notes func(memtrix.Cell) []string
	// Args says what is doubtful about raw launch flags on a version, once for
	// each version. Nil: nothing.
	Args func(v memtrix.Version, args []string) []string
	// Refuses gives the keys of the spec (args, models) with which no
	// server of a version can be started, and why. Nil: nothing is known.
	Refuses func(v memtrix.Version, s *Spec) map[string]error
	// Last gives the last trial of a cell in the store. Nil: nothing is stored.
	Last func(cellID string) (LastTrial, bool)
	// Seconds guesses the time of a trial of a cell where nothing comparable ran
	// yet. Nil: memtrix guesses by itself.
	Seconds func(memtrix.Cell) float64
}

// LastTrial is what the store knows of a cell.
type LastTrial struct {
	Outcome memtrix.OutcomeKind
	Seconds float64 // wall time, all in all
	When    time.Time
}

// Plan decides which cells run and in which order. The order is that of the
// spec (versions, then hardware, workflows, settings) with the control first;
// under a budget it is what matters most first: versions that never ran, cells
// that failed last, the control, then the rest, the longest unseen first.
// The error is of type Errors.
func (s *Spec) Plan(w World) (*memtrix.Plan, error) {
	p := planner{spec: s, world: w, index: map[string]int{}}
	versions := p.versions()
	workflows := p.workflows()
	p.checkNames(versions, workflows)
	p.refused(versions)
	if len(p.errs) > 0 {
		p.errs.sort()
		return nil, p.errs
	}
	if p.load(versions, workflows); len(p.errs) > 0 {
		p.errs.sort()
		return nil, p.errs
	}
	p.args(versions)
	p.control(versions, workflows)
	p.cells(versions, workflows)
	p.expect()
	p.estimate()
	if s.Budget > 0 {
		p.rank()
		p.cut()
	}
	p.probe(versions)
	p.warns = append(p.warns, s.Warnings...)
	p.warns.sort()
	plan := &memtrix.Plan{Spec: s.Name, Cells: p.out, Order: s.Order}
	for _, warning := range p.warns {
		plan.Warnings = append(plan.Warnings, warning.Error())
	}
	return plan, nil
}

type planner struct {
	spec  *Spec
	world World
	errs  Errors
	warns Errors
	out   []memtrix.PlannedCell
	// index finds a cell in out by its id.
	index map[string]int
	// loads are versions as workflows run on them, by their names.
	loads map[[2]string]loaded
}

func (p *planner) error(at pos, cause error, format string, args ...any) SpecError {
	return SpecError{File: p.spec.File, Line: at.line, Col: at.col, Msg: fmt.Sprintf(format, args...), cause: cause}
}

func (p *planner) fail(at pos, cause error, format string, args ...any) {
	p.errs = append(p.errs, p.error(at, cause, format, args...))
}

func (p *planner) warn(at pos, format string, args ...any) {
	p.warns = append(p.warns, p.error(at, nil, format, args...))
}

func (p *planner) versions() []memtrix.Version {
	var all []memtrix.Version
	seen := map[string]pos{}
	var trouble Errors
	for _, e := range p.spec.Versions {
		v, err := p.world.Version(e)
		if errors.Is(err, memtrix.ErrUnavailable) {
			trouble = append(trouble, p.error(e.pos, err, "version %s: %v", e.label(), err))
			v, err = v.Unavailable(e.label(), err), nil
		}
		if err != nil {
			p.fail(e.about(err), err, "version %s: %v", e.label(), err)
			if v.Target == "" {
				continue
			}
			// Of one that is known but for its packs all else can be checked, too.
		}
		for _, name := range []string{e.Name, v.Name, v.Release, e.label()} {
			if name != "" {
				v.Name = name
				break
			}
		}
		if first, again := seen[v.Name]; again {
			p.fail(e.pos, nil, "two versions are called %q%s; give one a name:", v.Name, lineNote(first))
		}
		seen[v.Name] = e.pos
		all = append(all, v)
	}
	// The others need not wait for one that cannot be had; its cells fail.
	if len(trouble) == len(all) {
		p.errs = append(p.errs, trouble...)
	} else {
		p.warns = append(p.warns, trouble...)
	}
	return all
}

func lineNote(at pos) string {
	if at.line == 0 {
		return ""
	}
	return fmt.Sprintf("; the first is in line %d", at.line)
}

func (e VersionEntry) label() string {
	switch {
	case e.Name != "":
		return e.Name
	case e.Sim != "":
		return e.Sim
	case e.Version != "":
		return e.Version
	case e.URL != "":
		return e.URL
	}
	return e.Path
}

func (p *planner) workflows() []memtrix.Workflow {
	var all []memtrix.Workflow
	for _, e := range p.spec.Workflows {
		w, err := p.world.Workflow(e)
		if err != nil {
			p.workflowErrors(e, err)
			continue
		}
		if e.Name != "" {
			w.Name = e.Name
		}
		for _, warning := range w.Warnings {
			p.warn(e.pos, "workflow %s: %s", e.Name, warning)
		}
		if len(w.Vary) == 0 && w.UI == nil && p.spec.Prompts > 1 {
			p.fail(e.pos, nil, "workflow %s: nothing in it can be varied, so each prompt after the first would be served from the cache; name an input with vary:, or set prompts: 1", e.Name)
		}
		all = append(all, w)
	}
	return all
}

func (p *planner) workflowErrors(e WorkflowEntry, err error) {
	var many interface{ Unwrap() []error }
	if errors.As(err, &many) && len(many.Unwrap()) > 0 {
		for _, one := range many.Unwrap() {
			p.workflowErrors(e, one)
		}
		return
	}
	p.fail(e.place(err), err, "workflow %s: %v", e.Name, err)
}

// place is that of the input that an error is about, else that of the entry.
func (e WorkflowEntry) place(err error) pos {
	var about interface{ InputPath() string }
	if !errors.As(err, &about) {
		return e.pos
	}
	path := about.InputPath()
	for _, a := range e.Set {
		if a.Path == path {
			return a.pos
		}
	}
	if i := slices.Index(e.Vary, path); i >= 0 && i < len(e.varyPos) {
		return e.varyPos[i]
	}
	return e.pos
}

// checkNames looks up the versions, workflows and machines that expectations name.
// Nothing is said while entries are missing for another reason.
func (p *planner) checkNames(versions []memtrix.Version, workflows []memtrix.Workflow) {
	if len(p.errs) > 0 {
		return
	}
	var names, flows, machines []string
	for _, v := range versions {
		names = append(names, v.Name)
	}
	for _, w := range workflows {
		flows = append(flows, w.Name)
	}
	for _, h := range p.spec.Hardware {
		machines = append(machines, h.Name)
	}
	for _, e := range p.spec.Expect {
		if e.Version != "" && !slices.Contains(names, e.Version) {
			p.fail(e.versionPos, nil, "expect: no version is called %q%s", e.Version, suggest(e.Version, names))
		}
		if e.Workflow != "" && !slices.Contains(flows, e.Workflow) {
			p.fail(e.workflowPos, nil, "expect: no workflow is called %q%s", e.Workflow, suggest(e.Workflow, flows))
		}
		if e.Hardware != "" && !slices.Contains(machines, e.Hardware) {
			p.fail(e.hardwarePos, nil, "expect: no hardware is called %q%s", e.Hardware, suggest(e.Hardware, machines))
		}
	}
}

// refused fails what would keep each trial from starting, before the first one.
func (p *planner) refused(versions []memtrix.Version) {
	if p.world.Refuses == nil {
		return
	}
	places := map[string]pos{"args": p.spec.argsPos, "models": p.spec.modelsPos}
	said := map[string]bool{}
	for _, v := range versions {
		if v.Trouble != "" {
			continue
		}
		refused := p.world.Refuses(v, p.spec)
		for _, key := range slices.Sorted(maps.Keys(refused)) {
			if msg := key + ": " + refused[key].Error(); !said[msg] {
				said[msg] = true
				p.fail(places[key], refused[key], "%s", msg)
			}
		}
	}
}

// probe says where there will be none: a simulated server has no inside.
func (p *planner) probe(versions []memtrix.Version) {
	if !p.spec.Probe {
		return
	}
	for _, v := range versions {
		if v.Target == memtrix.TargetSim {
			p.warn(pos{}, "probe: version %s is simulated and runs without one", v.Name)
		}
	}
}

// args warns about raw launch flags, each thing once.
func (p *planner) args(versions []memtrix.Version) {
	if p.world.Args == nil || len(p.spec.Args) == 0 {
		return
	}
	said := map[string]bool{}
	for _, v := range versions {
		if v.Trouble != "" {
			continue // which flags it knows is not known
		}
		for _, warning := range p.world.Args(v, p.spec.Args) {
			if !said[warning] {
				said[warning] = true
				p.warn(p.spec.argsPos, "args: %s", warning)
			}
		}
	}
}

func (p *planner) control(versions []memtrix.Version, workflows []memtrix.Workflow) {
	if p.spec.Control == nil {
		return
	}
	p.add(memtrix.Cell{
		Version:  versions[0],
		Settings: over(p.spec.Control, nil),
		Hardware: p.spec.Hardware[0],
		Workflow: workflows[0],
	})
	p.out[0].Control = true
}

func (p *planner) cells(versions []memtrix.Version, workflows []memtrix.Workflow) {
	settings := p.spec.Settings.Cells()
	said := map[string]bool{}
	for _, v := range versions {
		for _, hw := range p.spec.Hardware {
			for _, w := range workflows {
				for _, s := range settings {
					p.merge(memtrix.Cell{Version: v, Settings: s, Hardware: hw, Workflow: w}, said)
				}
			}
		}
	}
}

// merge adds a cell, or says once for each pair of names that they are the same
// thing under two names.
func (p *planner) merge(c memtrix.Cell, said map[string]bool) {
	same, again := p.add(c)
	if !again {
		return
	}
	pairs := [][3]string{
		{"version", c.Version.Name, same.Version.Name},
		{"workflow", c.Workflow.Name, same.Workflow.Name},
	}
	for _, pair := range pairs {
		if pair[1] == pair[2] {
			continue
		}
		msg := fmt.Sprintf("%s %s is the same as %s; their cells run once", pair[0], pair[1], pair[2])
		if !said[msg] {
			said[msg] = true
			p.warn(p.placeOf(pair[0], pair[1]), "%s", msg)
		}
	}
}

func (p *planner) placeOf(kind, name string) pos {
	if kind == "workflow" {
		for _, e := range p.spec.Workflows {
			if e.Name == name {
				return e.pos
			}
		}
	}
	for _, e := range p.spec.Versions {
		if kind == "version" && e.label() == name {
			return e.pos
		}
	}
	return pos{}
}

// add plans a cell unless it is planned already; then it gives that one.
func (p *planner) add(c memtrix.Cell) (memtrix.Cell, bool) {
	c.Probe = p.spec.Probe && c.Version.Target == memtrix.TargetComfyUI
	c, notes, missing := p.with(c)
	c.Probe = p.spec.Probe && c.Version.Target == memtrix.TargetComfyUI
	id := c.ID()
	if i, again := p.index[id]; again {
		return p.out[i].Cell, true
	}
	cell := memtrix.PlannedCell{Cell: c, Status: memtrix.StatusRun, Repeats: p.spec.Repeats}
	if c.Version.Trouble != "" {
		p.index[id] = len(p.out)
		p.out = append(p.out, cell)
		return c, false
	}
	if cell.Argv, cell.Reason = p.world.Argv(c); missing != "" {
		cell.Reason = missing
	}
	if cell.Reason != "" {
		cell.Status, cell.Argv = memtrix.StatusNotApplicable, nil
	} else if p.world.Notes != nil {
		cell.Notes = p.world.Notes(c)
	}
	if cell.Reason == "" {
		cell.Notes = append(cell.Notes, notes...)
	}
	p.index[id] = len(p.out)
	p.out = append(p.out, cell)
	return c, false
}

// expect applies the expectations in order, so that the last match counts.
func (p *planner) expect() {
	for _, e := range p.spec.Expect {
		found := false
		for i, c := range p.out {
			if !e.about(c.Cell) {
				continue
			}
			found = true
			p.out[i].Expect = e.Outcome
			if e.Outcome == memtrix.Pass {
				p.out[i].Expect = ""
			}
		}
		if !found {
			p.warn(e.pos, "expect: no cell has {%s}%s", e.Settings, e.where())
		}
	}
}

func (e Expectation) about(c memtrix.Cell) bool {
	return (e.Version == "" || e.Version == c.Version.Name) &&
		(e.Workflow == "" || e.Workflow == c.Workflow.Name) &&
		(e.Hardware == "" || e.Hardware == c.Hardware.Name) &&
		matches(c.Settings, e.Settings)
}

func (e Expectation) where() string {
	where := ""
	if e.Version != "" {
		where += " on version " + e.Version
	}
	if e.Workflow != "" {
		where += " with workflow " + e.Workflow
	}
	if e.Hardware != "" {
		where += " on hardware " + e.Hardware
	}
	return where
}
