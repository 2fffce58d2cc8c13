package comfyui

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"memtrix"
)

// Attachment is a trial's time on a server that runs already. It implements
// memtrix.Instance, memtrix.Checker and memtrix.Sharer.
type Attachment struct {
	target *AttachTarget
	job    memtrix.Job
	at     memtrix.Attached // as it is now
	stats  Stats
	offset int // of the prompts' numbers

	log     *logWriter
	record  *recorder
	client  *client
	fitting fitting
	talk    *talk // set once it is ready
	crowd   *crowd
	output  heard

	// follow sees what comes, where prompts are others' to be followed; nil where they
	// are the trial's own.
	follow *follower

	process *watched // nil where it cannot be watched
	gone    chan struct{}
	stopped chan struct{}
	watch   sync.WaitGroup

	mu      sync.Mutex
	banner  Banner
	remarks []string

	emitting sync.Mutex
	stopping sync.Once
	exit     memtrix.Exit
	fileErr  error
}

var (
	_ memtrix.Instance = (*Attachment)(nil)
	_ memtrix.Checker  = (*Attachment)(nil)
	_ memtrix.Sharer   = (*Attachment)(nil)
)

// clientPrefix begins the client ids of memtrix on servers of others, so that
// people can tell its prompts from their own.
const clientPrefix = "memtrix-"

// Start looks whether the server is still the one that was planned with. Nothing
// is started.
func (t *AttachTarget) Start(ctx context.Context, job memtrix.Job) (memtrix.Instance, error) {
	i, err := t.attach(ctx, job)
	if err != nil {
		return nil, err
	}
	return i, nil
}

func (t *AttachTarget) attach(ctx context.Context, job memtrix.Job) (*Attachment, error) {
	was := job.Cell.Version.Attached
	if was == nil {
		return nil, fmt.Errorf("%s names no server", job.Cell.Version.Name)
	}
	// A cell that no plan has seen (a search makes its own) shall not pass by another size.
	if reason := otherSize(job.Cell.Hardware); reason != "" {
		return nil, errors.New(reason)
	}
	if job.Epoch.IsZero() {
		job.Epoch = time.Now()
	}
	i := &Attachment{
		target: t, job: job, at: *was, client: newClient(was.URL), gone: make(chan struct{}), stopped: make(chan struct{}),
		// The server remembers what ran before, also in earlier trials: another
		// number each time, small enough for every kind of input.
		offset: 1 + int(time.Now().Unix()%50000),
	}
	i.fitting = fitting{fit: t.Fit, dir: job.Dir}
	i.crowd = newCrowd(i.now)
	i.output.line = i.line
	if err := i.meet(ctx); err != nil {
		i.client.close()
		return nil, err
	}
	var err error
	if i.log, err = newLogWriter(job.Dir, i.now, nil); err == nil {
		if i.record, err = newRecorder(job.Dir); err != nil {
			err = errors.Join(err, i.log.close())
		}
	}
	if err != nil {
		i.client.close()
		return nil, err
	}
	return i, nil
}

// meet asks the server what it is now and begins to watch its process.
func (i *Attachment) meet(ctx context.Context) error {
	stats, _, err := i.client.lookAt(ctx)
	if err != nil {
		return err
	}
	v := i.job.Cell.Version
	flags := lastingFlags(stats.System.Argv, knownFlags(memtrix.Version{Release: v.Release}))
	if stats.System.Release != v.Release || !slices.Equal(flags, i.at.Argv) {
		return fmt.Errorf("%s: it is another server than the plan was made for: ComfyUI %s (%s) instead of %s (%s); run memtrix again",
			i.at.URL, stats.System.Release, strings.Join(flags, " "), v.Release, strings.Join(i.at.Argv, " "))
	}
	i.stats = stats
	own, err := i.target.find(ctx, i.at.URL, i.at.PID, stats.System.Argv, &i.at)
	if err != nil && i.at.PID != 0 { // it was started anew since
		own, err = i.target.find(ctx, i.at.URL, 0, stats.System.Argv, &i.at)
	}
	if i.at.PID = own.pid; err == nil && own.pid != 0 {
		i.process = watchProcess(own.pid, own.start)
	}
	return nil
}

func (i *Attachment) now() time.Duration { return time.Since(i.job.Epoch) }

func (i *Attachment) emit(e memtrix.Event) {
	i.emitting.Lock()
	defer i.emitting.Unlock()
	if i.job.Event != nil {
		i.job.Event(e)
	}
}

func (i *Attachment) remark(format string, args ...any) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if text := fmt.Sprintf(format, args...); !slices.Contains(i.remarks, text) {
		i.remarks = append(i.remarks, text)
	}
}

// PID is the server's process, 0 where it is not known.
func (i *Attachment) PID() int { return i.at.PID }

// Exited is closed when the server is gone.
func (i *Attachment) Exited() <-chan struct{} { return i.gone }

// Ready joins the server: a socket, and its log where it gives one.
func (i *Attachment) Ready(ctx context.Context) error {
	id := clientPrefix + uuid.NewString()
	socket, err := openTapped(ctx, i.client, id, i.now, i.record, attachedPause, i.tap)
	if err != nil {
		return err
	}
	i.talk = &talk{
		client: i.client, socket: socket, clientID: id, now: i.now, record: i.record, emit: i.emit,
		gone: i.gone, how: i.how, abandon: i.abandon, idle: i.crowd.idle, lostPoll: attachedPoll,
	}
	i.watch.Go(i.watchServer)
	// What it said while it started, if that is not too long ago.
	if text, err := i.client.recentLogs(ctx); err == nil {
		i.mu.Lock()
		for line := range strings.Lines(text) {
			i.banner.read(strings.TrimSuffix(line, "\n"))
		}
		i.mu.Unlock()
	}
	if err := i.client.subscribeLogs(ctx, id, true); err != nil {
		i.remark("the server's log is not to be had (%v): what it only prints, such as memory that ran out and was got round, is not known", err)
	}
	i.emit(memtrix.Event{At: i.now(), Kind: memtrix.EventReady})
	return nil
}

// Without a process to watch, a server to which no connection can be made for so
// long is gone. It is longer than the pause between two attempts.
const lostFor = 40 * time.Second

// Paces on a server that works for somebody, so that asking costs it less than a
// millisecond a second: on 0.29.0 a socket that is made anew takes 3.6 ms of its
// time, a question to the history up to 0.4 ms.
const (
	attachedPause = 15 * time.Second // at the most, between two attempts to connect
	attachedPoll  = time.Second
	// watchPace is how often a process is looked at; a look costs it nothing.
	watchPace = 100 * time.Millisecond
)

// watchServer closes gone when the server is.
func (i *Attachment) watchServer() {
	var exited <-chan struct{}
	if i.process != nil {
		exited = i.process.exited
	}
	tick := time.NewTicker(watchPace)
	defer tick.Stop()
	lastUp, joined := time.Now(), 0
	for {
		select {
		case <-exited:
			close(i.gone)
			return
		case <-i.stopped:
			return
		case <-tick.C:
		}
		if !i.talk.socket.isDown() {
			lastUp = time.Now()
		}
		if _, n := i.talk.socket.breaks(); n != joined {
			joined, lastUp = n, time.Now()
			i.rejoined()
		}
		if i.process == nil && time.Since(lastUp) > lostFor {
			close(i.gone)
			return
		}
	}
}

// rejoined asks for the log again: a server forgets who listens to it when it has a
// line for a socket that is gone.
func (i *Attachment) rejoined() {
	ctx, cancel := context.WithTimeout(context.Background(), abandonLimit)
	defer cancel()
	_ = i.client.subscribeLogs(ctx, i.talk.clientID, true) // the next connection tries again
}

func (i *Attachment) left() bool {
	select {
	case <-i.gone:
		return true
	default:
		return false
	}
}

// how says how the server went away.
func (i *Attachment) how() string {
	if i.process == nil {
		return fmt.Sprintf("nothing answered at %s for %v", i.at.URL, lostFor)
	}
	exit, ok := i.process.exit()
	switch {
	case !ok:
		return fmt.Sprintf("process %d, which memtrix did not start", i.at.PID)
	case exit.Signal != "":
		return "killed by signal " + exit.Signal
	}
	return fmt.Sprintf("exit status %d", exit.Status)
}

// Do sends the n-th prompt and waits for its end.
func (i *Attachment) Do(ctx context.Context, n int) (memtrix.PromptResult, error) {
	if i.talk == nil {
		return memtrix.PromptResult{Index: n}, errors.New("the server is not ready")
	}
	i.crowd.sent()
	defer i.crowd.ended()
	result, err := i.fitting.do(ctx, i.talk, i.job.Cell.Workflow, n, func(w memtrix.Workflow) map[string]memtrix.GraphNode {
		if i.target.Vary == nil {
			return w.Graph
		}
		return i.target.Vary(w, i.offset+n)
	})
	if err != nil && ctx.Err() != nil && !i.left() && !i.crowd.works() && result.ID != "" {
		err = fmt.Errorf("prompt %d waited %.0f s behind others': %w", n, result.Seconds, memtrix.ErrBusy)
	}
	return result, err
}

// Free asks for models and caches to be dropped, where the spec says so.
func (i *Attachment) Free(ctx context.Context) error {
	if !i.at.Free {
		i.remark("freed was not read: POST /free would drop the models of the server's user (free: on beside url: asks for it)")
		return fmt.Errorf("POST /free: %w", memtrix.ErrUnsupported)
	}
	return i.client.free(ctx)
}

// NotInForce holds the settings of the trial against what the server said.
func (i *Attachment) NotInForce(context.Context) []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return NotInForce(i.job.Cell.Settings, i.job.Cell.Version.Release, i.banner, i.stats)
}

// Facts are what the server and its process tell.
func (i *Attachment) Facts() memtrix.Environment {
	i.mu.Lock()
	facts := i.banner.Facts()
	i.mu.Unlock()
	maps.Copy(facts, i.stats.facts())
	facts["server.url"] = i.at.URL
	if i.at.PID != 0 {
		facts["server.pid"] = fmt.Sprint(i.at.PID)
	}
	return facts
}

// Told are the server's own figures, now.
func (i *Attachment) Told(ctx context.Context) map[string]int64 {
	s, err := i.client.systemStats(ctx)
	if err != nil {
		return nil
	}
	return s.sizes()
}

// Shared reports whether others' prompts ran since the first own one.
func (i *Attachment) Shared() bool {
	times, _, _ := i.crowd.met()
	return times > 0
}

// Remarks are what was odd, see memtrix.Sharer.
func (i *Attachment) Remarks() []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Clone(i.remarks)
}

// Stop leaves the server as it is. How it ended is in the result only where it
// went away by itself.
func (i *Attachment) Stop(ctx context.Context) memtrix.Exit {
	i.stopping.Do(func() {
		if i.talk != nil {
			if !i.left() {
				// Without a word it would find out at its next line.
				_ = i.client.subscribeLogs(ctx, i.talk.clientID, false)
			}
			close(i.stopped)
			i.watch.Wait()
			i.talk.socket.close()
			i.sayLost()
		}
		i.sayShared()
		if i.left() {
			i.exit = i.ended()
		}
		if i.process != nil {
			i.process.close()
		}
		i.client.close()
		i.output.flush(i.now())
		i.fileErr = errors.Join(i.log.close(), i.record.close())
	})
	return i.exit
}

// ended is how the server went away, and what the kernel says about that.
func (i *Attachment) ended() memtrix.Exit {
	if i.process == nil {
		return memtrix.Exit{Unknown: true}
	}
	exit, ok := i.process.exit()
	exit.Unknown = !ok
	for _, words := range i.process.kernelWords() {
		l := memtrix.LogLine{At: i.now(), Stream: "kernel", Text: words}
		i.log.line(l)
		if i.job.Log != nil {
			i.job.Log(l)
		}
	}
	return exit
}

func (i *Attachment) sayLost() {
	losses, _ := i.talk.socket.breaks()
	if losses == 0 || i.left() {
		return
	}
	often := "once"
	if losses > 1 {
		often = fmt.Sprintf("%d times", losses)
	}
	i.remark("the connection to %s was lost (%s): what the server said meanwhile, which node ran, and prompts of others may be missing", i.at.URL, often)
}

func (i *Attachment) sayShared() {
	times, first, waited := i.crowd.met()
	if times == 0 {
		return
	}
	often := "once"
	if times > 1 {
		often = fmt.Sprintf("%d times", times)
	}
	text := fmt.Sprintf("others used the server during this trial: prompts of theirs ran (%s, first at %.1f s); its memory is not that of this workflow alone", often, first.Seconds())
	if waited > 0 {
		text += fmt.Sprintf("; a prompt waited %.1f s behind theirs, which its time includes", waited.Seconds())
	}
	i.remark("%s", text)
}

// FilesError is the first error that writing the raw files met, nil before Stop.
func (i *Attachment) FilesError() error { return i.fileErr }
