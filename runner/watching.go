package runner

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"memtrix"
	"memtrix/diagnosis"
)

// Watcher is a Progress that also hears how each prompt of a watched server went.
type Watcher interface {
	// Verdict is given after a prompt has ended, from what is known by then; the
	// trial's outcome may know more.
	Verdict(memtrix.PromptResult, memtrix.Outcome)
}

// Watch records a server that its user works with, until stop ends or the server does,
// and saves that as a trial. Nothing is asked of the server but what its target asks
// by itself. The error says why there is no trial.
func (r *Runner) Watch(stop context.Context, session memtrix.Session, c memtrix.PlannedCell) (*memtrix.Trial, error) {
	// Ctrl-C ends a watch well: it does not cut it short.
	ctx := context.WithoutCancel(stop)
	t := &memtrix.Trial{Session: session.ID, Cell: c.Cell, Argv: c.Argv, Started: time.Now(), Warnings: slices.Clone(c.Notes)}
	a := t.Cell.Version.Attached
	t.Simulated = a != nil && a.Simulated
	t.Environment = r.Environment(ctx, t.Cell.Version)
	r.Progress.CellStart(1, c.Cell.Version.Name)
	run := newTrialRun(r, r.Targets[c.Cell.Version.Target], t)
	run.stop = stop
	err := run.run(ctx)
	if run.instance == nil {
		return nil, err
	}
	t.Seconds = time.Since(t.Started).Seconds()
	if err := r.save(ctx, t); err != nil {
		return nil, fmt.Errorf("save trial of %s: %w", c.Cell.Version.Name, err)
	}
	return t, nil
}

// watchWork follows the prompts of the server's user. Its error says that the server
// went away.
func (t *trialRun) watchWork() error {
	for n := 1; ; n++ {
		result, err := t.instance.Do(t.stop, n)
		switch {
		case err != nil && t.stop.Err() != nil:
			if result.Index > 0 {
				t.warn("prompt %d was still at work when the watching ended", n)
			}
			return nil
		case err != nil:
			if result.Index > 0 {
				result.Outcome = memtrix.Error
				t.trial.Prompts = append(t.trial.Prompts, result)
			}
			return err
		}
		// What was heard before the end still counts: the loop ends when nothing is left.
		t.trial.Prompts = append(t.trial.Prompts, result)
		if w, ok := t.r.Progress.(Watcher); ok {
			w.Verdict(result, t.verdictSoFar(result))
		}
	}
}

// verdictSoFar judges a prompt that has just ended by log and events: what was
// recorded is not to be had before the recorders end.
func (t *trialRun) verdictSoFar(p memtrix.PromptResult) memtrix.Outcome {
	t.mu.Lock()
	e := diagnosis.Evidence{Events: slices.Clone(t.events), Log: t.log.Lines()}
	t.mu.Unlock()
	e.Prompts, e.Ready = []memtrix.PromptResult{p}, true
	return diagnosis.Judge(partOf(e, p.Index))
}

// partOf is the evidence of one prompt: what was heard from its beginning to that of
// the next one.
func partOf(e diagnosis.Evidence, prompt int) diagnosis.Evidence {
	var from, to time.Duration
	to = 1<<63 - 1
	for _, ev := range e.Events {
		if ev.Kind == memtrix.EventPromptStart {
			switch {
			case ev.Prompt == prompt:
				from = ev.At
			case ev.Prompt > prompt:
				to = min(to, ev.At)
			}
		}
	}
	part := e
	part.Events = slices.DeleteFunc(slices.Clone(e.Events), func(ev memtrix.Event) bool { return ev.Prompt != 0 && ev.Prompt != prompt })
	part.Log = slices.DeleteFunc(slices.Clone(e.Log), func(l memtrix.LogLine) bool { return l.At < from || l.At >= to })
	part.Prompts = slices.DeleteFunc(slices.Clone(e.Prompts), func(p memtrix.PromptResult) bool { return p.Index != prompt })
	return part
}

// judgeWatched gives each prompt its outcome, and the trial that of what happened: the
// server's end where it ended, else the last prompt that failed, else the last one.
func (t *trialRun) judgeWatched() memtrix.Outcome {
	e := t.evidence
	last, open := 0, false
	for _, ev := range e.Events {
		switch ev.Kind {
		case memtrix.EventPromptStart:
			last, open = ev.Prompt, true
		case memtrix.EventPromptEnd:
			open = false
		}
	}
	if stoppedByUser(e, open) {
		t.warn("the server was ended while it was watched (%s)", endWords(e.Exit))
		e.Died, e.DoError, e.Exit = false, "", memtrix.Exit{}
	}
	if last == 0 {
		o := diagnosis.Judge(e)
		if o.Kind == memtrix.Pass && o.Message == "" {
			o.Message = "no prompt ran while it was watched"
		}
		return o
	}
	var failed, newest *memtrix.Outcome
	failedAt, retries := 0, 0
	for n := 1; n <= last; n++ {
		part := partOf(e, n)
		if n < last { // how it ended is of the last one
			part.Died, part.Exit, part.DoError = false, memtrix.Exit{}, ""
		}
		part.Series = until(e.Series, part)
		part.Graph = t.graphOf(n)
		part.Nodes = classes(part.Graph)
		o := diagnosis.Judge(part)
		retries += o.HiddenRetries
		for i := range t.trial.Prompts {
			if t.trial.Prompts[i].Index == n {
				t.trial.Prompts[i].Outcome = o.Kind
			}
		}
		newest = &o
		if bad(o) {
			failed, failedAt = &o, n
		}
	}
	// The graph that the trial keeps is that of the prompt that its outcome is about.
	if failed == nil {
		t.trial.Cell.Workflow.Graph = t.graphOf(last)
		newest.HiddenRetries = retries
		return *newest
	}
	t.trial.Cell.Workflow.Graph = t.graphOf(failedAt)
	if failedAt < last {
		failed.Message = fmt.Sprintf("prompt %d of %d: %s", failedAt, last, cut(failed))
	}
	return *failed
}

// graphOf is what the target knows of a watched prompt.
func (t *trialRun) graphOf(n int) map[string]memtrix.GraphNode {
	if w, ok := t.instance.(interface {
		Graph(int) map[string]memtrix.GraphNode
	}); ok {
		return w.Graph(n)
	}
	return nil
}

func classes(graph map[string]memtrix.GraphNode) map[string]string {
	names := make(map[string]string, len(graph))
	for id, n := range graph {
		names[id] = n.ClassType
	}
	return names
}

// stoppedByUser says that somebody ended the server between prompts, as people do.
func stoppedByUser(e diagnosis.Evidence, open bool) bool {
	if !e.Died || open || e.Exit.Unknown {
		return false
	}
	switch e.Exit.Signal {
	case "INT", "TERM", "HUP":
		return true
	case "":
		return e.Exit.Status == 0
	}
	return false
}

func endWords(e memtrix.Exit) string {
	if e.Signal != "" {
		return "signal " + e.Signal
	}
	return fmt.Sprintf("exit status %d", e.Status)
}

func cut(o *memtrix.Outcome) string {
	if text := strings.TrimSpace(o.Message); text != "" {
		return text
	}
	return string(o.Kind)
}

func bad(o memtrix.Outcome) bool { return o.Kind != memtrix.Pass && o.Kind != memtrix.Interrupted }

// until cuts series at the end of a prompt, so that what came later does not explain
// it. The last one has all.
func until(series []memtrix.Series, part diagnosis.Evidence) []memtrix.Series {
	var end time.Duration
	for _, ev := range part.Events {
		if ev.Kind == memtrix.EventPromptEnd {
			end = ev.At
		}
	}
	if end == 0 || part.Died {
		return series
	}
	all := make([]memtrix.Series, 0, len(series))
	for _, s := range series {
		n, _ := slices.BinarySearch(s.T, end+time.Nanosecond)
		if n > 0 {
			all = append(all, memtrix.Series{Meter: s.Meter, T: s.T[:n], V: s.V[:n]})
		}
	}
	return all
}
