package versions

import (
	"path/filepath"
	"slices"
	"testing"
)

// Trees of March 2025 do not start without the front end's package.
func TestDroppable(t *testing.T) {
	for _, c := range []struct {
		name, file string
		stays      bool
	}{
		{"0.3.26", "import requests\n\ntry:\n    import comfyui_frontend_package\nexcept ImportError:\n    exit(-1)\n", true},
		{"0.3.26, Windows", "import requests\r\n\r\ntry:\r\n    import comfyui_frontend_package\r\nexcept ImportError:\r\n    exit(-1)\r\n", true},
		{"plain", "import comfyui_frontend_package\n", true},
		{"0.29.0", "class FrontendManager:\n    def default_frontend_path(cls):\n        try:\n            import comfyui_frontend_package\n        except ImportError:\n            sys.exit(-1)\n", false},
		{"0.3.18", "import requests\n", false},
	} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "app", "frontend_management.py"), c.file)
		if got := !slices.Contains(droppable(dir), "comfyui-frontend-package"); got != c.stays {
			t.Errorf("%s: the package stays: %v, want %v", c.name, got, c.stays)
		}
		if len(droppable(dir)) < 2 {
			t.Errorf("%s: drops only %v", c.name, droppable(dir))
		}
	}
	if len(droppable(t.TempDir())) != 3 {
		t.Error("a tree without that file keeps something")
	}
}
