package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"memtrix/bisect"
)

// untestable is the exit status by which a command says that a candidate cannot be
// tested, as for git bisect run.
const untestable = 125

// Execution is one run of the command.
type Execution struct {
	Index      int      `json:"index"`
	Candidate  string   `json:"candidate"`
	Result     Result   `json:"result"`
	Value      *float64 `json:"value,omitempty"`
	Seconds    float64  `json:"seconds"`
	Detail     string   `json:"detail,omitempty"`     // exit status, signal, what was printed instead of a number
	Untestable bool     `json:"untestable,omitempty"` // the candidate is not run again
}

// Result is what an execution told.
type Result string

// Results.
const (
	Passed   Result = "pass"
	Failed   Result = "fail"
	Measured Result = "value"
	Skipped  Result = "untestable" // exit status 125
	NoValue  Result = "no-value"   // metric value, and no number came
)

// run is what the search is told.
func (e Execution) run() bisect.Run {
	r := bisect.Run{Index: e.Index, Untestable: e.Untestable, Bad: e.Result == Failed}
	if e.Value != nil {
		r.Value = *e.Value
	}
	return r
}

// told reports whether the execution says anything of its candidate.
func (e Execution) told() bool { return e.Result != NoValue || e.Untestable }

// tail keeps the end of what is written: a command may print gigabytes.
type tail struct{ text []byte }

const tailLength = 64 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.text = append(t.text, p...)
	if over := len(t.text) - tailLength; over > tailLength {
		t.text = append(t.text[:0], t.text[over:]...)
	}
	return len(p), nil
}

// errNotRun is of an execution that was stopped, or could not begin: it tells nothing
// and is not counted.
var errNotRun = errors.New("stopped")

// execute runs the command for one candidate. What it prints goes to output, too. A
// limit of 0 is none.
func execute(ctx context.Context, shell, script, candidate string, metric bisect.Metric, limit time.Duration, output io.Writer) (Execution, error) {
	e := Execution{Candidate: candidate}
	timed := ctx
	if limit > 0 {
		var cancel context.CancelFunc
		timed, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	cmd := exec.CommandContext(timed, shell, "-c", script)
	cmd.Env = append(os.Environ(), Variable+"="+candidate)
	var out tail
	cmd.Stdout, cmd.Stderr = &out, output
	if output != nil {
		cmd.Stdout = io.MultiWriter(&out, output)
	}
	alone(cmd)
	began := time.Now()
	err := cmd.Run()
	e.Seconds = time.Since(began).Seconds()
	if timed.Err() != nil {
		endRest(cmd)
	}
	var exit *exec.ExitError
	status := 0
	switch {
	case ctx.Err() != nil:
		return e, errNotRun
	case timed.Err() != nil:
		e.Detail = fmt.Sprintf("no end within %v", limit)
		status = -1
	case errors.As(err, &exit):
		status = exit.ExitCode()
		e.Detail = exit.String()
	case errors.Is(err, exec.ErrWaitDelay):
		// It ended well, and left something behind that holds its output open.
	case err != nil:
		return e, fmt.Errorf("run %s for candidate %q: %w", shell, candidate, err)
	}
	switch {
	case status == untestable:
		e.Result, e.Untestable = Skipped, true
	case metric == bisect.Pass && status != 0:
		e.Result = Failed
	case metric == bisect.Pass:
		e.Result = Passed
	case status != 0:
		e.Result = NoValue
	default:
		e.Value, e.Detail = number(string(out.text))
		e.Result = Measured
		if e.Value == nil {
			e.Result = NoValue
		}
	}
	return e, nil
}

// number is the last line that is not empty, which must be a finite number.
func number(output string) (*float64, string) {
	text := strings.TrimSpace(output)
	if i := strings.LastIndexByte(text, '\n'); i >= 0 {
		text = strings.TrimSpace(text[i+1:])
	}
	if text == "" {
		return nil, "it printed nothing"
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		if r := []rune(text); len(r) > 80 {
			text = string(r[:80]) + "..."
		}
		return nil, fmt.Sprintf("the last line that it printed is no finite number: %q", text)
	}
	return &v, ""
}
