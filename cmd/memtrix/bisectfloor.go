package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"memtrix"
	"memtrix/bisect"
	"memtrix/bisect/account"
	"memtrix/bisect/axes"
	"memtrix/hardware"
	"memtrix/lab"
	"memtrix/matrix"
	"memtrix/reports"
	"memtrix/results"
)

// floorAxis is a bisection by the floors of its ends (lab.FloorEnds): what they need is
// looked for first, then candidates are tried with a size between the two.
type floorAxis struct {
	db    *results.DB
	o     lab.FloorOptions
	ends  lab.FloorEnds
	limit time.Duration // that a prompt may take now; 0: the spec's
	own   time.Duration // the spec's
}

// checkFloor says what keeps a spec from being bisected by its floor, and sets what a
// floor's trials have otherwise.
func (c *bisectCmd) checkFloor(s *matrix.Spec, ends *bisectEnds) error {
	measure, err := lab.ParseMeasure(c.Meter)
	if err != nil {
		return err
	}
	meter, floor := measure.Floor()
	h := s.Hardware[0]
	simulated := ends.simulated()
	taken := func(key string, size int64) error {
		return fmt.Errorf("hardware %s has a size already (%s: %d MiB): --meter %s looks for sizes by itself; leave %s: out of the spec, or ask what happens at that size with --meter outcome", h.Name, key, size>>20, measure, key)
	}
	switch {
	case !floor && slices.Contains(c.given, "trials"):
		return errors.New("--trials goes with --meter floor.vram and floor.ram")
	case !floor:
		return nil
	case c.Trials < 2:
		return fmt.Errorf("--trials %d: a floor takes 2 trials at least", c.Trials)
	case meter == lab.FloorOfRAM && h.RAM > 0:
		return taken("ram", h.RAM)
	case meter == lab.FloorOfVRAM && ends.onCPU():
		return errors.New("--meter floor.vram is of a card, and with device=cpu none is used: --meter floor.ram")
	case meter == lab.FloorOfVRAM && !simulated && h.VRAM > 0:
		return taken("vram", h.VRAM)
	case meter == lab.FloorOfVRAM && simulated && h.VRAM == 0:
		return errors.New("a simulated ComfyUI has the card that hardware: says, and here it says none: hardware: [{name: card, vram: 24GiB}]")
	}
	s.Rest, s.Free = 0, false // a floor is of the work
	s.Probe = s.Probe || meter == lab.FloorOfVRAM && !simulated
	return nil
}

// withFloor makes ready what a bisection by floors takes, nil for another one.
func (s *specSearch) withFloor(db *results.DB) (*floorAxis, error) {
	measure, err := lab.ParseMeasure(s.cmd.Meter)
	if err != nil {
		return nil, usage{err}
	}
	meter, ok := measure.Floor()
	if !ok {
		return nil, nil
	}
	if meter == lab.FloorOfVRAM && !s.ends.simulated() && s.ready.runner.Card == nil {
		return nil, cannot{errors.New("there is no NVIDIA card here that could be made smaller, which --meter floor.vram asks for; --meter floor.ram looks for the least RAM")}
	}
	f := &floorAxis{db: db, own: s.ready.runner.Options.Timeouts.Prompt}
	f.o = lab.FloorOptions{Meter: meter, Most: s.cmd.Trials, Slower: floorSlower, Limit: func(d time.Duration) { f.limit = least(d, f.own) }}
	if meter == lab.FloorOfRAM {
		f.o.Swap = swapOf(s.spec.Hardware[0], false)
	}
	return f, nil
}

// at is the candidate's cell with the size at which candidates are tried, before its trial.
func (f *floorAxis) at(models []string, c memtrix.PlannedCell) memtrix.PlannedCell {
	f.before(models, c.Cell.Version)
	return f.o.Sized(c, f.ends.Size)
}

// size is that at which candidates are tried, in words.
func (f *floorAxis) size() string {
	return fmt.Sprintf("with %d MiB of free %s", f.ends.Size>>20, f.o.Meter.Memory())
}

// before is done before each trial with a size: files that were read count again.
func (f *floorAxis) before(models []string, v memtrix.Version) {
	if f.o.Meter == lab.FloorOfRAM {
		hardware.ForgetFiles(modelFolders(models, v))
	}
}

// floors finds the floors of both ends of a list, and the size between them. The stage says
// why there is none, nil where there is one.
func (s *specSearch) floors(list axes.List) (*account.Stage, error) {
	f := s.floor
	f.ends.Meter = f.o.Meter
	none := func(v bisect.Verdict, end int, why string) *account.Stage {
		r := &lab.BisectReport{Measure: lab.Measure(s.cmd.Meter), Simulated: f.ends.Good.Simulated || f.ends.Bad.Simulated}
		r.Verdict, r.End, r.Result.Why, r.Result.Runs = v, end, why, len(f.ends.Tries())
		return &account.Stage{List: list, Report: r}
	}
	for i, e := range []*lab.FloorEnd{&f.ends.Good, &f.ends.Bad} {
		end := []string{"good", "bad"}[i]
		c := list.Candidates[i*(len(list.Candidates)-1)]
		e.Name = endName(list, c)
		why, err := s.endFloor(c, e)
		if err != nil {
			return nil, err
		}
		if why != "" {
			return none(bisect.Untestable, i*(len(list.Candidates)-1), fmt.Sprintf("the %s end (%s) has no floor of %s: %s", end, e.Name, f.o.Meter.Memory(), why)), nil
		}
		s.say(fmt.Sprintf("floor of the %s end, %s: %s", end, e.Name, e.Border()))
	}
	f.ends.FloorGap = lab.BetweenFloors(f.ends.Good.FloorReport, f.ends.Bad.FloorReport)
	f.limit = f.ends.Longer()
	if f.ends.Size == 0 {
		return none(bisect.Same, 0, f.ends.Why), nil
	}
	s.say(fmt.Sprintf("candidates are tried %s, between the two floors", f.size()))
	return nil, nil
}

// endName is what an end is called: along packages, packs and settings a candidate's name is
// the step to it, which is not all that the bad end has.
func endName(list axes.List, c axes.Candidate) string {
	switch list.Axis {
	case axes.Settings:
		return c.Settings.String()
	case axes.Which:
		return firstOf(c.Entry.Name, c.Entry.Version, c.Entry.Path)
	case axes.Packages, axes.Nodes:
		return firstOf(c.Entry.Name, c.Entry.Version, c.Entry.Path) + " with its " + list.Axis.Plural()
	}
	return c.Name
}

// endFloor finds the floor of one end: one that was found before for the same cell on the same
// machine, else by a search. why says that there is none.
func (s *specSearch) endFloor(c axes.Candidate, e *lab.FloorEnd) (why string, err error) {
	f := s.floor
	cell, why, err := s.cell(c)
	if why != "" || err != nil {
		return why, err
	}
	f.limit = 0
	o := f.o
	if e.FloorReport, e.Earlier, err = s.earlier(cell); err != nil || e.Earlier != "" {
		return "", err
	}
	o.Cold = func() { f.before(s.ready.runner.Options.Models, cell.Cell.Version) }
	if f.ends.Good.Found { // the bad end's is looked for near the good one's
		o.Before, o.BeforeFails = f.ends.Good.Floor, f.ends.Good.Fails
	}
	e.FloorReport, err = lab.Floor(s.app.ctx, o, cell, s.run)
	switch {
	case s.app.ctx.Err() != nil:
		return "", s.app.ctx.Err()
	case errors.As(err, new(lab.Settled)):
		return err.Error(), nil
	case err != nil:
		return "", cannot{err}
	case !e.Found:
		return strings.TrimPrefix(e.Verdict, "there is no floor: ") + "; --meter outcome looks for what made it so", nil
	}
	v, _ := e.Value()
	if err := f.db.SaveValue(context.WithoutCancel(s.app.ctx), v); err != nil {
		return "", cannot{err}
	}
	return "", nil
}

// earlier is the newest floor of a cell in an earlier session, by whose trials it is told
// again, with the name of that session; "" where there is none that would be found alike
// today: on this card or machine, under the same variables and flags.
func (s *specSearch) earlier(cell memtrix.PlannedCell) (_ lab.FloorReport, session string, _ error) {
	f := s.floor
	all, err := f.db.ValueHistory(s.app.ctx, cell.Cell.Series(), s.cmd.Meter)
	if err != nil {
		return lab.FloorReport{}, "", cannot{err}
	}
	if len(all) == 0 {
		return lab.FloorReport{}, "", nil
	}
	now := s.ready.runner.Environment(s.app.ctx, cell.Cell.Version)
	for _, v := range slices.Backward(all) {
		if v.Session >= s.ready.session.ID || v.Cell != cell.Cell.ID() || len(v.Trials) == 0 || v.Trials[0] != v.Trial {
			continue
		}
		trials, err := trialsOf(s.app.ctx, f.db, v.Session, v.Trials)
		if err != nil {
			return lab.FloorReport{}, "", cannot{err}
		}
		if len(trials) == 0 || len(trials[0].Prompts) != s.spec.Prompts || !sameMachine(now, trials[0].Environment) {
			continue
		}
		if r, ok := f.o.Recall(cell, trials); ok {
			return r, sessionName(s.app.ctx, f.db, v.Session), nil
		}
	}
	return lab.FloorReport{}, "", nil
}

// trialsOf reads trials of a session, none where one of them is gone.
func trialsOf(ctx context.Context, db *results.DB, session int64, ids []int64) ([]*memtrix.Trial, error) {
	all, err := db.Trials(ctx, session)
	if err != nil {
		return nil, err
	}
	var found []*memtrix.Trial
	for _, id := range ids {
		i := slices.IndexFunc(all, func(t *memtrix.Trial) bool { return t.ID == id })
		if i < 0 {
			return nil, nil
		}
		found = append(found, all[i])
	}
	return found, nil
}

func sessionName(ctx context.Context, db *results.DB, id int64) string {
	all, err := db.Sessions(ctx)
	if i := slices.IndexFunc(all, func(s memtrix.Session) bool { return s.ID == id }); err == nil && i >= 0 {
		return all[i].Name
	}
	return fmt.Sprint(id)
}

// sameMachine reports whether two trials ran with the same of what a floor depends on, apart
// from their cells: the card or machine, its driver, variables and further flags.
func sameMachine(now, then memtrix.Environment) bool {
	depends := func(name string) bool {
		switch name {
		case "driver", "cuda", "args", "ram.total", "swap.total", "cpu.model":
			return true
		}
		return strings.HasPrefix(name, "gpu") || strings.HasPrefix(name, "env.")
	}
	names := slices.AppendSeq(slices.Collect(maps.Keys(now)), maps.Keys(then))
	return !slices.ContainsFunc(names, func(name string) bool { return depends(name) && now[name] != then[name] })
}

// drawFloors draws the time against the size for both ends.
func (s *specSearch) drawFloors(base string) (string, error) {
	f := s.floor.ends
	c := reports.Curve{
		Title: fmt.Sprintf("the floors of both ends: the least free %s", f.Meter.Memory()),
		Axis:  fmt.Sprintf("free %s, GiB", f.Meter.Memory()),
	}
	for i, e := range []lab.FloorEnd{f.Good, f.Bad} {
		if len(e.FloorReport.Tries) == 0 {
			continue
		}
		c.Simulated = c.Simulated || e.Simulated
		name := []string{"good: ", "bad: "}[i] + e.Name
		c.Notes = append(c.Notes, name+": "+e.Border())
		c.Lines = append(c.Lines, curveLine(name, e.FloorReport.Tries, e.Floor, 1<<30, func(p lab.Point) string { return fmt.Sprintf("%d MiB", p.Size>>20) }))
	}
	if len(c.Lines) == 0 {
		return "", nil
	}
	if f.Size > 0 {
		c.Notes = append(c.Notes, fmt.Sprintf("candidates were tried with %d MiB", f.Size>>20))
	}
	for _, format := range formats {
		if err := toFile(base+"-floors."+string(format), func(w *os.File) error { return reports.DrawCurve(w, c, format) }); err != nil {
			return "", err
		}
	}
	return base + "-floors.png", nil
}
