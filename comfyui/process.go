package comfyui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"time"

	"github.com/google/uuid"

	"memtrix"
)

// trialMark is a variable in a server's environment by which everything that it
// started is found again, also what left its process group.
const trialMark = "MEMTRIX_TRIAL"

// patience is how long each signal may take to act.
type patience struct{ interrupt, terminate, kill time.Duration }

// process is a server process in a session of its own, with its output read.
type process struct {
	cmd    *exec.Cmd
	mark   string
	exited chan struct{}
	state  *os.ProcessState // valid once exited is closed
	output *sync.WaitGroup
	pipes  []io.Closer
	wait   patience

	stop sync.Mutex // held while stopping
	exit *memtrix.Exit
}

// startProcess starts the command and reads its output into log. The files that it
// inherits are its descriptors from 3 on. Errors name the program.
func startProcess(argv, env []string, dir string, log *logWriter, wait patience, inherits ...*os.File) (*process, error) {
	mark := uuid.NewString()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env, cmd.ExtraFiles = dir, append(env, trialMark+"="+mark), inherits
	p := &process{cmd: cmd, mark: mark, exited: make(chan struct{}), output: &sync.WaitGroup{}, wait: wait}
	isolate(cmd)
	ends, err := p.connect()
	if err != nil {
		return nil, err
	}
	started := make(chan error, 1)
	go p.run(started)
	err = <-started
	// The child has its own copies of the writing ends.
	for _, end := range ends {
		end.Close()
	}
	if err != nil {
		for _, pipe := range p.pipes {
			pipe.Close()
		}
		return nil, fmt.Errorf("start %s: %w", argv[0], err)
	}
	for i, stream := range []string{"stdout", "stderr"} {
		p.output.Go(func() { log.read(stream, p.pipes[i].(io.Reader)) })
	}
	return p, nil
}

// connect makes pipes of our own: those of exec.Cmd would make Wait depend on
// grandchildren that keep them open.
func (p *process) connect() (ends []*os.File, err error) {
	for _, out := range []*io.Writer{&p.cmd.Stdout, &p.cmd.Stderr} {
		r, w, err := os.Pipe()
		if err != nil {
			for _, end := range ends {
				end.Close()
			}
			for _, pipe := range p.pipes {
				pipe.Close()
			}
			return nil, fmt.Errorf("pipe: %w", err)
		}
		*out = w
		ends, p.pipes = append(ends, w), append(p.pipes, r)
	}
	return ends, nil
}

// run starts the command and waits for it on one thread that it keeps. The kernel
// sends the signal that must not let a server outlive memtrix when the thread that
// made it ends, not the process (prctl(2), PR_SET_PDEATHSIG), and Go ends threads.
func (p *process) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	// An exit status that is not 0 comes as an error; the state has it.
	_ = p.cmd.Wait()
	p.state = p.cmd.ProcessState
	close(p.exited)
}

func (p *process) pid() int { return p.cmd.Process.Pid }

func (p *process) hasExited() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// waitExit reports whether the process ended within d; ctx cuts the wait short.
func (p *process) waitExit(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-p.exited:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return p.hasExited()
}

// ended says how the process ended, for messages.
func (p *process) ended() string {
	if !p.hasExited() {
		return "still running"
	}
	status, signal := exitOf(p.state)
	if signal != "" {
		return "killed by signal " + signal
	}
	return fmt.Sprintf("exit status %d", status)
}

// halt ends the process and all that came of it, with increasing force, and waits
// until its output has been read to the end.
func (p *process) halt(ctx context.Context) memtrix.Exit {
	p.stop.Lock()
	defer p.stop.Unlock()
	if p.exit != nil {
		return *p.exit
	}
	exit := memtrix.Exit{Asked: !p.hasExited()}
	// Who hangs below the process can be seen only while it lives.
	family := p.family()
	if exit.Asked {
		exit.BySignal = p.signalUntilExit(ctx)
	}
	p.clear(ctx, family)
	if p.hasExited() {
		exit.Status, exit.Signal = exitOf(p.state)
	}
	p.drain()
	p.exit = &exit
	return exit
}

// signalUntilExit gives the last signal that had to be sent.
func (p *process) signalUntilExit(ctx context.Context) string {
	for _, step := range []struct {
		name string
		wait time.Duration
	}{{"INT", p.wait.interrupt}, {"TERM", p.wait.terminate}} {
		if ctx.Err() != nil {
			break
		}
		signalGroup(p.pid(), step.name)
		if p.waitExit(ctx, step.wait) {
			return step.name
		}
	}
	signalGroup(p.pid(), "KILL")
	// A process in uninterruptible sleep (a hung driver) survives even that.
	p.waitExit(context.WithoutCancel(ctx), p.wait.kill)
	return "KILL"
}

// clear kills what is left of the family: children that ignore signals, left the
// group, or were orphaned before.
func (p *process) clear(ctx context.Context, family []member) {
	deadline := time.Now().Add(p.wait.kill)
	for {
		left := p.survivors(family)
		if len(left) == 0 || time.Now().After(deadline) {
			return
		}
		for _, m := range left {
			m.kill()
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			time.Sleep(time.Millisecond)
		}
	}
}

// drain waits until the output has been read, but not for ever: somebody outside
// the family may hold a pipe.
func (p *process) drain() {
	done := make(chan struct{})
	go func() { p.output.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(2 * time.Second):
	}
	for _, pipe := range p.pipes {
		pipe.Close()
	}
	<-done
}

// errEnded is wrapped by errors about a server that is gone.
var errEnded = errors.New("the server process has ended")
