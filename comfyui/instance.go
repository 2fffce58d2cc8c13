package comfyui

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"memtrix"
	"memtrix/comfyui/probe"
)

// Instance is one running server. It implements memtrix.Instance.
type Instance struct {
	target *Target
	job    memtrix.Job
	layout layout
	argv   []string

	process *process
	log     *logWriter
	record  *recorder
	client  *client
	fitting fitting
	talk    *talk       // set once it is ready
	link    *probe.Link // nil without a probe

	saying  sync.Mutex
	banner  Banner
	imports importLog
	aimdo   aimdoLog
	prompts map[string]int // number of a prompt by its id

	emitting sync.Mutex
	stopping sync.Once
	exit     memtrix.Exit
	fileErr  error
}

var (
	_ memtrix.Instance = (*Instance)(nil)
	_ memtrix.Checker  = (*Instance)(nil)
)

func (i *Instance) now() time.Duration { return time.Since(i.job.Epoch) }

func (i *Instance) emit(e memtrix.Event) {
	i.emitting.Lock()
	defer i.emitting.Unlock()
	if i.job.Event != nil {
		i.job.Event(e)
	}
}

// line takes note of what the server says about itself and passes it on.
func (i *Instance) line(l memtrix.LogLine) {
	i.saying.Lock()
	i.banner.read(l.Text)
	i.aimdo.read(l.At, l.Text)
	i.imports.read(l.At, l.Text)
	i.saying.Unlock()
	if i.job.Log != nil {
		i.job.Log(l)
	}
}

// Banner is what the server has said about itself so far.
func (i *Instance) Banner() Banner {
	i.saying.Lock()
	defer i.saying.Unlock()
	return i.banner
}

// Facts are the banner, and which packs were imported, as facts of the trial's
// environment.
func (i *Instance) Facts() memtrix.Environment {
	i.saying.Lock()
	defer i.saying.Unlock()
	facts := i.banner.Facts()
	maps.Copy(facts, i.imports.facts(i.job.Cell.Version.Packs))
	return facts
}

// bannerWait is how long a line that should be there may take: the node cache is
// made by a thread that starts beside the server, and pipes have a length.
const bannerWait = 3 * time.Second

// NotInForce holds the settings and the packs of the trial against what the server
// said.
func (i *Instance) NotInForce(ctx context.Context) []string {
	v, s := i.job.Cell.Version, i.job.Cell.Settings
	var stats Stats
	if i.Banner().Device == "" && len(s) > 0 {
		// What it said may have been switched off with --verbose. No answer is
		// as good as none asked for.
		stats, _ = i.client.systemStats(ctx)
	}
	late := time.After(bannerWait)
	for {
		reasons := append(NotInForce(s, v.Release, i.Banner(), stats), i.notImported()...)
		if len(reasons) == 0 {
			return nil
		}
		select {
		case <-late:
			return reasons
		case <-i.process.exited:
			return reasons
		case <-ctx.Done():
			return reasons
		case <-time.After(readyPoll):
		}
	}
}

// start opens the raw files and starts the process.
func (i *Instance) start(env []string) error {
	if err := keepCommand(i.layout.path(CommandFile), i.argv); err != nil {
		return err
	}
	var err error
	if i.log, err = newLogWriter(i.layout.dir, i.now, i.line); err != nil {
		return err
	}
	if i.record, err = newRecorder(i.layout.dir); err != nil {
		return errors.Join(err, i.log.close())
	}
	i.fitting = fitting{fit: i.target.Fit, dir: i.layout.dir}
	i.client = newClient(fmt.Sprintf("http://127.0.0.1:%d", i.layout.port))
	inherits, env, err := i.openProbe(env)
	if err == nil {
		i.process, err = startProcess(i.argv, env, i.layout.path(WorkFolder), i.log, i.target.patience(), inherits...)
	}
	if err != nil {
		return errors.Join(err, i.closeProbe(), i.log.close(), i.record.close())
	}
	if i.link != nil {
		i.link.Started()
	}
	return nil
}

// keepCommand writes down how a server was started, for a person who wants to start
// it so.
func keepCommand(path string, argv []string) error {
	data, err := json.MarshalIndent(argv, "", "  ")
	if err == nil {
		err = os.WriteFile(path, append(data, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("keep the command line: %w", err)
	}
	return nil
}

// PID is the server's process.
func (i *Instance) PID() int { return i.process.pid() }

// Exited is closed when the server's process has ended.
func (i *Instance) Exited() <-chan struct{} { return i.process.exited }

// Command is the command line as it was started, for messages and evidence.
func (i *Instance) Command() []string { return i.argv }

// URL is where the server listens.
func (i *Instance) URL() string { return i.client.base }

// readyPoll is the pace at which a starting server is asked.
const readyPoll = 20 * time.Millisecond

// Ready waits until the server answers. When the process ends before that, the
// error shows its last lines and what a person can do; it wraps ErrPortTaken when
// that was the cause.
func (i *Instance) Ready(ctx context.Context) error {
	// Custom nodes, database and routes are set up before the port opens: the
	// first answer means ready.
	ticker := time.NewTicker(readyPoll)
	defer ticker.Stop()
	for i.client.probe(ctx) != nil {
		select {
		case <-i.process.exited:
			return i.startFailure()
		case <-ctx.Done():
			return fmt.Errorf("the server did not answer in time: %w; %s", context.Cause(ctx), tail(i.log.last(5)))
		case <-ticker.C:
		}
	}
	id := uuid.NewString()
	socket, err := openSocket(ctx, i.client.base, id, i.now, i.record)
	if err != nil {
		return err
	}
	i.talk = &talk{
		client: i.client, socket: socket, clientID: id, now: i.now, record: i.record, emit: i.emit,
		gone: i.process.exited, how: i.process.ended,
	}
	i.emit(memtrix.Event{At: i.now(), Kind: memtrix.EventReady})
	return nil
}

// startFailure explains a server that ended before it answered.
func (i *Instance) startFailure() error {
	// Its last words may still be in the pipe.
	i.process.halt(context.Background())
	lines := i.log.last(15)
	err := fmt.Errorf("the server ended while starting (%s); %s%s", i.process.ended(), tail(lines), advice(lines, i.job.Cell.Version))
	if strings.Contains(strings.Join(lines, "\n"), "is already in use") || strings.Contains(strings.Join(lines, "\n"), "address already in use") {
		return fmt.Errorf("%w: %w", ErrPortTaken, err)
	}
	return err
}

// Do sends the n-th prompt and waits for its end. The result's outcome is pass,
// error, interrupted or invalid-workflow: what the server said, no more. A prompt
// whose server died, or whose ctx ended, has no end event; in the second case the
// server was asked to interrupt it.
func (i *Instance) Do(ctx context.Context, n int) (memtrix.PromptResult, error) {
	if i.talk == nil {
		return memtrix.PromptResult{Index: n}, errors.New("the server is not ready")
	}
	result, err := i.fitting.do(ctx, i.talk, i.job.Cell.Workflow, n, func(w memtrix.Workflow) map[string]memtrix.GraphNode {
		if i.target.Vary == nil {
			return w.Graph
		}
		return i.target.Vary(w, n)
	})
	i.saying.Lock()
	i.prompts[result.ID] = n
	i.saying.Unlock()
	return result, err
}

// Free asks the server to unload models and drop its caches. It only notes the
// wish: whether and when it acted shows in the meters.
func (i *Instance) Free(ctx context.Context) error { return i.client.free(ctx) }

// SystemStats are the server's own figures. Asking for them touches the GPU.
func (i *Instance) SystemStats(ctx context.Context) (Stats, error) { return i.client.systemStats(ctx) }

// Queue is how many prompts run and wait.
func (i *Instance) Queue(ctx context.Context) (running, pending int, err error) {
	return i.client.queue(ctx)
}

// Stop ends the server and everything it started: SIGINT, SIGTERM, SIGKILL, then
// whatever is left. When ctx has ended, it kills at once. All output has been
// reported when it returns.
func (i *Instance) Stop(ctx context.Context) memtrix.Exit {
	i.stopping.Do(func() {
		i.exit = i.process.halt(ctx)
		if i.talk != nil {
			i.talk.socket.close()
		}
		i.client.close()
		i.fileErr = errors.Join(i.closeProbe(), i.log.close(), i.record.close())
		i.layout.tidy()
	})
	return i.exit
}

// FilesError is the first error that writing the raw files met, nil before Stop.
func (i *Instance) FilesError() error { return i.fileErr }
