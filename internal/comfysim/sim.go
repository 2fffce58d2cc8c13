package comfysim

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// sim is one simulated server.
type sim struct {
	cfg   *config
	log   *logger
	clock *clock
	card  *card // nil on the CPU
	host  *host
	mem   *memory
	cache *nodeCache
	queue *queue
	hub   *hub

	printed printed

	nodes     map[string]*nodeInfo
	nodeOrder []string
	interrupt atomic.Bool
}

func newSim(cfg *config, log *logger) (*sim, error) {
	s := &sim{cfg: cfg, log: log, clock: &clock{speed: cfg.sim.speed}, cache: newNodeCache(cfg),
		queue: newQueue(), hub: newHub()}
	log.heard = s.heard
	s.queue.changed = func(remaining int) { s.hub.send("status", statusData(remaining), "") }
	var err error
	if s.nodes, s.nodeOrder, err = readNodes(); err != nil {
		return nil, fmt.Errorf("node classes: %w", err)
	}
	base := baseMemory{anon: cfg.ver.baseAnon * mib, file: cfg.ver.baseFile * mib, shmem: keptShmem * mib}
	if !cfg.cuda {
		base.file, base.shmem = 361*mib, 0
	}
	if s.host, err = newHost(cfg.sim, cfg.ram, base, cfg.folders.base); err != nil {
		return nil, err
	}
	if cfg.cuda {
		if s.card, err = newCard(cfg.sim, cfg.dynamic); err != nil {
			return nil, err
		}
	}
	s.mem = &memory{cfg: cfg, log: log, clock: s.clock, card: s.card, host: s.host, first: map[string]bool{}}
	return s, nil
}

// collectEvery is how often the worker collects garbage.
const collectEvery = 10 * time.Second

// work runs prompts one after the other until ctx ends.
func (s *sim) work(ctx context.Context) {
	var lastCollect time.Time // wall time: others watch what it frees
	need := false
	for ctx.Err() == nil {
		wait := 1000 * time.Second
		if need {
			wait = max(0, s.wall(collectEvery)-time.Since(lastCollect))
		}
		item, flags := s.queue.next(ctx, wait)
		if item != nil {
			if s.runItem(ctx, item) != nil {
				return
			}
			need = true
		}
		if flags.unload || flags.free {
			if s.clock.wait(ctx, 500*time.Millisecond) != nil || s.act(ctx, flags) != nil {
				return
			}
			need, lastCollect = true, time.Time{}
		}
		if need && time.Since(lastCollect) >= s.wall(collectEvery) {
			s.mem.collect()
			need, lastCollect = false, time.Now()
		}
	}
}

// wall is what d of simulated time takes.
func (s *sim) wall(d time.Duration) time.Duration {
	return time.Duration(float64(d) / s.cfg.sim.speed)
}

// act does what POST /free asked for.
func (s *sim) act(ctx context.Context, flags queueFlags) error {
	if err := s.mem.unloadAll(ctx); err != nil {
		return err
	}
	if flags.free {
		s.drop(s.cache.clear())
		if line := s.cfg.cacheLine(); line != "" {
			s.log.info("%s", line)
		}
	}
	return nil
}

func (s *sim) runItem(ctx context.Context, item *queueItem) error {
	start := s.clock.now()
	result, err := s.execute(ctx, item)
	if err != nil {
		return err
	}
	s.leak()
	if !s.cfg.smart {
		if err := s.mem.unloadAll(ctx); err != nil {
			return err
		}
	}
	// The history is written a moment after the client has heard of the end.
	if err := s.clock.hold(ctx, 5*time.Millisecond, 2*time.Millisecond); err != nil {
		return err
	}
	s.queue.done(item, result)
	if item.client != "" {
		s.hub.send("executing", object{{"node", nil}, {"prompt_id", item.id}}, item.client)
	}
	s.hub.setNode("")
	s.log.promptExecuted((s.clock.now() - start).Seconds())
	return nil
}

// leak leaves behind what --sim-leak and --sim-leak-vram ask for, as long as there is
// room.
func (s *sim) leak() {
	if n := s.cfg.sim.leak; n > 0 {
		_ = s.host.more(int64(float64(n)/s.cfg.sim.ramScale), 0, 0)
	}
	if n := s.cfg.sim.leakVRAM; n > 0 && s.card != nil {
		s.card.leak(int64(float64(n) / s.cfg.sim.scale))
	}
}

// drop frees the memory of values that no cached node holds any more.
func (s *sim) drop(values []any) {
	for _, v := range values {
		if v == nil || s.cache.holds(v) {
			continue
		}
		switch v := v.(type) {
		case *picture:
			if v != nil && !v.freed {
				v.freed = true
				s.host.free(v.bytes(), 1)
			}
		case *patcher:
			if v != nil {
				s.mem.release(v.w)
			}
		}
	}
}

// sampleFault does what --sim-fault wants after a step of the sampler.
func (s *sim) sampleFault() error {
	switch s.cfg.sim.fault {
	case faultKillInSample:
		killSelf()
	case faultErrorInSample:
		return errorInSample()
	case faultDropSocket:
		s.hub.closeAll()
	}
	return nil
}

func statusData(remaining int) object {
	return object{{"status", object{{"exec_info", object{{"queue_remaining", remaining}}}}}}
}
