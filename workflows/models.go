package workflows

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"memtrix"
)

// ModelFile is a model that a workflow loads.
type ModelFile struct {
	// Folder is the kind of model, as ComfyUI's folder_paths calls it: the
	// folder's name in models/ ("checkpoints").
	Folder string
	// Name is the path in that folder, with slashes.
	Name string
	// Node is the first node that asks for it, Class its class type and Input
	// the input that names the file.
	Node  string
	Class string
	Input string
}

// folders maps inputs of loader nodes to model folders; a key with a class
// ("CLIPVisionLoader.clip_name") goes before one without (ComfyUI, nodes.py and
// comfy_extras; names of folders in folder_paths.py).
var folders = map[string]string{
	"ckpt_name":                           "checkpoints",
	"unet_name":                           "diffusion_models",
	"vae_name":                            "vae",
	"clip_name":                           "text_encoders",
	"clip_name1":                          "text_encoders",
	"clip_name2":                          "text_encoders",
	"clip_name3":                          "text_encoders",
	"clip_name4":                          "text_encoders",
	"lora_name":                           "loras",
	"control_net_name":                    "controlnet",
	"style_model_name":                    "style_models",
	"gligen_name":                         "gligen",
	"hypernetwork_name":                   "hypernetworks",
	"photomaker_model_name":               "photomaker",
	"audio_encoder_name":                  "audio_encoders",
	"CLIPVisionLoader.clip_name":          "clip_vision",
	"UpscaleModelLoader.model_name":       "upscale_models",
	"LatentUpscaleModelLoader.model_name": "latent_upscale_models",
	"ModelPatchLoader.name":               "model_patches",
	"LTXAVTextEncoderLoader.text_encoder": "text_encoders",
	"UnetLoaderGGUF.unet_name":            "diffusion_models",
	"CLIPLoaderGGUF.clip_name":            "text_encoders",
}

// notFiles are values of VAELoader.vae_name that stand for several files of
// vae_approx, or for none.
var notFiles = map[string]bool{
	"taesd": true, "taesdxl": true, "taesd3": true, "taef1": true, "pixel_space": true,
}

// Needed lists the model files that a workflow's loader nodes name, each once,
// by folder and name. Names that come over a link, and loaders of custom nodes
// with inputs of other names, are not seen.
func Needed(w memtrix.Workflow) []ModelFile {
	var files []ModelFile
	for _, id := range sortedIDs(w.Graph) {
		n := w.Graph[id]
		for _, input := range slices.Sorted(maps.Keys(n.Inputs)) {
			folder, ok := folders[n.ClassType+"."+input]
			if !ok {
				folder = folders[input]
			}
			name, isText := text(n.Inputs[input])
			if folder == "" || !isText || name == "" || name == "None" || folder == "vae" && notFiles[name] {
				continue
			}
			f := ModelFile{folder, strings.ReplaceAll(name, `\`, "/"), id, n.ClassType, input}
			same := func(g ModelFile) bool { return g.Folder == f.Folder && g.Name == f.Name }
			if !slices.ContainsFunc(files, same) {
				files = append(files, f)
			}
		}
	}
	slices.SortFunc(files, func(a, b ModelFile) int {
		return cmp.Or(strings.Compare(a.Folder, b.Folder), strings.Compare(a.Name, b.Name))
	})
	return files
}
