package standin

import (
	"errors"
	"strings"
	"testing"
)

func TestRecognise(t *testing.T) {
	check := func(folder, name, kind, mapped, want string) {
		t.Helper()
		got, err := Recognise(File{Folder: folder, Name: name, Class: "CLIPLoader", Input: "x", Type: kind}, mapped)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return
		}
		if s := got.Family.Name + " " + got.DType; s != want {
			t.Errorf("%s: got %s, want %s", name, s, want)
		}
		if got.Why == "" {
			t.Errorf("%s: not said why", name)
		}
	}
	check("checkpoints", "sd15.safetensors", "", "", "sd15 fp16")
	check("checkpoints", "SD1.5/v1-5-pruned.safetensors", "", "", "sd15 fp16")
	check("checkpoints", "sdxl.safetensors", "", "", "sdxl fp16")
	check("checkpoints", "juggernautXL_v9Rundiffusionphoto2.safetensors", "", "sdxl", "sdxl fp16")
	check("checkpoints", "sd_xl_turbo_1.0_fp16.safetensors", "", "", "sdxl fp16")
	check("checkpoints", "flux1-dev-fp8.safetensors", "", "", "flux-dev-checkpoint fp8")
	check("diffusion_models", "flux1-dev-fp8-e4m3fn.safetensors", "", "", "flux-dev fp8")
	check("unet", "FLUX.1-dev.safetensors", "", "", "flux-dev bf16")
	check("diffusion_models", "flux1-krea-dev_fp8_scaled.safetensors", "", "", "flux-dev fp8_scaled")
	check("diffusion_models", "flux-2-klein-4b-fp8.safetensors", "", "", "flux2-klein-4b fp8")
	check("diffusion_models", "qwen_image_edit_2509_fp8_e4m3fn.safetensors", "", "", "qwen-image fp8")
	check("diffusion_models", "wan2.2_i2v_low_noise_14B_fp16.safetensors", "", "", "wan22-i2v-14b fp16")
	check("diffusion_models", "Wan2_1-T2V-14B_fp8_e4m3fn.safetensors", "", "", "wan21-t2v-14b fp8")
	check("diffusion_models", "z_image_turbo_bf16.safetensors", "", "", "z-image bf16")
	check("text_encoders", "umt5-xxl-enc-bf16.safetensors", "wan", "", "umt5-xxl bf16")
	check("text_encoders", "t5/google_t5-v1_1-xxl_encoderonly-fp8_e4m3fn.safetensors", "", "", "t5-xxl fp8")
	check("clip", "clip_l.safetensors", "", "", "clip-l fp16")
	check("text_encoders", "model.safetensors", "wan", "", "umt5-xxl fp16")
	check("text_encoders", "nobody.safetensors", "qwen_image", "", "qwen2.5-vl-7b bf16")
	check("loras", "wan2.2_i2v_lightx2v_4steps_lora_v1_high_noise.safetensors", "", "", "wan22-14b-lora bf16")
	check("vae", "flux_vae.safetensors", "", "", "flux-vae fp32")
	check("upscale_models", "4x-UltraSharp.safetensors", "", "", "esrgan-4x fp32")
	check("checkpoints", "dreamshaper_8.safetensors", "", "sd15", "sd15 fp16")
	check("checkpoints", "dreamshaper_8_fp32.safetensors", "", "sd15", "sd15 fp32")
	check("diffusion_models", "flux1-dev-nvfp4.safetensors", "", "flux-dev fp8", "flux-dev fp8")
	check("checkpoints", "my/模型 ünï.safetensors", "", "flux-dev", "flux-dev bf16") // a loader takes either
	check("unet", "a.safetensors", "", "sdxl", "sdxl fp16")
	check("checkpoints", "b/../sd15.safetensors", "", "", "sd15 fp16") // stays inside
	check("text_encoders", "mistral_3_small_flux2_fp8.safetensors", "flux2", "", "mistral3-flux2 fp8_scaled")
}

// Ensure that nothing is guessed, and that what is known is said.
func TestRecogniseRefuses(t *testing.T) {
	check := func(folder, name, mapped string, want ...string) {
		t.Helper()
		_, err := Recognise(File{Folder: folder, Name: name, Class: "UNETLoader", Input: "unet_name"}, mapped)
		if err == nil {
			t.Errorf("%s is recognised", name)
			return
		}
		for _, w := range want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %v\ndoes not say %q", name, err, w)
			}
		}
	}
	check("checkpoints", "dreamshaper_8.safetensors", "", "UNETLoader.unet_name, folder checkpoints", "its name tells no family",
		`standins: {"dreamshaper_8.safetensors": sd15}`, "sd15, sdxl, sd35-large")
	check("diffusion_models", "flux1-fill-dev.safetensors", "", `called "fill" have other shapes`)
	check("diffusion_models", "wan2.1_vace_14B_fp16.safetensors", "", `called "vace"`)
	check("checkpoints", "sd_xl_refiner_1.0.safetensors", "", `called "refiner"`)
	check("checkpoints", "sd-v1-5-inpainting.safetensors", "", `called "inpainting"`)
	check("diffusion_models", "flux1-dev-nvfp4.safetensors", "", "by its name it is flux-dev", `"nvfp4" is no type`, "flux-dev fp8")
	check("diffusion_models", "qwen-image-2.1.safetensors", "", "tells no family")
	check("diffusion_models", "flux1-dev-Q4_K_S.gguf", "flux-dev", "GGUF")
	check("checkpoints", "v1-5-pruned-emaonly.ckpt", "", ".ckpt file is read by Python's pickle", "set:")
	check("upscale_models", "RealESRGAN_x4plus.pth", "", "pickle")
	check("diffusion_models", "diffusion_pytorch_model-00001-of-00003.safetensors", "", "one of several files")
	check("diffusion_models", "model.safetensors.index.json", "", "an index")
	check("diffusion_models", "flux1-dev", "", "no ending of a safetensors file")
	check("checkpoints", "a.safetensors", "nothing", `no stand-in for "nothing"`)
	check("checkpoints", "a.safetensors", "sd15 fp8_scaled", "no fp8_scaled form")
	check("clip_vision", "clip_vision_h.safetensors", "", "tells no family")
	check("checkpoints", "a.safetensors", "flux-vae", "said to be flux-vae, which goes into the folder vae", "sd15, sdxl")
	// A workflow of somebody else does not choose where files are written.
	for _, name := range []string{"../sd15.safetensors", "a/../../sd15.safetensors", "/etc/sd15.safetensors", "C:/models/sd15.safetensors"} {
		check("checkpoints", name, "sd15", "leads out of that folder")
	}
	check("checkpoints", "a\nb/sd15.safetensors", "", "characters")
	check("checkpoints", "a\x00sd15.safetensors", "", "characters")
	check("checkpoints", "sd15\xff.safetensors", "", "characters")
	check("checkpoints", strings.Repeat("x", 256)+".safetensors", "sd15", "255 bytes")

	_, err := Recognise(File{Folder: "style_models", Name: "a.safetensors"}, "")
	var unknown *UnknownError
	if !errors.As(err, &unknown) || len(unknown.Families) != 0 || strings.Contains(err.Error(), "standins") {
		t.Errorf("got %v", err)
	}
}
