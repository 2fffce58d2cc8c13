package main

import (
	"os"
	"path/filepath"
	"testing"

	"memtrix"
	"memtrix/comfyui"
	"memtrix/matrix"
)

// TestAllNodes names what an installation loads by itself.
func TestAllNodes(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"pack-a", "pack-b.disabled", "__pycache__"} {
		if err := os.MkdirAll(filepath.Join(dir, "custom_nodes", name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "custom_nodes", "single.py"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	list, err := allNodes(dir)
	if err != nil || len(list) != 2 || list[0].Name != "pack-a" || list[1].Name != "single.py" && list[1].Name != "single" {
		t.Errorf("%+v, %v", list, err)
	}
}

// TestDiagnoseSet ensures that what a person starts ComfyUI with becomes settings, and
// that what is no setting is said.
func TestDiagnoseSet(t *testing.T) {
	with := func(set map[string]string) (*matrix.Spec, error) {
		s := matrix.FirstLook("dir", "", "sd15", "cpu")
		d := &diagnosing{cmd: &diagnoseCmd{Set: set, Prompts: 3}}
		return s, d.adjust(s)
	}
	s, err := with(map[string]string{"cache": "none"})
	if err != nil || len(s.Settings.Cells()) != 1 || s.Settings.Cells()[0].String() != "cache=none device=cpu" || s.Prompts != 3 || s.Rest == 0 {
		t.Errorf("%+v, %v", s.Settings.Cells(), err)
	}
	for _, set := range []map[string]string{{"cach": "none"}, {"cache": "much"}} {
		if _, err := with(set); err == nil {
			t.Errorf("%v is taken", set)
		}
	}
}

// TestIdle ensures that what a version would ignore is not tried.
func TestIdle(t *testing.T) {
	cell := memtrix.PlannedCell{Notes: []string{"attached", comfyui.NoEffect + "--lowvram does nothing under dynamic VRAM"}}
	if got, want := idle(cell), "it would do nothing: --lowvram does nothing under dynamic VRAM"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := idle(memtrix.PlannedCell{Notes: []string{"a note"}}); got != "" {
		t.Errorf("%q", got)
	}
}
