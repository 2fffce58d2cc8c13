//go:build unix

package hardware

import (
	"os"
	"path/filepath"
	"testing"

	"memtrix"
)

// TestKeepersCard checks that a keeper sees the card that the trial's variables name.
func TestKeepersCard(t *testing.T) {
	self := filepath.Join(t.TempDir(), "self")
	script := "#!/bin/sh\necho '{\"name\":\"'$CUDA_VISIBLE_DEVICES $OTHER'\"}'\ncat >/dev/null\n"
	if err := os.WriteFile(self, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CUDA_VISIBLE_DEVICES", "0")
	t.Setenv("OTHER", "")
	for want, env := range map[string]map[string]string{"0 ": nil, "2 ": {"CUDA_VISIBLE_DEVICES": "2", "OTHER": "x"}} {
		m, err := Make(t.Context(), self, memtrix.Hardware{Name: "small", VRAM: 1}, "n", env)
		if err != nil {
			t.Fatal(err)
		}
		if m.Kept.Name != want {
			t.Errorf("the keeper saw %q, want %q", m.Kept.Name, want)
		}
		m.Release()
	}
}
