package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"memtrix"
	"memtrix/diagnosis"
	"memtrix/hardware"
	"memtrix/recorders"
)

// trialRun is one trial while it runs.
type trialRun struct {
	r       *Runner
	target  memtrix.Target
	trial   *memtrix.Trial
	epoch   time.Time
	opts    Options
	pulse   pulse
	sampler meters
	kernel  *kernelPeaks

	machine  *hardware.Machine
	instance memtrix.Instance
	// probeSilent is why the probe did not answer, nil when it always did.
	probeSilent error
	inventories []memtrix.Inventory
	// denied are settings that the server says are not in force.
	denied []string
	marks  marks
	// stop ends a watch (see Watch); nil for every other trial.
	stop context.Context
	// waited is the time spent on the server's start, its prompts, the settle
	// time and its way out since begun; the rest of a trial is memtrix's own.
	begun  time.Time
	waited time.Duration

	mu       sync.Mutex
	events   []memtrix.Event
	log      diagnosis.LogKeeper
	evidence diagnosis.Evidence
}

func newTrialRun(r *Runner, target memtrix.Target, t *memtrix.Trial) *trialRun {
	return &trialRun{r: r, target: target, trial: t, opts: r.Options, begun: time.Now()}
}

// wait does something of which the time is the server's.
func (t *trialRun) wait(do func()) {
	begin := time.Now()
	do()
	t.waited += time.Since(begin)
}

func (t *trialRun) now() time.Duration { return time.Since(t.epoch) }

func (t *trialRun) warn(format string, args ...any) {
	t.trial.Warnings = append(t.trial.Warnings, fmt.Sprintf(format, args...))
}

// run takes the trial through its life. Whatever happens, the server is gone and
// the trial has an outcome when it returns; the error says what cut it short.
func (t *trialRun) run(ctx context.Context) error {
	baseline, err := t.gate(ctx)
	if err != nil {
		return t.failure(ctx, err)
	}
	if baseline, err = t.makeMachine(ctx, baseline); err != nil {
		return t.failure(ctx, err)
	}
	defer t.machine.Release()
	if err := t.makeDir(); err != nil {
		return t.failure(ctx, err)
	}
	t.epoch = time.Now()
	t.startRecording(baseline)
	t.instance, err = t.target.Start(ctx, t.job())
	if err != nil {
		t.trial.Series = t.sampler.Stop()
		return t.failure(ctx, err)
	}
	t.sampler.SetPID(t.instance.PID())
	if t.attached() == nil {
		// Of somebody else's process the kernel's peak is not set back.
		t.kernel = newKernelPeaks(t.sampler)
	}
	stopProgress := t.reportMemory()
	err = t.work(ctx)
	stopProgress()
	t.finish(ctx, err)
	return err
}

// gate waits for an empty card. A simulated server has a card of its own, which
// is empty by construction; one that runs already holds what it holds.
func (t *trialRun) gate(ctx context.Context) (*int64, error) {
	if t.trial.Simulated || t.r.Gate == nil || t.attached() != nil {
		return nil, nil
	}
	used, err := t.r.Gate(ctx, t.opts.Timeouts.Card)
	if err != nil {
		return nil, fmt.Errorf("wait for an empty card: %w", err)
	}
	return used, nil
}

// makeMachine makes the machine that the cell asks for and checks it: what its
// holder has on the card counts as the baseline.
func (t *trialRun) makeMachine(ctx context.Context, baseline *int64) (*int64, error) {
	h := t.trial.Cell.Hardware
	if t.trial.Simulated {
		h.VRAM = 0 // it has a card of its own
	}
	if t.r.Machine == nil {
		return baseline, nil
	}
	var err error
	t.wait(func() {
		t.machine, err = t.r.Machine(ctx, h, fmt.Sprintf("memtrix-%d-%d", os.Getpid(), time.Now().UnixNano()))
	})
	if err != nil || h.VRAM == 0 {
		return baseline, err
	}
	if t.r.Card == nil {
		return nil, fmt.Errorf("hardware %s: this machine has no card to be made small", h.Name)
	}
	m, err := t.r.Card.Memory()
	if err != nil {
		return nil, fmt.Errorf("hardware %s: look at the card: %w", h.Name, err)
	}
	if m.Free > h.VRAM+freeWithin || m.Free < h.VRAM-freeWithin {
		return nil, fmt.Errorf("hardware %s: %d MiB are free on the card instead of %d: somebody else moves on it", h.Name, m.Free>>20, h.VRAM>>20)
	}
	t.evidence.Kept = m.Used
	if baseline != nil {
		t.evidence.Kept -= *baseline
	}
	return &m.Used, nil
}

// freeWithin is how far the free memory of a card made small may be from what was
// asked for: drivers round to blocks of 2 MiB and keep some for themselves.
const freeWithin = 64 << 20

// makeDir makes the trial's folder, with a number when the name is taken: what
// an interrupted trial left is kept.
func (t *trialRun) makeDir() error {
	base := fmt.Sprintf("%d-%s-%d", t.trial.Session, t.trial.Cell.ID(), t.trial.Repeat)
	parent := filepath.Join(t.r.Dir, "trials")
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return fmt.Errorf("make the trial's folder: %w", err)
	}
	for n := 1; ; n++ {
		name := base
		if n > 1 {
			name = fmt.Sprintf("%s.%d", base, n)
		}
		dir, err := filepath.Abs(filepath.Join(parent, name))
		if err != nil {
			return fmt.Errorf("make the trial's folder: %w", err)
		}
		err = os.Mkdir(dir, 0o755)
		if errors.Is(err, os.ErrExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("make the trial's folder: %w", err)
		}
		t.trial.Dir = dir
		return nil
	}
}

func (t *trialRun) startRecording(baseline *int64) {
	if a := t.attached(); a != nil && !a.Local {
		t.sampler = elsewhere{}
		return
	}
	cfg := recorders.Config{Epoch: t.epoch, Interval: max(t.opts.Interval, recorders.Fast),
		CardInterval: t.opts.Interval, CalmInterval: max(t.opts.Interval, recorders.CalmCard), Card: t.r.Card, Baseline: baseline}
	if t.trial.Simulated {
		cfg.CardInterval = cfg.CalmInterval // nothing in it is quick
		cfg.SimCard = filepath.Join(t.trial.Dir, memtrix.SimCardFile)
	}
	t.sampler = recorders.Start(cfg)
}

func (t *trialRun) job() memtrix.Job {
	return memtrix.Job{
		Cell:   t.trial.Cell,
		Argv:   t.trial.Argv,
		Extra:  t.opts.Extra,
		Env:    t.opts.Env,
		Prefix: t.machine.Prefix(),
		Dir:    t.trial.Dir,
		Models: t.opts.Models,
		Epoch:  t.epoch,
		Event:  t.event,
		Log:    t.line,
	}
}

func (t *trialRun) event(e memtrix.Event) {
	t.pulse.beat()
	if e.Node != nil && e.Node.ClassType == "" {
		n := *e.Node
		n.ClassType = t.trial.Cell.Workflow.Graph[n.ID].ClassType
		e.Node = &n
	}
	switch e.Kind {
	case memtrix.EventPromptStart, memtrix.EventNodeStart, memtrix.EventPromptEnd:
		t.kernel.boundary(e.At)
	}
	t.mu.Lock()
	t.events = append(t.events, e)
	t.mu.Unlock()
	t.r.Progress.Event(e)
}

func (t *trialRun) line(l memtrix.LogLine) {
	t.pulse.beat()
	t.mu.Lock()
	t.log.Add(l)
	t.mu.Unlock()
}

// work is everything from the server's start to the last reading. Its error says
// what cut the trial short, nil when nothing did.
func (t *trialRun) work(ctx context.Context) error {
	err := t.awaitReady(ctx)
	if err != nil {
		return err
	}
	if t.stop != nil {
		t.sampler.Busy(true) // whether it works is in its user's hands
		t.wait(func() { err = t.watchWork() })
		return err
	}
	if t.check(ctx) {
		return nil
	}
	for n := 1; n <= t.opts.Prompts; n++ {
		result, err := t.prompt(ctx, n)
		if err != nil {
			return err
		}
		if result.Outcome != memtrix.Pass {
			// What a server does after a failure is a question of its own.
			return nil
		}
		// Of dtypes the server tells when it loads models.
		if n == 1 && t.check(ctx) {
			return nil
		}
		if n < t.opts.Prompts {
			if err := t.restBetween(ctx, n); err != nil {
				return err
			}
		}
	}
	t.marks.settle = t.now()
	t.kernel.boundary(t.marks.settle)
	t.wait(func() { err = t.settle(ctx, t.opts.Rest, t.opts.Free, t.opts.Timeouts.Free) })
	t.marks.settled = t.now()
	return err
}

// check asks the server whether the cell's settings are in force. One that is not
// ends the trial: what would be measured is another cell.
func (t *trialRun) check(ctx context.Context) (denied bool) {
	c, ok := t.instance.(memtrix.Checker)
	if !ok {
		return false
	}
	t.wait(func() { t.denied = c.NotInForce(ctx) })
	return len(t.denied) > 0
}

func (t *trialRun) awaitReady(ctx context.Context) error {
	ctx, done := watch(ctx, &t.pulse, t.opts.Timeouts.Start, 0, errStartTimeout)
	defer done()
	var err error
	t.wait(func() { err = t.instance.Ready(ctx) })
	if err != nil {
		return causeOf(ctx, err)
	}
	t.marks.ready = t.now()
	t.kernel.boundary(t.marks.ready)
	t.wait(func() { t.look(ctx) }) // the idle server, before any model
	t.evidence.Ready = true
	return nil
}

func (t *trialRun) prompt(ctx context.Context, n int) (memtrix.PromptResult, error) {
	if err := t.awaitTurn(ctx); err != nil {
		return memtrix.PromptResult{Index: n}, err
	}
	ctx, done := watch(ctx, &t.pulse, t.opts.Timeouts.Prompt, t.opts.Timeouts.Silence, errPromptTimeout)
	defer done()
	var result memtrix.PromptResult
	var err error
	t.sampler.Busy(true)
	defer t.sampler.Busy(false)
	t.wait(func() { result, err = t.instance.Do(ctx, n) })
	if result.Index == 0 {
		result.Index = n
	}
	if err != nil {
		err = blame(ctx, err)
		if result.Outcome == "" {
			result.Outcome = memtrix.Error
		}
	}
	t.trial.Prompts = append(t.trial.Prompts, result)
	return result, err
}

// causeOf prefers the reason for which we cut something short over the error
// that this led to.
func causeOf(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// reportMemory tells the progress display what is held, twice a second.
func (t *trialRun) reportMemory() (stop func()) {
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(500 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				t.r.Progress.Memory(t.sampler.Now())
			}
		}
	})
	return func() { close(done); wg.Wait() }
}
