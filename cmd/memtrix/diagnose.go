package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"memtrix"
	"memtrix/comfyui"
	"memtrix/lab"
	"memtrix/matrix"
	"memtrix/reports"
	"memtrix/versions"
	"memtrix/versions/packs"
)

type diagnoseCmd struct {
	experimentFlags
	Set      map[string]string `help:"A setting that you start ComfyUI with, for a diagnosis without a spec: --set vram-mode=high (docs/spec.md has them). It is left out to see whether it is the cause." placeholder:"NAME=VALUE"`
	Prompts  int               `help:"Prompts in each trial: what stays in memory shows from the second on." default:"3"`
	Trials   int               `help:"Most trials for each cell." default:"40"`
	Earlier  bool              `help:"Try packages of the release before, too. Where nothing else is the cause; it makes a Python environment of some GB." default:"true" negatable:"" name:"earlier-packages"`
	AllNodes bool              `help:"Load all custom nodes of the installation, as it does itself, and not only those that the workflow needs: one of the others may be the cause."`
	NoInside bool              `help:"Do not look from inside (a probe) where RAM does not come back or no cause is found."`
}

// Help is shown under --help.
func (diagnoseCmd) Help() string {
	return `Finds out why a workflow fails, by itself, as maintainers ask for it: as given, over several prompts; without custom nodes; without your settings; then one thing at a time (dynamic VRAM, pinned memory, asynchronous offload, caches, earlier packages), in an order that fits the memory that ran out, until it passes. What passes is repeated, and so is what failed, before it is called the cause. Raw flags (args: of a spec) stay in every trial.

Beside the cause it tells: RAM that does not come back after POST /free, and what holds it; memory that ran out though there was room; figures by which ComfyUI decides and that are not so; memory that ran out and was got round.

Exit status: 0 with an answer (a cause, a way out, or that nothing fails), 1 when none was found, 2 for wrong usage, 3 when nothing could be run, 130 stopped by Ctrl-C; the same command goes on from there.`
}

// notStarted is why a server that runs is not diagnosed.
const notStarted = "a server that runs cannot be started otherwise: give its folder with --comfyui, or path: in the spec, or look on with memtrix watch"

func (c *diagnoseCmd) Run(a *app) error {
	switch {
	case c.Prompts < 1 || c.Prompts > 100:
		return usage{fmt.Errorf("--prompts takes 1 to 100, not %d", c.Prompts)}
	case c.Trials < 2:
		return usage{errors.New("--trials: a diagnosis takes 2 trials at least")}
	case c.URL != "":
		return usage{errors.New(notStarted)}
	case c.Spec != "" && len(c.Set) > 0:
		return usage{errors.New("--set goes with --comfyui or --version; in a spec they are under the key settings")}
	}
	if err := c.find(a); err != nil {
		return err
	}
	d := &diagnosing{cmd: c, app: a}
	e, err := c.open(a, fmt.Sprintf("diagnose-%d", c.Prompts), d.adjust)
	if err != nil {
		return err
	}
	defer e.close()
	if err := e.onlyStarted(a, notStarted); err != nil {
		return err
	}
	d.e = e
	e.ready.runner.Options.Inventory = true
	found := []lab.DiagnoseReport{}
	err = e.each(a, func(ctx context.Context, cell memtrix.PlannedCell) error {
		r, err := lab.Diagnose(ctx, d.options(cell), cell, e.bench.Try)
		if len(r.Steps) > 0 {
			found = append(found, r)
		}
		return err
	})
	return errors.Join(c.show(a, e, found), err, answered(err, found, lab.DiagnoseReport.Answered))
}

// find takes the ComfyUI that is on this machine where none is named.
func (c *diagnoseCmd) find(a *app) error {
	if c.Spec != "" || c.ComfyUI != "" || c.Version != "" {
		return nil
	}
	all := versions.Discover(a.ctx)
	if len(all) == 0 {
		return usage{errors.New("no ComfyUI is found on this machine: name its folder with --comfyui, or give a spec")}
	}
	c.ComfyUI = all[0].Dir
	if c.Python == "" {
		c.Python = all[0].Python
	}
	fmt.Fprintf(a.stderr, "diagnosing the ComfyUI in %s (--comfyui names another one)\n", reports.OneLine(c.ComfyUI))
	return nil
}

// allNodes names all custom nodes of an installation.
func allNodes(dir string) ([]matrix.PackEntry, error) {
	folders, err := packs.Folders(dir)
	if err != nil {
		return nil, usage{err}
	}
	places, err := packs.All(folders)
	if err != nil {
		return nil, usage{err}
	}
	var list []matrix.PackEntry
	for _, p := range places {
		list = append(list, matrix.PackEntry{Name: p.Name})
	}
	return list, nil
}

// diagnosing plans the checks of a command.
type diagnosing struct {
	cmd  *diagnoseCmd
	app  *app
	e    *experiment
	spec *matrix.Spec
	cell memtrix.PlannedCell // that is asked about
}

// adjust makes a spec one of single cells, and keeps it to plan checks with.
func (d *diagnosing) adjust(s *matrix.Spec) error {
	if runsAlready(s) {
		return usage{errors.New(notStarted)}
	}
	s.Prompts, s.Expect, s.Free = d.cmd.Prompts, nil, true
	if s.Rest == 0 {
		s.Rest = matrix.NewSpec().Rest
	}
	if d.cmd.Spec == "" {
		settings := maps.Clone(s.Settings.Base)
		if settings == nil {
			settings = memtrix.Settings{}
		}
		for name, value := range d.cmd.Set {
			def, ok := memtrix.Setting(name)
			if !ok {
				return usage{fmt.Errorf("--set %s: there is no such setting; docs/spec.md has them", name)}
			}
			if err := def.Check(value); err != nil {
				return usage{fmt.Errorf("--set %s: %w", name, err)}
			}
			settings[name] = value
		}
		s.Settings = matrix.SettingsEntry{Base: settings}
		s.Name = "diagnose"
	}
	if d.cmd.AllNodes {
		if d.cmd.ComfyUI == "" {
			return usage{errors.New("--all-nodes goes with --comfyui; a spec names them under its key custom_nodes")}
		}
		list, err := allNodes(d.cmd.ComfyUI)
		if err != nil {
			return err
		}
		if len(list) > 0 {
			s.Versions[0].Packs = matrix.PacksEntry{Mode: matrix.PacksListed, List: list}
		}
	}
	d.spec = s
	return nil
}

func (d *diagnosing) options(cell memtrix.PlannedCell) lab.DiagnoseOptions {
	d.cell = cell
	v := cell.Cell.Version
	own := maps.Clone(cell.Cell.Settings)
	delete(own, "device")
	simulated := v.Target == memtrix.TargetSim
	return lab.DiagnoseOptions{
		Offers: lab.Offers{
			Own: own, Nodes: len(v.Packs) > 0, Packages: d.cmd.Earlier && !simulated, CPU: cell.Cell.Settings["device"] == "cpu",
		},
		Most: d.cmd.Trials, Prompts: d.spec.Prompts, Inside: !simulated && !d.cmd.NoInside && !cell.Cell.Probe,
		Plan: d.plan, Begin: d.begin,
		Whole: func(ctx context.Context, id int64) (*memtrix.Trial, error) { return d.e.db.Trial(ctx, id) },
	}
}

// begin sets what a check's trial measures: memory at rest is of interest as given.
func (d *diagnosing) begin(c lab.Check) {
	o := &d.e.ready.runner.Options
	o.Rest, o.Free = 0, false
	if c.Kind == lab.CheckAsGiven || c.Kind == lab.CheckInside {
		o.Rest, o.Free = d.spec.Rest, d.spec.Free
	}
	if c.Kind != lab.CheckAsGiven {
		d.e.ready.display.Say("next: " + c.Words)
	}
}

// plan makes the cell of a check; why says that it cannot be tried.
func (d *diagnosing) plan(ctx context.Context, c lab.Check) (cell memtrix.PlannedCell, why string, err error) {
	only := *d.spec
	only.Warnings, only.Hardware = nil, []memtrix.Hardware{d.cell.Cell.Hardware}
	i := slices.IndexFunc(only.Workflows, func(w matrix.WorkflowEntry) bool { return w.Name == d.cell.Cell.Workflow.Name })
	only.Workflows = only.Workflows[max(i, 0) : max(i, 0)+1]
	entry, why := d.entry()
	if why != "" {
		return cell, why, nil
	}
	settings := maps.Clone(d.cell.Cell.Settings)
	if settings == nil {
		settings = memtrix.Settings{}
	}
	switch c.Kind {
	case lab.CheckInside:
		cell = d.cell
		cell.Cell.Probe = true
		return cell, "", nil
	case lab.CheckNodes:
		// Of all that are listed those stay that it needs; of those none can be left out
		// but all.
		if entry.Packs.Mode == matrix.PacksListed {
			entry.Packs.Mode, entry.Packs.List = matrix.PacksAuto, nil
		} else {
			entry.Packs = matrix.PacksEntry{Mode: matrix.PacksOff}
		}
	case lab.CheckOwnAll:
		maps.DeleteFunc(settings, func(name, _ string) bool { return name != "device" })
	case lab.CheckOwn:
		delete(settings, c.Setting)
	case lab.CheckPackages:
		if why := d.earlier(ctx, &entry); why != "" {
			return cell, why, ctx.Err()
		}
	default:
		settings[c.Setting] = c.Value
	}
	only.Versions, only.Settings = []matrix.VersionEntry{entry}, matrix.SettingsEntry{Base: settings}
	plan, err := only.Plan(d.e.ready.world.matrix())
	switch {
	case ctx.Err() != nil:
		return cell, "", ctx.Err()
	case err != nil:
		return cell, firstLine(err.Error()), nil
	}
	cell = plan.Cells[0]
	if cell.Status != memtrix.StatusRun {
		return cell, cell.Reason, nil
	}
	if cell.Cell.ID() == d.cell.Cell.ID() {
		return cell, "it is so already", nil
	}
	return cell, idle(cell), nil
}

// entry is that of the spec that the cell's version came from.
func (d *diagnosing) entry() (matrix.VersionEntry, string) {
	name := d.cell.Cell.Version.Name
	for _, e := range d.spec.Versions {
		v, err := d.e.ready.world.version(e)
		if err == nil && cmp.Or(e.Name, v.Name, v.Release) == name || len(d.spec.Versions) == 1 {
			e.Name = name
			return e, ""
		}
	}
	return matrix.VersionEntry{}, fmt.Sprintf("which version of the spec %s is cannot be told: give it a name with name:", name)
}

// idle is the note that a setting will have no effect, "" where it may.
func idle(cell memtrix.PlannedCell) string {
	for _, note := range cell.Notes {
		if rest, ok := strings.CutPrefix(note, comfyui.NoEffect); ok {
			return "it would do nothing: " + rest
		}
	}
	return ""
}

// earlier puts the packages of the release before into an entry.
func (d *diagnosing) earlier(ctx context.Context, entry *matrix.VersionEntry) (why string) {
	v := d.cell.Cell.Version
	requirements, err := os.ReadFile(filepath.Join(v.Dir, "requirements.txt"))
	if err != nil {
		return fmt.Sprintf("what it requires cannot be read: %v", err)
	}
	sources := []string{entry.Source}
	if entry.Path != "" && entry.Source == "" {
		sources = []string{entry.Path, ""} // a person's own checkout may know its releases
	}
	for _, src := range sources {
		overrides, release, changed, err := d.e.ready.world.provider.Earlier(ctx, src, v, string(requirements))
		if err != nil {
			why = firstLine(err.Error())
			continue
		}
		d.e.ready.display.Say(fmt.Sprintf("packages as %s required them: %s", release, strings.Join(changed, ", ")))
		for name, version := range entry.Overrides {
			overrides[name] = version
		}
		entry.Overrides, entry.Packages = overrides, string(versions.Required)
		return ""
	}
	return why
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}

func (c *diagnoseCmd) show(a *app, e *experiment, all []lab.DiagnoseReport) error {
	if c.JSON {
		return writeJSON(a, struct {
			Session   string               `json:"session"`
			Spec      string               `json:"spec"`
			Diagnoses []lab.DiagnoseReport `json:"diagnoses"`
		}{e.ready.session.Name, e.ready.plan.Spec, all})
	}
	for i, r := range all {
		if i > 0 {
			fmt.Fprintln(a.stdout)
		}
		if err := unlessUnread(reports.DiagnosisTable(a.stdout, diagnosisOf(r))); err != nil {
			return err
		}
	}
	return nil
}

// diagnosisOf shapes a diagnosis for its table.
func diagnosisOf(r lab.DiagnoseReport) reports.Diagnosis {
	d := reports.Diagnosis{Words: r.Words, Simulated: r.Simulated, Title: cellName(memtrix.Cell{
		Version: memtrix.Version{Name: r.Version}, Workflow: memtrix.Workflow{Name: r.Workflow}, Settings: r.Settings, Hardware: memtrix.Hardware{Name: r.Hardware},
	})}
	for _, s := range r.Steps {
		row := reports.DiagnosisRow{What: s.Words, Argv: s.Argv, Skipped: s.Skipped, Cause: r.Cause != nil && r.Cause.ID == s.ID}
		for _, t := range s.Trials {
			row.Trials = append(row.Trials, reports.DiagnosisTrial{
				ID: t.Trial, Peaks: t.Peaks, Last: t.Last,
				Outcome: memtrix.Outcome{Kind: t.Outcome, Memory: t.Memory, Phase: t.Phase, Node: t.Node}, Prompt: t.Prompt,
			})
		}
		d.Rows = append(d.Rows, row)
	}
	return d
}
