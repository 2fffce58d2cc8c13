package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"memtrix/bisect"
	"memtrix/bisect/command"
	"memtrix/reports"
)

type bisectCmd struct {
	Spec     string `arg:"" optional:"" help:"A spec of one cell, to be bisected over ComfyUI's commits, packages, custom nodes or settings." type:"path"`
	Good     string `help:"The last good end: a release, a commit, a version of the spec; or settings (\"cache=classic vram-mode=normal\"). By default the spec's first version, or what an installation (path:) was before its last update." placeholder:"V"`
	Bad      string `help:"The bad end; by default the spec's last version." placeholder:"V"`
	Axis     string `help:"Along what: commits, packages, nodes, settings, or versions (those of the spec). By default what the two ends differ in, and further into what was found." enum:",commits,packages,nodes,settings,versions" default:""`
	Meter    string `help:"What is compared: outcome, a meter's peak (ram.tree.rss), start:METER (until the first prompt), rested:METER, freed:METER, seconds or start-seconds; floor.vram or floor.ram: the least memory with which it passes, looked for at both ends, and then the outcome at a size between the two. By default the outcome where the ends differ in it, else what differs most." placeholder:"M"`
	Failure  string `help:"Only failures count whose message has this text; others leave a candidate untested." placeholder:"TEXT"`
	Workflow string `help:"The workflow, where the spec has several." placeholder:"NAME"`
	Hardware string `help:"The size of machine, where the spec has several." placeholder:"NAME"`
	Settings string `help:"The settings, where the spec has several: as its table writes them." placeholder:"WORDS"`
	Trials   int    `help:"With --meter floor.vram or floor.ram: most trials for the floor of each end, that of the end as it is included." default:"12"`
	NoHints  bool   `help:"Take all commits for equally likely, whatever they touch."`
	Results  string `help:"Results folder: each run of a spec is a trial there." default:"memtrix-results" type:"path"`
	Session  string `help:"new, last, or a session's name. By default an interrupted bisection of the same ends goes on." placeholder:"SESSION"`
	Quiet    bool   `short:"q" help:"No progress."`

	Candidates    string        `help:"Any program, instead of a spec: a list, one candidate a line, the first one known to be good, the last one to be bad; - is standard input." placeholder:"FILE"`
	Command       string        `help:"What to run, by sh; {} is the candidate, always one argument." placeholder:"\"CMD {}\""`
	Metric        string        `help:"Of --command. pass: exit status 0 or another; value: the last line that CMD prints is a number. Exit status 125: this candidate cannot be tested." enum:"pass,value" default:"pass"`
	Deterministic bool          `help:"Every run of a candidate ends the same: none is repeated."`
	Rates         []float64     `help:"Of --command: how often runs fail at the good and at the bad end, where that is known; the ends are not run then." placeholder:"GOOD,BAD"`
	Levels        []float64     `help:"With --metric value: the values of both ends and the standard deviation of a run, where they are known." placeholder:"GOOD,BAD,SD"`
	Sure          float64       `help:"Stop at this probability." default:"0.95"`
	Find          string        `help:"Where there are several changes: the largest one (of values; else the first), the first or the last." enum:"largest,first,last" default:"largest"`
	Timeout       time.Duration `help:"Of --command: most time for one run: over it, it failed (metric pass) or gave no value." placeholder:"10m"`
	Jobs          int           `help:"Runs at once. Of a spec: as many NVIDIA cards, which are alike, each with a trial of its own; outcomes and memory of the card can be compared then." default:"1"`
	MaxRuns       int           `name:"max-runs" help:"Give up after so many runs." default:"1000"`
	State         string        `help:"Of --command: the file that keeps what every run told; without it, one beside the candidates' file, named after list and command, and removed at the end." placeholder:"FILE" type:"path"`
	JSON          bool          `name:"json" help:"One JSON document on standard output and nothing else there."`

	given []string // the names of flags that stand on the command line
}

// Flags that only one form of the command has.
var (
	ofSpec    = []string{"good", "bad", "axis", "meter", "failure", "workflow", "hardware", "settings", "trials", "no-hints", "results", "session"}
	ofCommand = []string{"metric", "rates", "levels", "timeout", "state"}
)

// AfterApply notes which flags were given: one that would do nothing is refused.
func (c *bisectCmd) AfterApply(k *kong.Context) error {
	for _, p := range k.Path {
		if p.Flag != nil {
			c.given = append(c.given, p.Flag.Name)
		}
	}
	return nil
}

// of is the first flag of these that was given, "" for none.
func (c *bisectCmd) of(names []string) string {
	for _, n := range c.given {
		if slices.Contains(names, n) {
			return "--" + n
		}
	}
	return ""
}

// Help is shown under --help.
func (bisectCmd) Help() string {
	return `Finds the first bad one of an ordered list of candidates in few runs, and says how sure it is. Runs may fail by luck and values may scatter: how much is learnt. The ends are run first, as many times as it takes to see that they differ.

Of a spec the candidates are ComfyUI's commits between two versions (along first parents, with the packages that each requires), or the packages, custom nodes or settings in which the ends differ, one more of them as at the bad end in each candidate; what is found is gone into further: a commit's packages, a package's versions, a pack's commits. A candidate that cannot be tested (its packages do not install, it fails in another way than the bad end) counts neither for good nor for bad.

With --meter floor.vram (of this card) or floor.ram (of this machine, without swap unless the spec's hardware has a swap:) the floors of both ends are looked for first, as memtrix floor does; floors of the same cell that the results folder has from an earlier session on this machine serve. Where they do not differ nothing else is run. Else a candidate costs one trial, with a size between the two floors at which one end passes and the other does not.

A search that was stopped, however, goes on with the same command.

Exit status: 0 with an answer, 1 when there is none (good and bad do not differ, an end cannot be tested, or it gave up while more than half of the candidates remained possible), 2 for wrong usage, 3 when nothing could be run, 130 stopped by Ctrl-C.`
}

func (c *bisectCmd) Run(a *app) error {
	if c.Spec != "" {
		if c.Candidates != "" || c.Command != "" {
			return usage{errors.New("give a spec, or --candidates and --command, not both")}
		}
		if wrong := c.of(ofCommand); wrong != "" {
			return usage{fmt.Errorf("%s goes with --candidates and --command, not with a spec", wrong)}
		}
		return c.runSpec(a)
	}
	o, own, err := c.options(a)
	if err != nil {
		return err
	}
	r, err := command.Search(a.ctx, o)
	if r == nil && errors.Is(err, command.ErrBusy) {
		return cannot{fmt.Errorf("%w; wait for its end, or give this one a file of its own with --state FILE", err)}
	}
	if own && errors.Is(err, os.ErrPermission) && r == nil {
		fmt.Fprintf(a.stderr, "memtrix: %s: this search is kept nowhere; stopped, it begins anew\n", reports.OneLine(err.Error()))
		o.State, o.Discard = "", false
		r, err = command.Search(a.ctx, o)
	}
	if r == nil {
		return cannot{err}
	}
	if err != nil {
		if errors.Is(err, context.Canceled) {
			if o.State != "" {
				fmt.Fprintf(a.stderr, "memtrix: after %d runs; the same command goes on from there\n", r.Runs)
			}
			return context.Canceled
		}
		return cannot{err}
	}
	if err := c.show(a, o, r); err != nil {
		return err
	}
	if !r.Answers() {
		return status(exitFound)
	}
	return nil
}

// options reads the list and says what is wrong with what was asked for. own: the
// state's file was not named.
func (c *bisectCmd) options(a *app) (o command.Options, own bool, err error) {
	switch {
	case c.of(ofSpec) != "" && c.Candidates != "":
		return o, false, usage{fmt.Errorf("%s is of a spec; of a list the first candidate is the good end, the last one the bad end, and --command says what is compared", c.of(ofSpec))}
	case c.of(ofSpec) != "":
		return o, false, usage{fmt.Errorf("%s is of a spec: name one ('memtrix init' writes one)", c.of(ofSpec))}
	case c.Candidates == "":
		return o, false, usage{errors.New("nothing to look through: give a spec, or --candidates FILE, one candidate a line, the first one good, the last one bad")}
	case c.Jobs < 1:
		return o, false, usage{fmt.Errorf("--jobs %d: one at least", c.Jobs)}
	case c.MaxRuns < 2:
		return o, false, usage{fmt.Errorf("--max-runs %d: two at least", c.MaxRuns)}
	case c.Timeout < 0:
		return o, false, usage{fmt.Errorf("--timeout %v: a time", c.Timeout)}
	}
	o = command.Options{Command: c.Command, Limit: c.Timeout, Jobs: c.Jobs, State: c.State, Output: a.stderr}
	o.Search = bisect.Config{Metric: bisect.Metric(c.Metric), Sure: c.Sure, Deterministic: c.Deterministic, Find: bisect.Find(c.Find), Most: c.MaxRuns}
	if err := c.known(&o.Search); err != nil {
		return o, false, usage{err}
	}
	if o.Candidates, err = c.read(a.stdin); err != nil {
		return o, false, usage{err}
	}
	if err := o.Check(); err != nil {
		return o, false, usage{err}
	}
	if o.State == "" && c.Candidates != "-" {
		o.Search.N = len(o.Candidates)
		// A finished search is not gone on with, and leaves nothing behind.
		o.Discard, own = true, true
		o.State = c.Candidates + ".bisect-" + command.Identity(o.Candidates, o.Command, o.Search)
	}
	if !c.Quiet {
		o.Told = func(e command.Execution, old bool, now bisect.Result) { c.told(a.stderr, o, e, old, now) }
	}
	return o, own, nil
}

func (c *bisectCmd) known(s *bisect.Config) error {
	if n := len(c.Rates); n == 2 {
		s.Rates = &bisect.Rates{Good: c.Rates[0], Bad: c.Rates[1]}
	} else if n > 0 {
		return errors.New("--rates: two numbers, of the good and of the bad end: 0.1,0.9")
	}
	if n := len(c.Levels); n == 3 {
		s.Levels = &bisect.Levels{Good: c.Levels[0], Bad: c.Levels[1], SD: c.Levels[2]}
	} else if n > 0 {
		return errors.New("--levels: three numbers, of the good end, of the bad end, and the standard deviation: 100,130,10")
	}
	return nil
}

func (c *bisectCmd) read(stdin io.Reader) ([]string, error) {
	if c.Candidates == "-" {
		return command.Candidates(stdin, "standard input")
	}
	f, err := os.Open(c.Candidates)
	if err != nil {
		return nil, fmt.Errorf("candidates: %w", err)
	}
	defer f.Close()
	return command.Candidates(f, c.Candidates)
}

// told is a line for each run.
func (c *bisectCmd) told(w io.Writer, o command.Options, e command.Execution, old bool, now bisect.Result) {
	line := fmt.Sprintf("run %d: %s (%d of %d): %s", now.Runs, e.Candidate, e.Index+1, len(o.Candidates), resultOf(e))
	if e.Detail != "" {
		line += ", " + e.Detail
	}
	if old {
		line += ", before"
	}
	fmt.Fprintln(w, reports.OneLine(line+suspects(now, o.Candidates[now.FirstBad])))
}

// suspects are what is left, and the most likely one where it stands out.
func suspects(now bisect.Result, likely string) string {
	n := now.To - now.From + 1
	switch {
	case now.Posterior == nil:
		return ""
	case n == 1:
		return fmt.Sprintf("; most likely %s (%.0f %%)", likely, 100*now.Sure)
	case now.StandsOut():
		return fmt.Sprintf("; most likely %s, among %d (%.0f %%)", likely, n, 100*now.Sure)
	}
	return fmt.Sprintf("; among %d (%.0f %%)", n, 100*now.Sure)
}

func resultOf(e command.Execution) string {
	if e.Value != nil {
		return strconv.FormatFloat(*e.Value, 'g', 8, 64)
	}
	return string(e.Result)
}

type bisectJSON struct {
	FirstBad   *string             `json:"first_bad,omitempty"`
	Confidence *float64            `json:"confidence,omitempty"`
	Runs       int                 `json:"runs"`
	Interval   []string            `json:"interval,omitempty"`
	Index      *int                `json:"index,omitempty"`          // of first_bad, from 0
	Indices    []int               `json:"interval_index,omitempty"` // from 0
	Verdict    bisect.Verdict      `json:"verdict"`
	Reason     string              `json:"reason,omitempty"`
	Resumed    int                 `json:"resumed,omitempty"` // runs of a search before
	Seconds    float64             `json:"seconds"`
	Several    []bisectChange      `json:"changes,omitempty"`
	Executions []command.Execution `json:"executions"`
}

// bisectChange is one of several changes: after is the first candidate seen with it.
type bisectChange struct {
	Before string `json:"before"`
	After  string `json:"after"`
}

func (c *bisectCmd) show(a *app, o command.Options, r *command.Report) error {
	var seconds float64
	for _, e := range r.Executions {
		seconds += e.Seconds
	}
	if !c.JSON {
		return unlessUnread(reports.BisectionTable(a.stdout, pathOf(o, r, seconds)))
	}
	doc := bisectJSON{Runs: r.Runs, Verdict: r.Verdict, Reason: c.reason(o, r), Resumed: r.Resumed, Seconds: seconds, Executions: r.Executions}
	if doc.Executions == nil {
		doc.Executions = []command.Execution{}
	}
	for _, s := range r.Several {
		doc.Several = append(doc.Several, bisectChange{o.Candidates[s.From], o.Candidates[s.To]})
	}
	if r.Posterior != nil {
		doc.FirstBad, doc.Index, doc.Confidence = &o.Candidates[r.FirstBad], &r.FirstBad, &r.Sure
		doc.Interval, doc.Indices = []string{o.Candidates[r.From], o.Candidates[r.To]}, []int{r.From, r.To}
	}
	return writeJSON(a, doc)
}

// reason is why there is no answer, or no shorter one.
func (c *bisectCmd) reason(o command.Options, r *command.Report) string {
	if r.Verdict != bisect.Untestable {
		return r.Why
	}
	end := "good"
	if r.End != 0 {
		end = "bad"
	}
	why := fmt.Sprintf("the %s end %q cannot be tested", end, o.Candidates[r.End])
	for _, e := range r.Executions {
		if e.Index == r.End && e.Detail != "" {
			why += ": " + e.Detail
			break
		}
	}
	return why + "; take another one for it"
}

// pathOf is what the terminal shows.
func pathOf(o command.Options, r *command.Report, seconds float64) reports.Bisection {
	b := reports.Bisection{All: len(o.Candidates)}
	runs := make([][]string, len(o.Candidates))
	for _, e := range r.Executions {
		runs[e.Index] = append(runs[e.Index], resultOf(e))
	}
	for i, name := range o.Candidates {
		p := reports.BisectionCandidate{Index: i, Name: name, Runs: runsOf(runs[i])}
		if r.Posterior != nil {
			p.Posterior = r.Posterior[i]
			p.Found = i >= r.From && i <= r.To
		}
		if len(runs[i]) > 0 || p.Found && r.To-r.From < 40 {
			b.Candidates = append(b.Candidates, p)
		}
	}
	b.Words = bisectWords(o, r, seconds)
	return b
}

// runsOf is "3 fail, 1 pass", or the values.
func runsOf(all []string) string {
	var order []string
	count := map[string]int{}
	for _, r := range all {
		if count[r] == 0 {
			order = append(order, r)
		}
		count[r]++
	}
	for i, r := range order {
		if count[r] > 1 {
			order[i] = fmt.Sprintf("%dx %s", count[r], r)
		}
	}
	return strings.Join(order, ", ")
}

func bisectWords(o command.Options, r *command.Report, seconds float64) []string {
	effort := fmt.Sprintf("%d runs of %d candidates, %s.", r.Runs, len(o.Candidates), (time.Duration(seconds*1000) * time.Millisecond).String())
	if r.Resumed > 0 {
		effort += fmt.Sprintf(" %d of the runs are of a search before, which was stopped.", r.Resumed)
	}
	var words []string
	if r.Verdict == bisect.GaveUp {
		words = append(words, "Gave up "+r.Why+".")
	}
	switch {
	case r.Posterior == nil:
		words = append(words, "No first bad candidate: "+(&bisectCmd{}).reason(o, r)+". "+effort)
	case r.From == r.To:
		words = append(words, fmt.Sprintf("First bad: %s (%d of %d), %.1f %% sure. The last good one is %s. %s",
			o.Candidates[r.From], r.From+1, len(o.Candidates), 100*r.Sure, o.Candidates[r.From-1], effort))
	case r.Verdict == bisect.GaveUp && !r.Answers():
		words = append(words, fmt.Sprintf("There is no answer yet: the first bad one may be any of %d of %d candidates, from %s (%d) to %s (%d) with %.0f %%. %s",
			r.To-r.From+1, len(o.Candidates), o.Candidates[r.From], r.From+1, o.Candidates[r.To], r.To+1, 100*r.Sure, effort))
	default:
		likely := ""
		if r.StandsOut() {
			likely = "; most likely it is " + o.Candidates[r.FirstBad]
		}
		words = append(words, fmt.Sprintf("The first bad one lies among %d candidates, from %s (%d) to %s (%d), %.1f %% sure%s. %s",
			r.To-r.From+1, o.Candidates[r.From], r.From+1, o.Candidates[r.To], r.To+1, 100*r.Sure, likely, effort))
		if r.Verdict == bisect.Found {
			words = append(words, "Those between them cannot be tested, so that no run could tell them apart.")
		}
	}
	for _, s := range r.Several {
		words = append(words, fmt.Sprintf("There is another change between %s (%d) and %s (%d).", o.Candidates[s.From], s.From+1, o.Candidates[s.To], s.To+1))
	}
	return words
}
