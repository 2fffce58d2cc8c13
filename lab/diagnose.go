package lab

import (
	"context"
	"slices"

	"memtrix"
)

// DiagnoseOptions are how a diagnosis is made.
type DiagnoseOptions struct {
	Offers Offers
	// Most is how many trials there may be; 0 sets no bound.
	Most int
	// Plan gives the cell of a check; why says that it cannot be tried here.
	Plan func(ctx context.Context, c Check) (cell memtrix.PlannedCell, why string, err error)
	// Begin is told of each check before its trial; nil does nothing.
	Begin func(c Check)
	// Whole gives a trial with its series; nil leaves out what only they tell.
	Whole func(ctx context.Context, id int64) (*memtrix.Trial, error)
	// Prompts is how many prompts a trial has.
	Prompts int
	// Inside says that a probe can look into the server.
	Inside bool
}

// DiagnoseStep is a check with its trials.
type DiagnoseStep struct {
	Check
	Argv    []string    `json:"argv,omitempty"`
	Trials  []CheckDone `json:"trials"`
	Skipped string      `json:"skipped,omitempty"`
}

// CheckDone is one trial of a check.
type CheckDone struct {
	Trial   int64               `json:"trial"`
	Outcome memtrix.OutcomeKind `json:"outcome"`
	Memory  memtrix.Memory      `json:"memory,omitempty"`
	Phase   memtrix.Phase       `json:"phase,omitempty"`
	Node    *memtrix.Node       `json:"node,omitempty"`
	Prompt  int                 `json:"failed_prompt,omitempty"`
	Message string              `json:"message,omitempty"`
	// Peaks are bytes by meter.
	Peaks map[string]int64 `json:"peaks,omitempty"`
	// First and Last are the seconds of the first and the last prompt that passed.
	First float64 `json:"first_prompt_seconds,omitempty"`
	Last  float64 `json:"last_prompt_seconds,omitempty"`
}

// DiagnoseReport is what a diagnosis found.
type DiagnoseReport struct {
	Cell      string           `json:"cell"`
	Series    string           `json:"series"`
	Version   string           `json:"version"`
	Workflow  string           `json:"workflow"`
	Settings  memtrix.Settings `json:"settings"`
	Hardware  string           `json:"hardware"`
	Simulated bool             `json:"simulated"`
	Verdict   Verdict          `json:"verdict"`
	// Cause is what made it pass, nil for none; Sure says that luck is no explanation.
	Cause    *Check         `json:"cause,omitempty"`
	Sure     bool           `json:"sure"`
	Findings []Finding      `json:"findings"`
	Words    string         `json:"paragraph"`
	Steps    []DiagnoseStep `json:"steps"`

	outcome memtrix.Outcome // the first failure as given
}

// Answered says that there is an answer: a cause, a way out, or that nothing fails.
func (r DiagnoseReport) Answered() bool {
	switch r.Verdict {
	case VerdictCause, VerdictWayOut, VerdictPasses, VerdictWrong:
		return true
	}
	return false
}

// Diagnose finds out why a cell fails, by changing one thing at a time until it passes.
// An error means that it could not be told; the report has what was tried before.
func Diagnose(ctx context.Context, o DiagnoseOptions, cell memtrix.PlannedCell, try Try) (DiagnoseReport, error) {
	d := &diagnosing{options: o, try: try, list: Checklist{Offers: o.Offers, Most: o.Most}}
	c := cell.Cell
	d.report = DiagnoseReport{
		Cell: c.ID(), Series: c.Series(), Version: c.Version.Name, Workflow: c.Workflow.Name, Settings: c.Settings, Hardware: c.Hardware.Name,
		Findings: []Finding{}, Steps: []DiagnoseStep{},
	}
	d.cells = map[string]memtrix.PlannedCell{asGiven.ID: cell}
	for {
		next, more := d.list.Next(d.known)
		if !more {
			break
		}
		if err := d.run(ctx, next); err != nil {
			return d.report, err
		}
	}
	if err := d.lookInside(ctx); err != nil {
		return d.report, err
	}
	end := d.list.Conclude(d.known)
	d.report.Verdict, d.report.Cause, d.report.Sure = end.Verdict, end.Check, end.Sure
	d.report.Words = d.paragraph()
	return d.report, nil
}

// diagnosing is a diagnosis while it is made.
type diagnosing struct {
	options DiagnoseOptions
	try     Try
	list    Checklist
	known   []Checked
	cells   map[string]memtrix.PlannedCell
	report  DiagnoseReport
}

// run makes one trial of a check, or finds out why there can be none.
func (d *diagnosing) run(ctx context.Context, c Check) error {
	i := slices.IndexFunc(d.known, func(k Checked) bool { return k.ID == c.ID })
	if i < 0 {
		i = len(d.known)
		d.known = append(d.known, Checked{Check: c})
		d.report.Steps = append(d.report.Steps, DiagnoseStep{Check: c, Trials: []CheckDone{}})
	}
	known, step := &d.known[i], &d.report.Steps[i]
	skip := func(why string) { known.Skipped, step.Skipped = why, why }
	cell, ok := d.cells[c.ID]
	if !ok {
		var why string
		var err error
		if cell, why, err = d.options.Plan(ctx, c); err != nil {
			return err
		}
		if why != "" {
			skip(why)
			return nil
		}
		d.cells[c.ID] = cell
	}
	step.Argv = cell.Argv
	cell.Expect = "" // a failure is an answer, and no surprise
	if d.options.Begin != nil {
		d.options.Begin(c)
	}
	t, err := d.try(ctx, cell, len(known.Outcomes))
	switch {
	case err != nil && (c.Kind == CheckAsGiven || ctx.Err() != nil):
		return err
	case err != nil:
		skip(err.Error())
		return nil
	}
	if err := tell(t); err != nil && t.Outcome.Kind != memtrix.InvalidWorkflow {
		if c.Kind == CheckAsGiven {
			return err
		}
		skip(t.Outcome.Message)
		return nil
	}
	return d.took(ctx, known, step, t)
}

// took takes a trial over.
func (d *diagnosing) took(ctx context.Context, known *Checked, step *DiagnoseStep, t *memtrix.Trial) error {
	if d.options.Whole != nil {
		whole, err := d.options.Whole(ctx, t.ID)
		if err != nil {
			return err
		}
		t = whole
	}
	d.report.Simulated = d.report.Simulated || t.Simulated
	known.Outcomes = append(known.Outcomes, t.Outcome)
	if known.Prompt == 0 && t.Outcome.Kind != memtrix.Pass {
		known.Prompt = failedPrompt(t)
	}
	step.Trials = append(step.Trials, done(t))
	switch known.Kind {
	case CheckAsGiven:
		d.list.Offers.Dynamic = t.Environment["banner.dynamic-vram"] != ""
		if d.report.outcome.Kind == "" || d.report.outcome.Kind == memtrix.Pass {
			d.report.outcome = t.Outcome
		}
		d.add(Findings(t))
	case CheckInside:
		d.add(Findings(t))
	}
	return nil
}

// add keeps findings; of one kind the last trial that shows it says it best, since it
// may have looked from inside.
func (d *diagnosing) add(found []Finding) {
	for _, f := range found {
		if f.Kind != "fall-back" && f.Kind != "holder" {
			d.report.Findings = slices.DeleteFunc(d.report.Findings, func(g Finding) bool { return g.Kind == f.Kind && g.Trial != f.Trial })
		}
		if !slices.ContainsFunc(d.report.Findings, func(g Finding) bool { return g.Kind == f.Kind && g.Text == f.Text }) {
			d.report.Findings = append(d.report.Findings, f)
		}
	}
}

// lookInside runs what was given once more with a probe, where that may tell more: what
// holds RAM that does not come back, and whose figures are right when VRAM ran out and
// nothing helped.
func (d *diagnosing) lookInside(ctx context.Context) error {
	if !d.options.Inside {
		return nil
	}
	kept := slices.ContainsFunc(d.report.Findings, func(f Finding) bool { return f.Kind == "ram-kept" })
	end := d.list.Conclude(d.known)
	lost := end.Verdict == VerdictNone && d.report.outcome.Kind == memtrix.OOM
	if !kept && !lost {
		return nil
	}
	return d.run(ctx, Check{ID: string(CheckInside), Kind: CheckInside, Words: "as given, seen from inside"})
}

// shownPeaks are the meters that a step shows.
var shownPeaks = []string{memtrix.VRAMTrialUsed, memtrix.VRAMDeviceUsed, memtrix.RAMTreeRSS, memtrix.RAMTreeAnon, memtrix.RAMTreeShmem, memtrix.SwapTreeUsed}

func done(t *memtrix.Trial) CheckDone {
	o := t.Outcome
	c := CheckDone{
		Trial: t.ID, Outcome: o.Kind, Memory: o.Memory, Phase: o.Phase, Node: o.Node, Message: o.Message, Peaks: map[string]int64{},
	}
	if o.Kind != memtrix.Pass {
		c.Prompt = failedPrompt(t)
	}
	for _, meter := range shownPeaks {
		if p, ok := t.Peak(meter); ok {
			c.Peaks[meter] = p.Value
		}
	}
	p := point(t, 0)
	c.First, c.Last = p.First, p.Last
	return c
}
