package diagnosis

import (
	"regexp"
	"strings"

	"memtrix"
)

// classPhase is the phase that a node's class stands for, "" for a class that
// does something else.
func classPhase(class string) memtrix.Phase {
	name := strings.ToLower(class)
	switch {
	case strings.Contains(name, "loader"), strings.HasPrefix(name, "load"):
		return memtrix.PhaseLoad
	case strings.Contains(name, "textencode"), strings.Contains(name, "textencoder"):
		return memtrix.PhaseTextEncode
	case strings.Contains(name, "vae") && (strings.Contains(name, "encode") || strings.Contains(name, "decode")):
		return memtrix.PhaseVAE
	case strings.Contains(name, "sampler"):
		return memtrix.PhaseSample
	case strings.HasPrefix(name, "save"), strings.HasPrefix(name, "preview"), strings.Contains(name, "videocombine"):
		return memtrix.PhaseSave
	}
	return ""
}

var (
	frameText = regexp.MustCompile(`File "([^"]+)", line \d+, in (\S+)`)
	loadFunc  = regexp.MustCompile(`^load_(checkpoint|unet|clip|vae|lora|model|controlnet|diffusion)`)
)

// framePhase reads a traceback from the outside in. loading is set when models
// were being moved, not computed with.
func framePhase(traceback string) (phase memtrix.Phase, loading bool) {
	computing := false
	for _, m := range frameText.FindAllStringSubmatch(traceback, -1) {
		file, fn := strings.ReplaceAll(m[1], `\`, "/"), m[2]
		switch {
		case strings.HasSuffix(file, "/nodes.py") && loadFunc.MatchString(fn):
			phase = memtrix.PhaseLoad
		case strings.HasSuffix(file, "/nodes.py") && fn == "save_images":
			phase = memtrix.PhaseSave
		case strings.HasSuffix(file, "/comfy/samplers.py"), strings.HasSuffix(file, "/nodes_custom_sampler.py"), fn == "common_ksampler":
			phase = memtrix.PhaseSample
		case strings.HasSuffix(file, "/comfy/sd1_clip.py"), strings.HasSuffix(file, "/comfy/sd.py") && strings.HasPrefix(fn, "encode_from_tokens"):
			phase = memtrix.PhaseTextEncode
		case strings.HasSuffix(file, "/comfy/sd.py") && (strings.HasPrefix(fn, "decode") || strings.HasPrefix(fn, "encode")):
			phase = memtrix.PhaseVAE
		case strings.HasSuffix(file, "/comfy/model_base.py") && strings.HasSuffix(fn, "apply_model"):
			computing = true
		case strings.HasSuffix(file, "/comfy/model_management.py") && (fn == "load_models_gpu" || fn == "model_load"):
			loading = !computing // weights may be fetched while computing, too
		}
	}
	return phase, loading
}

var (
	requestedToLoad = regexp.MustCompile(`Requested to load (\w+)`)
	textModel       = regexp.MustCompile(`(?i)clip|TEModel|T5|Gemma|Llama|TextEncoder`)
	vaeModel        = regexp.MustCompile(`(?i)vae|autoencoder|autoencodingengine`)
)

// logPhase is where the log stands behind its last line. A model is loaded from
// "Requested to load" until a line says that it is there; a text encoder and a
// VAE then work, a diffusion model goes on with the first bar.
func logPhase(lines []line) memtrix.Phase {
	var phase, next memtrix.Phase
	for _, l := range lines {
		text := l.text
		switch {
		case l.bar:
			phase = memtrix.PhaseSample
		case strings.Contains(text, "Requested to load "):
			phase, next = memtrix.PhaseLoad, ""
			if m := requestedToLoad.FindStringSubmatch(text); m != nil {
				next = modelPhase(m[1])
			}
		case next != "" && isLoaded(text):
			phase = next
		case strings.HasPrefix(text, "model weight dtype "), strings.HasPrefix(text, "model_type "),
			strings.HasPrefix(text, "VAE load device: "), strings.HasPrefix(text, "CLIP/text encoder model load device: "):
			phase = memtrix.PhaseLoad
		case text == "got prompt":
			phase = ""
		case strings.HasPrefix(text, "Prompt executed in "):
			phase = memtrix.PhaseBetweenPrompts
		}
	}
	return phase
}

// modelPhase is what a model does once it is loaded, "" for others than text
// encoders and VAEs.
func modelPhase(class string) memtrix.Phase {
	switch {
	case vaeModel.MatchString(class):
		return memtrix.PhaseVAE
	case textModel.MatchString(class) && !strings.Contains(class, "Vision"):
		return memtrix.PhaseTextEncode
	}
	return ""
}

// isLoaded says that a model is where it should be.
func isLoaded(text string) bool {
	return strings.HasPrefix(text, "loaded completely") || strings.HasPrefix(text, "loaded partially") ||
		strings.Contains(text, "prepared for dynamic VRAM loading")
}

// phaseOf puts together what the node, the traceback and the log say about a
// moment. stepped: the node had reported a step.
func phaseOf(node *memtrix.Node, traceback string, before []line, stepped bool) memtrix.Phase {
	frames, loading := framePhase(traceback)
	phase := frames
	if node != nil {
		phase = classPhase(node.ClassType)
		if phase == "" {
			phase = frames
		}
	}
	seen := logPhase(before)
	switch {
	case phase == "" && (node == nil || node.ClassType == "") && seen != memtrix.PhaseBetweenPrompts:
		return seen
	case phase == memtrix.PhaseSample && loading:
		return memtrix.PhaseLoad
	case phase == memtrix.PhaseSample && traceback == "" && !stepped && seen == memtrix.PhaseLoad:
		// The sampler asked for the model and has drawn no bar yet.
		return memtrix.PhaseLoad
	}
	return phase
}
