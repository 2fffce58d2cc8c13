package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"

	"memtrix/bisect"
)

// Options of a search with a command.
type Options struct {
	Candidates []string
	Command    string
	Search     bisect.Config // N is set here
	Limit      time.Duration // of one execution; 0: none
	Jobs       int           // executions at once; 0 is 1
	// State is the file that the search is kept in; empty: nowhere.
	State string
	// Discard removes State when the search has come to its end.
	Discard bool
	// Output takes what commands print; nil: nowhere. With several at once it is
	// mixed.
	Output io.Writer
	// Told is called after each execution, old ones of a search that goes on included.
	Told func(e Execution, old bool, now bisect.Result)
}

// Report is what came out.
type Report struct {
	bisect.Result
	// Executions are all of them, in the order of their ends. Result.Runs counts them.
	Executions []Execution
	Resumed    int // of them by a search before, which was stopped
}

// Runs without a number that one candidate may have before it is taken for one that
// cannot be tested.
const mostNoValue = 2

// Check says what is wrong with what was asked for, before anything runs: the command
// with every candidate.
func (o Options) Check() error {
	if err := Check(o.Command); err != nil {
		return err
	}
	for _, c := range o.Candidates {
		if _, err := Script(o.Command, c); err != nil {
			return err
		}
	}
	o.Search.N = len(o.Candidates)
	_, err := bisect.New(o.Search)
	return err
}

// Search runs the command until the first bad one is known, or ctx ends: the report
// then has what is known, and the error is that of ctx.
func Search(ctx context.Context, o Options) (*Report, error) {
	o.Search.N = len(o.Candidates)
	o.Jobs = max(o.Jobs, 1)
	search, err := bisect.New(o.Search)
	if err != nil {
		return nil, err
	}
	shell, err := exec.LookPath("sh")
	if err != nil {
		return nil, fmt.Errorf("the command needs a shell: %w", err)
	}
	r := &running{Options: o, shell: shell, search: search, report: &Report{}, noValue: map[int]int{}}
	if o.State != "" {
		if r.state, err = OpenState(o.State, r.head()); err != nil {
			return nil, err
		}
		defer r.state.Close()
		for _, e := range r.state.Old {
			if err := r.take(e, true); err != nil {
				return nil, err
			}
		}
	}
	err = r.loop(ctx)
	r.finish()
	switch {
	case err != nil || r.state == nil:
	case o.Discard:
		err = r.state.Remove()
	default:
		err = r.state.End(r.report.Verdict)
	}
	return r.report, err
}

type running struct {
	Options
	shell   string
	search  *bisect.Search
	state   *State
	report  *Report
	noValue map[int]int
}

func (r *running) head() head {
	n := len(r.Candidates)
	return head{Bisect: Identity(r.Candidates, r.Command, r.Options.Search), Command: r.Command, Metric: r.Options.Search.Metric,
		Candidates: n, First: r.Candidates[0], Last: r.Candidates[n-1]}
}

type ended struct {
	e   Execution
	err error
}

// loop keeps as many executions going as there may be.
func (r *running) loop(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	back := make(chan ended)
	var pending []int
	var failed error
	for {
		for failed == nil && ctx.Err() == nil && len(pending) < r.Jobs {
			i, ok := r.search.Next(pending)
			if !ok {
				break
			}
			pending = append(pending, i)
			go func() {
				e, err := r.execute(ctx, i)
				back <- ended{e, err}
			}()
		}
		if len(pending) == 0 {
			return errors.Join(failed, ctx.Err())
		}
		got := <-back
		for n, i := range pending {
			if i == got.e.Index {
				pending = append(pending[:n:n], pending[n+1:]...)
				break
			}
		}
		err := got.err
		if err == nil {
			err = r.take(got.e, false)
		}
		if err != nil && !errors.Is(err, errNotRun) && failed == nil {
			failed = err
			stop()
		}
		if r.search.Result().Verdict != bisect.Open && len(pending) > 0 && failed == nil {
			// What still runs would not change the answer.
			return r.drain(stop, back, len(pending))
		}
	}
}

// drain stops what still runs.
func (r *running) drain(stop func(), back chan ended, n int) error {
	stop()
	for range n {
		<-back
	}
	return nil
}

func (r *running) execute(ctx context.Context, i int) (Execution, error) {
	script, err := Script(r.Command, r.Candidates[i])
	if err != nil {
		return Execution{Index: i}, err
	}
	e, err := execute(ctx, r.shell, script, r.Candidates[i], r.Options.Search.Metric, r.Limit, r.Output)
	e.Index = i
	return e, err
}

// take tells the search of an execution, once it is kept.
func (r *running) take(e Execution, old bool) error {
	if e.Result == NoValue {
		r.noValue[e.Index]++
		e.Untestable = r.noValue[e.Index] >= mostNoValue
	}
	if !old && r.state != nil {
		if err := r.state.Save(e); err != nil {
			return err
		}
	}
	if old {
		r.report.Resumed++
	}
	r.report.Executions = append(r.report.Executions, e)
	if e.told() {
		if err := r.search.Add(e.run()); err != nil {
			return err
		}
	}
	if r.Told != nil {
		now := r.search.Result()
		now.Runs = len(r.report.Executions)
		r.Told(e, old, now)
	}
	return nil
}

func (r *running) finish() {
	r.report.Result = r.search.Result()
	r.report.Runs = len(r.report.Executions)
}
