package convert

import (
	"archive/zip"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// The official templates are in this package of the Python package index; the
// goldens are of this version.
const (
	templatesPackage = "comfyui-workflow-templates-json"
	templatesVersion = "0.1.18"
	templatesWheel   = "comfyui_workflow_templates_json-0.1.18-py3-none-any.whl"
	templatesSum     = "8bc03456377b4ed8aacc820c0b668acded67c6807ebfefc45c1b330f3a4f3ca9"
)

// templates gives the template files by name. The package is fetched once, by
// pip, and kept in the user's cache folder.
var templates = sync.OnceValues(func() (map[string][]byte, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		dir = os.TempDir()
	}
	dir = filepath.Join(dir, "memtrix-tests")
	wheel := filepath.Join(dir, templatesWheel)
	if !intact(wheel) {
		if err := fetchTemplates(dir, wheel); err != nil {
			return nil, err
		}
	}
	z, err := zip.OpenReader(wheel)
	if err != nil {
		return nil, err
	}
	defer z.Close()
	files := map[string][]byte{}
	for _, f := range z.File {
		if path.Base(path.Dir(f.Name)) != "templates" || path.Ext(f.Name) != ".json" {
			continue
		}
		r, err := f.Open()
		if err != nil {
			return nil, err
		}
		files[path.Base(f.Name)], err = io.ReadAll(r)
		r.Close()
		if err != nil {
			return nil, err
		}
	}
	return files, nil
})

func intact(wheel string) bool {
	data, err := os.ReadFile(wheel)
	return err == nil && sum(data) == templatesSum
}

// fetchTemplates downloads into a folder of its own, so that two tests at the same
// time do not meet.
func fetchTemplates(dir, wheel string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(dir, "fetch-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	var tried []string
	for _, pip := range [][]string{{"python3", "-m", "pip"}, {"python", "-m", "pip"}, {"pip3"}, {"pip"}, {"uvx", "pip"}} {
		args := append(pip[1:len(pip):len(pip)], "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:", "--dest", tmp, templatesPackage+"=="+templatesVersion)
		out, err := exec.CommandContext(ctx, pip[0], args...).CombinedOutput()
		if err == nil && intact(filepath.Join(tmp, templatesWheel)) {
			return os.Rename(filepath.Join(tmp, templatesWheel), wheel)
		}
		tried = append(tried, fmt.Sprintf("%s: %v: %s", strings.Join(pip, " "), err, out))
	}
	return fmt.Errorf("fetch %s %s with pip: %s", templatesPackage, templatesVersion, strings.Join(tried, "\n"))
}

func needTemplates(t testing.TB) map[string][]byte {
	t.Helper()
	files, err := templates()
	if err != nil && os.Getenv("CI") == "" {
		t.Skip(err) // without a network; never in CI
	}
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// Each template is the prompt that the real front end made of it: the hash of
// every node, and of the whole.
func TestTemplates(t *testing.T) {
	files, defs := needTemplates(t), testDefs(t)
	all := goldens(t)
	if len(all) != 289 {
		t.Errorf("%d goldens, want 289", len(all))
	}
	for _, g := range all {
		r, err := Convert(files[g.Template], defs, Options{})
		if err != nil {
			t.Errorf("%s: %v", g.Template, err)
			continue
		}
		if sum(canonicalPrompt(t, r.Prompt)) == g.SHA256 {
			continue
		}
		t.Errorf("%s is another prompt", g.Template)
		for id, want := range g.Nodes {
			n, ok := r.Prompt[id]
			if !ok {
				t.Errorf("%s: node %s (%s) is missing", g.Template, id, g.Classes[id])
			} else if c := canonicalNode(t, n); sum(c) != want {
				t.Errorf("%s: node %s (%s): %.600s", g.Template, id, g.Classes[id], c)
			}
		}
		for id, n := range r.Prompt {
			if g.Nodes[id] == "" {
				t.Errorf("%s: node %s (%s) is too much", g.Template, id, n.ClassType)
			}
		}
	}
}

// Of the templates without a golden, those that cannot be converted are those
// that the front end could not turn into a prompt either.
func TestTemplatesRefused(t *testing.T) {
	files, defs := needTemplates(t), testDefs(t)
	refused := map[string]string{
		"api_hunyuan3d_model2uv.json":                                 "Load3D",
		"api_hunyuan3d_part.json":                                     "Load3D",
		"api_hunyuan3d_retopo_uv.json":                                "Load3D",
		"api_hunyuan3d_smart_topology.json":                           "Load3D",
		"api_recraft_v4_1_image_to_vector.json":                       "RecraftV4ImageToVectorNode",
		"template_rob_realistic_2k_images_quick_variations.json":      "ImageRemoveAlpha+",
		"templates_rob_realistic_2k_images_quick_variations.app.json": "ImageRemoveAlpha+",
		"templates_mjm_looped_restyler.json":                          "GetImageSizeAndCount",
	}
	known := map[string]bool{}
	for _, g := range goldens(t) {
		known[g.Template] = true
	}
	count := 0
	for name, data := range files {
		if known[name] {
			count++
			continue // TestTemplates looks at it
		}
		if !IsUI(data) {
			continue // a list of templates
		}
		count++
		_, err := Convert(data, defs, Options{})
		if typ, want := refused[name]; want != (err != nil) || want && !strings.Contains(err.Error(), "("+typ+")") {
			t.Errorf("%s: got %v", name, err)
		}
		if _, err := Sketch(data); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if count != 490 {
		t.Errorf("%d templates, want 490", count)
	}
}

func BenchmarkTemplates(b *testing.B) {
	files, defs := needTemplates(b), testDefs(b)
	all := goldens(b)
	for b.Loop() {
		for _, g := range all {
			if _, err := Convert(files[g.Template], defs, Options{}); err != nil {
				b.Fatal(err)
			}
		}
	}
}
