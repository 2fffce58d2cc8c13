package versions

import (
	"os"
	"path/filepath"
	"testing"
)

// Ensure that a model is found wherever the ComfyUI of a tree finds it.
func TestFindModel(t *testing.T) {
	tree, other := t.TempDir(), t.TempDir()
	put := func(path, text string) string {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	check := func(kind, name, want string) {
		t.Helper()
		if got, ok := FindModel(tree, kind, name); got != want || ok != (want != "") {
			t.Errorf("%s %s: got %q, %v, want %q", kind, name, got, ok, want)
		}
	}
	check("vae", "ae.safetensors", "")
	check("vae", "ae.safetensors/", "")
	plain := put(filepath.Join(tree, "models", "vae", "sub", "ae.safetensors"), "x")
	check("vae", "sub/ae.safetensors", plain)
	check("vae", "sub", "") // a folder
	check("diffusion_models", "f.safetensors", "")
	check("diffusion_models", "f.safetensors", "")
	older := put(filepath.Join(tree, "models", "unet", "f.safetensors"), "x")
	check("diffusion_models", "f.safetensors", older)

	put(filepath.Join(tree, "extra_model_paths.yaml"), "a:\n  base_path: "+other+"\n  checkpoints: |\n    one\n    two/\n  clip: c\nb:\n  loras: "+other+"/l\n")
	two := put(filepath.Join(other, "two", "m.safetensors"), "x")
	check("checkpoints", "m.safetensors", two)
	text := put(filepath.Join(other, "c", "t5.safetensors"), "x")
	check("text_encoders", "t5.safetensors", text)
	lora := put(filepath.Join(other, "l", "l.safetensors"), "x")
	check("loras", "l.safetensors", lora)
	put(filepath.Join(tree, "extra_model_paths.yaml"), "- [")
	check("loras", "l.safetensors", "")
	check("vae", "sub/ae.safetensors", plain)
}
