package comfysim

import (
	"context"
)

// Memory beside the weights under dynamic VRAM, as recorded.
const (
	readBuffer  = 350 * mib // file pages while weights are read (0.29)
	stagingSize = 202 * mib // shared pages of the copy buffers (0.29)
	smallShared = 10 * mib  // the same without them
)

// limit is the most that dynamic VRAM lets this process use of the card.
func (m *memory) limit() int64 {
	s := m.card.stats()
	limit := s.own + s.free - max(dynamicKeepsFree, m.cfg.headroom)
	return min(limit, s.total-m.cfg.capacity)
}

// stage prepares a model for paging: nothing is copied yet.
func (m *memory) stage(ctx context.Context, p *patcher) error {
	w := p.w
	if !w.runs {
		w.runs = true
		if err := m.clock.wait(ctx, seconds(0.2)); err != nil {
			return err
		}
	}
	m.logStaged(w, p.patches)
	return nil
}

// pageIn copies a model's pages to the card as the first forward pass touches
// them, as many as the limit allows when other models give way.
func (m *memory) pageIn(ctx context.Context, w *weights) error {
	want := roundUp(w.bytes, page)
	missing := want - w.loaded
	if missing <= 0 {
		return nil
	}
	done, err := m.beginReading(w)
	if err != nil {
		return m.pythonize(err)
	}
	defer done()
	err = m.inSteps(ctx, missing, seconds(float64(missing)/pageRate), func(step int64) error {
		return m.pageStep(w, step)
	})
	if err != nil {
		return err
	}
	return m.pin(w)
}

func (m *memory) pageStep(w *weights, step int64) error {
	room := m.limit() - m.card.stats().own
	if room < step {
		m.evict(step-room, w)
		room = m.limit() - m.card.stats().own
	}
	take := max(0, min(step, room))
	if err := m.card.putWeights(take); err != nil {
		return m.pythonize(err)
	}
	w.loaded += take
	if w.file != nil {
		m.host.readFile(w.file, w.fileRead, w.fileRead+step)
		w.fileRead += step
	}
	return nil
}

// beginReading makes what reading a model file needs in RAM: a mapping that
// stays (0.18), or with the first model a buffer that goes again (0.29).
func (m *memory) beginReading(w *weights) (done func(), err error) {
	if m.cfg.ver.mapsFiles {
		if m.once("staging") {
			err = m.host.more(0, 0, smallShared)
		}
		if err == nil && w.file == nil {
			w.file, err = mapModel(w.path, m.host.scaled(w.fileLen))
		}
		return func() {}, err
	}
	if !m.once("staging") {
		return func() {}, nil
	}
	buffer := min(readBuffer, w.bytes)
	err = m.host.more(0, buffer, stagingSize)
	return func() { _ = m.host.more(0, -buffer, 0) }, err // shrinking needs nothing
}

// pin takes RAM for the weights that do not fit on the card, so that each step
// can copy them quickly. The invented version pins those that do fit, too.
func (m *memory) pin(w *weights) error {
	if !m.cfg.pinned || !m.cfg.ver.pins {
		return nil
	}
	want := max(0, w.bytes-w.loaded)
	if m.cfg.ver.regressed {
		want = w.bytes
	}
	if want <= w.pinned {
		return nil
	}
	if err := m.host.alloc(want-w.pinned, 0); err != nil {
		return m.pythonize(err)
	}
	w.pinned = want
	return nil
}

// evict throws n bytes of weights off the card, the models that were used
// longest ago first, the one in use last.
func (m *memory) evict(n int64, inUse *weights) {
	for i := len(m.list) - 1; i >= 0 && n > 0; i-- {
		if w := m.list[i]; w != inUse && w.dynamic {
			n -= m.evictFrom(w, n)
		}
	}
	if n > 0 && inUse != nil && inUse.dynamic {
		m.evictFrom(inUse, n)
	}
}

func (m *memory) evictFrom(w *weights, n int64) int64 {
	n = min(roundUp(n, page), w.loaded)
	if n > 0 {
		_ = m.card.putWeights(-n) // giving back cannot fail
		w.loaded -= n
	}
	return n
}

// activate takes n bytes for activations. Weights give way under dynamic VRAM.
func (m *memory) activate(n int64, inUse *weights) error {
	if m.cfg.dynamic {
		if over := m.card.stats().own + n - m.limit(); over > 0 {
			m.evict(over, inUse)
		}
	}
	if err := m.card.putActive(n); err != nil {
		return m.pythonize(err)
	}
	return nil
}

// deactivate gives back n bytes of activations.
func (m *memory) deactivate(n int64) {
	_ = m.card.putActive(-n) // giving back cannot fail
}
