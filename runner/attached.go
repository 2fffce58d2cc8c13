package runner

import (
	"context"
	"errors"
	"maps"
	"time"

	"memtrix"
	"memtrix/diagnosis"
	"memtrix/recorders"
)

// meters are what records a trial: a sampler of this machine, or nothing.
type meters interface {
	SetPID(pid int)
	Busy(bool)
	Now() map[string]int64
	Stop() []memtrix.Series
	Warnings() []string
	Absent() []recorders.Absence
	KernelPeaks() []recorders.KernelPeak
}

// elsewhere stands for the recorders of a server that runs on another machine:
// what can be read here is not about it.
type elsewhere struct{}

func (elsewhere) SetPID(int)                          {}
func (elsewhere) Busy(bool)                           {}
func (elsewhere) Now() map[string]int64               { return map[string]int64{} }
func (elsewhere) Stop() []memtrix.Series              { return nil }
func (elsewhere) Warnings() []string                  { return nil }
func (elsewhere) KernelPeaks() []recorders.KernelPeak { return nil }

func (elsewhere) Absent() []recorders.Absence {
	var list []recorders.Absence
	for _, m := range []string{memtrix.VRAMDeviceUsed, memtrix.RAMTreeRSS, memtrix.SwapTreeUsed, memtrix.RAMHostAvailable} {
		list = append(list, recorders.Absence{Meter: m, Reason: "the server runs on another machine"})
	}
	return list
}

// attached is the server of the trial, where it is one that ran before.
func (t *trialRun) attached() *memtrix.Attached { return t.trial.Cell.Version.Attached }

// awaitTurn waits until nobody else's prompt is in front. The time is not the
// prompt's, and no watchdog runs.
func (t *trialRun) awaitTurn(ctx context.Context) (err error) {
	s, ok := t.instance.(memtrix.Sharer)
	if !ok {
		return nil
	}
	t.wait(func() { err = s.AwaitTurn(ctx, t.opts.Timeouts.Queue, t.r.Progress.Say) })
	return err
}

// toldWithin bounds a question to a server about its own sizes.
const toldWithin = 10 * time.Second

// told adds what the server itself says of its memory to a reading at rest.
func (t *trialRun) told(values map[string]int64) map[string]int64 {
	s, ok := t.instance.(memtrix.Sharer)
	if !ok {
		return values
	}
	ctx, cancel := context.WithTimeout(context.Background(), toldWithin)
	defer cancel()
	maps.Copy(values, s.Told(ctx))
	return values
}

// ownGroup is the memory group of an attached server as it was read, nil where it
// has no limit.
func (t *trialRun) ownGroup() *diagnosis.Cgroup {
	if t.attached() == nil {
		return nil
	}
	var g diagnosis.Cgroup
	for _, s := range t.trial.Series {
		if len(s.V) == 0 {
			continue
		}
		first, last := s.V[0], s.V[len(s.V)-1]
		switch s.Meter.Name {
		case memtrix.CgroupMemoryLimit:
			g.Max = last
		case memtrix.CgroupEventsMax:
			g.MaxEvents = last - first
		case memtrix.CgroupEventsOOMKill:
			g.OOMKills = last - first
		}
	}
	if g.Max == 0 {
		return nil
	}
	return &g
}

// leave takes over what there is to say about a server that others use, too.
func (t *trialRun) leave() {
	s, ok := t.instance.(memtrix.Sharer)
	if !ok {
		return
	}
	t.trial.Shared = s.Shared()
	for _, text := range s.Remarks() {
		t.warn("%s", text)
	}
}

// blame prefers the reason for which we cut something short over the error that
// this led to, unless that says that it was not the server's own fault.
func blame(ctx context.Context, err error) error {
	if errors.Is(err, memtrix.ErrBusy) {
		return err
	}
	return causeOf(ctx, err)
}
