package matrix

import (
	"reflect"
	"testing"
)

func TestVersionEntries(t *testing.T) {
	t.Setenv("HOME", "/home/ann")
	s := mustParse(t, `versions:
  - 0.30
  - v0.29.0
  - pr:15886
  - latest~3
  - feature/x
  - 1234567
  - version: 0.29.0
    name: own
    source: git@host.example:a/b.git
    packages: {mode: as-of-date, comfy-aimdo: 0.4.10}
    wheels: w
    python: python3.12
  - {path: a, packages: required, overrides: {torch: ./torch.whl}}
  - sim: 0.29.0
source: ~/src
packages: keep
overrides: {numpy: "<2"}
wheels: /wheels
python: venv/bin/python
workflows: [image]
`)
	with := func(version string) VersionEntry {
		return VersionEntry{Version: version, Source: "/home/ann/src", Packages: "keep", Overrides: map[string]string{"numpy": "<2"}, Wheels: "/wheels", Python: "dir/venv/bin/python"}
	}
	want := []VersionEntry{
		with("0.30"), with("v0.29.0"), with("pr:15886"), with("latest~3"), with("feature/x"), with("1234567"),
		{Version: "0.29.0", Name: "own", Source: "git@host.example:a/b.git", Packages: "as-of-date", Overrides: map[string]string{"comfy-aimdo": "0.4.10"}, Wheels: "dir/w", Python: "python3.12"},
		{Path: "dir/a", Packages: "required", Overrides: map[string]string{"torch": "dir/torch.whl"}},
		{Sim: "0.29.0"},
	}
	for i, v := range s.Versions {
		v.pos = pos{}
		if !reflect.DeepEqual(v, want[i]) {
			t.Errorf("version %d: got  %+v\nwant %+v", i, v, want[i])
		}
	}
	if len(s.Versions) != len(want) {
		t.Errorf("%d versions, want %d", len(s.Versions), len(want))
	}
}
