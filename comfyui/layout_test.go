package comfyui

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"memtrix"
)

var update = flag.Bool("update", false, "write the goldens anew")

func put(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// smallTree is the outside of a ComfyUI folder.
func smallTree(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "ComfyUI")
	for _, f := range []string{"main.py", "models/checkpoints/a.safetensors", "models/controlnet/c", "models/t2i_adapter/t",
		"models/put_models_here.txt", "models/custom_nodes/trap.py", "input/example.png", "input/sub/frame 1.png", "input/sub/frame 2.png",
		"input/other.mp4", "custom_nodes/pack/__init__.py", "custom_nodes/single.py", "custom_nodes/off.disabled/__init__.py"} {
		put(t, filepath.Join(dir, filepath.FromSlash(f)), f)
	}
	return dir
}

func TestLayout(t *testing.T) {

	for _, c := range []struct {
		name, release string
		packages      map[string]string
		models, nodes bool
	}{
		{"today", "0.29.0", map[string]string{"comfyui-frontend-package": "1"}, false, false},
		{"no front end", "0.29.0", map[string]string{"torch": "2"}, true, true},
		{"packages unknown", "0.3.66", nil, true, true},
		{"no whitelist", "0.3.43", map[string]string{}, false, true},
		{"no database", "0.3.36", map[string]string{}, true, false},
		{"no base directory", "0.3.12", map[string]string{}, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			tree, cache, models := smallTree(t), t.TempDir(), filepath.Join(t.TempDir(), "more")
			put(t, filepath.Join(models, "loras", "l"), "")
			job := memtrix.Job{Dir: filepath.Join(t.TempDir(), "trial")}
			job.Cell.Version = memtrix.Version{Name: c.release, Target: memtrix.TargetComfyUI, Dir: tree, Python: "python", Flags: version(t, c.release).Flags, Packages: c.packages}
			if c.models {
				job.Models = []string{models}
			}
			if c.nodes {
				job.Cell.Version.Packs = packsOf(tree, "pack", "single.py")
			}
			l, err := (&Target{CacheDir: cache}).lay(job, 20001)
			if err != nil {
				t.Fatal(err)
			}
			paths := "no extra_model_paths file\n"
			if l.modelPaths != "" {
				data, err := os.ReadFile(l.modelPaths)
				if err != nil {
					t.Fatal(err)
				}
				paths = string(data)
			}
			got := strings.Join(l.argv(), "\n") + "\n\n" + paths
			for from, to := range map[string]string{tree: "TREE", cache: "CACHE", models: "MODELS", l.dir: "TRIAL"} {
				got = strings.ReplaceAll(got, from, to)
			}
			got = regexp.MustCompile(`CACHE/nodes/[0-9a-f]{16}`).ReplaceAllString(got, "CACHE/nodes/HASH")
			golden(t, filepath.Join("testdata", "layout", strings.ReplaceAll(c.name, " ", "-")+".txt"), got)
		})
	}
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		put(t, file, got)
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestShowInputs(t *testing.T) {
	for _, cached := range []bool{true, false} {
		tree, to, cache := smallTree(t), t.TempDir(), ""
		if cached {
			cache = t.TempDir()
		}
		graph := map[string]memtrix.GraphNode{
			"1": {Inputs: map[string]json.RawMessage{"image": json.RawMessage(`"example.png [input]"`), "seed": json.RawMessage(`1`), "bad": json.RawMessage(`{`)}},
			"2": {Inputs: map[string]json.RawMessage{"folder": json.RawMessage(`{"deep": ["sub"]}`)}},
		}
		from := filepath.Join(tree, "input")
		if err := os.Symlink("/nonexistent", filepath.Join(from, "dangling")); err != nil {
			t.Fatal(err)
		}
		if err := showInputs(from, to, cache, memtrix.Workflow{Graph: graph}); err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		filepath.WalkDir(to, func(path string, d os.DirEntry, err error) error {
			if rel, _ := filepath.Rel(to, path); !d.IsDir() {
				got[rel] = d.Type().String()[:1]
			}
			return err
		})
		want := map[string]string{"example.png": "-", "sub/frame 1.png": "-", "sub/frame 2.png": "-", "other.mp4": "L"}
		for name, kind := range want {
			if got[name] != kind {
				t.Errorf("%s: got %q, want %q", name, got[name], kind)
			}
			data, err := os.ReadFile(filepath.Join(to, name))
			if err != nil || string(data) != "input/"+name {
				t.Errorf("%s holds %q, %v", name, data, err)
			}
		}
		if len(got) != len(want) {
			t.Errorf("got %v, want %v", got, want)
		}
		// A server that writes to its input does not write to the person's.
		put(t, filepath.Join(to, "example.png"), "changed")
		if data, _ := os.ReadFile(filepath.Join(from, "example.png")); string(data) != "input/example.png" {
			t.Error("writing to the trial's input changed the person's file")
		}
	}
	if err := showInputs("/nonexistent/input", t.TempDir(), "", memtrix.Workflow{}); err != nil {
		t.Errorf("no input folder: %v", err)
	}
}

// Ensure that a file named by what a person changed in a workflow in UI format, or
// by that workflow, is a copy: the graph does not have its name before a server is up.
func TestShowInputsOfUI(t *testing.T) {
	from, to := filepath.Join(smallTree(t), "input"), t.TempDir()
	w := memtrix.Workflow{
		UI:      []byte(`{"nodes": [{"type": "LoadVideo", "widgets_values": ["other.mp4"]}]}`),
		Changes: []memtrix.Change{{Path: "1.steps", Value: json.RawMessage("3")}, {Path: "LoadImage.image", Value: json.RawMessage(`"example.png"`)}},
	}
	if err := showInputs(from, to, "", w); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"other.mp4", "example.png"} {
		if info, err := os.Lstat(filepath.Join(to, name)); err != nil || !info.Mode().IsRegular() {
			t.Errorf("%s: %v, %v; want a file of the trial's own", name, info, err)
		}
	}
}

func TestEnviron(t *testing.T) {
	base := []string{"PATH=/bin", "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True", "PYTORCH_ALLOC_CONF=x", "CUDA_LAUNCH_BLOCKING=1",
		"PYTORCH_NO_CUDA_MEMORY_CACHING=1", "CUDA_VISIBLE_DEVICES=1", "LD_PRELOAD=/lib/libjemalloc.so.2", "PYTHONDONTWRITEBYTECODE=1", "MALLOC_ARENA_MAX=2", "broken", "HF_HOME=/hf"}
	got := environ(base, "/cache", map[string]string{"PYTORCH_ALLOC_CONF": "mine", "HF_HOME": ""})
	want := []string{"CUDA_VISIBLE_DEVICES=1", "PATH=/bin", "PYTHONPYCACHEPREFIX=/cache/pycache", "PYTHONUNBUFFERED=1", "PYTORCH_ALLOC_CONF=mine",
		"TORCHINDUCTOR_CACHE_DIR=/cache/inductor", "TRITON_CACHE_DIR=/cache/triton"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := environ([]string{"LD_PRELOAD=/lib/shim.so"}, "", nil), []string{"LD_PRELOAD=/lib/shim.so", "PYTHONUNBUFFERED=1"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
