package memtrix

import (
	"context"
	"errors"
	"time"
)

// Target is a program whose memory is measured. An implementation knows how to
// start it and how to make it work; it gives no verdicts.
type Target interface {
	// Argv turns a cell's settings into launch flags of its version. A non-empty
	// reason says that the cell cannot be reached on that version.
	Argv(c Cell) (argv []string, reason string)
	// Prepare is called once before the first trial of a version: it checks that
	// the version can run at all and warms it (compiled files). Its error says
	// what a person must do.
	Prepare(ctx context.Context, v Version, say func(string)) error
	// Start starts a fresh server for a trial. It does not wait until the server
	// is ready.
	Start(ctx context.Context, job Job) (Instance, error)
}

// Job is what a target needs to start one trial.
type Job struct {
	Cell Cell
	Argv []string // of the settings, as Argv gave them
	// Extra are raw flags of the spec, put after Argv.
	Extra []string
	// Env are environment variables of the spec; they win over cleaning.
	Env map[string]string
	// Prefix is put before the server's command line, e.g. to run it in a memory
	// group.
	Prefix []string
	// Dir is the trial's own folder; everything that is written goes there.
	Dir string
	// Models are extra folders with models (the layout of ComfyUI's models).
	Models []string
	// Epoch is the zero of the trial's clock.
	Epoch time.Time
	// Event and Log are called from several goroutines, never at the same time
	// as themselves, in order.
	Event func(Event)
	Log   func(LogLine)
}

// Instance is one running server.
type Instance interface {
	// PID is the first process; the trial's tree hangs below it.
	PID() int
	// Exited is closed when that process has ended.
	Exited() <-chan struct{}
	// Ready waits until the server answers. It fails at once when the process
	// ends, and with ctx's error when ctx ends.
	Ready(ctx context.Context) error
	// Do does one unit of work, the n-th (1 for the first), and reports events
	// on the way. An outcome that the server told is in the result and is not
	// an error; an error means that the server could not be asked (it died, the
	// connection failed for good) or that ctx ended.
	Do(ctx context.Context, n int) (PromptResult, error)
	// Free asks the server to give back what it can. ErrUnsupported where it
	// cannot be asked.
	Free(ctx context.Context) error
	// Stop ends the server and everything it started, with increasing force,
	// and reports how it ended. It is safe to call more than once.
	Stop(ctx context.Context) Exit
}

// Checker is an Instance that can tell which of its cell's settings the server
// denies.
type Checker interface {
	// NotInForce gives a reason for each setting that was asked for and that the
	// server itself says is not in force, as far as it can be told by now: of
	// models only after they were loaded. It may wait a moment for the server's
	// words.
	NotInForce(ctx context.Context) []string
	// Facts are what the server said about itself so far, for the trial's
	// environment.
	Facts() Environment
}

// ErrUnsupported is returned by targets that cannot do what was asked.
var ErrUnsupported = errors.New("not supported by this target")

// ErrAgain is wrapped by errors of a start that failed by chance: the same start
// may succeed when it is tried again.
var ErrAgain = errors.New("worth another try")

// SimCardFile is the file in a trial's folder through which a simulated server
// shows its simulated card: three little-endian int64, bytes: total, used,
// reserved by the driver. It is written by memory mapping, so that a recorder
// can sample it as it samples a real card.
const SimCardFile = "simcard"
