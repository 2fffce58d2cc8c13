package packs

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"memtrix"
	"memtrix/versions/cache"
	"memtrix/versions/source"
)

func put(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// gitIn runs git in a folder as somebody without a configuration.
func gitIn(t testing.TB, dir string, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git")
	}
	cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func names(places []Place) []string {
	var list []string
	for _, p := range places {
		list = append(list, p.Name)
	}
	return list
}

// Packs are found as ComfyUI finds them, in each kind of installation.
func TestFolders(t *testing.T) {
	top := t.TempDir()
	tree := filepath.Join(top, "ComfyUI")
	for _, f := range []string{"custom_nodes/b/__init__.py", "custom_nodes/a.py", "custom_nodes/off.disabled/__init__.py", "custom_nodes/readme.md",
		"custom_nodes/__pycache__/x.pyc", "custom_nodes/.git/HEAD", "custom_nodes/" + OwnFile, "more/nodes/c/__init__.py", "more/nodes/b/__init__.py"} {
		put(t, filepath.Join(tree, f), "")
	}
	put(t, filepath.Join(tree, "extra_model_paths.yaml"), "x:\n  base_path: more\n  custom_nodes: |\n    nodes\n    gone\n  checkpoints: c\n")
	check := func(dir string, want ...string) {
		t.Helper()
		folders, err := Folders(dir)
		if err != nil {
			t.Fatal(err)
		}
		all, err := All(folders)
		if got := names(all); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: got %q, %v, want %q", dir, got, err, want)
		}
	}
	check(tree, "a.py", "b", "c")
	check(filepath.Join(tree, "custom_nodes"), "a.py", "b")
	if others, err := Others(tree, false); err != nil || !slices.Equal(names(others), []string{"b", "c"}) {
		t.Errorf("others are %q, %v", names(others), err)
	}
	if others, err := Others(tree, true); err != nil || !slices.Equal(names(others), []string{"b", "c", "a.py"}) {
		t.Errorf("others with its own are %q, %v", names(others), err)
	}
	for dir, want := range map[string]string{top: "has no custom_nodes", filepath.Join(top, "gone"): "does not exist", filepath.Join(tree, "extra_model_paths.yaml"): "is a file"} {
		if _, err := Folders(dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", dir, err, want)
		}
	}
}

func TestNamed(t *testing.T) {
	home := filepath.Join(t.TempDir(), "custom_nodes")
	for _, f := range []string{"Pack-A/__init__.py", "single.py", "off.disabled/__init__.py"} {
		put(t, filepath.Join(home, f), "")
	}
	for name, want := range map[string]string{"Pack-A": "Pack-A", "pack-a": "Pack-A", "single": "single.py", "single.py": "single.py"} {
		if p, err := Named(name, []string{home}); err != nil || p.Name != want {
			t.Errorf("%s: got %q, %v, want %q", name, p.Name, err, want)
		}
	}
	for name, want := range map[string]string{"pakc": "has: Pack-A, single.py", "off": "disabled by its name", "off.disabled": "disabled by its name"} {
		if _, err := Named(name, []string{home}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", name, err, want)
		}
	}
	if _, err := Named("x", nil); err == nil || !strings.Contains(err.Error(), "custom-nodes-from:") {
		t.Errorf("without a folder: %v", err)
	}
	for path, want := range map[string]string{home: "holds custom nodes", home + "/gone": "does not exist", home + "/off.disabled": "disabled"} {
		if _, err := At(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", path, err, want)
		}
	}
}

// The same files are the same pack wherever they lie; what running one leaves behind
// does not make it another.
func TestIdentify(t *testing.T) {
	top := t.TempDir()
	repo := filepath.Join(top, "pack")
	put(t, filepath.Join(repo, "__init__.py"), "x = 1\n")
	put(t, filepath.Join(repo, "requirements.txt"), "numpy>=1 # comment\n\n# no\n-r more.txt\n")
	put(t, filepath.Join(repo, "more.txt"), "gguf\n")
	put(t, filepath.Join(repo, ".gitignore"), "models/\n")
	gitIn(t, repo, "init", "-q", "-b", "main", ".")
	gitIn(t, repo, "add", ".")
	gitIn(t, repo, "commit", "-q", "-m", "one")
	gitIn(t, repo, "tag", "v1.0")
	ctx := context.Background()
	identify := func(dir string) memtrix.Pack {
		t.Helper()
		p, err := Identify(ctx, Place{Name: "pack", Path: dir})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	first := identify(repo)
	if want := gitIn(t, repo, "rev-parse", "HEAD"); first.Commit != want || first.Dirty {
		t.Errorf("commit %q dirty %v, want %q, clean", first.Commit, first.Dirty, want)
	}
	if want := []string{"numpy>=1", "gguf"}; !slices.Equal(first.Requirements, want) {
		t.Errorf("requirements %q, want %q", first.Requirements, want)
	}

	cacheDir, err := cache.Open(filepath.Join(top, "cache"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := source.Open(ctx, cacheDir, repo, source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, ref := range []string{"", "main", "v1.0", first.Commit[:8]} {
		p, missing, err := FromGit(ctx, r, ref, "")
		if err != nil || len(missing) > 0 || p.Name != "pack" || p.Hash != first.Hash || p.Commit != first.Commit {
			t.Errorf("%q: got %+v, %v, %v, want hash %s", ref, p, missing, err, first.Hash)
		}
	}
	if _, _, err := FromGit(ctx, r, "v2.0", ""); err == nil || !strings.Contains(err.Error(), "v1.0") {
		t.Errorf("an unknown tag: %v, want the ones that there are", err)
	}

	put(t, filepath.Join(repo, "models", "big.bin"), "ignored")
	put(t, filepath.Join(repo, "__pycache__", "x.pyc"), "compiled")
	if got := identify(repo); got.Hash != first.Hash || got.Dirty {
		t.Errorf("running it made it another pack: %+v", got)
	}
	put(t, filepath.Join(repo, "new.py"), "")
	if got := identify(repo); got.Hash == first.Hash || !got.Dirty {
		t.Errorf("a new file is not seen: %+v", got)
	}
	put(t, filepath.Join(repo, "__init__.py"), "x = 2\n")
	if got := identify(repo); got.Hash == first.Hash || !got.Dirty {
		t.Errorf("a changed file is not seen: %+v", got)
	}

	plain := filepath.Join(top, "elsewhere", "single.py")
	put(t, plain, "x = 1\n")
	a := identify(plain)
	put(t, filepath.Join(top, "elsewhere", "other.py"), "")
	if b := identify(plain); a.Hash != b.Hash || a.Commit != "" {
		t.Errorf("a neighbour of a single file counts: %+v, %+v", a, b)
	}

	link := filepath.Join(top, "link")
	if err := os.Symlink(filepath.Dir(plain), link); err != nil {
		t.Skip(err) // Windows, without the right to
	}
	if want, got := identify(filepath.Dir(plain)), identify(link); got.Hash != want.Hash {
		t.Errorf("by a link to it: hash %s, want %s", got.Hash, want.Hash)
	}
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(repo, link); err != nil {
		t.Fatal(err)
	}
	if want, got := identify(repo), identify(link); got.Hash != want.Hash || got.Commit != want.Commit {
		t.Errorf("by a link to a repository: %+v, want %+v", got, want)
	}
}

func TestRequirements(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "pyproject.toml"), "[project]\nname = \"My-Pack\"\ndependencies = [\"scipy\", \"gguf>=0.9\"]\n[project.urls]\nRepository = \"https://github.com/Me/My-Pack\"\n")
	got, err := requirements(dir)
	if want := []string{"scipy", "gguf>=0.9"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	if c := NewCandidate(memtrix.Pack{Name: "x", Dir: dir}, Types{}); c.Registry != "my-pack" || c.Repository != "me/my-pack" {
		t.Errorf("got %q and %q", c.Registry, c.Repository)
	}
	put(t, filepath.Join(dir, "requirements.txt"), "-r requirements.txt\n")
	if _, err := requirements(dir); err == nil || !strings.Contains(err.Error(), "include one another") {
		t.Errorf("a circle: %v", err)
	}
	install, left := Installable([]string{"numpy", "-e .", "./wheel.whl", "--extra-index-url https://x"})
	if !slices.Equal(install, []string{"numpy", "--extra-index-url https://x"}) || !slices.Equal(left, []string{"-e .", "./wheel.whl"}) {
		t.Errorf("got %q and %q", install, left)
	}
}

func TestRepoName(t *testing.T) {
	for url, want := range map[string]string{
		"https://github.com/a/ComfyUI-GGUF.git": "ComfyUI-GGUF", "git@h:a/b": "b", "/home/me/pack/.git": "pack", "https://h/a/b/": "b",
	} {
		if got := RepoName(url); got != want {
			t.Errorf("%s: got %q, want %q", url, got, want)
		}
	}
	if got := withoutSecret("https://me:token@h/a/b"); got != "https://h/a/b" {
		t.Errorf("got %q", got)
	}
}

// Node types are read from sources in all the ways in which packs write them.
func TestScan(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3")
	}
	root, err := filepath.Abs(filepath.Join("testdata", "packs"))
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(root)
	if err != nil || len(entries) < 4 {
		t.Fatalf("%d packs, %v", len(entries), err)
	}
	var list []memtrix.Pack
	for _, e := range entries {
		list = append(list, memtrix.Pack{Name: e.Name(), Dir: filepath.Join(root, e.Name())})
	}
	got, err := Scanner{Python: python}.Packs(context.Background(), list)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]Types{
		"code":       {Types: []string{}, Unclear: []string{"__init__.py:3: a node type made by code", "extra.py:1: node types made by code"}},
		"dicts":      {Types: []string{"Five", "Four", "FourB", "My Three", "My Two", "One", "Seven", "Six"}, Unclear: []string{}},
		"nothing.py": {Types: []string{}, Unclear: []string{"no node types stand in its source"}},
		"schemas":    {Types: []string{"V3Four", "V3One", "V3Three", "V3Two"}, Unclear: []string{}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	tree := filepath.Join("testdata", "tree")
	core, err := Scanner{Python: python}.Core(context.Background(), tree, []string{"KSampler", "ExtraNode", "MyBrighten"})
	if want := []string{"ExtraNode", "KSampler"}; err != nil || !slices.Equal(core, want) {
		t.Errorf("core: got %q, %v, want %q", core, err, want)
	}
	if _, err := (Scanner{Python: "/nonexistent/python"}).Packs(context.Background(), list); err == nil {
		t.Error("no error without an interpreter")
	}
}

func TestLacks(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3")
	}
	p := memtrix.Pack{Name: "p", Requirements: []string{"nopackage-at-all>=1", "-e .", "git+https://h/x", "# x"}}
	got, err := Lacks(context.Background(), python, p)
	if want := []string{"nopackage-at-all>=1 is not installed"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}
