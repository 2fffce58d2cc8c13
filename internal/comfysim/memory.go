package comfysim

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// Rates at which bytes move, a second of simulated time.
const (
	readRate   = 2.3e9  // model file to a host copy
	castRate   = 0.35e9 // the same with conversion to 32 bit
	pageRate   = 1.3e9  // model file to the card, page by page
	toCardRate = 2.2e9  // host copy to the card
	toHostRate = 0.9e9  // back
	pinnedRate = 12e9   // pinned host memory to the card
)

// minimumInference is what ComfyUI keeps free for any work, without the reserve.
const minimumInference int64 = 858993459

// memory is what comfy.model_management is to ComfyUI: it decides which models
// are where.
type memory struct {
	cfg   *config
	log   *logger
	clock *clock
	card  *card // nil on the CPU
	host  *host

	list  []*weights // loaded models, the latest first
	first map[string]bool
}

// once reports whether something happens for the first time.
func (m *memory) once(what string) bool {
	if m.first[what] {
		return false
	}
	m.first[what] = true
	return true
}

func (m *memory) extraReserved() int64 { return m.cfg.reserve }

func (m *memory) minInference() int64 { return minimumInference + m.extraReserved() }

// loadModels is load_models_gpu: it makes room and brings models to where they
// run. required is what the work will need, minimum the least of it (0: as
// required).
func (m *memory) loadModels(ctx context.Context, models []*patcher, required, minimum int64) error {
	extra := max(m.minInference(), required+m.extraReserved())
	least := extra
	if minimum > 0 {
		least = max(m.minInference(), minimum+m.extraReserved())
	}
	var total int64
	for _, p := range models {
		if !slices.Contains(m.list, p.w) {
			m.log.info("Requested to load %s", p.w.class)
			total += p.w.bytes
		} else {
			total += p.w.bytes - p.w.loaded
		}
	}
	if slices.ContainsFunc(models, func(p *patcher) bool { return p.w.onCard }) {
		if err := m.makeRoom(ctx, int64(1.1*float64(total))+extra, least, models); err != nil {
			return err
		}
	}
	for _, p := range models {
		if err := m.load(ctx, p, least); err != nil {
			return err
		}
	}
	m.logAimdo()
	return nil
}

func (m *memory) makeRoom(ctx context.Context, need, least int64, keep []*patcher) error {
	if _, err := m.freeMemory(ctx, need, keep); err != nil {
		return err
	}
	if m.card.usable() >= least {
		return nil
	}
	n, err := m.freeMemory(ctx, least, keep)
	m.log.info("%d models unloaded.", n)
	return err
}

// freeMemory moves other models out until need bytes are free, and says how many
// went wholly. Under dynamic VRAM models give way by themselves, page by page.
func (m *memory) freeMemory(ctx context.Context, need int64, keep []*patcher) (int, error) {
	others := m.others(keep)
	slices.SortStableFunc(others, func(a, b *weights) int {
		return cmp.Or(cmp.Compare(b.bytes-b.loaded, a.bytes-a.loaded), cmp.Compare(a.bytes, b.bytes))
	})
	gone := 0
	for _, w := range others {
		if w.dynamic {
			if !m.cfg.smart {
				m.evictFrom(w, w.loaded)
			}
			continue
		}
		free := m.card.usable()
		if m.cfg.smart && free > need {
			break
		}
		whole, err := m.unload(ctx, w, need-free)
		if err != nil {
			return gone, err
		}
		if whole {
			gone++
		}
	}
	if gone > 0 || m.cfg.state != stateHigh {
		m.card.emptyCache()
	}
	return gone, nil
}

func (m *memory) others(keep []*patcher) []*weights {
	var out []*weights
	for _, w := range m.list {
		if w.onCard && !slices.ContainsFunc(keep, func(p *patcher) bool { return p.w == w }) {
			out = append(out, w)
		}
	}
	return out
}

// unload moves toFree bytes of a model to RAM, or all of it when that is more
// than it has. It reports whether all of it went.
func (m *memory) unload(ctx context.Context, w *weights, toFree int64) (bool, error) {
	if m.cfg.smart && toFree < w.loaded && w.offload {
		toFree = min(toFree+w.buffer()/3, w.loaded)
		if err := m.toHost(ctx, w, toFree); err != nil {
			return false, err
		}
		m.logUnloadedPartly(w, toFree)
		return false, nil
	}
	m.log.log(levelDebug, "Unloading %s", w.class)
	m.list = slices.DeleteFunc(m.list, func(x *weights) bool { return x == w })
	if !w.offload { // it stays where it is: there is nowhere else for it
		return true, nil
	}
	return true, m.toHost(ctx, w, w.loaded)
}

// load brings one model to where it runs.
func (m *memory) load(ctx context.Context, p *patcher, least int64) error {
	w := p.w
	switch {
	case w.dynamic:
		if err := m.stage(ctx, p); err != nil {
			return err
		}
	case !w.onCard:
		if !w.runs {
			w.loaded, w.runs = w.bytes, true
			m.logLoaded(w, -1, p.patches)
		}
	case w.loaded < w.bytes || !w.runs:
		if err := m.loadEstimated(ctx, p, least); err != nil {
			return err
		}
	}
	m.list = slices.DeleteFunc(m.list, func(x *weights) bool { return x == w })
	m.list = slices.Insert(m.list, 0, w)
	return nil
}

// loadEstimated is loading without dynamic VRAM: as much as the estimate of what
// is left after the work allows.
func (m *memory) loadEstimated(ctx context.Context, p *patcher, least int64) error {
	w := p.w
	budget := int64(-1)
	if m.cfg.state != stateHigh {
		budget = m.budget(w, least)
	}
	if budget >= 0 && budget < w.loaded && w.runs {
		freed := min(w.loaded-budget+w.buffer()/6, w.loaded)
		if err := m.toHost(ctx, w, freed); err != nil {
			return err
		}
		m.logUnloadedPartly(w, freed)
		return nil
	}
	target := w.bytes
	if budget >= 0 && budget < target {
		target = max(w.loaded, budget-w.buffer()/10)
	}
	if err := m.toCard(ctx, w, target-w.loaded); err != nil {
		return err
	}
	w.runs = true
	m.logLoaded(w, budget, p.patches)
	return nil
}

func (m *memory) budget(w *weights, least int64) int64 {
	if m.cfg.state == stateNo {
		return 0
	}
	free := m.card.usable() + w.loaded
	return max(0, free-least, min(0, free-m.minInference()))
}

// toCard copies n bytes of a model from RAM to the card. The first host copy is
// given up; a copy that came back from the card stays as its backing.
func (m *memory) toCard(ctx context.Context, w *weights, n int64) error {
	if n <= 0 {
		return nil
	}
	err := m.inSteps(ctx, n, seconds(float64(n)/toCardRate), func(step int64) error {
		if err := m.card.putWeights(step); err != nil {
			return m.pythonize(err)
		}
		w.loaded += step
		back := min(step, w.offloaded)
		w.offloaded -= back
		w.backing += back
		if own := min(step-back, w.host); own > 0 {
			w.host -= own
			m.host.free(own, givenBack)
		}
		return nil
	})
	return err
}

// toHost copies n bytes of a model back. They need new pages in RAM: all of them
// the first time, 60 % the second, none after that.
func (m *memory) toHost(ctx context.Context, w *weights, n int64) error {
	if n <= 0 {
		return nil
	}
	again := w.cycles
	err := m.inSteps(ctx, n, seconds(float64(n)/toHostRate), func(step int64) error {
		backed := min(step, w.backing)
		need := step - backed
		if again == 0 {
			need += backed * 6 / 10
		}
		if err := m.host.alloc(need, 0); err != nil {
			return m.pythonize(err)
		}
		w.backing -= backed
		w.host += need
		w.offloaded += step
		w.loaded -= step
		if backed > 0 {
			w.cycles = again + 1
		}
		return m.card.putWeights(-step)
	})
	m.card.emptyCache()
	return err
}

// inSteps does a long copy piece by piece, so that meters see it grow.
func (m *memory) inSteps(ctx context.Context, n int64, d time.Duration, do func(int64) error) error {
	const steps = 24
	for i := int64(0); i < steps; i++ {
		step := n*(i+1)/steps - n*i/steps
		if err := do(step); err != nil {
			return err
		}
		if err := m.clock.wait(ctx, d/steps); err != nil {
			return err
		}
	}
	return nil
}

// unloadAll is unload_all_models. Nodes still hold the models, so their weights
// go to RAM.
func (m *memory) unloadAll(ctx context.Context) error {
	for _, w := range slices.Clone(m.list) {
		if w.dynamic {
			m.evictFrom(w, w.loaded)
		} else if w.onCard && w.offload {
			if err := m.toHost(ctx, w, w.loaded); err != nil {
				return err
			}
		}
		w.runs = false
	}
	m.list = nil
	if m.card != nil {
		m.card.emptyCache()
	}
	return nil
}

// release forgets a model that no node holds any more.
func (m *memory) release(w *weights) {
	if w.released {
		return
	}
	w.released = true
	m.list = slices.DeleteFunc(m.list, func(x *weights) bool { return x == w })
	if w.onCard && w.loaded > 0 {
		_ = m.card.putWeights(-w.loaded) // giving back cannot fail
	}
	w.loaded = 0
	m.host.free(w.host+w.extra, givenBack)
	m.host.free(w.pinned, 1)
	w.host, w.extra, w.pinned = 0, 0, 0
	if w.file != nil {
		m.host.closeFile(w.file, w.fileRead)
		w.file, w.fileRead = nil, 0
	}
}

// collect is the garbage collection after a prompt.
func (m *memory) collect() {
	if m.card != nil {
		m.card.emptyCache()
	}
}
