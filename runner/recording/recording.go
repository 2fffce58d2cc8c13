// Package recording records any program: one that it starts, or one that runs
// already. It uses the recorders of a trial and knows nothing of ComfyUI.
//
// It never touches a program that it did not start. To one that it started it
// only passes on the signals that it is sent itself.
package recording

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"memtrix"
	"memtrix/recorders"
)

// Config is what to record. Either Command or PID is set.
type Config struct {
	Command []string
	PID     int
	// Interval of all fast readings; 0 means 1 ms for cards and 20 ms for
	// processes.
	Interval time.Duration
	// For ends a recording of a PID after a time; 0 waits until it ends.
	For time.Duration
	// Stdin, Stdout and Stderr are the command's.
	Stdin, Stdout, Stderr *os.File
	// Signals are passed on to the command.
	Signals <-chan os.Signal
}

// Result is what came out.
type Result struct {
	Command []string
	PID     int
	Started time.Time
	Elapsed time.Duration
	// Exit is how the command ended; nil where that cannot be known.
	Exit *memtrix.Exit
	// Peaks of meters for which more is worse, Lows of what was free, and by how
	// much counters grew. Peaks has the larger of what was read and what the
	// kernel's counters tell.
	Peaks, Lows []memtrix.Peak
	Growth      map[string]int64
	Series      []memtrix.Series
	// Samples and Missed are the ticks of the fastest thread: the cards', or that
	// of the processes where there is no card.
	Samples, Missed int64
	Threads         []recorders.Thread
	Absent          []recorders.Absence
	// Overhead is the processor time of the recorder, all of it, as a share of one
	// core.
	Overhead float64
	Warnings []string
}

// Run records until the program has ended or, for one that it did not start,
// until ctx does. Its errors mean that nothing could be recorded; how the program
// ended is in the result.
func Run(ctx context.Context, cfg Config) (*Result, error) {
	if cfg.PID != 0 {
		if err := exists(cfg.PID); err != nil {
			return nil, fmt.Errorf("process %d: %w", cfg.PID, err)
		}
	}
	r := &recorder{cfg: cfg}
	if card, others, closeCards, err := recorders.OpenCards(nil); err == nil {
		defer closeCards()
		r.card, r.others = card, others
		if m, err := card.Memory(); err == nil {
			r.baseline = &m.Used
		}
	}
	if cfg.PID != 0 {
		return r.watch(ctx)
	}
	return r.command()
}

type recorder struct {
	cfg      Config
	card     recorders.Card
	others   []recorders.NamedCard
	baseline *int64

	sampler *recorders.Sampler
	started time.Time
	cpu     time.Duration // own, when it started
}

// begin starts to record a process.
func (r *recorder) begin(pid int, started time.Time) {
	r.started, r.cpu = started, ownCPU()
	r.sampler = recorders.Start(recorders.Config{
		Epoch: started, PID: pid, Card: r.card, Others: r.others, Baseline: r.baseline,
		Interval: r.cfg.Interval, CardInterval: r.cfg.Interval,
	})
}

func (r *recorder) command() (*Result, error) {
	argv := r.cfg.Command
	path, err := exec.LookPath(argv[0])
	if err != nil && !errors.Is(err, exec.ErrDot) {
		return nil, fmt.Errorf("start %s: %w", argv[0], err)
	}
	// The files are the command's own, not pipes: nothing is copied, and what it
	// leaves running does not keep us.
	cmd := &exec.Cmd{Path: path, Args: argv, Stdin: r.cfg.Stdin, Stdout: r.cfg.Stdout, Stderr: r.cfg.Stderr}
	started := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", argv[0], err)
	}
	r.begin(cmd.Process.Pid, started)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		cmd.Wait() // how it ended is in ProcessState
	}()
	forward(r.cfg.Signals, cmd.Process, ended)
	result := r.end()
	result.Command, result.PID = argv, cmd.Process.Pid
	result.Exit = exitOf(cmd.ProcessState)
	own, _ := recorders.PeakRSS(os.Getpid())
	result.addRusage(largest(cmd.ProcessState), own)
	return result, nil
}

func (r *recorder) watch(ctx context.Context) (*Result, error) {
	if r.cfg.For > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.cfg.For)
		defer cancel()
	}
	// What was on the card before is the process's own: it runs already.
	r.baseline = nil
	r.begin(r.cfg.PID, time.Now())
	awaitExit(ctx, r.cfg.PID)
	result := r.end()
	result.PID = r.cfg.PID
	return result, nil
}

// forward passes signals on until the process has ended.
func forward(signals <-chan os.Signal, p *os.Process, ended <-chan struct{}) {
	for {
		select {
		case <-ended:
			return
		case s := <-signals:
			if !heardAlready(s) {
				p.Signal(s)
			}
		}
	}
}

// end stops the recording and sums it up.
func (r *recorder) end() *Result {
	cpu := ownCPU() - r.cpu
	elapsed := time.Since(r.started)
	series := r.sampler.Stop()
	const always = time.Duration(1<<63 - 1)
	result := &Result{
		Started: r.started, Elapsed: elapsed, Series: series,
		Peaks:    recorders.Peaks(series, 0, always),
		Lows:     recorders.Lows(series, 0, always),
		Growth:   recorders.Deltas(series, 0, always),
		Threads:  r.sampler.Threads(),
		Absent:   r.sampler.Absent(),
		Warnings: r.sampler.Warnings(),
		Overhead: cpu.Seconds() / max(elapsed.Seconds(), 1e-9),
	}
	for _, t := range result.Threads {
		if t.Name == "card" || t.Name == "process" {
			result.Samples, result.Missed = t.Samples, t.Missed
			break // the cards' comes first
		}
	}
	for _, p := range recorders.KernelPeaksIn(r.sampler.KernelPeaks(), 0, always) {
		result.raise(p)
	}
	return result
}

// raise takes over a peak that is larger than the one there is.
func (r *Result) raise(p memtrix.Peak) {
	for i := range r.Peaks {
		if r.Peaks[i].Meter == p.Meter {
			if p.Value > r.Peaks[i].Value {
				r.Peaks[i] = p
			}
			return
		}
	}
	r.Peaks = append(r.Peaks, p)
}

// addRusage takes over what the kernel told when the command was reaped: the
// largest resident memory of it or of any descendant that its parent waited for,
// however short it lived (ru_maxrss of wait4(2)). A process begins with the peak
// of the one that started it, so what is not above our own says nothing.
func (r *Result) addRusage(largest, own int64) {
	if largest > own {
		r.raise(memtrix.Peak{Meter: memtrix.RAMTreeRSS, Value: largest, How: memtrix.PeakKernel, At: r.Elapsed})
	}
}
