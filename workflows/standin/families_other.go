package standin

// coderFamilies are VAEs with files of their own.
var coderFamilies = []*Family{
	{
		Name: "sd-vae", About: "VAE of SD 1.5 and SDXL", Folder: "vae",
		DTypes: []string{"fp32", "fp16"},
		Published: []Published{
			{DType: "fp32", File: "sdxl_vae.safetensors", Bytes: 334641162},
			{DType: "fp32", File: "vae-ft-mse-840000-ema-pruned.safetensors", Bytes: 334600000, Rounded: true},
		},
		parts: []part{{list: "sd.vae"}},
		names: []string{`^sd_?xl_vae`, `^vae_ft_(mse|ema)`, `^sd_?(15)?_vae`},
	},
	{
		Name: "flux-vae", About: "VAE of Flux.1, SD 3.5, Z-Image, Chroma and Lumina 2", Folder: "vae",
		DTypes:    []string{"fp32", "bf16"},
		Published: []Published{{DType: "fp32", File: "ae.safetensors", Bytes: 335304388}},
		parts:     []part{{list: "flux.vae"}},
		names:     []string{`^(flux_?1?_)?(vae_)?ae$`, `^flux_?1?_vae`, `^sd3(_5)?_vae`},
	},
	{
		Name: "flux2-vae", About: "VAE of Flux.2", Folder: "vae",
		DTypes:    []string{"fp32", "bf16"},
		Published: []Published{{DType: "fp32", File: "flux2-vae.safetensors", Bytes: 336211292}},
		parts:     []part{{list: "flux2.vae"}},
		names:     []string{`^flux_?2_(vae|ae)`},
	},
	{
		Name: "wan21-vae", About: "VAE of Wan 2.1, the 14B models of Wan 2.2, and Qwen-Image", Folder: "vae",
		DTypes: []string{"bf16", "fp32"},
		Published: []Published{
			{DType: "bf16", File: "wan_2.1_vae.safetensors", Bytes: 253815318},
			{DType: "bf16", File: "qwen_image_vae.safetensors", Bytes: 253806246},
		},
		parts: []part{{list: "wan21.vae"}},
		names: []string{`wan_?2_1_vae`, `^qwen_image_vae`},
	},
	{
		Name: "wan22-vae", About: "VAE of Wan 2.2 5B", Folder: "vae",
		DTypes:    []string{"fp16"},
		Published: []Published{{DType: "fp16", File: "wan2.2_vae.safetensors", Bytes: 1409400960}},
		parts:     []part{{list: "wan22.vae"}},
		names:     []string{`wan_?2_2_vae`},
	},
	{
		Name: "hunyuan-video-vae", About: "VAE of HunyuanVideo", Folder: "vae",
		DTypes:    []string{"bf16"},
		Published: []Published{{DType: "bf16", File: "hunyuan_video_vae_bf16.safetensors", Bytes: 493000000, Rounded: true}},
		parts:     []part{{list: "hunyuan-video.vae"}},
		names:     []string{`hunyuan_?video_vae`},
	},
	{
		Name: "ltxv-vae", About: "VAE of LTX-Video 0.9.5", Folder: "vae",
		DTypes: []string{"bf16"},
		parts:  []part{{list: "ltxv.vae"}},
		names:  []string{`ltxv?_.*vae`},
	},
}

// sideFamilies are files that work beside a model.
var sideFamilies = []*Family{
	{
		Name: "sd15-lora", About: "LoRA of SD 1.5, rank 64, as the LCM LoRA is", Folder: "loras",
		DTypes:    []string{"fp16"},
		Published: []Published{{DType: "fp16", File: "lcm-lora-sdv1-5.safetensors", Bytes: 134600000, Rounded: true}},
		parts:     []part{{list: "sd15-lora"}},
		names:     []string{`(sd)?v?1_5`, `sd15`},
	},
	loraFamily("flux-dev", "flux-dev", "Flux.1", 16, `flux_?1?_`),
	loraFamily("qwen-image", "qwen-image", "Qwen-Image", 64, `qwen_image`),
	loraFamily("wan22-14b", "wan21-t2v-14b", "the 14B models of Wan", 64, `wan_?2_?[12]`),
	loraFamily("z-image", "z-image", "Z-Image", 32, `z_?image`),
	{
		Name: "sd15-controlnet", About: "ControlNet 1.1 of SD 1.5", Folder: "controlnet",
		DTypes:    []string{"fp16"},
		Published: []Published{{DType: "fp16", File: "control_v11p_sd15_canny_fp16.safetensors", Bytes: 722600000, Rounded: true}},
		parts:     []part{{list: "sd15-controlnet", prefix: "control_model."}},
		names:     []string{`control_v11.*sd15`, `sd15.*control`},
	},
	{
		Name: "esrgan-4x", About: "ESRGAN, four times larger", Folder: "upscale_models",
		DTypes:    []string{"fp32", "fp16"},
		Published: []Published{{DType: "fp32", File: "RealESRGAN_x4plus.safetensors", Bytes: 66900000, Rounded: true}},
		parts:     []part{{list: "esrgan-4x"}},
		names:     []string{`esrgan.*x?4`, `4x?.*(esrgan|ultrasharp|nmkd|remacri|foolhardy)`},
	},
}

// loraFamily is a LoRA of all linear layers of a diffusion model.
func loraFamily(name, list, of string, rank int64, pattern string) *Family {
	return &Family{
		Name: name + "-lora", About: "LoRA of " + of, Folder: "loras", DTypes: []string{"bf16", "fp16", "fp32"},
		parts: []part{{list: list, prefix: "diffusion_model.", rank: rank}},
		names: []string{pattern},
	}
}
