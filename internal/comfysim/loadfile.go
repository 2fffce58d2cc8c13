package comfysim

import (
	"context"
	"time"
)

// loadFile makes the models of a file: what a loader node does. kinds are the
// parts that the node wants.
func (m *memory) loadFile(ctx context.Context, path string, kinds ...partKind) (map[partKind]*patcher, error) {
	f, err := openModel(path)
	if err != nil {
		return nil, err
	}
	out := map[partKind]*patcher{}
	var copied int64
	for _, kind := range kinds {
		if f.parts[kind].elements == 0 {
			continue
		}
		w := m.newModel(kind, f)
		out[kind] = &patcher{w: w}
		if m.copies(w) {
			copied += w.bytes
		}
	}
	if len(out) == 0 || len(kinds) > 1 && out[partUNet] == nil {
		return nil, &pyError{typ: "RuntimeError", message: "ERROR: Could not detect model type of: " + path}
	}
	if m.cfg.sim.fault == faultHangInLoad {
		m.logUNet(out[partUNet])
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if err := m.readFile(ctx, f, out, copied); err != nil {
		return nil, err
	}
	m.logModels(out)
	return out, m.settle(ctx, out)
}

// newModel decides where a model runs.
func (m *memory) newModel(kind partKind, f *modelFile) *weights {
	d := [3]dtype{partUNet: m.cfg.unet, partText: m.cfg.text, partVAE: m.cfg.vae}[kind]
	w := newWeights(kind, f, d)
	w.onCard = m.cfg.cuda
	switch kind {
	case partText:
		w.onCard = w.onCard && !m.cfg.textOnCPU()
	case partVAE:
		w.onCard = w.onCard && !m.cfg.opts.has("--cpu-vae")
	}
	w.dynamic = w.onCard && m.cfg.dynamic
	// What --highvram and --gpu-only put on the card has nowhere else to go.
	w.offload = !(m.cfg.gpuOnly || m.cfg.state == stateHigh && kind == partUNet)
	return w
}

// copies reports whether loading makes a copy in RAM.
func (m *memory) copies(w *weights) bool {
	return !w.dynamic && !m.directToCard(w)
}

// directToCard: the diffusion model is made on the card when ComfyUI is told to
// keep it there, or when the card has more free memory than the machine.
func (m *memory) directToCard(w *weights) bool {
	if !w.onCard || w.dynamic {
		return false
	}
	if m.cfg.gpuOnly {
		return true
	}
	if w.kind != partUNet || !m.cfg.smart || m.cfg.state == stateNo {
		return false
	}
	free := m.card.usable()
	return m.cfg.state == stateHigh || free > m.host.available() && w.bytes < free
}

// createChunk is the size in which a model's layers are made on the card.
const createChunk = 6.25 * float64(1<<20)

// readFile reads what loading needs: a mapping of the file beside the copies.
func (m *memory) readFile(ctx context.Context, f *modelFile, out map[partKind]*patcher, copied int64) error {
	for _, kind := range []partKind{partUNet, partText, partVAE} {
		if p := out[kind]; p != nil && m.directToCard(p.w) {
			if err := m.createOnCard(ctx, p.w); err != nil {
				return err
			}
		}
	}
	if copied == 0 {
		return m.glance(ctx, out)
	}
	file, err := m.openForReading(f)
	if err != nil {
		return m.pythonize(err)
	}
	defer file.close()
	if err := m.copyFile(ctx, f, file, copied); err != nil {
		return err
	}
	for _, p := range out {
		if m.copies(p.w) {
			p.w.host = p.w.bytes
		}
	}
	return m.rest(out, 54*mib)
}

// glance is loading under dynamic VRAM: the header and the small weights only.
func (m *memory) glance(ctx context.Context, out map[partKind]*patcher) error {
	if err := m.host.more(190*mib, 8*mib, 0); err != nil {
		return m.pythonize(err)
	}
	if err := m.clock.hold(ctx, seconds(0.7), shortHold); err != nil {
		return err
	}
	_ = m.host.more(-190*mib, 0, 0) // shrinking needs nothing
	return m.rest(out, 147*mib)
}

// rest is what the objects around the weights take.
func (m *memory) rest(out map[partKind]*patcher, total int64) error {
	for _, p := range out {
		extra := total / int64(len(out))
		if err := m.host.alloc(extra, foundAgain); err != nil {
			return m.pythonize(err)
		}
		p.w.extra += extra
	}
	return nil
}

// reading is the source of a copy: a mapping, or with --disable-mmap a buffer.
type reading struct {
	m    *memory
	file *mapping
	done int64 // bytes of the mapping that were touched
	size int64 // bytes of the buffer
}

func (m *memory) openForReading(f *modelFile) (*reading, error) {
	r := &reading{m: m}
	if m.cfg.opts.has("--disable-mmap") {
		r.size = f.size
		return r, m.host.alloc(f.size, 0)
	}
	var err error
	r.file, err = mapModel(f.path, m.host.scaled(f.size))
	return r, err
}

func (r *reading) to(n int64) {
	if r.file != nil {
		r.m.host.readFile(r.file, r.done, n)
		r.done = n
	}
}

func (r *reading) close() {
	if r.file != nil {
		r.m.host.closeFile(r.file, r.done)
	} else {
		r.m.host.free(r.size, 1)
	}
}

// copyFile copies (and on the CPU converts) the file to anonymous memory.
func (m *memory) copyFile(ctx context.Context, f *modelFile, file *reading, copied int64) error {
	rate := readRate
	if !m.cfg.cuda {
		rate = castRate
	}
	var done int64
	d := seconds(float64(copied) / rate)
	err := m.inSteps(ctx, copied, d, func(step int64) error {
		done += step
		file.to(int64(float64(f.size) * float64(done) / float64(copied)))
		return m.pythonize(m.host.alloc(step, foundAgain))
	})
	if err != nil {
		return err
	}
	return m.clock.hold(ctx, 0, shortHold)
}

// createOnCard makes a model's layers on the card, one by one.
func (m *memory) createOnCard(ctx context.Context, w *weights) error {
	const chunk = int64(createChunk)
	for w.loaded < w.bytes {
		step := min(chunk, w.bytes-w.loaded)
		if err := m.card.putWeights(step); err != nil {
			_ = m.card.putWeights(-w.loaded) // giving back cannot fail
			return at("CheckpointLoaderSimple.load", m.pythonize(err))
		}
		w.loaded += step
	}
	return m.clock.wait(ctx, seconds(float64(w.bytes)/readRate))
}

// settle is what a loader does at its end with models that already are where
// they run.
func (m *memory) settle(ctx context.Context, out map[partKind]*patcher) error {
	if p := out[partUNet]; p != nil && p.w.loaded > 0 {
		m.log.info("loaded diffusion model directly to GPU")
		if err := m.loadModels(ctx, []*patcher{p}, 0, 0); err != nil {
			return err
		}
	}
	return nil
}

func (m *memory) logUNet(p *patcher) {
	if p != nil {
		m.log.info("model weight dtype %s, manual cast: %s", m.cfg.unet.name, m.cfg.manualCast())
		m.log.info("model_type EPS")
	}
}

// logModels prints what the real loader says about what it made.
func (m *memory) logModels(out map[partKind]*patcher) {
	m.logUNet(out[partUNet])
	if out[partVAE] != nil {
		m.log.info("%s", m.cfg.vaeAttention())
		m.log.info("%s", m.cfg.vaeAttention())
		m.log.info("VAE load device: %s, offload device: %s, dtype: %s", where(out[partVAE].w.onCard),
			where(m.cfg.gpuOnly), m.cfg.vae.name)
	}
	if p := out[partText]; p != nil {
		if !p.w.onCard { // it is loaded as soon as it is made
			m.log.info("Requested to load %s", p.w.class)
			p.w.loaded, p.w.runs = p.w.bytes, true
			m.list = append([]*weights{p.w}, m.list...)
			m.logLoaded(p.w, -1, 0)
		}
		m.log.info("CLIP/text encoder model load device: %s, offload device: %s, current: %s, dtype: %s",
			where(p.w.onCard), where(m.cfg.gpuOnly), where(p.w.loaded > 0 && p.w.onCard), m.cfg.text.name)
	}
}

func where(card bool) string {
	if card {
		return "cuda:0"
	}
	return "cpu"
}

// Holds on the wall clock, however fast the simulation runs: a recorder that
// looks every 10 ms must see a peak.
const (
	shortHold = 15 * time.Millisecond
	stepHold  = 4 * time.Millisecond
)
