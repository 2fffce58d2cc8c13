package standin

// videoFamilies are models that make videos.
var videoFamilies = []*Family{
	{
		Name: "wan21-t2v-1.3b", About: "Wan 2.1 text to video, 1.3B", Folder: "diffusion_models", Model: "WAN21_T2V",
		DTypes:    []string{"fp16", "bf16"},
		Published: []Published{{DType: "fp16", File: "wan2.1_t2v_1.3B_fp16.safetensors", Bytes: 2838303560}},
		parts:     []part{{list: "wan21-t2v-1.3b"}},
		names:     []string{`wan_?2_?1_t2v_1_3b`},
	},
	{
		Name: "wan21-t2v-14b", About: "Wan 2.1 text to video, 14B", Folder: "diffusion_models", Model: "WAN21_T2V",
		DTypes: []string{"fp16", "bf16", "fp8", "fp8_scaled"},
		Published: []Published{
			{DType: "fp16", File: "wan2.1_t2v_14B_fp16.safetensors", Bytes: 28600000000, Rounded: true},
			{DType: "fp8", File: "wan2.1_t2v_14B_fp8_e4m3fn.safetensors", Bytes: 14300000000, Rounded: true},
			{DType: "fp8_scaled", File: "wan2.1_t2v_14B_fp8_scaled.safetensors", Bytes: 14300000000, Rounded: true},
		},
		parts: []part{{list: "wan21-t2v-14b"}},
		names: []string{`wan_?2_?1_t2v_14b`},
	},
	{
		Name: "wan21-i2v-14b", About: "Wan 2.1 image to video, 14B", Folder: "diffusion_models", Model: "WAN21_I2V",
		DTypes: []string{"fp16", "bf16", "fp8", "fp8_scaled"},
		Published: []Published{
			{DType: "fp16", File: "wan2.1_i2v_480p_14B_fp16.safetensors", Bytes: 32791377504},
			{DType: "fp8", File: "wan2.1_i2v_480p_14B_fp8_e4m3fn.safetensors", Bytes: 16400000000, Rounded: true},
			{DType: "fp8_scaled", File: "wan2.1_i2v_480p_14B_fp8_scaled.safetensors", Bytes: 16400000000, Rounded: true},
		},
		parts: []part{{list: "wan21-i2v-14b"}},
		names: []string{`wan_?2_?1_i2v_(480p_|720p_)?14b`},
	},
	{
		Name: "wan22-ti2v-5b", About: "Wan 2.2 text and image to video, 5B", Folder: "diffusion_models", Model: "WAN22_T2V",
		DTypes:    []string{"fp16"},
		Published: []Published{{DType: "fp16", File: "wan2.2_ti2v_5B_fp16.safetensors", Bytes: 9999658848}},
		parts:     []part{{list: "wan22-ti2v-5b"}},
		names:     []string{`wan_?2_?2_ti2v_5b`},
	},
	{
		Name: "wan22-t2v-14b", About: "Wan 2.2 text to video, 14B: one of the pair, high or low noise", Folder: "diffusion_models", Model: "WAN21_T2V",
		DTypes:    []string{"fp16", "fp8_scaled"},
		Published: []Published{{DType: "fp8_scaled", File: "wan2.2_t2v_high_noise_14B_fp8_scaled.safetensors", Bytes: 14300000000, Rounded: true}},
		// The shapes are those of Wan 2.1.
		parts: []part{{list: "wan21-t2v-14b"}},
		names: []string{`wan_?2_?2_t2v_((high|low)_noise_)?14b`},
	},
	{
		Name: "wan22-i2v-14b", About: "Wan 2.2 image to video, 14B: one of the pair, high or low noise", Folder: "diffusion_models", Model: "WAN21_T2V",
		DTypes:    []string{"fp16", "fp8_scaled"},
		Published: []Published{{DType: "fp8_scaled", File: "wan2.2_i2v_high_noise_14B_fp8_scaled.safetensors", Bytes: 14294742832}},
		parts:     []part{{list: "wan22-i2v-14b"}},
		names:     []string{`wan_?2_?2_i2v_((high|low)_noise_)?14b`},
	},
	{
		Name: "hunyuan-video", About: "HunyuanVideo text to video", Folder: "diffusion_models", Model: "HunyuanVideo",
		DTypes:    []string{"bf16", "fp8"},
		Published: []Published{{DType: "bf16", File: "hunyuan_video_t2v_720p_bf16.safetensors", Bytes: 25600000000, Rounded: true}},
		parts:     []part{{list: "hunyuan-video"}},
		names:     []string{`hunyuan_?video_t2v_720p`},
	},
	{
		Name: "ltxv-2b", About: "LTX-Video 2B 0.9.5, with its VAE", Folder: "checkpoints", Model: "LTXV",
		DTypes:    []string{"bf16"},
		Published: []Published{{DType: "bf16", File: "ltx-video-2b-v0.9.5.safetensors", Bytes: 6340000000, Rounded: true}},
		parts:     []part{{list: "ltxv-2b", prefix: diffusion}, {list: "ltxv.vae", prefix: "vae."}},
		names:     []string{`ltx_?v?(ideo)?_2b_(v?0_)?9_[5-9]`},
	},
	{
		Name: "ltx2-19b", About: "LTX-2 19B, with its VAEs", Folder: "checkpoints", Model: "LTXAV",
		DTypes: []string{"bf16"},
		parts: []part{
			{list: "ltx2-19b", prefix: diffusion},
			{list: "ltx2.vae", prefix: "vae."},
			{list: "ltx2.audio", replace: []string{"autoencoder.", "audio_vae."}},
			{list: "ltx2.text", prefix: "text_embedding_projection."},
		},
		metadata: map[string]string{"config": "shapes/ltx2.json"},
		names:    []string{`ltx_?2_19b_dev`},
	},
}
