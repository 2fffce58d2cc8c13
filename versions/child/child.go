// Package child runs the programs that versions are made with (git, uv, pip,
// Python): each in a process group of its own that ends with the context, with
// its lines of progress passed on while it runs and its last lines in the error.
package child

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"
)

// Command is a program to run.
type Command struct {
	Argv []string
	// Dir is the folder it runs in, "" for the current one.
	Dir string
	// Env is its whole environment; nil is ours.
	Env []string
	// Stdin is what it reads; nil is nothing.
	Stdin io.Reader
	// Stdout takes what it writes; nil: Run returns it.
	Stdout io.Writer
	// Say is given each line of its standard error, and of its standard output
	// where that is not wanted otherwise; a line redrawn with carriage returns
	// counts as many.
	Say func(string)
	// Progress says that standard output is progress, too.
	Progress bool
	// StopTime is how long it may take to end when it is asked to; 0 is 3 s.
	StopTime time.Duration
}

// Error is a program that failed.
type Error struct {
	Argv []string
	Err  error
	// Lines are the last that it printed.
	Lines []string
}

// keptLines of a program's output go into an error. The explanation of a
// resolver's conflict has about ten.
const keptLines = 20

func (e *Error) Error() string {
	msg := fmt.Sprintf("%s: %v", e.name(), e.Err)
	if len(e.Lines) > 0 {
		msg += "; its last lines:\n  " + strings.Join(e.Lines, "\n  ")
	}
	return msg
}

func (e *Error) Unwrap() error { return e.Err }

func (e *Error) name() string {
	name := filepath.Base(e.Argv[0])
	for _, word := range e.Argv[1:] {
		if !strings.HasPrefix(word, "-") && !strings.ContainsAny(word, `/\=`) {
			return name + " " + word
		}
	}
	return name
}

// Text is all of the last lines.
func (e *Error) Text() string { return strings.Join(e.Lines, "\n") }

// Run runs the program and gives its standard output. When ctx ends, the
// program and all it started are ended, and ctx's cause is the error.
func Run(ctx context.Context, c Command) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", context.Cause(ctx)
	}
	cmd := exec.CommandContext(ctx, c.Argv[0], c.Argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdin = c.Dir, c.Env, c.Stdin
	var out bytes.Buffer
	lines := &lineWriter{say: c.Say}
	cmd.Stderr = lines
	switch {
	case c.Progress:
		cmd.Stdout = lines
	case c.Stdout != nil:
		cmd.Stdout = c.Stdout
	default:
		cmd.Stdout = &out
	}
	ownGroup(cmd)
	if cmd.WaitDelay = c.StopTime; c.StopTime == 0 {
		cmd.WaitDelay = 3 * time.Second
	}
	// Where the kernel ends it with us (prctl(2), PR_SET_PDEATHSIG), that means the thread
	// that started it, which must not end before.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := cmd.Run()
	endGroup(cmd)
	lines.end()
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		return out.String(), &Error{Argv: c.Argv, Err: err, Lines: lines.last}
	}
	return out.String(), nil
}

// lineWriter cuts what it is given into lines and keeps the last.
type lineWriter struct {
	say func(string)

	mu   sync.Mutex
	part []byte
	last []string
}

func (w *lineWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.part = append(w.part, p...)
	for {
		i := bytes.IndexAny(w.part, "\r\n")
		if i < 0 {
			break
		}
		// A line that is drawn again is progress, no message.
		w.line(string(w.part[:i]), w.part[i] == '\n')
		w.part = w.part[i+1:]
	}
	if len(w.part) > 1<<16 { // not text
		w.part = w.part[:0]
	}
	return len(p), nil
}

func (w *lineWriter) line(text string, keep bool) {
	text = strings.TrimRight(text, " \t")
	if text == "" {
		return
	}
	if keep {
		if w.last = append(w.last, text); len(w.last) > keptLines {
			w.last = w.last[1:]
		}
	}
	if w.say != nil {
		w.say(text)
	}
}

func (w *lineWriter) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.line(string(w.part), true)
	w.part = nil
}
