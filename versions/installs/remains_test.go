package installs

import (
	"slices"
	"testing"
	"testing/fstest"
)

func TestRemains(t *testing.T) {
	file := &fstest.MapFile{Data: []byte("x")}
	m := Machine{OS: "linux", FS: fstest.MapFS{
		"ai/run_nvidia_gpu.bat": file, "ai/python_embeded/python.exe": file,
		"ai/ComfyUI/main.py": file, "ai/ComfyUI/comfy/sd.py": file, "ai/ComfyUI/user/comfyui.log": file, "ai/ComfyUI/models/m": file,
		"data/user/comfyui.log": file, "data/models/m": file,
		"home/user/notes.txt": file, "home/comfyui.log": file, "home/x/y": file,
		"silent/main.py": file, "silent/user/z": file,
	}}
	for dir, want := range map[string]struct {
		kind    Kind
		dir     string
		missing []string
	}{
		"/ai":              {Portable, "/ai", []string{"nodes.py"}},
		"/ai/ComfyUI":      {Portable, "/ai", []string{"nodes.py"}},
		"/ai/ComfyUI/user": {Portable, "/ai", []string{"nodes.py"}},
		"/data":            {Archive, "/data", nil},
		"/home":            {},
		"/home/x":          {},
		"/silent":          {},
	} {
		if _, ok := m.At(dir); ok {
			t.Fatalf("%s is whole", dir)
		}
		in, ok := m.Remains(dir)
		if ok != (want.dir != "") || in.Kind != want.kind || in.Dir != want.dir || !slices.Equal(in.Missing, want.missing) {
			t.Errorf("%s: want %+v, got %v %+v", dir, want, ok, in)
		}
	}
}
