package comfysim

import (
	"context"
	"fmt"
	"time"
)

// What sampling needs on the device, fitted to recordings of SDXL at 16 bit.
const (
	sampleFixed   = 112 * mib
	sampleEach    = 240 * mib // an image and megapixel
	regressFactor = 3.5       // of the invented 0.29.1-demo, see the package comment
)

// latent is the value of a LATENT output, in latent pixels (an eighth).
type latent struct {
	batch, h, w int64
}

func (l latent) megapixels() float64 { return float64(l.h*l.w*64) / float64(1<<20) }

// sampling is one run of a sampler.
type sampling struct {
	m        *memory
	p        *patcher
	lat      latent
	steps    int
	cfgScale float64
	progress func(value, total int)
	stopped  func() bool // asked to interrupt
	faulty   func() error

	images int64 // in one forward pass
	passes int   // forward passes a step
	need   int64 // bytes of activations
}

// sample runs the diffusion model: load, then the steps under a progress bar.
func (s *sampling) run(ctx context.Context) error {
	m, w := s.m, s.p.w
	conds := int64(2)
	if s.cfgScale == 1 {
		conds = 1
	}
	required := w.memoryRequired(s.lat.batch*conds, s.lat.h, s.lat.w, m.cfg.unet)
	least := w.memoryRequired(s.lat.batch, s.lat.h, s.lat.w, m.cfg.unet)
	if err := m.loadModels(ctx, []*patcher{s.p}, required, least); err != nil {
		return at("KSampler.load", err)
	}
	if m.card != nil {
		m.card.firstWork()
	}
	if err := s.firstUse(); err != nil {
		return m.pythonize(err)
	}
	s.plan(conds, required)
	return at("KSampler.sample", s.loop(ctx))
}

// plan decides whether both conditions run at once, by ComfyUI's own estimate.
func (s *sampling) plan(conds, both int64) {
	m := s.m
	s.images, s.passes = s.lat.batch*conds, 1
	if m.card != nil && float64(both)*1.5 >= float64(m.card.usable()) {
		s.images, s.passes = s.lat.batch, int(conds)
	}
	size := float64(max(m.cfg.unet.size, 2)) / 2
	need := float64(sampleFixed) + float64(sampleEach)*float64(s.images)*s.lat.megapixels()*size
	if m.cfg.ver.regressed && !m.cfg.dynamic && m.cfg.state == stateNormal {
		need *= regressFactor
	}
	s.need = int64(need)
}

// firstUse is what libraries take in RAM the first time a model samples.
func (s *sampling) firstUse() error {
	m, w := s.m, s.p.w
	if m.once("sample") {
		if err := m.host.more(0, 98*mib, 2*mib); err != nil {
			return err
		}
	}
	if w.dynamic && w.firstUse() {
		extra := w.bytes / 10
		w.extra += extra
		return m.host.alloc(extra, foundAgain)
	}
	return nil
}

func (s *sampling) loop(ctx context.Context) error {
	b := newBar(s.m.log, s.m.clock, s.steps)
	err := s.body(ctx, b)
	if ctx.Err() == nil {
		b.close()
	}
	return err
}

func (s *sampling) body(ctx context.Context, b *bar) error {
	m, w := s.m, s.p.w
	if w.dynamic {
		b.initializing()
		if err := m.pageIn(ctx, w); err != nil {
			return err
		}
	}
	taken, err := s.takeActivations()
	defer func() { s.giveActivations(taken) }()
	if err != nil {
		return err
	}
	if w.dynamic {
		if err := m.pin(w); err != nil {
			return err
		}
	} else if m.card != nil && m.once("kernels") {
		if err := m.clock.wait(ctx, seconds(1.2)); err != nil {
			return err
		}
	}
	return s.doSteps(ctx, b)
}

func (s *sampling) doSteps(ctx context.Context, b *bar) error {
	var last time.Duration
	for i := 1; i <= s.steps; i++ {
		if s.m.cfg.sim.fault == faultHangInSample && i == 2 {
			return s.hang(ctx)
		}
		if err := s.m.clock.hold(ctx, s.stepTime(), stepHold); err != nil {
			return err
		}
		if s.stopped() {
			return errInterrupted
		}
		if i == 1 && s.p.w.dynamic {
			b.initialized()
		} else {
			b.step()
		}
		// The server leaves out what comes less than 0.1 s after the last one.
		now := s.m.clock.now()
		if i == 1 || i == s.steps || now-last >= barEvery {
			last = now
			s.progress(i, s.steps)
		}
		s.m.logAimdo()
		if err := s.faulty(); err != nil {
			return err
		}
	}
	return nil
}

// hang stands still until somebody interrupts or the process ends.
func (s *sampling) hang(ctx context.Context) error {
	for ctx.Err() == nil && !s.stopped() {
		select {
		case <-ctx.Done():
		case <-time.After(10 * time.Millisecond):
		}
	}
	if s.stopped() {
		return errInterrupted
	}
	return ctx.Err()
}

// stepTime is the time of one step: computing, and copying what is not on the
// card.
func (s *sampling) stepTime() time.Duration {
	m, w := s.m, s.p.w
	work := float64(s.images) * float64(s.passes) * s.lat.megapixels()
	if m.card == nil {
		return seconds(float64(w.bytes)/1.6e9 + 300*work)
	}
	rate := float64(pinnedRate)
	if !m.cfg.pinned {
		rate /= 3
	}
	stream := float64(max(0, w.bytes-w.loaded)) / rate * float64(s.passes)
	if m.cfg.streams > 0 {
		stream *= 0.6
	}
	return seconds(0.004 + 0.054*work + stream)
}

// takeActivations takes what a forward pass needs, in tensors of the size of the
// first layer's output: that is what an out-of-memory error names.
func (s *sampling) takeActivations() (taken int64, err error) {
	m := s.m
	if m.card == nil {
		return s.need, m.pythonize(m.host.alloc(s.need, 0))
	}
	chunk := s.images * 320 * s.lat.h * s.lat.w * max(m.cfg.unet.size, 2)
	buffer := int64(0)
	if s.p.w.loaded < s.p.w.bytes {
		buffer = s.p.w.buffer()
	}
	for want := s.need + buffer; taken < want; {
		n := min(chunk, want-taken)
		if err := m.activate(n, s.p.w); err != nil {
			return taken, err
		}
		taken += n
	}
	return taken, nil
}

func (s *sampling) giveActivations(n int64) {
	if s.m.card == nil {
		s.m.host.free(n, 1)
		return
	}
	s.m.deactivate(n)
}

// errorInSample is the exception of the fault of that name.
func errorInSample() error {
	return &pyError{typ: "RuntimeError", message: "mat1 and mat2 shapes cannot be multiplied (77x2048 and 768x320)"}
}

func (l latent) String() string {
	return fmt.Sprintf("{'samples': tensor of %dx4x%dx%d}", l.batch, l.h, l.w)
}
