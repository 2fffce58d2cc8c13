package comfysim

import (
	"context"
)

// What the SD VAE needs for an image and megapixel at 16 bit: tensors that it
// must have, and workspace that it takes when there is room.
const (
	decodeMust = 1451 * mib
	decodeMore = 1025 * mib
	tileShare  = 0.3 // of a megapixel image that one tile of 512 with its overlap needs
)

// picture is the value of an IMAGE output: float32 RGB in RAM.
type picture struct {
	freed       bool
	batch, h, w int64
}

func (p *picture) bytes() int64 { return p.batch * p.h * p.w * 3 * 4 }

func (p *picture) megapixels() float64 { return float64(p.h*p.w) / float64(1<<20) }

// decode runs the VAE over a latent, as many images at once as ComfyUI's
// estimate allows, and in tiles when that does not fit.
func (m *memory) decode(ctx context.Context, p *patcher, lat latent) (*picture, error) {
	out := &picture{batch: lat.batch, h: lat.h * 8, w: lat.w * 8}
	each := vaeDecodeEstimate(lat.h, lat.w, m.cfg.vae)
	if err := m.loadModels(ctx, []*patcher{p}, each, 0); err != nil {
		return out, at("VAEDecode.decode", err)
	}
	if err := m.vaeFirstUse(ctx, p.w); err != nil {
		return out, err
	}
	if err := m.host.alloc(out.bytes(), 0); err != nil {
		return out, at("VAEDecode.decode", m.pythonize(err))
	}
	err := m.throughVAE(ctx, p.w, lat.batch, each, out.megapixels(), "decoding")
	if err != nil {
		m.host.free(out.bytes(), 1)
	}
	return out, at("VAEDecode.decode", err)
}

// decodeTiled is the node that always decodes in tiles.
func (m *memory) decodeTiled(ctx context.Context, p *patcher, lat latent) (*picture, error) {
	out := &picture{batch: lat.batch, h: lat.h * 8, w: lat.w * 8}
	if err := m.loadModels(ctx, []*patcher{p}, vaeDecodeEstimate(64, 64, m.cfg.vae), 0); err != nil {
		return out, err
	}
	if err := m.vaeFirstUse(ctx, p.w); err != nil {
		return out, err
	}
	if err := m.host.alloc(out.bytes(), 0); err != nil {
		return out, m.pythonize(err)
	}
	err := m.tiled(ctx, p.w, lat.batch, out.megapixels(), float64(m.cfg.vae.size)/2)
	if err != nil {
		m.host.free(out.bytes(), 1)
	}
	return out, err
}

// encode is the way back; ComfyUI's estimate and text differ.
func (m *memory) encode(ctx context.Context, p *patcher, in *picture) (latent, error) {
	out := latent{batch: in.batch, h: in.h / 8, w: in.w / 8}
	each := vaeEncodeEstimate(in.h, in.w, m.cfg.vae)
	if err := m.loadModels(ctx, []*patcher{p}, each, 0); err != nil {
		return out, at("VAEEncode.encode", err)
	}
	if err := m.vaeFirstUse(ctx, p.w); err != nil {
		return out, err
	}
	err := m.throughVAE(ctx, p.w, in.batch, each, in.megapixels()*0.8, "encoding")
	return out, at("VAEEncode.encode", err)
}

func (m *memory) vaeFirstUse(ctx context.Context, w *weights) error {
	if w.dynamic {
		if err := m.pageIn(ctx, w); err != nil {
			return err
		}
	}
	if m.once("vae") {
		if err := m.host.more(0, 10*mib, 0); err != nil {
			return m.pythonize(err)
		}
	}
	if w.dynamic && w.firstUse() {
		extra := 100*mib + w.bytes/10
		if err := m.host.alloc(extra, foundAgain); err != nil {
			return m.pythonize(err)
		}
		w.extra += extra
	}
	return nil
}

// throughVAE is the batch loop of VAE.decode and encode with its fallback.
func (m *memory) throughVAE(ctx context.Context, w *weights, batch, each int64, mp float64, what string) error {
	n := int64(1)
	if m.card != nil {
		m.card.firstWork()
		n = max(1, min(batch, m.card.usable()/max(1, each)))
	}
	size := float64(m.cfg.vae.size) / 2
	must := int64(float64(decodeMust) * mp * size)
	more := int64(float64(decodeMore) * mp * size)
	for done := int64(0); done < batch; done += n {
		now := min(n, batch-done)
		err := m.vaePass(ctx, w, must*now, more, mp*float64(now))
		if e, ok := err.(*pyError); ok && e.oom && mp*float64(now) > tileShare {
			m.log.warn("Warning: Ran out of memory when regular VAE %s, retrying with tiled VAE %s.", what, what)
			return m.tiled(ctx, w, batch, mp, size)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (m *memory) tiled(ctx context.Context, w *weights, batch int64, mp, size float64) error {
	must := int64(float64(decodeMust) * tileShare * size)
	for range batch {
		if err := m.vaePass(ctx, w, must, 0, mp*3); err != nil {
			return err
		}
	}
	return nil
}

// vaePass is one forward pass.
func (m *memory) vaePass(ctx context.Context, w *weights, must, more int64, mp float64) error {
	if !w.onCard {
		must = min(must/4, 2*gib) // the CPU works with small buffers
		if err := m.host.alloc(must, 0.5); err != nil {
			return m.pythonize(err)
		}
		defer m.host.free(must, 1)
		return m.clock.hold(ctx, seconds(0.3+60*mp), shortHold)
	}
	// Four tensors of growing size, as the recording's allocations do.
	var taken int64
	defer func() { m.deactivate(taken) }()
	for _, share := range []int64{10, 18, 36, 36} {
		n := must * share / 100
		if err := m.activate(n, w); err != nil {
			return err
		}
		taken += n
	}
	more = m.workspace(more, w)
	taken += more
	return m.clock.hold(ctx, seconds(0.13*mp), shortHold)
}

// workspace takes what is there of what would be welcome.
func (m *memory) workspace(want int64, w *weights) int64 {
	if !m.cfg.dynamic {
		want = min(want, m.card.usable())
	}
	if want <= 0 || m.activate(want, w) != nil {
		return 0
	}
	return want
}
