package runner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"memtrix"
	"memtrix/diagnosis"
	"memtrix/recorders"
)

// failure gives a trial that never had a server its outcome.
func (t *trialRun) failure(ctx context.Context, err error) error {
	kind := memtrix.HarnessFailure
	if ctx.Err() != nil {
		kind = memtrix.Interrupted
	}
	fail(t.trial, kind, err)
	return err
}

// finish stops the server, closes the recording and judges.
func (t *trialRun) finish(ctx context.Context, err error) {
	died := hasEnded(t.instance)
	t.marks.stop = t.now()
	t.kernel.boundary(t.marks.stop)
	limit := t.opts.Timeouts.Stop
	if limit <= 0 {
		limit = 30 * time.Second
	}
	stopCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	t.wait(func() { t.trial.Exit = t.instance.Stop(stopCtx) })
	t.marks.stopped = t.now()
	t.leave()
	t.trial.Series = t.sampler.Stop()
	t.gatherProbe()
	t.trial.Warnings = append(t.trial.Warnings, t.sampler.Warnings()...)
	t.trial.Warnings = append(t.trial.Warnings, absences(t.sampler.Absent())...)

	t.mu.Lock()
	events, log, note := t.events, t.log.Lines(), t.log.Note()
	t.mu.Unlock()
	if note != "" {
		t.warn("%s", note)
	}
	t.marks.attached = t.attached() != nil
	t.trial.Spans = spansOf(events, t.marks)
	t.imports()
	between := t.sampler.KernelPeaks()
	for i := range t.trial.Spans {
		s := &t.trial.Spans[i]
		s.Peaks = append(recorders.Peaks(t.trial.Series, s.Start, s.End), t.kernel.peaks(s.Start, s.End)...)
		s.Peaks = append(s.Peaks, above(recorders.KernelPeaksIn(between, s.Start, s.End), s.Peaks)...)
		s.Peaks = append(s.Peaks, probePeaks(t.trial.Probe, *s)...)
	}
	t.evidence = t.gather(ctx, err, died, events, log)
	if t.stop != nil {
		t.trial.Outcome = t.judgeWatched()
	} else {
		t.trial.Outcome = diagnosis.Judge(t.evidence)
	}
	t.rawFiles()
	// A prompt knows that it failed; for which memory is known now.
	if n := len(t.trial.Prompts); t.stop == nil && n > 0 && t.trial.Outcome.Kind == memtrix.OOM {
		t.trial.Prompts[n-1].Outcome = memtrix.OOM
	}
	t.inForce()
	thin(t.trial, t.opts.Keep)
	t.trial.OwnSeconds = max(time.Since(t.begun)-t.waited, 0).Seconds()
}

// rawFiles looks whether a trial's own files could be written. A server that failed
// on a full disk shows nothing about its memory: that trial is to be done again.
func (t *trialRun) rawFiles() {
	files, ok := t.instance.(interface{ FilesError() error })
	if !ok || files.FilesError() == nil {
		return
	}
	err := files.FilesError()
	t.warn("raw files are incomplete: %v", err)
	switch t.trial.Outcome.Kind {
	case memtrix.Pass, memtrix.Interrupted:
		return
	}
	if errors.Is(err, syscall.ENOSPC) {
		was := t.trial.Outcome
		t.trial.Outcome = memtrix.Outcome{
			Kind: memtrix.HarnessFailure, Phase: was.Phase, Node: was.Node,
			Message:  fmt.Sprintf("the disk of the results folder was full, which may be why: %s", was.Message),
			Evidence: was.Evidence, Advice: []string{"free some space; the next run does this trial again"},
		}
	}
}

// above gives the peaks that are larger than the same meter's among others.
func above(peaks, others []memtrix.Peak) []memtrix.Peak {
	return slices.DeleteFunc(peaks, func(p memtrix.Peak) bool {
		return slices.ContainsFunc(others, func(o memtrix.Peak) bool { return o.Meter == p.Meter && o.Value >= p.Value })
	})
}

// inForce makes a trial whose settings the server denied what it is, whatever else
// its short life looks like, and adds the server's words to its environment.
func (t *trialRun) inForce() {
	if c, ok := t.instance.(memtrix.Checker); ok {
		facts := c.Facts()
		if len(facts) == 0 && t.evidence.Ready && len(t.trial.Cell.Settings) > 0 {
			t.warn("the server said nothing about itself: whether settings are in force is not known")
		}
		env := maps.Clone(t.trial.Environment)
		if env == nil {
			env = memtrix.Environment{}
		}
		maps.Copy(env, facts)
		t.trial.Environment = env
	}
	o := &t.trial.Outcome
	if len(t.denied) == 0 || o.Kind == memtrix.Interrupted {
		return
	}
	*o = memtrix.Outcome{
		Kind: memtrix.NotInForce, Memory: memtrix.MemoryNone, HiddenRetries: o.HiddenRetries,
		Message: strings.Join(t.denied, "; "), Evidence: t.denied,
	}
}

// gather puts together what is known about how the trial went.
func (t *trialRun) gather(ctx context.Context, err error, died bool, events []memtrix.Event, log []memtrix.LogLine) diagnosis.Evidence {
	e := diagnosis.Evidence{
		Log:      log,
		Events:   events,
		Prompts:  t.trial.Prompts,
		Exit:     t.trial.Exit,
		Ready:    t.evidence.Ready,
		Died:     died,
		Series:   t.trial.Series,
		Platform: runtime.GOOS,
		Nodes:    map[string]string{},
		Cgroup:   t.cgroup(),
		Kept:     t.evidence.Kept,
	}
	e.NotInForce = t.denied
	e.Settings, e.Graph, e.Flags = t.trial.Cell.Settings, t.trial.Cell.Workflow.Graph, t.flags
	for id, n := range t.trial.Cell.Workflow.Graph {
		e.Nodes[id] = n.ClassType
	}
	switch {
	case ctx.Err() != nil:
		e.UserInterrupted = true
		if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
			e.StoppedBy = cause.Error()
		}
	case errors.Is(err, errStartTimeout):
		e.TimedOut = diagnosis.TimeOutStart
	case errors.Is(err, errPromptTimeout):
		e.TimedOut = diagnosis.TimeOutPrompt
	case errors.Is(err, errSilence):
		e.TimedOut = diagnosis.TimeOutSilence
	case err != nil:
		e.DoError = err.Error()
	}
	return e
}

// flags are the launch flags of one setting on the trial's version, beside the device
// that it runs on.
func (t *trialRun) flags(setting, value string) ([]string, bool) {
	cell := memtrix.Cell{Version: t.trial.Cell.Version, Settings: memtrix.Settings{setting: value}}
	var base []string
	if device := t.trial.Cell.Settings["device"]; device != "" && setting != "device" {
		base, _ = t.target.Argv(memtrix.Cell{Version: cell.Version, Settings: memtrix.Settings{"device": device}})
		cell.Settings["device"] = device
	}
	argv, reason := t.target.Argv(cell)
	return slices.DeleteFunc(slices.Clone(argv), func(a string) bool { return slices.Contains(base, a) }), reason == ""
}

// cgroup is what the kernel counted for the trial's memory group, or for that in
// which its user started an attached server; nil where it had none.
func (t *trialRun) cgroup() *diagnosis.Cgroup {
	u, ok := t.machine.Usage()
	if !ok {
		return t.ownGroup()
	}
	value := func(n *int64) int64 {
		if n == nil {
			return 0
		}
		return *n
	}
	return &diagnosis.Cgroup{Max: value(u.Limit), MaxEvents: value(u.AtLimit), OOMKills: value(u.Kills)}
}

func hasEnded(i memtrix.Instance) bool {
	select {
	case <-i.Exited():
		return true
	default:
		return false
	}
}

// absences says what a trial does not have, one line a reason.
func absences(absent []recorders.Absence) []string {
	var reasons []string
	meters := map[string][]string{}
	for _, a := range absent {
		if a.Usual {
			continue
		}
		if meters[a.Reason] == nil {
			reasons = append(reasons, a.Reason)
		}
		meters[a.Reason] = append(meters[a.Reason], a.Meter)
	}
	var lines []string
	for _, r := range reasons {
		lines = append(lines, "not recorded: "+strings.Join(meters[r], ", ")+" ("+r+")")
	}
	return lines
}
