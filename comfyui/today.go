package comfyui

import "strings"

// todayText are the launch flags of ComfyUI 0.29.0 (commit a8c44f9b), as its
// comfy/cli_args.py defines them.
const todayText = `
--async-offload --auto-launch --base-directory --bf16-text-enc --bf16-unet --bf16-vae
--cache-classic --cache-lru --cache-none --cache-ram --comfy-api-base --cpu --cpu-vae --cuda-device
--cuda-malloc --database-url --debug-hang --default-device --default-hashing-function
--deterministic --directml --disable-all-custom-nodes --disable-api-nodes --disable-async-offload
--disable-auto-launch --disable-cuda-malloc --disable-dynamic-vram --disable-manager-ui
--disable-metadata --disable-mmap --disable-pinned-memory --disable-smart-memory
--disable-triton-backend --disable-xformers --dont-print-server --dont-upcast-attention
--enable-asset-hashing --enable-assets --enable-compress-response-body --enable-cors-header
--enable-dynamic-vram --enable-manager --enable-manager-legacy-ui --enable-triton-backend
--extra-model-paths-config --fast --fast-disk --feature-flag --force-channels-last --force-fp16
--force-fp32 --force-non-blocking --force-upcast-attention --fp16-intermediates --fp16-text-enc
--fp16-unet --fp16-vae --fp32-text-enc --fp32-unet --fp32-vae --fp64-unet --fp8_e4m3fn-text-enc
--fp8_e4m3fn-unet --fp8_e5m2-text-enc --fp8_e5m2-unet --fp8_e8m0fnu-unet --front-end-root
--front-end-version --gpu-only --high-ram --highvram --input-directory --list-feature-flags
--listen --log-stdout --lowvram --max-upload-size --mmap-torch-files --models-directory
--multi-user --novram --oneapi-device-selector --output-directory --port --preview-method
--preview-size --quick-test-for-ci --reserve-vram --supports-fp8-compute --temp-directory
--tls-certfile --tls-keyfile --use-flash-attention --use-pytorch-cross-attention
--use-quad-cross-attention --use-sage-attention --use-split-cross-attention --user-directory
--verbose --vram-headroom --whitelist-custom-nodes --windows-standalone-build
`

func todaysFlags() map[string]bool {
	known := map[string]bool{}
	for _, flag := range strings.Fields(todayText) {
		known[flag] = true
	}
	return known
}
