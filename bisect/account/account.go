// Package account says what came out of a bisection of a spec: the paragraph for a bug
// report, the commands that go back to the last good state, and what `git bisect log`
// would show. Pure: it draws nothing and asks nobody.
package account

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"memtrix/bisect"
	"memtrix/bisect/axes"
	"memtrix/lab"
)

// Stage is one search: along commits, then along the packages of the one that was found.
type Stage struct {
	List   axes.List
	Report *lab.BisectReport
}

// Account is a bisection with all its stages.
type Account struct {
	Stages []Stage
	// Cell is what was measured: workflow, settings, hardware, in words.
	Cell string
	// Floors are what both ends need, and where candidates were tried between them; nil
	// where something else is compared.
	Floors *lab.FloorEnds
	// Command repeats it.
	Command string
	// Dir is the installation that is bisected, and Python its interpreter; "" for
	// versions that memtrix got by itself.
	Dir, Python string
}

// Found reports whether the last stage names a first bad one.
func (s Stage) Found() bool {
	return s.Report.Posterior != nil && s.Report.Verdict == bisect.Found
}

// First is the most likely first bad one, and Before the last good one by that.
func (s Stage) First() axes.Candidate  { return s.List.Candidates[s.Report.FirstBad] }
func (s Stage) Before() axes.Candidate { return s.List.Candidates[s.Report.From-1] }

// Answer is the last stage that found something, else the first one.
func (a Account) Answer() Stage {
	for _, s := range slices.Backward(a.Stages) {
		if s.Found() {
			return s
		}
	}
	return a.Stages[0]
}

// Effort is what all stages took: trials that an earlier stage had are counted once.
func (a Account) Effort() (runs int, seconds float64) {
	seen := map[int64]bool{}
	if a.Floors != nil {
		for _, p := range a.Floors.Tries() {
			seen[p.Trial] = true
			runs++
			seconds += p.Seconds
		}
	}
	for _, s := range a.Stages {
		for _, r := range s.Report.Runs {
			if r.Trial != 0 && seen[r.Trial] {
				continue
			}
			seen[r.Trial] = true
			runs++
			seconds += r.Seconds
		}
	}
	return runs, seconds
}

// Paragraphs are the end in words.
func (a Account) Paragraphs() []string {
	var out []string
	if a.Floors != nil {
		out = append(out, a.Floors.Words()...)
	}
	for i, s := range a.Stages {
		text := s.sentence()
		if i > 0 {
			text = "Then: " + text
		}
		out = append(out, text)
		out = append(out, s.notes()...)
		out = append(out, a.merge(i)...)
	}
	runs, seconds := a.Effort()
	floors := ""
	if a.Floors != nil {
		floors = fmt.Sprintf(" (%d of them for the floors)", len(a.Floors.Tries()))
	}
	effort := fmt.Sprintf("Measured: %s. %d runs%s, %s.", a.Cell, runs, floors, time.Duration(seconds*float64(time.Second)).Round(time.Second))
	if slices.ContainsFunc(a.Stages, func(s Stage) bool { return s.Report.Simulated }) {
		effort += " SIMULATED: no measurement."
	}
	return append(out, effort)
}

// sentence is what one stage found.
func (s Stage) sentence() string {
	r := s.Report
	n := len(s.List.Candidates)
	switch {
	case r.Posterior == nil:
		return fmt.Sprintf("No first bad one among %d %s: %s.", n, s.List.Axis.Plural(), s.reason())
	case r.From == r.To:
		text := fmt.Sprintf("First bad %s: %s (%d of %d, %s). %s.", s.List.Axis.Singular(), s.title(r.From), r.From+1, n, Sure(r.Sure), s.difference())
		if r.Verdict != bisect.Found {
			text = fmt.Sprintf("Not sure yet (%s): most likely %s, %.0f %%.", cmp.Or(r.Why, "stopped"), s.title(r.From), 100*r.Sure)
		}
		return text
	}
	text := fmt.Sprintf("The first bad %s is one of %d, from %s to %s (%s)",
		s.List.Axis.Singular(), r.To-r.From+1, s.title(r.From), s.title(r.To), Sure(r.Sure))
	if r.StandsOut() {
		text += ", most likely " + s.List.Candidates[r.FirstBad].Name
	}
	text += "."
	if r.Verdict == bisect.Found {
		return text + " Those between them cannot be tested, so that no run could tell them apart. " + s.difference() + "."
	}
	if r.Verdict == bisect.GaveUp {
		return "Gave up " + r.Why + ". " + text
	}
	return text + fmt.Sprintf(" More runs would tell (%s).", cmp.Or(r.Why, "stopped"))
}

// Sure writes a probability; none is certainty.
func Sure(p float64) string {
	if p > 0.999 {
		return "more than 99.9 % sure"
	}
	return fmt.Sprintf("%.1f %% sure", 100*p)
}

// title names a candidate with what is known of it.
func (s Stage) title(i int) string {
	c := s.List.Candidates[i]
	if c.Subject == "" {
		return c.Name
	}
	text := fmt.Sprintf("%s %q", c.Commit, c.Subject)
	if s.List.Axis == axes.Pack {
		text = c.Thing + " " + text
	}
	return text + " of " + c.Date.Format("2006-01-02")
}

// difference is both sides in words.
func (s Stage) difference() string {
	good, bad := s.Report.Sides()
	if s.Report.Measure == lab.MeasureOutcome {
		before := "Before it"
		if s.Report.At != "" {
			before = strings.ToUpper(s.Report.At[:1]) + s.Report.At[1:] + ", before it"
		}
		text := fmt.Sprintf(before+" %d of %d runs ended with %s, from it on %d of %d", good.Failed, good.Runs, s.Report.BadClass, bad.Failed, bad.Runs)
		if f := s.Report.Failures(); len(f) > 0 && f[0].Message != "" {
			text += ": " + f[0].Message
		}
		return text
	}
	text := fmt.Sprintf("%s: %s before it, %s from it on", s.Report.Measure.Words(), good.Words(s.Report.Measure), bad.Words(s.Report.Measure))
	if good.Mean != nil && bad.Mean != nil {
		text += fmt.Sprintf(" (%+.1f %%)", 100*(*bad.Mean / *good.Mean - 1))
	}
	return text
}

// reason is why there is no answer.
func (s Stage) reason() string {
	r := s.Report
	if r.Verdict != bisect.Untestable || len(r.Runs) == 0 {
		return cmp.Or(strings.TrimSuffix(r.Result.Why, "."), "it was stopped before the ends were known")
	}
	end := "good"
	if r.End != 0 {
		end = "bad"
	}
	why := ""
	for _, run := range r.Runs {
		if run.Index == r.End && run.Why != "" {
			why = ": " + run.Why
		}
	}
	return fmt.Sprintf("the %s end %s cannot be tested%s; take another one for it", end, s.List.Candidates[r.End].Name, why)
}

// notes are further things to know of a stage.
func (s Stage) notes() []string {
	var out []string
	r := s.Report
	for _, c := range r.Several {
		out = append(out, fmt.Sprintf("There is another change between %s and %s: --find first or last looks for it.", s.List.Candidates[c.From].Name, s.List.Candidates[c.To].Name))
	}
	if f := r.Failures(); len(f) > 1 {
		text := "The failures differ, so there may be several changes:"
		for _, run := range f {
			text += fmt.Sprintf(" from %s on %q;", s.List.Candidates[run.Index].Name, run.Message)
		}
		out = append(out, strings.TrimSuffix(text, ";")+". --failure TEXT looks for one of them.")
	}
	untestable := map[int]string{}
	for _, run := range r.Runs {
		if run.Result == lab.RunUntestable {
			untestable[run.Index] = run.Why
		}
	}
	if n := len(untestable); n > 0 && r.Posterior != nil {
		out = append(out, fmt.Sprintf("%d candidates could not be tested, which counted neither for good nor for bad.", n))
	}
	if s.Found() && r.From == r.To && s.Before().Group != s.First().Group && strings.HasSuffix(string(r.Measure), ".rss") {
		// Seen: 110 MiB between two environments of the same packages.
		out = append(out, "The two states run in different environments. Resident memory counts pages of mapped files, and how many there are differs between two copies of the same libraries: what the program itself took is told by "+strings.TrimSuffix(string(r.Measure), "rss")+"anon (--meter).")
	}
	if asks := s.asks(); asks != "" {
		out = append(out, asks)
	}
	return out
}

// asks says which other packages the first bad commit requires, "" where it does not or
// is not known.
func (s Stage) asks() string {
	if !s.Found() || s.Report.From != s.Report.To || len(s.First().Asks) == 0 {
		return ""
	}
	text := fmt.Sprintf("It requires other packages than the commit before it: %s.", strings.Join(s.First().Asks, ", "))
	if s.List.Axis == axes.Commits && s.First().Group == "" {
		text += " All runs were in one environment, which was left as it is: to install what the commit requires may be the way forward."
	}
	return text
}

// merge is what is to be said of an answer that is a merge, where no later stage has
// found the commit in its branch.
func (a Account) merge(stage int) []string {
	s := a.Stages[stage]
	if !s.Found() || s.Report.From != s.Report.To || !s.First().Merge {
		return nil
	}
	commit := s.First().Commit
	switch {
	case s.List.Merge == commit:
		return []string{"No commit of its branch does it alone: it is the merge, which brings the branch together with what came meanwhile."}
	case slices.ContainsFunc(a.Stages[stage+1:], func(later Stage) bool { return later.List.Merge == commit }):
		return nil
	case s.List.Axis == axes.Commits:
		return []string{fmt.Sprintf("It is a merge and stands for its branch. To look inside: the same command with --good %s --bad %s.", s.Before().Commit, commit)}
	}
	return []string{"It is a merge and stands for its branch."}
}

// GitLog is the search as `git bisect log` shows one, "" where there is none: git can
// replay it. A probable side is told as a certain one.
func (s Stage) GitLog() string {
	r := s.Report
	if s.List.Axis != axes.Commits || r.Posterior == nil {
		return ""
	}
	var b strings.Builder
	list := s.List.Candidates
	last := len(list) - 1
	fmt.Fprintf(&b, "git bisect start\n# bad: [%s] %s\ngit bisect bad %s\n# good: [%s] %s\ngit bisect good %s\n",
		list[last].Commit, list[last].Subject, list[last].Commit, list[0].Commit, list[0].Subject, list[0].Commit)
	said := map[int]bool{0: true, last: true}
	for _, run := range r.Runs {
		i := run.Index
		if said[i] {
			continue
		}
		said[i] = true
		word := ""
		switch {
		case run.Result == lab.RunUntestable:
			word = "skip"
		case i < r.From:
			word = "good"
		case i >= r.To:
			word = "bad"
		default:
			continue
		}
		fmt.Fprintf(&b, "# %s: [%s] %s\ngit bisect %s %s\n", word, list[i].Commit, list[i].Subject, word, list[i].Commit)
	}
	if s.Found() && r.From == r.To {
		fmt.Fprintf(&b, "# first bad commit: [%s] %s\n", list[r.From].Commit, list[r.From].Subject)
	}
	return b.String()
}
