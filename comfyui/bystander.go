package comfyui

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"memtrix"
)

// bystander is a trial's time beside a process that does not say what it does: its
// memory is recorded, and how it ends is seen. It implements memtrix.Instance and
// memtrix.Sharer.
type bystander struct {
	job     memtrix.Job
	pid     int
	process *watched
	once    sync.Once
	exit    memtrix.Exit
}

var (
	_ memtrix.Instance = (*bystander)(nil)
	_ memtrix.Sharer   = (*bystander)(nil)
)

func newBystander(job memtrix.Job, pid int) (*bystander, error) {
	start, err := startOf(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return nil, fmt.Errorf("process %d: %w", pid, err)
	}
	return &bystander{job: job, pid: pid, process: watchProcess(pid, start)}, nil
}

func (b *bystander) PID() int                    { return b.pid }
func (b *bystander) Exited() <-chan struct{}     { return b.process.exited }
func (b *bystander) Ready(context.Context) error { return nil }

// Do waits until ctx or the process ends: no prompt is seen.
func (b *bystander) Do(ctx context.Context, _ int) (memtrix.PromptResult, error) {
	select {
	case <-b.process.exited:
		return memtrix.PromptResult{}, errEnded
	case <-ctx.Done():
		return memtrix.PromptResult{}, context.Cause(ctx)
	}
}

func (b *bystander) Free(context.Context) error { return memtrix.ErrUnsupported }

// Stop leaves the process as it is, and tells how it ended where it did.
func (b *bystander) Stop(context.Context) memtrix.Exit {
	b.once.Do(func() {
		select {
		case <-b.process.exited:
			exit, ok := b.process.exit()
			exit.Unknown = !ok
			b.exit = exit
			for _, words := range b.process.kernelWords() {
				if b.job.Log != nil {
					b.job.Log(memtrix.LogLine{At: time.Since(b.job.Epoch), Stream: "kernel", Text: words})
				}
			}
		default:
		}
		b.process.close()
	})
	return b.exit
}

func (b *bystander) AwaitTurn(context.Context, time.Duration, func(string)) error { return nil }
func (b *bystander) Shared() bool                                                 { return false }
func (b *bystander) Told(context.Context) map[string]int64                        { return nil }

func (b *bystander) Remarks() []string {
	return []string{fmt.Sprintf("process %d listens on no port where a ComfyUI answers: only its memory was recorded, and how it ended", b.pid)}
}
