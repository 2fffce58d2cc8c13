package versions

import (
	"maps"
	"slices"
	"testing"
)

// TestGoBack ensures that what a release required otherwise goes back, and nothing else
// moves.
func TestGoBack(t *testing.T) {
	now := "comfyui-frontend-package==1.45\ntorch\ncomfy-kitchen==0.2.22 # kernels\ncomfy-aimdo==0.4.10\ntransformers>=4.50.3\nav>=14.2.0\nblake3\n"
	before := "comfyui-frontend-package==1.40\ntorch\ncomfy-kitchen==0.2.22\ncomfy-aimdo==0.4.8\ntransformers>=4.37.2,<5\nav>=14.2.0\nblake3\n"
	installed := map[string]string{"torch": "2.11.0+cu130", "comfy-kitchen": "0.2.22", "comfy-aimdo": "0.4.10", "transformers": "4.57.1", "av": "16.0.1", "comfyui-frontend-package": "1.45"}
	overrides, changed := goBack(now, before, installed)
	want := map[string]string{"torch": "2.11.0", "comfy-kitchen": "0.2.22", "comfy-aimdo": "0.4.8", "transformers": "4.37.2", "av": "16.0.1"}
	if !maps.Equal(overrides, want) {
		t.Errorf("overrides %v, want %v", overrides, want)
	}
	if want := []string{"comfy-aimdo 0.4.8 instead of 0.4.10", "transformers 4.37.2 instead of 4.57.1"}; !slices.Equal(changed, want) {
		t.Errorf("changed %q, want %q", changed, want)
	}
	if _, changed := goBack(now, now, installed); len(changed) > 0 {
		t.Errorf("the same release: %q", changed)
	}
}
