package standin

// diffusion is the prefix of a diffusion model in a checkpoint.
const diffusion = "model.diffusion_model."

// imageFamilies are models that make images.
var imageFamilies = []*Family{
	{
		Name: "sd15", About: "Stable Diffusion 1.5", Folder: "checkpoints", Model: "SD15",
		DTypes: []string{"fp16", "fp32"},
		Published: []Published{
			{DType: "fp16", File: "v1-5-pruned-emaonly-fp16.safetensors", Bytes: 2132696762},
			{DType: "fp32", File: "v1-5-pruned-emaonly.safetensors", Bytes: 4265146304},
		},
		parts: []part{
			{list: "sd15.unet", prefix: diffusion},
			{list: "sd.vae", prefix: "first_stage_model."},
			{list: "clip-l", prefix: "cond_stage_model.transformer.", drop: []string{"text_projection.weight"}},
		},
		names: []string{`(^|_)v?1_5(_|$)`, `sd_?15`, `sdv?1_5`},
	},
	{
		Name: "sdxl", About: "Stable Diffusion XL, base", Folder: "checkpoints", Model: "SDXL",
		DTypes:    []string{"fp16"},
		Published: []Published{{DType: "fp16", File: "sd_xl_base_1.0.safetensors", Bytes: 6938078334}},
		parts: []part{
			{list: "sdxl.unet", prefix: diffusion},
			{list: "sd.vae", prefix: "first_stage_model."},
			{list: "clip-l", prefix: "conditioner.embedders.0.transformer.", drop: []string{"text_projection.weight"}},
			{list: "clip-g.open", prefix: "conditioner.embedders.1.model."},
		},
		names: []string{`xl(_?v?\d+)?(_|$)`, `^(sd_?)?xl`, `sdxl`, `illustrious`, `pony`},
	},
	{
		Name: "sd35-large", About: "Stable Diffusion 3.5 large (without text encoders)", Folder: "checkpoints", Model: "SD3",
		DTypes:    []string{"fp16"},
		Published: []Published{{DType: "fp16", File: "sd3.5_large.safetensors", Bytes: 16460379262}},
		parts:     []part{{list: "sd35-large", prefix: diffusion}, {list: "flux.vae", prefix: "first_stage_model."}},
		names:     []string{`sd3_?5_large`},
	},
	{
		Name: "sd35-medium", About: "Stable Diffusion 3.5 medium (without text encoders)", Folder: "checkpoints", Model: "SD3",
		DTypes:    []string{"fp16"},
		Published: []Published{{DType: "fp16", File: "sd3.5_medium.safetensors", Bytes: 5107104286}},
		parts:     []part{{list: "sd35-medium", prefix: diffusion}, {list: "flux.vae", prefix: "first_stage_model."}},
		names:     []string{`sd3_?5_medium`},
	},
	{
		Name: "flux-dev", About: "Flux.1 dev, Krea dev and Kontext dev", Folder: "diffusion_models", Model: "Flux",
		DTypes: []string{"bf16", "fp16", "fp8"},
		Published: []Published{
			{DType: "bf16", File: "flux1-dev.safetensors", Bytes: 23802932552},
			{DType: "fp8", File: "flux1-dev-fp8.safetensors", Bytes: 11900000000, Rounded: true},
		},
		parts: []part{{list: "flux-dev"}},
		names: []string{`flux_?1?_(krea_|kontext_)?dev`, `flux1?_(dev_)?(krea|kontext)`},
	},
	{
		Name: "flux-dev-checkpoint", About: "Flux.1 dev with text encoders and VAE", Folder: "checkpoints", Model: "Flux",
		DTypes:    []string{"fp8"},
		Published: []Published{{DType: "fp8", File: "flux1-dev-fp8.safetensors", Bytes: 17246524772}},
		parts: []part{
			{list: "flux-dev", prefix: diffusion},
			{list: "t5-xxl", prefix: "text_encoders.t5xxl.transformer.", drop: []string{"encoder.embed_tokens.weight"}},
			{list: "clip-l", prefix: "text_encoders.clip_l.transformer.", dtype: "fp16"},
			{list: "flux.vae", prefix: "vae.", dtype: "fp32"},
		},
		names: []string{`flux_?1?_dev`},
	},
	{
		Name: "flux-schnell", About: "Flux.1 schnell", Folder: "diffusion_models", Model: "FluxSchnell",
		DTypes: []string{"bf16", "fp8"},
		Published: []Published{
			{DType: "bf16", File: "flux1-schnell.safetensors", Bytes: 23800000000, Rounded: true},
			{DType: "fp8", File: "flux1-schnell-fp8.safetensors", Bytes: 11900000000, Rounded: true},
		},
		parts: []part{{list: "flux-dev", drop: []string{
			"guidance_in.in_layer.weight", "guidance_in.in_layer.bias", "guidance_in.out_layer.weight", "guidance_in.out_layer.bias",
		}}},
		names: []string{`flux_?1?_schnell`},
	},
	{
		Name: "flux2-dev", About: "Flux.2 dev", Folder: "diffusion_models", Model: "Flux2",
		DTypes:    []string{"bf16", "fp8"},
		Published: []Published{{DType: "bf16", File: "flux2-dev.safetensors", Bytes: 64400000000, Rounded: true}},
		parts:     []part{{list: "flux2-dev"}},
		names:     []string{`flux_?2_dev`},
	},
	{
		Name: "flux2-klein-4b", About: "Flux.2 klein 4B", Folder: "diffusion_models", Model: "Flux2",
		DTypes:    []string{"bf16", "fp8"},
		Published: []Published{{DType: "bf16", File: "flux-2-klein-4b.safetensors", Bytes: 7751105712}},
		parts:     []part{{list: "flux2-klein-4b"}},
		names:     []string{`flux_?2_klein_(base_)?4b`},
	},
	{
		Name: "qwen-image", About: "Qwen-Image and Qwen-Image-Edit", Folder: "diffusion_models", Model: "QwenImage",
		DTypes: []string{"bf16", "fp8"},
		Published: []Published{
			{DType: "bf16", File: "qwen_image_bf16.safetensors", Bytes: 40861031488},
			{DType: "fp8", File: "qwen_image_fp8_e4m3fn.safetensors", Bytes: 20430635136},
		},
		parts: []part{{list: "qwen-image"}},
		names: []string{`qwen_image(_edit|_distill|_2512|_bf16|_fp8|$)`},
	},
	{
		Name: "z-image", About: "Z-Image and Z-Image-Turbo", Folder: "diffusion_models", Model: "ZImage",
		DTypes:    []string{"bf16"},
		Published: []Published{{DType: "bf16", File: "z_image_turbo_bf16.safetensors", Bytes: 12309866400}},
		parts:     []part{{list: "z-image"}},
		names:     []string{`z_?image(_turbo|_base|_de|_bf16|_fp8|$)`},
	},
	{
		Name: "chroma", About: "Chroma1", Folder: "diffusion_models", Model: "Chroma",
		DTypes:    []string{"bf16", "fp8"},
		Published: []Published{{DType: "bf16", File: "Chroma1-HD.safetensors", Bytes: 17800038288}},
		parts:     []part{{list: "chroma"}},
		names:     []string{`^chroma(1_hd|1_base|1_flash|_unlocked|_v|_hd)`},
	},
	{
		Name: "lumina2", About: "Lumina Image 2.0", Folder: "diffusion_models", Model: "Lumina2",
		DTypes:    []string{"bf16"},
		Published: []Published{{DType: "bf16", File: "lumina_2_model_bf16.safetensors", Bytes: 5220000000, Rounded: true}},
		parts:     []part{{list: "lumina2"}},
		names:     []string{`lumina_?(image_)?2`},
	},
}
