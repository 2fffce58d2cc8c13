package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"time"

	"memtrix"
	"memtrix/internal/abba"
	"memtrix/matrix"
	"memtrix/recorders"
	"memtrix/results"
)

// abbaCmd measures what a part of memtrix costs the server that it looks at: prompts
// in one server, alternately with that part and without (package internal/abba).
type abbaCmd struct {
	specFlags
	Switch  string        `help:"What is turned on and off: the probe, the recorders, or nothing (which must come out as 1)." enum:"probe,recorders,nothing" default:"probe"`
	Width   float64       `help:"How narrow the interval of the ratio must be." default:"0.02"`
	Leg     int           `help:"Prompts between two switches." default:"1"`
	Warm    int           `help:"Prompts before the first block." default:"4"`
	Blocks  int           `help:"At most so many blocks of four; 0: no bound." default:"0"`
	Limit   time.Duration `help:"At most so long." default:"30m"`
	Results string        `help:"Folder for the server's raw files." default:"memtrix-abba" type:"path"`
	JSON    bool          `name:"json" help:"One JSON document."`
}

// abbaJSON is the document of `memtrix abba --json`.
type abbaJSON struct {
	Switch string  `json:"switch"`
	Cell   string  `json:"cell"`
	Width  float64 `json:"wanted_width"`
	Narrow bool    `json:"narrow"`
	abba.Result
}

func (c *abbaCmd) Run(a *app) error {
	spec, err := c.load(a.ctx)
	if err != nil {
		return err
	}
	if c.Leg < 1 || c.Warm < 0 || c.Width <= 0 {
		return usage{errors.New("--leg and --width must be more than 0, --warm not less")}
	}
	if c.Spec == "" {
		spec.Settings = matrix.SettingsEntry{Base: deviceOf(c.device())}
	}
	spec.Probe = spec.Probe || c.Switch == "probe"
	db, err := results.Open(a.ctx, c.Results)
	if err != nil {
		return cannot{err}
	}
	defer db.Close()
	rd, err := makeReady(a, spec, db, " abba", "new", true)
	if err != nil {
		return err
	}
	defer rd.close()
	cell, err := firstThatRuns(rd.plan)
	if err != nil {
		return err
	}
	b := &bench{cmd: c, ready: rd, spec: spec, cell: cell}
	r, err := b.run(a)
	if len(r.Blocks) == 0 {
		return cannot{err}
	}
	return c.report(a, cell, r, err)
}

func deviceOf(device string) memtrix.Settings {
	if device == "cpu" {
		return memtrix.Settings{"device": "cpu"}
	}
	return nil
}

func firstThatRuns(p *memtrix.Plan) (memtrix.PlannedCell, error) {
	for _, c := range p.Cells {
		if c.Status == memtrix.StatusRun {
			return c, nil
		}
	}
	return memtrix.PlannedCell{}, usage{errors.New("no cell of the spec can run")}
}

func (c *abbaCmd) report(a *app, cell memtrix.PlannedCell, r abba.Result, err error) error {
	narrow := err == nil
	if c.JSON {
		doc := abbaJSON{c.Switch, cell.Cell.ID(), c.Width, narrow, r}
		if math.IsNaN(r.Low) { // JSON has no such number
			return cannot{errors.Join(err, errors.New("fewer than six blocks tell nothing"))}
		}
		e := json.NewEncoder(a.stdout)
		e.SetIndent("", "  ")
		if e := e.Encode(doc); e != nil {
			return e
		}
	} else {
		fmt.Fprintf(a.stdout, "%s, %s, %s: with %s on, a prompt takes %.4f of the time without; %.0f %% interval %.4f to %.4f\n",
			cell.Cell.Version.Name, cell.Cell.Workflow.Name, cell.Cell.Settings, c.what(), r.Ratio, r.Confidence*100, r.Low, r.High)
		fmt.Fprintf(a.stdout, "by the mean, in which prompts that were held up count in full: %.4f, %.4f to %.4f\n", r.Mean, r.MeanLow, r.MeanHigh)
		fmt.Fprintf(a.stdout, "%d blocks of off on on off and the opposite, %d prompts between switches; medians %.4f s on, %.4f s off\n",
			len(r.Blocks), c.Leg, r.On.Seconds(), r.Off.Seconds())
	}
	if narrow {
		return nil
	}
	fmt.Fprintln(a.stderr, "memtrix:", err)
	return status(exitCannot)
}

// what names what is switched, for people.
func (c *abbaCmd) what() string {
	if c.Switch == "nothing" {
		return "nothing"
	}
	return "the " + c.Switch
}

// bench is one server that works while something is turned on and off.
type bench struct {
	cmd      *abbaCmd
	ready    *ready
	spec     *matrix.Spec
	cell     memtrix.PlannedCell
	epoch    time.Time
	dir      string
	instance memtrix.Instance
	sampler  *recorders.Sampler // while recorders are on
	prompts  int
}

func (b *bench) run(a *app) (abba.Result, error) {
	machine, err := b.ready.runner.Machine(a.ctx, b.cell.Cell.Hardware, fmt.Sprintf("memtrix-abba-%d", os.Getpid()))
	if err != nil {
		return abba.Result{}, err
	}
	defer machine.Release()
	if b.dir, err = filepath.Abs(filepath.Join(b.cmd.Results, "trials", "abba-"+b.ready.session.Name)); err != nil {
		return abba.Result{}, err
	}
	if err := os.MkdirAll(b.dir, 0o755); err != nil {
		return abba.Result{}, fmt.Errorf("folder of the server: %w", err)
	}
	v := b.cell.Cell.Version
	target := b.ready.runner.Targets[v.Target]
	if err := target.Prepare(a.ctx, v, func(s string) { fmt.Fprintln(a.stderr, s) }); err != nil {
		return abba.Result{}, err
	}
	b.epoch = time.Now()
	b.instance, err = target.Start(a.ctx, memtrix.Job{
		Cell: b.cell.Cell, Argv: b.cell.Argv, Extra: b.spec.Args, Env: b.spec.Env, Prefix: machine.Prefix(),
		Dir: b.dir, Models: b.spec.Models, Epoch: b.epoch,
	})
	if err != nil {
		return abba.Result{}, err
	}
	defer b.instance.Stop(context.WithoutCancel(a.ctx))
	if b.cmd.Switch == "recorders" {
		defer b.record(false)
	}
	start, stop := context.WithTimeout(a.ctx, b.spec.Timeouts.Start)
	defer stop()
	if err := b.instance.Ready(start); err != nil {
		return abba.Result{}, err
	}
	ctx, cancel := context.WithTimeout(a.ctx, b.cmd.Limit)
	defer cancel()
	return abba.Run(ctx, abba.Config{
		Switch: b.turn, Do: b.work, Warm: b.cmd.Warm, Width: b.cmd.Width, MaxBlocks: b.cmd.Blocks,
		Say: func(r abba.Result) {
			fmt.Fprintf(a.stderr, "%3d blocks: %.4f, %.4f to %.4f\n", len(r.Blocks), r.Ratio, r.Low, r.High)
		},
	})
}

// turn switches what is measured.
func (b *bench) turn(ctx context.Context, on bool) error {
	switch b.cmd.Switch {
	case "probe":
		p, ok := b.instance.(memtrix.Prober)
		if !ok {
			return errors.New("this target has no probe")
		}
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		return p.SwitchProbe(ctx, on)
	case "recorders":
		b.record(on)
	}
	return nil
}

func (b *bench) record(on bool) {
	if b.sampler != nil {
		b.sampler.Stop()
		b.sampler = nil
	}
	if !on {
		return
	}
	// As package runner starts them for a trial; units are all work.
	calm := max(b.spec.Interval, recorders.Fast)
	c := recorders.Config{
		Epoch: b.epoch, Interval: calm, CardInterval: b.spec.Interval, CalmInterval: calm,
		Card: b.ready.runner.Card, PID: b.instance.PID(),
	}
	if b.cell.Cell.Version.Target == memtrix.TargetSim {
		c.SimCard = filepath.Join(b.dir, memtrix.SimCardFile)
	}
	b.sampler = recorders.Start(c)
	b.sampler.Busy(true)
}

// work does one leg: the time is that of its prompts, from POST to their ends.
func (b *bench) work(ctx context.Context, _ int) (time.Duration, error) {
	var sum time.Duration
	for range b.cmd.Leg {
		b.prompts++
		r, err := b.instance.Do(ctx, b.prompts)
		if err == nil && r.Outcome != memtrix.Pass {
			err = fmt.Errorf("prompt %d: %s", b.prompts, r.Outcome)
		}
		if err != nil {
			return 0, err
		}
		sum += time.Duration(r.Seconds * float64(time.Second))
	}
	return sum, nil
}
