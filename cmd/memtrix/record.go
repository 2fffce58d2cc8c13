package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"memtrix"
	"memtrix/reports"
	"memtrix/runner/recording"
)

type recordCmd struct {
	PID      int            `name:"pid" help:"A process that runs already. It is never touched; the recording ends with it, or with Ctrl-C." placeholder:"PID"`
	Interval time.Duration  `help:"Time between two readings. Without it cards are read every 1ms and processes every 20ms." placeholder:"1ms"`
	For      *time.Duration `help:"With --pid: end the recording after this time." placeholder:"10s"`
	JSON     bool           `name:"json" help:"One JSON document on standard output and nothing else there: what the command writes there goes to standard error."`
	Plot     string         `help:"Draw the recording into this file (.png or .svg)." placeholder:"FILE" type:"path"`
	Output   string         `short:"o" help:"Write the table or the JSON document into this file, and leave standard output to the command." placeholder:"FILE" type:"path"`
	Command  []string       `arg:"" optional:"" passthrough:"" name:"command" help:"The command and its arguments, after --."`
}

func (c *recordCmd) Run(a *app) error {
	if err := c.check(); err != nil {
		return err
	}
	signals := make(chan os.Signal, 16)
	cfg := recording.Config{Command: c.Command, PID: c.PID, Interval: c.Interval, Signals: signals}
	if c.For != nil {
		cfg.For = *c.For
	}
	if len(c.Command) > 0 {
		// From here on they are the command's, also the second one.
		signal.Notify(signals, recording.Signals...)
		defer signal.Stop(signals)
		cfg.Stdin, cfg.Stdout, cfg.Stderr = file(a.stdin), file(a.stdout), file(a.stderr)
		if c.JSON && c.Output == "" {
			// Standard output has one document and nothing else.
			cfg.Stdout = cfg.Stderr
		}
	}
	result, err := recording.Run(a.ctx, cfg)
	if err != nil {
		return cannot{err}
	}
	if err := c.report(a, result); err != nil {
		return err
	}
	switch {
	case result.Exit != nil:
		if n := recording.Status(*result.Exit); n != 0 {
			return status(n)
		}
	case a.ctx.Err() != nil:
		return status(exitInterrupted)
	}
	return nil
}

// check says what is wrong with the flags.
func (c *recordCmd) check() error {
	if len(c.Command) > 0 && c.Command[0] == "--" {
		c.Command = c.Command[1:]
	}
	switch {
	case c.PID != 0 && len(c.Command) > 0:
		return usage{errors.New("give --pid or a command, not both")}
	case c.PID == 0 && len(c.Command) == 0:
		return usage{errors.New("nothing to record: give a command after --, or --pid")}
	case c.PID < 0:
		return usage{fmt.Errorf("--pid %d is not a process number", c.PID)}
	case c.Interval < 0 || c.Interval > 0 && c.Interval < 100*time.Microsecond:
		return usage{fmt.Errorf("--interval %v: the shortest is 100us", c.Interval)}
	case c.For != nil && c.PID == 0:
		return usage{errors.New("--for goes with --pid; a command that is started here is recorded until it ends")}
	case c.For != nil && *c.For <= 0:
		// 0 is no limit in recording.Config, and would record for ever.
		return usage{fmt.Errorf("--for %v: give a time above 0, for example 10s; without --for the recording ends with the process or with Ctrl-C", *c.For)}
	case c.Plot != "" && plotFormat(c.Plot) == "":
		return usage{fmt.Errorf("--plot %s: the name must end in .png or .svg", c.Plot)}
	}
	return nil
}

func plotFormat(path string) reports.Format {
	for _, f := range formats {
		if strings.EqualFold(filepath.Ext(path), "."+string(f)) {
			return f
		}
	}
	return ""
}

// report shows what came out.
func (c *recordCmd) report(a *app, r *recording.Result) error {
	if c.Plot != "" {
		trial := trialOf(r)
		if err := toFile(c.Plot, func(f *os.File) error { return reports.Timeline(f, trial, plotFormat(c.Plot)) }); err != nil {
			return cannot{err}
		}
	}
	rec := recordingOf(r)
	// The command's own output stays apart from the table.
	w, o := a.stderr, reports.TableOptions{}
	if c.JSON {
		w = a.stdout
	}
	if c.Output != "" {
		f, err := os.Create(c.Output)
		if err != nil {
			// The command has run: what was recorded of it is shown instead.
			if !c.JSON {
				w = a.stdout
			}
			return errors.Join(unwritable(c.Output, err), recordingTo(w, c.JSON, rec, o))
		}
		defer f.Close()
		w = f
	}
	return recordingTo(w, c.JSON, rec, o)
}

func recordingTo(w io.Writer, asJSON bool, rec reports.Recording, o reports.TableOptions) error {
	if asJSON {
		return reports.RecordingJSON(w, rec)
	}
	return reports.RecordingTable(w, rec, o)
}

func recordingOf(r *recording.Result) reports.Recording {
	rec := reports.Recording{
		Command: r.Command, PID: r.PID, Seconds: r.Elapsed.Seconds(), Exit: r.Exit,
		Meters: map[string]memtrix.Meter{}, Peaks: r.Peaks, Lows: r.Lows, Growth: r.Growth,
		Samples: r.Samples, Missed: r.Missed, Overhead: r.Overhead, Absent: map[string]string{}, Warnings: r.Warnings,
	}
	for _, s := range r.Series {
		rec.Meters[s.Meter.Name] = s.Meter
	}
	for _, p := range r.Peaks { // one that only the kernel's counters told
		if _, ok := rec.Meters[p.Meter]; !ok {
			rec.Meters[p.Meter] = memtrix.Meter{Name: p.Meter, Unit: memtrix.UnitBytes, Source: "ru_maxrss of wait4(2)"}
		}
	}
	for _, t := range r.Threads {
		rec.Threads = append(rec.Threads, reports.RecordingThread{
			Name: t.Name, Interval: t.Interval.Seconds(), Samples: t.Samples, Missed: t.Missed, ProcessorSecond: t.CPU.Seconds(),
		})
	}
	for _, m := range r.Absent {
		if !strings.HasPrefix(m.Meter, memtrix.CostPrefix) {
			rec.Absent[m.Meter] = m.Reason
		}
	}
	return rec
}

// trialOf shapes a recording for the timeline.
func trialOf(r *recording.Result) *memtrix.Trial {
	name := fmt.Sprintf("process %d", r.PID)
	if len(r.Command) > 0 {
		name = filepath.Base(r.Command[0])
	}
	t := &memtrix.Trial{Started: r.Started, Seconds: r.Elapsed.Seconds(), Series: r.Series, Argv: r.Command}
	t.Cell.Version.Name = name
	t.Spans = []memtrix.Span{{Kind: memtrix.SpanRun, End: r.Elapsed, Peaks: r.Peaks}}
	return t
}

// file is a stream of ours as a command can have it.
func file(stream any) *os.File {
	f, _ := stream.(*os.File)
	return f
}
