// Memtrix runs a ComfyUI workflow through a matrix of launch settings and
// versions, records the memory it uses, and says for each cell: pass, or which
// memory ran out, where, and who held it.
//
// Start with
//
//	memtrix demo                                   a simulated ComfyUI, to see what comes out
//	memtrix init                                   look for a ComfyUI here and write a spec for it
//	memtrix run --comfyui DIR --workflow FILE      a first look, one setting at a time
//	memtrix run --url URL --workflow FILE          a ComfyUI that runs already, as it is
//	memtrix plan SPEC                              what a spec would run, and what cannot be run
//	memtrix run SPEC                               run it; an interrupted session goes on
//	memtrix report                                 the last session again: table and pictures
//	memtrix compare A B                            two versions, sessions or trials side by side
//	memtrix history                                series over nights and versions, with what changed
//	memtrix alarms                                 what changed for the worse, and what else changed there
//	memtrix report --format html -o FILE           the same as one file to look at, to send, to keep
//	memtrix export FORMAT                          for benchstat, JUnit, a spreadsheet, Perfetto, a CI dashboard
//	memtrix convert FILE --object-info URL         a workflow file as the prompt that a server takes
//	memtrix record -- COMMAND                      the memory of any program
//	memtrix diagnose --comfyui DIR --workflow FILE why it fails: one change at a time until it passes
//	memtrix watch --url URL                        look on at a ComfyUI that runs, while you work with it
//	memtrix classify --log FILE                    which memory ran out, where, and what to do
//	memtrix why                                    why the ComfyUI of this machine died, and the way back
//	memtrix evidence TRIAL -o FILE.zip             a bundle about a trial, for a bug report
//	memtrix changes --csv FILE                     what changed along series of trials, and is not noise
//	memtrix bisect SPEC --good V --bad V           the commit, package, custom node or setting that did it
//	memtrix bisect --candidates FILE --command CMD the first bad one of an ordered list, in few runs
//	memtrix doctor                                 which meters this machine has, and what they cost
//
// Exit status: 0 as expected; 1 it worked and found something (a cell that
// failed unexpectedly, an alarm, a difference for the worse); 2 wrong usage or a bad spec; 3 memtrix could not measure;
// 130 stopped by Ctrl-C.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/alecthomas/kong"

	"memtrix/matrix"
	"memtrix/reports"
)

// Exit statuses; scripts depend on them.
const (
	exitOK          = 0
	exitFound       = 1
	exitUsage       = 2
	exitCannot      = 3
	exitInterrupted = 130
)

type cli struct {
	Run     runCmd        `cmd:"" help:"Run a matrix: a spec, or a first look at one ComfyUI and one workflow."`
	Plan    planCmd       `cmd:"" help:"Show what a spec would run, with the flags of each cell, and what cannot be run and why."`
	Init    initCmd       `cmd:"" help:"Look for a ComfyUI here and write a commented spec that works at once."`
	Report  reportCmd     `cmd:"" help:"Show a session again: table, timelines, heat map."`
	Export  exportCmd     `cmd:"" help:"Write trials in the format of another tool: benchstat, JUnit, CSV, Perfetto, github-action-benchmark."`
	Keep    keepCmd       `cmd:"" help:"Mark trials as kept: their recorded series stay whole."`
	Compare compareCmd    `cmd:"" help:"Two sessions, versions or trials side by side: what differs, how surely, and how many more repeats would tell."`
	History historyCmd    `cmd:"" help:"Series over sessions and versions, with what changed and what else changed there."`
	Alarms  alarmsCmd     `cmd:"" help:"What changed for the worse and somebody should act on: list, ack, expect, close."`
	Flags   flagsCmd      `cmd:"" help:"Show the launch flags of a ComfyUI, as its own parser has them."`
	Demo    demoCmd       `cmd:"" help:"Show what memtrix does on a simulated ComfyUI (or a real one with --comfyui)."`
	Leak    leakCmd       `cmd:"" help:"Whether memory at rest grows with every prompt, and what keeps it."`
	Floor   floorCmd      `cmd:"" help:"The smallest free memory at which a cell passes on this card or machine."`
	Ceiling ceilingCmd    `cmd:"" help:"The most images, frames or pixels of a workflow that pass on this card."`
	Diag    diagnoseCmd   `cmd:"" name:"diagnose" help:"Why a workflow fails: the checklist that maintainers ask for, one change at a time until it passes."`
	Bisect  bisectCmd     `cmd:"" help:"The first bad one of an ordered list of candidates, in the fewest runs, and how sure that is."`
	Cache   cacheCmd      `cmd:"" help:"What memtrix fetched and made: sources, trees, environments."`
	Record  recordCmd     `cmd:"" help:"Record the memory of any program: one that is started here, or one that runs."`
	Watch   watchCmd      `cmd:"" help:"Look on at a ComfyUI that runs: its memory and what becomes of each prompt, live, and recorded."`
	Changes changesCmd    `cmd:"" help:"What changed along series of trials, and is not noise: levels, drifts, new failures."`
	Evid    evidenceCmd   `cmd:"" name:"evidence" help:"A bundle about a trial for a bug report: report, log, workflow, versions, how to repeat it; personal things taken out."`
	Class   classifyCmd   `cmd:"" name:"classify" help:"Say from a log, or one line of it, which memory ran out, where, who held it, and what to do."`
	Why     whyCmd        `cmd:"" help:"Why ComfyUI died here: what ran out, what to change and where, what changed, and the way back."`
	Doctor  doctorCmd     `cmd:"" help:"What this machine can tell about memory, why not the rest, and what asking takes."`
	Which   versionCmd    `cmd:"" name:"version" help:"Which memtrix this is, for a bug report."`
	Flows   workflowsCmd  `cmd:"" name:"workflows" help:"The built-in workflows."`
	Convert convertCmd    `cmd:"" help:"Turn a workflow file (JSON, PNG, WebP, MP4 ...) into the prompt that ComfyUI's front end would send."`
	Standin standinCmd    `cmd:"" help:"Stand-in models: the real shapes without the real weights."`
	Sim     simCmd        `cmd:"" name:"comfysim-server" hidden:"" passthrough:"" help:"The simulated ComfyUI (started by memtrix itself)."`
	Keeper  keeperCmd     `cmd:"" hidden:"" help:"Hold what makes a machine small (started by memtrix itself)."`
	Enter   enterGroupCmd `cmd:"" name:"enter-group" hidden:"" passthrough:"" help:"Become a command in a memory group (started by memtrix itself)."`
	Abba    abbaCmd       `cmd:"" hidden:"" help:"What the probe or the recorders cost the server: the same prompts in one server, off, on, on, off."`
}

// app is what every command is given.
type app struct {
	ctx    context.Context
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer
}

// status is an exit status that is not an error to be printed.
type status int

func (s status) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// cannot marks an error as: memtrix could not measure.
type cannot struct{ error }

func (c cannot) Unwrap() error { return c.error }

// usage marks an error as: what was asked for is wrong.
type usage struct{ error }

func (u usage) Unwrap() error { return u.error }

func main() {
	ctx := untilStopped(func() { os.Exit(exitInterrupted) })
	os.Exit(run(app{ctx, os.Stdin, os.Stdout, os.Stderr}, os.Args[1:]))
}

// run is main without os.Exit, so that tests can call it.
func run(a app, args []string) int {
	var c cli
	code := -1
	parser, err := kong.New(&c,
		kong.Name("memtrix"),
		kong.Description("Runs a ComfyUI workflow through a matrix of settings and versions and says which memory ran out, where."),
		kong.Writers(a.stdout, a.stderr),
		kong.Exit(func(n int) { code = n }),
		kong.UsageOnError(),
		kong.NamedMapper("existingdir", kong.MapperFunc(resultsDir)),
		kong.PostBuild(tellStatuses),
	)
	if err != nil {
		fmt.Fprintln(a.stderr, "memtrix:", err)
		return exitCannot
	}
	k, err := parser.Parse(joined(args))
	if code >= 0 { // --help
		return code
	}
	if err != nil {
		fmt.Fprintln(a.stderr, "memtrix:", err)
		fmt.Fprintln(a.stderr, "Try 'memtrix --help'.")
		return exitUsage
	}
	return exitStatus(a, unlessUnread(k.Run(&a)))
}

func exitStatus(a app, err error) int {
	var s status
	var specErrors matrix.Errors
	var u usage
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &s):
		return int(s)
	case errors.Is(err, context.Canceled):
		why := "stopped"
		if cause := context.Cause(a.ctx); cause != nil && !errors.Is(cause, context.Canceled) {
			why = cause.Error()
		}
		fmt.Fprintln(a.stderr, "memtrix:", why)
		return exitInterrupted
	case errors.As(err, &specErrors) && machineOnly(specErrors):
		fmt.Fprintln(a.stderr, reports.Lines(err.Error()))
		return exitCannot
	case errors.As(err, &specErrors):
		fmt.Fprintln(a.stderr, reports.Lines(err.Error())) // each line names file, line and column
		return exitUsage
	case errors.As(err, &u):
		fmt.Fprintln(a.stderr, "memtrix:", reports.Lines(err.Error()))
		return exitUsage
	}
	fmt.Fprintln(a.stderr, "memtrix:", reports.Lines(err.Error()))
	return exitCannot
}
