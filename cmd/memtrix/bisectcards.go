package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"memtrix"
	"memtrix/lab"
	"memtrix/matrix"
	"memtrix/recorders/nvidia"
	"memtrix/results"
	"memtrix/runner"
)

// place is where one trial runs at a time: of several at once each has a card of its own.
type place struct {
	runner *runner.Runner
	bench  *lab.Bench
}

// try runs a trial, or gives the one that is stored.
func (p *place) try(ctx context.Context, c memtrix.PlannedCell, repeat int) (*memtrix.Trial, error) {
	p.runner.ForgetFailures()
	return p.bench.Try(ctx, c, repeat)
}

// makePlaces makes ready what runs trials: as many at once as were asked for.
func (s *specSearch) makePlaces(db *results.DB) error {
	rd := s.ready
	s.places = make(chan *place, s.cmd.Jobs)
	if s.cmd.Jobs == 1 {
		rd.runner.Progress = &counted{Display: rd.display}
		s.places <- &place{rd.runner, &lab.Bench{Runner: rd.runner, Store: db, Session: rd.session}}
		return nil
	}
	if s.ends.simulated() {
		for n := range s.cmd.Jobs {
			s.addPlace(db, fmt.Sprintf("simulated card %d", n+1), s.spec.Env, nil)
		}
		return nil
	}
	cards, err := nvidia.OpenAll(lookup(s.spec.Env))
	for _, c := range cards {
		rd.closers = append(rd.closers, func() { c.Close() })
	}
	if err == nil {
		err = enough(cards, s.cmd.Jobs)
	}
	if err != nil {
		return usage{fmt.Errorf("--jobs %d: each of several trials at once has a card of its own: %w", s.cmd.Jobs, err)}
	}
	for _, c := range cards[:s.cmd.Jobs] {
		env := maps.Clone(s.spec.Env)
		if env == nil {
			env = map[string]string{}
		}
		env["CUDA_VISIBLE_DEVICES"] = c.UUID
		s.addPlace(db, fmt.Sprintf("card %d", c.Index), env, c)
	}
	return nil
}

// enough reports whether there are cards for all, and alike: else which of them a trial
// got would be a difference of its own.
func enough(cards []*nvidia.Card, jobs int) error {
	if len(cards) < jobs {
		return fmt.Errorf("CUDA sees %d here", len(cards))
	}
	for _, c := range cards[:jobs] {
		if first := cards[0]; c.Name != first.Name || c.Total != first.Total {
			return fmt.Errorf("card %d (%s, %d MiB) and card %d (%s, %d MiB) differ: CUDA_VISIBLE_DEVICES says which are used",
				first.Index, first.Name, first.Total>>20, c.Index, c.Name, c.Total>>20)
		}
	}
	return nil
}

// addPlace makes one more place: all that a trial changes is its own, but for the store.
func (s *specSearch) addPlace(db *results.DB, name string, env map[string]string, card *nvidia.Card) {
	rd := s.ready
	spec := *s.spec
	spec.Env = env
	r := rd.newRunner(db, &spec, rd.world.targetsWith(env), &placed{name: name, say: rd.display.Say, quiet: s.cmd.Quiet})
	if card != nil {
		r.Card, r.Gate = card, newGate(card, r.Progress.Say)
	}
	s.places <- &place{r, &lab.Bench{Runner: r, Store: db, Session: rd.session}}
}

// checkJobs says why several trials cannot run at once, nil where they can as far as the
// spec tells.
func (c *bisectCmd) checkJobs(s *matrix.Spec, ends *bisectEnds) error {
	switch {
	case c.Jobs < 1:
		return fmt.Errorf("--jobs %d: one at least", c.Jobs)
	case c.Jobs == 1:
		return nil
	}
	why := ""
	measure, err := lab.ParseMeasure(c.Meter)
	if err != nil {
		return err
	}
	switch {
	case measure == memtrix.FloorRAM:
		why = "with --meter floor.ram trials run one at a time, since what one of them reads into the memory of the machine another one finds there"
	case measure != "" && !measure.Alone():
		why = measure.Words() + " is not that of one trial alone then: --meter outcome, or memory of the card"
	case ends.onCPU():
		why = "on the CPU trials run one at a time, since each would take the memory of the others"
	case slices.ContainsFunc(s.Args, func(a string) bool { return strings.HasPrefix(a, "--cuda-device") }):
		why = "args: --cuda-device names one card for all"
	default:
		return nil
	}
	return fmt.Errorf("--jobs %d: %s", c.Jobs, why)
}

// placed tells of several trials at once: of each where it runs, when it begins and how
// it ended.
type placed struct {
	name  string
	say   func(string)
	quiet bool
}

func (p *placed) CellStart(_ int, title string) { p.tell(title) }

func (p *placed) CellEnd(outcome string, seconds float64) {
	p.tell(fmt.Sprintf("%s  %.1f s", outcome, seconds))
}

// Say passes on what a person should know.
func (p *placed) Say(text string) { p.say(p.name + ": " + text) }

func (p *placed) tell(text string) {
	if !p.quiet {
		p.Say(text)
	}
}

func (p *placed) Event(memtrix.Event)     {}
func (p *placed) Memory(map[string]int64) {}
func (p *placed) Left(time.Duration)      {}

// run runs a trial where there is room for it.
func (s *specSearch) run(ctx context.Context, c memtrix.PlannedCell, repeat int) (*memtrix.Trial, error) {
	select {
	case p := <-s.places:
		defer func() { s.places <- p }()
		if s.floor != nil {
			p.runner.Options.Timeouts.Prompt = least(s.floor.limit, s.floor.own)
		}
		return p.try(ctx, c, repeat)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
