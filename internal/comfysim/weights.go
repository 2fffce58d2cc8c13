package comfysim

import "os"

// weights is one model as the server holds it: a diffusion model, a text encoder
// or a VAE. Clones that only add patches share it.
type weights struct {
	class   string // as the log calls it
	kind    partKind
	family  family
	bytes   int64 // at the dtype it runs in
	largest int64 // bytes of the largest layer
	norms   int
	normLen int64 // bytes of the normalisation layers
	path    string
	fileLen int64 // bytes of it in the model file

	onCard  bool  // it is to run on the card
	dynamic bool  // paged by dynamic VRAM
	loaded  int64 // bytes on the card, or all of it when it runs on the CPU
	runs    bool  // fully set up where it runs

	host      int64    // bytes of anonymous RAM held for it
	offloaded int64    // bytes that came back from the card
	backing   int64    // bytes on the card whose host memory was kept
	cycles    int      // how often backed bytes came back
	extra     int64    // bytes of RAM beside the weights themselves
	pinned    int64    // bytes pinned for it under dynamic VRAM
	file      *mapping // of the model file, where it stays mapped
	fileRead  int64    // bytes of it that were touched
	offload   bool     // it may be moved to RAM
	released  bool
	used      bool // it has run once
}

// page is the unit in which dynamic VRAM pages weights.
const page = 32 * mib

func roundUp(n, to int64) int64 { return (n + to - 1) / to * to }

func newWeights(kind partKind, f *modelFile, d dtype) *weights {
	p := f.parts[kind]
	w := &weights{
		kind: kind, family: f.family, bytes: p.elements * d.size, largest: p.largest * d.size,
		norms: p.norms, normLen: p.normSize * d.size, path: f.path, fileLen: p.elements * 2, offload: true,
	}
	switch kind {
	case partUNet:
		w.class = f.family.unetClass
	case partText:
		w.class = f.family.textClass
	case partVAE:
		w.class = vaeClass
	}
	return w
}

// firstUse reports whether the model has not run before.
func (w *weights) firstUse() bool {
	first := !w.used
	w.used = true
	return first
}

// buffer is what partial loading keeps on the card for the layer that is being
// copied: the largest layer, twice over and a bit (two streams).
func (w *weights) buffer() int64 { return w.largest * 11 / 4 }

// staged is what dynamic VRAM may page: all but half of the small weights.
func (w *weights) staged(forced bool) int64 {
	if forced {
		return w.bytes - w.normLen/2
	}
	return w.bytes
}

// mapModel maps the first size bytes of a model file, or all of it.
func mapModel(path string, size int64) (*mapping, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	// Pages behind the end of a file cannot be read; the last, partial one can.
	return mapFile(f, min(size, info.Size()))
}

// patcher is a model as nodes pass it on: weights with patches on top.
type patcher struct {
	w       *weights
	patches int
}

// memoryRequired is ComfyUI's own estimate of what sampling needs, for a latent
// of n images of h x w: BaseModel.memory_required with the attention of PyTorch.
func (w *weights) memoryRequired(images, h, width int64, d dtype) int64 {
	size := d.size
	if size == 1 {
		size = fp16.size
	}
	area := float64(images * h * width)
	return int64(area * float64(size) * 0.01 * w.family.factor * float64(mib))
}

// vaeDecodeEstimate is ComfyUI's memory_used_decode of the SD VAE.
func vaeDecodeEstimate(h, width int64, d dtype) int64 {
	return 2178 * h * width * 64 * d.size
}

// vaeEncodeEstimate is its memory_used_encode, in pixels.
func vaeEncodeEstimate(h, width int64, d dtype) int64 {
	return 1767 * h * width * d.size
}
