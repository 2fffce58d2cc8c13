package comfysim

import (
	"context"
	"sync/atomic"
	"time"
)

// clock is simulated time: it moves only by waiting, and waiting takes the
// speed-th part of it on the wall.
type clock struct {
	speed float64
	ns    atomic.Int64
}

func (c *clock) now() time.Duration { return time.Duration(c.ns.Load()) }

// wait lets d of simulated time pass. It ends early with ctx's error.
func (c *clock) wait(ctx context.Context, d time.Duration) error {
	return c.hold(ctx, d, 0)
}

// hold is wait that takes at least the given time on the wall, so that somebody
// who reads a meter every few milliseconds sees what is held meanwhile.
func (c *clock) hold(ctx context.Context, d, atLeast time.Duration) error {
	c.ns.Add(int64(d))
	wall := max(time.Duration(float64(d)/c.speed), atLeast)
	if wall <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(wall)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

func seconds(f float64) time.Duration { return time.Duration(f * float64(time.Second)) }
