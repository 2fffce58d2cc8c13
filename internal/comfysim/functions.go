package comfysim

import (
	"context"
	"encoding/json"
	"fmt"
	"image"
	_ "image/gif"  // formats that LoadImage reads
	_ "image/jpeg" // the same
	_ "image/png"  // the same
	"math"
	"os"
	"path/filepath"
	"strconv"
)

// call is one run of a node: its resolved inputs and what it may use.
type call struct {
	e  *execution
	s  *sim
	n  *graphNode
	in map[string]any
}

// nodeFunction is the Python function behind a class.
type nodeFunction struct {
	name string
	run  func(context.Context, *call) (outputs []any, ui object, err error)
}

// conditioning is the value of a CONDITIONING output.
type conditioning struct{}

func (conditioning) String() string {
	return "[[tensor([[[0., 0., 0.,  ..., 0., 0., 0.]]]), {'pooled_output': tensor([[0., 0., 0.,  ..., 0., 0., 0.]])}]]"
}

// mask is the value of a MASK output.
type mask struct{}

func (p *patcher) String() string {
	if p.w.dynamic {
		return "<comfy.model_patcher.ModelPatcherDynamic object (simulated)>"
	}
	return "<comfy.model_patcher.ModelPatcher object (simulated)>"
}

func (p *picture) String() string {
	return fmt.Sprintf("tensor of %dx%dx%dx3", p.batch, p.h, p.w)
}

// nodeFunctions has an entry for each class of text/nodes.json.
var nodeFunctions = map[string]nodeFunction{
	"CheckpointLoaderSimple": {"load_checkpoint", loadCheckpoint},
	"UNETLoader":             {"load_unet", loaderOf("diffusion_models", "unet_name", partUNet)},
	"CLIPLoader":             {"load_clip", loaderOf("text_encoders", "clip_name", partText)},
	"VAELoader":              {"load_vae", loaderOf("vae", "vae_name", partVAE)},
	"LoraLoader":             {"load_lora", loadLora},
	"LoraLoaderModelOnly":    {"load_lora_model_only", loadLora},
	"CLIPSetLastLayer":       {"set_last_layer", passOn("clip")},
	"CLIPTextEncode":         {"encode", encodeText},
	"EmptyLatentImage":       {"generate", emptyLatent},
	"LatentUpscale":          {"upscale", upscaleLatent},
	"KSampler":               {"sample", ksampler},
	"KSamplerAdvanced":       {"sample", ksampler},
	"VAEDecode":              {"decode", vaeDecode},
	"VAEDecodeTiled":         {"decode", vaeDecodeTiled},
	"VAEEncode":              {"encode", vaeEncode},
	"EmptyImage":             {"generate", emptyImage},
	"ImageScale":             {"upscale", scaleImage},
	"ImageScaleBy":           {"upscale", scaleImage},
	"LoadImage":              {"load_image", loadImage},
	"SaveImage":              {"save_images", saveImages},
	"PreviewImage":           {"save_images", saveImages},
}

// typed gets an input that must come from another node.
func typed[T any](c *call, name string) (T, error) {
	v, ok := c.in[name].(T)
	if !ok {
		return v, &pyError{typ: "AttributeError", message: fmt.Sprintf("'%T' object cannot be used as %s", c.in[name], name)}
	}
	return v, nil
}

func (c *call) int(name string) int64 {
	n, _ := strconv.ParseInt(pyStr(c.in[name]), 10, 64)
	if n == 0 {
		n = int64(c.float(name, 0)) // 512.0
	}
	return n
}

func (c *call) float(name string, def float64) float64 {
	switch v := c.in[name].(type) {
	case json.Number:
		if f, err := v.Float64(); err == nil {
			return f
		}
	case string:
		if f, err := strconv.ParseFloat(v, 64); err == nil {
			return f
		}
	}
	return def
}

func (c *call) str(name string) string { return pyStr(c.in[name]) }

func loadCheckpoint(ctx context.Context, c *call) ([]any, object, error) {
	name := c.str("ckpt_name")
	models, err := c.s.mem.loadFile(ctx, c.s.cfg.folders.find("checkpoints", name), partUNet, partText, partVAE)
	if err != nil {
		return nil, nil, err
	}
	outputs := make([]any, 3)
	for kind, p := range models {
		outputs[kind] = p
	}
	return outputs, nil, nil
}

func loaderOf(folder, input string, kind partKind) func(context.Context, *call) ([]any, object, error) {
	return func(ctx context.Context, c *call) ([]any, object, error) {
		models, err := c.s.mem.loadFile(ctx, c.s.cfg.folders.find(folder, c.str(input)), kind)
		if err != nil {
			return nil, nil, err
		}
		return []any{models[kind]}, nil, nil
	}
}

// loadLora makes clones of the model and the text encoder with patches.
func loadLora(ctx context.Context, c *call) ([]any, object, error) {
	f, err := openModel(c.s.cfg.folders.find("loras", c.str("lora_name")))
	if err != nil {
		return nil, nil, err
	}
	var outputs []any
	for _, name := range []string{"model", "clip"} {
		if _, there := c.in[name]; !there {
			continue
		}
		p, err := typed[*patcher](c, name)
		if err != nil {
			return nil, nil, err
		}
		outputs = append(outputs, &patcher{w: p.w, patches: p.patches + f.loras})
	}
	return outputs, nil, c.s.clock.wait(ctx, seconds(float64(f.size)/readRate))
}

func passOn(name string) func(context.Context, *call) ([]any, object, error) {
	return func(_ context.Context, c *call) ([]any, object, error) { return []any{c.in[name]}, nil, nil }
}

func encodeText(ctx context.Context, c *call) ([]any, object, error) {
	p, err := typed[*patcher](c, "clip")
	if err != nil {
		return nil, nil, &pyError{typ: "RuntimeError", message: "ERROR: clip input is invalid: None\n\nIf the clip is from a " +
			"checkpoint loader node your checkpoint does not contain a valid clip or text encoder model."}
	}
	return []any{conditioning{}}, nil, c.s.mem.encodeText(ctx, p)
}

// encodeText runs a text encoder.
func (m *memory) encodeText(ctx context.Context, p *patcher) error {
	w := p.w
	if err := m.loadModels(ctx, []*patcher{p}, 0, 0); err != nil {
		return err
	}
	if w.onCard {
		m.card.firstWork()
	}
	if w.dynamic {
		if err := m.pageIn(ctx, w); err != nil {
			return err
		}
		if w.firstUse() {
			extra := 25*mib + w.bytes/10
			if err := m.host.alloc(extra, foundAgain); err != nil {
				return m.pythonize(err)
			}
			w.extra += extra
		}
	}
	if m.once("text") {
		if err := m.host.more(10*mib, 27*mib, 0); err != nil {
			return m.pythonize(err)
		}
	}
	return m.clock.hold(ctx, seconds(0.1), stepHold)
}

func emptyLatent(_ context.Context, c *call) ([]any, object, error) {
	return []any{latent{batch: c.int("batch_size"), h: c.int("height") / 8, w: c.int("width") / 8}}, nil, nil
}

func upscaleLatent(_ context.Context, c *call) ([]any, object, error) {
	l, err := typed[latent](c, "samples")
	l.h, l.w = c.int("height")/8, c.int("width")/8
	return []any{l}, nil, err
}

func ksampler(ctx context.Context, c *call) ([]any, object, error) {
	p, err := typed[*patcher](c, "model")
	if err != nil {
		return nil, nil, err
	}
	lat, err := typed[latent](c, "latent_image")
	if err != nil {
		return nil, nil, err
	}
	steps := int(c.int("steps"))
	if c.n.class == "KSamplerAdvanced" {
		steps = min(steps, int(c.int("end_at_step"))) - int(c.int("start_at_step"))
	}
	if steps <= 0 || c.float("denoise", 1) <= 0 {
		return []any{lat}, nil, nil
	}
	s := &sampling{m: c.s.mem, p: p, lat: lat, steps: steps, cfgScale: c.float("cfg", 8),
		progress: c.e.progress, stopped: c.s.interrupt.Load, faulty: c.s.sampleFault}
	return []any{lat}, nil, s.run(ctx)
}

func vaeDecode(ctx context.Context, c *call) ([]any, object, error) {
	p, lat, err := c.vaeAndLatent()
	if err != nil {
		return nil, nil, err
	}
	img, err := c.s.mem.decode(ctx, p, lat)
	return []any{img}, nil, err
}

func vaeDecodeTiled(ctx context.Context, c *call) ([]any, object, error) {
	p, lat, err := c.vaeAndLatent()
	if err != nil {
		return nil, nil, err
	}
	img, err := c.s.mem.decodeTiled(ctx, p, lat)
	return []any{img}, nil, err
}

func (c *call) vaeAndLatent() (*patcher, latent, error) {
	p, err := typed[*patcher](c, "vae")
	if err != nil {
		return nil, latent{}, err
	}
	lat, err := typed[latent](c, "samples")
	return p, lat, err
}

func vaeEncode(ctx context.Context, c *call) ([]any, object, error) {
	p, err := typed[*patcher](c, "vae")
	if err != nil {
		return nil, nil, err
	}
	img, err := typed[*picture](c, "pixels")
	if err != nil {
		return nil, nil, err
	}
	lat, err := c.s.mem.encode(ctx, p, img)
	return []any{lat}, nil, err
}

// emptyImage makes three one-channel tensors and joins them, as the real node.
func emptyImage(ctx context.Context, c *call) ([]any, object, error) {
	img := &picture{batch: c.int("batch_size"), h: c.int("height"), w: c.int("width")}
	host := c.s.mem.host
	channel := img.bytes() / 3
	for i := range int64(3) {
		if err := host.alloc(channel, 0); err != nil {
			host.free(channel*i, 1)
			return nil, nil, at("EmptyImage.generate", c.s.mem.pythonize(err))
		}
	}
	defer host.free(3*channel, 1)
	if err := host.alloc(img.bytes(), 0); err != nil {
		return nil, nil, at("EmptyImage.generate", c.s.mem.pythonize(err))
	}
	return []any{img}, nil, c.s.clock.wait(ctx, seconds(float64(img.bytes())/2e9+0.01))
}

func scaleImage(ctx context.Context, c *call) ([]any, object, error) {
	img, err := typed[*picture](c, "image")
	if err != nil {
		return nil, nil, err
	}
	out := &picture{batch: img.batch, h: c.int("height"), w: c.int("width")}
	if by := c.float("scale_by", 0); by > 0 {
		out.h, out.w = int64(math.Round(float64(img.h)*by)), int64(math.Round(float64(img.w)*by))
	}
	switch {
	case out.h == 0 && out.w == 0:
		out.h, out.w = img.h, img.w
	case out.w == 0:
		out.w = max(1, img.w*out.h/img.h)
	case out.h == 0:
		out.h = max(1, img.h*out.w/img.w)
	}
	if err := c.s.mem.host.alloc(out.bytes(), 0); err != nil {
		return nil, nil, c.s.mem.pythonize(err)
	}
	return []any{out}, nil, c.s.clock.wait(ctx, seconds(float64(out.bytes())/5e8+0.01))
}

func loadImage(_ context.Context, c *call) ([]any, object, error) {
	path := filepath.Join(c.s.cfg.folders.input, filepath.Base(c.str("image")))
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, &pyError{typ: "FileNotFoundError", message: "[Errno 2] No such file or directory: " + pyRepr(path)}
	}
	defer f.Close()
	size, _, err := image.DecodeConfig(f)
	if err != nil {
		return nil, nil, &pyError{typ: "PIL.UnidentifiedImageError", message: "cannot identify image file " + pyRepr(path)}
	}
	img := &picture{batch: 1, h: int64(size.Height), w: int64(size.Width)}
	if err := c.s.mem.host.alloc(img.bytes(), 0); err != nil {
		return nil, nil, c.s.mem.pythonize(err)
	}
	return []any{img, mask{}}, nil, nil
}
