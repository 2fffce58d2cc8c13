package versions

import (
	"path/filepath"
	"testing"
)

// Servers of March 2025 do not start without the front end's package, and any will do.
func TestFrontEndAtImport(t *testing.T) {
	for _, c := range []struct {
		name, file string
		want       bool
	}{
		{"0.3.26", "import requests\n\ntry:\n    import comfyui_frontend_package\nexcept ImportError:\n    exit(-1)\n", true},
		{"0.3.26, Windows", "import requests\r\n\r\ntry:\r\n    import comfyui_frontend_package\r\nexcept ImportError:\r\n    exit(-1)\r\n", true},
		{"plain", "import comfyui_frontend_package\n", true},
		{"0.29.0", "class FrontendManager:\n    def default_frontend_path(cls):\n        try:\n            import comfyui_frontend_package\n        except ImportError:\n            sys.exit(-1)\n", false},
		{"0.3.18", "import requests\n", false},
	} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "app", "frontend_management.py"), c.file)
		if got := frontEndAtImport(dir); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
	if frontEndAtImport(t.TempDir()) {
		t.Error("a tree without that file")
	}
	if got, want := anyFrontEnd("comfyui-frontend-package==1.11.8\ntorch\nnumpy>=1\n"), "torch\nnumpy>=1\n\ncomfyui-frontend-package\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
