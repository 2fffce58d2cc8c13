package runner

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"memtrix"
	"memtrix/recorders"
)

const (
	// A drop smaller than this may be noise (a thread's arena, a file page).
	freedDrop = 16 << 20
	// Memory counts as still when it moved less than this for stillFor.
	stillWithin = 4 << 20
	stillFor    = time.Second
	settlePoll  = 50 * time.Millisecond
)

// settle takes the two readings at rest. They are different quantities: after
// some seconds of idleness ComfyUI has emptied its allocator's caches, after
// POST /free it has given its models back as well.
func (t *trialRun) settle(ctx context.Context, rest time.Duration, free bool, freeLimit time.Duration) error {
	if rest > 0 {
		if err := t.sleep(ctx, rest); err != nil {
			return err
		}
		t.read(memtrix.Rested, "")
		t.takeInventory(ctx, true)
	}
	if !free {
		return nil
	}
	before := t.held()
	err := t.askFree(ctx, freeLimit)
	switch {
	case errors.Is(err, memtrix.ErrUnsupported):
		return nil
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
		t.warn("POST /free was not answered in time: the server stands still")
		return nil
	case err != nil:
		t.warn("POST /free failed: %v", err)
		return ctx.Err()
	}
	note, err := t.awaitFreed(ctx, before, freeLimit)
	if err != nil {
		return err
	}
	t.read(memtrix.Freed, note)
	return nil
}

// restBetween takes the reading at rest between two prompts, where one is wanted.
func (t *trialRun) restBetween(ctx context.Context, n int) (err error) {
	if t.opts.Between <= 0 {
		return nil
	}
	t.wait(func() { err = t.sleep(ctx, t.opts.Between) })
	if err == nil {
		t.read(memtrix.Between, "")
		if n == int(math.Round(StartUpShare*float64(t.opts.Prompts))) {
			t.takeInventory(ctx, false)
		}
	}
	return err
}

// askFree sends the wish. A server that stands still would never answer it.
func (t *trialRun) askFree(ctx context.Context, limit time.Duration) error {
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	return t.instance.Free(ctx)
}

// awaitFreed polls until the server has given memory back and stays still. POST
// /free only sets a flag, and no event says that it has acted.
func (t *trialRun) awaitFreed(ctx context.Context, before map[string]int64, limit time.Duration) (note string, err error) {
	begin := time.Now()
	still, stillSince := t.held(), begin
	for {
		if err := t.sleep(ctx, settlePoll); err != nil {
			return "", err
		}
		now := t.held()
		if moved(still, now, stillWithin) {
			still, stillSince = now, time.Now()
		}
		quiet := time.Since(stillSince) >= stillFor
		if quiet && dropped(before, now, freedDrop) {
			return "", nil
		}
		if time.Since(begin) >= limit {
			if dropped(before, now, freedDrop) {
				return fmt.Sprintf("memory was still moving %v after POST /free", limit), nil
			}
			return fmt.Sprintf("no memory was given back within %v of POST /free", limit), nil
		}
	}
}

// held are the meters by which giving memory back shows.
func (t *trialRun) held() map[string]int64 {
	now := t.sampler.Now()
	held := map[string]int64{}
	for _, m := range []string{memtrix.VRAMDeviceUsed, memtrix.RAMTreeRSS} {
		if v, ok := now[m]; ok {
			held[m] = v
		}
	}
	return held
}

func moved(a, b map[string]int64, within int64) bool {
	for m, v := range b {
		if d := v - a[m]; d > within || d < -within {
			return true
		}
	}
	return false
}

func dropped(before, now map[string]int64, by int64) bool {
	for m, v := range before {
		if w, ok := now[m]; ok && v-w >= by {
			return true
		}
	}
	return false
}

// sleep waits, unless ctx ends or the server dies.
func (t *trialRun) sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-t.instance.Exited():
		return errDied
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (t *trialRun) read(kind memtrix.ReadingKind, note string) {
	values := t.sampler.Now()
	// Address space moves all the time and costs nothing: it is of interest at rest.
	if size, err := recorders.AddressSpace(t.instance.PID()); err == nil {
		values[memtrix.RAMProcessSize] = size
	}
	t.lookInto(context.Background(), values)
	t.trial.Readings = append(t.trial.Readings, memtrix.Reading{Kind: kind, At: t.now(), Values: t.told(values), Note: note})
}
