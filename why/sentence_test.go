package why

import "testing"

func TestSentence(t *testing.T) {
	for text, want := range map[string]string{
		"No working comfy-aimdo install detected. DynamicVRAM support disabled. Falling back to legacy ModelPatcher.": "No working comfy-aimdo install detected.",
		"CUDA out of memory (torch 2.8.0)\n\nTIPS: lower the size":                                                    "CUDA out of memory (torch 2.8.0)",
		"'NoneType' object has no attribute 'to'":                                                                     "'NoneType' object has no attribute 'to'",
		"no file C:\\a. B\\c": "no file C:\\a. B\\c",
	} {
		if got := sentence(text); got != want {
			t.Errorf("want %q, got %q", want, got)
		}
	}
}
