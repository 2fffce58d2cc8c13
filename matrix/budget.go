package matrix

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"memtrix"
)

// A trial that never ran is guessed from what ComfyUI took on two machines:
// 14-30 s to start, 5-11 s for a first prompt. Most of what is left is loading.
const (
	guessStart     = 30 * time.Second
	guessPrompt    = 15 * time.Second
	guessFree      = 5 * time.Second
	guessStop      = 2 * time.Second
	guessSimStart  = time.Second
	guessSimPrompt = time.Second
)

// Expected is the time that the cells of a plan still need, given how many
// repeats of a cell are done (nil: none).
func Expected(p *memtrix.Plan, done func(cellID string) int) time.Duration {
	seconds := 0.0
	for _, c := range p.Cells {
		if c.Status != memtrix.StatusRun {
			continue
		}
		left := c.Repeats
		if done != nil {
			left -= done(c.Cell.ID())
		}
		seconds += c.Seconds * float64(max(0, left))
	}
	// More than that is no plan, and too much for a time.Duration.
	return time.Duration(min(seconds, 100*longest.Seconds()) * float64(time.Second))
}

// last asks the store, if there is one.
func (p *planner) last(c memtrix.Cell) (LastTrial, bool) {
	if p.world.Last == nil {
		return LastTrial{}, false
	}
	return p.world.Last(c.ID())
}

// estimate gives each cell its expected time: that of its last trial, else the
// mean of the cells with the same workflow and target, else a guess.
func (p *planner) estimate() {
	type kind struct {
		workflow string
		target   memtrix.TargetKind
	}
	sum, count := map[kind]float64{}, map[kind]int{}
	for i, c := range p.out {
		if last, ok := p.last(c.Cell); ok && last.Seconds > 0 && c.Cell.Version.Trouble == "" {
			k := kind{c.Cell.Workflow.Hash, c.Cell.Version.Target}
			sum[k] += last.Seconds
			count[k]++
			p.out[i].Seconds = last.Seconds
		}
	}
	for i, c := range p.out {
		k := kind{c.Cell.Workflow.Hash, c.Cell.Version.Target}
		switch {
		case c.Seconds > 0 || c.Cell.Version.Trouble != "": // that fails at once
		case count[k] > 0:
			p.out[i].Seconds = sum[k] / float64(count[k])
		case p.world.Seconds != nil:
			p.out[i].Seconds = p.world.Seconds(c.Cell)
		default:
			p.out[i].Seconds = p.spec.guess(c.Cell.Version.Target).Seconds()
		}
	}
}

func (s *Spec) guess(target memtrix.TargetKind) time.Duration {
	start, prompt := guessStart, guessPrompt
	if target == memtrix.TargetSim {
		start, prompt = guessSimStart, guessSimPrompt
	}
	d := start + time.Duration(s.Prompts)*prompt + s.Rest + guessStop
	if s.Free {
		d += guessFree
	}
	return d
}

// Ranks of cells under a budget, the most important first.
const (
	rankNewVersion = iota
	rankFailed
	rankControl
	rankNewCell
	rankRest
	rankNotRun
)

// rank sorts cells by what matters most when time is short. Among the rest,
// what was not seen for longest goes first, so that a budget that is always too
// short leaves out others each night.
func (p *planner) rank() {
	seen := map[string]bool{}
	for _, c := range p.out {
		if _, ok := p.last(c.Cell); ok {
			seen[c.Cell.Version.Name] = true
		}
	}
	type ranked struct {
		cell memtrix.PlannedCell
		rank int
		when time.Time
	}
	all := make([]ranked, len(p.out))
	for i, c := range p.out {
		last, ok := p.last(c.Cell)
		all[i] = ranked{c, rankOf(c, last, ok, seen[c.Cell.Version.Name]), time.Time{}}
		if all[i].rank == rankRest {
			all[i].when = last.When
		}
	}
	slices.SortStableFunc(all, func(a, b ranked) int {
		if a.rank != b.rank {
			return cmp.Compare(a.rank, b.rank)
		}
		return a.when.Compare(b.when)
	})
	for i := range all {
		p.out[i] = all[i].cell
	}
}

func rankOf(c memtrix.PlannedCell, last LastTrial, ran, versionSeen bool) int {
	expect := c.Expect
	if expect == "" {
		expect = memtrix.Pass
	}
	switch {
	case c.Status != memtrix.StatusRun:
		return rankNotRun
	case !versionSeen:
		return rankNewVersion
	case ran && last.Outcome != expect:
		return rankFailed
	case c.Control:
		return rankControl
	case !ran:
		return rankNewCell
	}
	return rankRest
}

// cut leaves out the cells that do not fit into the budget any more. A later
// cell that does fit is kept: time that is there is used.
func (p *planner) cut() {
	left := p.spec.Budget.Seconds()
	out, fits := 0, 0
	for i, c := range p.out {
		if c.Status != memtrix.StatusRun {
			continue
		}
		need := c.Seconds * float64(c.Repeats)
		if need <= left {
			left -= need
			fits++
			continue
		}
		out++
		p.out[i].Status = memtrix.StatusLeftOut
		p.out[i].Reason = fmt.Sprintf("expected to take %s, and the budget of %s has %s left", brief(need), brief(p.spec.Budget.Seconds()), brief(left))
	}
	if out == 0 {
		return
	}
	msg := fmt.Sprintf("%d of %d cells are left out: they do not fit into the budget of %s", out, out+fits, brief(p.spec.Budget.Seconds()))
	p.warn(pos{}, "%s", msg)
}

// brief writes seconds for people, "8h" or "2m30s".
func brief(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second)).Round(time.Second)
	text := d.String()
	if d >= time.Minute && d%time.Minute == 0 {
		text = text[:len(text)-len("0s")]
	}
	if d >= time.Hour && d%time.Hour == 0 {
		text = text[:len(text)-len("0m")]
	}
	return text
}
