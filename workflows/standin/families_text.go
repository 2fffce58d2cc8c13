package standin

// textFamilies are text encoders.
var textFamilies = []*Family{
	{
		Name: "clip-l", About: "CLIP-L, the text encoder of SD 1.5, SDXL, SD 3.5 and Flux.1", Folder: "text_encoders",
		DTypes:    []string{"fp16"},
		Published: []Published{{DType: "fp16", File: "clip_l.safetensors", Bytes: 246144152}},
		parts:     []part{{list: "clip-l"}},
		names:     []string{`clip_?l(_|$)`},
	},
	{
		Name: "clip-g", About: "CLIP-G, the text encoder of SDXL and SD 3.5", Folder: "text_encoders",
		DTypes:    []string{"fp16"},
		Published: []Published{{DType: "fp16", File: "clip_g.safetensors", Bytes: 1389382176}},
		parts:     []part{{list: "clip-g"}},
		names:     []string{`clip_?g(_|$)`},
	},
	{
		Name: "t5-xxl", About: "T5-XXL, the text encoder of SD 3.5, Flux.1, Chroma and LTX-Video", Folder: "text_encoders",
		DTypes: []string{"fp16", "fp8", "fp8_scaled"},
		Published: []Published{
			{DType: "fp16", File: "t5xxl_fp16.safetensors", Bytes: 9787841024},
			{DType: "fp8", File: "t5xxl_fp8_e4m3fn.safetensors", Bytes: 4893934904},
			{DType: "fp8_scaled", File: "t5xxl_fp8_e4m3fn_scaled.safetensors", Bytes: 5157348688},
		},
		parts: []part{{list: "t5-xxl"}},
		names: []string{`(^|[^m])t5_?(v1_1_)?xxl`},
	},
	{
		Name: "umt5-xxl", About: "UMT5-XXL, the text encoder of Wan", Folder: "text_encoders",
		DTypes: []string{"fp16", "bf16", "fp8_scaled"},
		Published: []Published{
			{DType: "fp16", File: "umt5_xxl_fp16.safetensors", Bytes: 11366399385},
			{DType: "fp8_scaled", File: "umt5_xxl_fp8_e4m3fn_scaled.safetensors", Bytes: 6735906897},
		},
		parts: []part{{list: "umt5-xxl"}},
		extra: []extra{{"spiece_model", pieces(t5Pieces)}},
		names: []string{`umt5_?xxl`},
	},
	{
		Name: "qwen2.5-vl-7b", About: "Qwen2.5-VL 7B, the text encoder of Qwen-Image", Folder: "text_encoders",
		DTypes:    []string{"bf16", "fp8_scaled"},
		Published: []Published{{DType: "fp8_scaled", File: "qwen_2.5_vl_7b_fp8_scaled.safetensors", Bytes: 9384670680}},
		parts:     []part{{list: "qwen25-vl-7b"}},
		names:     []string{`qwen_?2_?5_vl_7b`},
	},
	{
		Name: "llama3-8b", About: "Llama 3 8B of LLaVA, a text encoder of HunyuanVideo", Folder: "text_encoders",
		DTypes: []string{"fp16", "fp8_scaled"},
		Published: []Published{
			{DType: "fp16", File: "llava_llama3_fp16.safetensors", Bytes: 16100000000, Rounded: true},
			{DType: "fp8_scaled", File: "llava_llama3_fp8_scaled.safetensors", Bytes: 9091392483},
		},
		parts: []part{{list: "llama3-8b"}},
		names: []string{`llava_llama_?3`, `llama_?3_(1_)?8b`},
	},
	{
		Name: "qwen3-4b", About: "Qwen3 4B, the text encoder of Z-Image and Flux.2 klein 4B", Folder: "text_encoders",
		DTypes:    []string{"bf16"},
		Published: []Published{{DType: "bf16", File: "qwen_3_4b.safetensors", Bytes: 8044982048}},
		parts:     []part{{list: "qwen3-4b"}},
		names:     []string{`qwen_?3_4b`},
	},
	{
		Name: "mistral3-flux2", About: "Mistral Small 3, first 30 layers, the text encoder of Flux.2 dev", Folder: "text_encoders",
		DTypes:    []string{"bf16", "fp8_scaled"},
		Published: []Published{{DType: "fp8_scaled", File: "mistral_3_small_flux2_fp8.safetensors", Bytes: 18000000000, Rounded: true}},
		parts:     []part{{list: "mistral3-flux2"}},
		extra:     []extra{{"tekken_model", tekken}},
		names:     []string{`mistral_3_small_flux_?2`},
	},
	{
		Name: "gemma2-2b", About: "Gemma 2 2B, the text encoder of Lumina 2", Folder: "text_encoders",
		DTypes:    []string{"fp16"},
		Published: []Published{{DType: "fp16", File: "gemma_2_2b_fp16.safetensors", Bytes: 5232958283}},
		parts:     []part{{list: "gemma2-2b"}},
		extra:     []extra{{"spiece_model", pieces(gemmaPieces)}},
		names:     []string{`gemma_?2_2b`},
	},
	{
		Name: "gemma3-12b", About: "Gemma 3 12B, the text encoder of LTX-2", Folder: "text_encoders",
		DTypes: []string{"bf16", "fp8_scaled"},
		parts:  []part{{list: "gemma3-12b"}},
		extra:  []extra{{"spiece_model", pieces(gemmaPieces)}},
		names:  []string{`gemma_?3_12b`},
	},
}
