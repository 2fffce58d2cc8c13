package runner

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// Why a trial's work was cut short; found again with context.Cause.
var (
	errStartTimeout  = errors.New("the server did not become ready in time")
	errPromptTimeout = errors.New("the prompt did not end in time")
	errSilence       = errors.New("the server gave no sign of life")
)

// pulse remembers when a server last gave a sign of life: an event or a line of
// its log.
type pulse struct{ last atomic.Int64 }

func (p *pulse) beat() { p.last.Store(int64(time.Since(processStart))) }

func (p *pulse) idle() time.Duration {
	return time.Since(processStart) - time.Duration(p.last.Load())
}

// processStart makes a monotonic clock that fits an atomic integer.
var processStart = time.Now()

// watch returns a context that ends after limit, or when the pulse has been
// silent for longer than silence. Zero means no such bound. The caller must call
// the returned function.
func watch(ctx context.Context, p *pulse, limit, silence time.Duration, late error) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := make(chan struct{})
	p.beat()
	go func() {
		begin := time.Now()
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if limit > 0 && time.Since(begin) > limit {
				cancel(late)
			}
			if silence > 0 && p.idle() > silence {
				cancel(errSilence)
			}
		}
	}()
	return ctx, func() {
		close(stop)
		cancel(context.Canceled)
	}
}
