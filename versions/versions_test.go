package versions

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"memtrix"
)

const cliArgs = `import argparse
import comfy.options
parser = argparse.ArgumentParser()
parser.add_argument("--listen", type=str, default="127.0.0.1")
parser.add_argument('-p', "--port", type=int, default=8188)
group = parser.add_mutually_exclusive_group()
group.add_argument("--lowvram", action="store_true", help="see --novram (not --this)")
group.add_argument(
    "--novram", action="store_true")
if comfy.options.args_parsing:
    args = parser.parse_args()
else:
    args = parser.parse_args([])
`

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// tree makes a small ComfyUI folder.
func tree(t *testing.T, dir string) string {
	t.Helper()
	write(t, filepath.Join(dir, "main.py"), "print('main')\n")
	write(t, filepath.Join(dir, "nodes.py"), "x = 1\n")
	write(t, filepath.Join(dir, "comfy", "options.py"), "args_parsing = False\n")
	write(t, filepath.Join(dir, "comfy", "cli_args.py"), cliArgs)
	write(t, filepath.Join(dir, "comfyui_version.py"), "# generated\n__version__ = \"0.29.0\"\n")
	return dir
}

func python3(t *testing.T) string {
	t.Helper()
	p, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 on PATH")
	}
	return p
}

func listing(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		names = append(names, path+" "+info.ModTime().String())
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestResolve(t *testing.T) {
	dir := tree(t, filepath.Join(t.TempDir(), "ComfyUI"))
	before := listing(t, dir)
	v, err := Resolve(context.Background(), "mine", dir, python3(t))
	if err != nil {
		t.Fatal(err)
	}
	want := memtrix.Version{Name: "mine", Target: memtrix.TargetComfyUI, Dir: dir, Python: python3(t), Release: "0.29.0",
		Commit: v.Commit, Packages: v.Packages,
		Flags: map[string]bool{"--help": true, "--listen": true, "--port": true, "--lowvram": true, "--novram": true}}
	if got := v; !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if !strings.HasPrefix(v.Commit, "tree:") || len(v.Commit) < 20 {
		t.Errorf("commit = %q, want a hash of the tree", v.Commit)
	}
	if v.Packages == nil {
		t.Error("packages are nil, want those of python3")
	}
	if after := listing(t, dir); !reflect.DeepEqual(after, before) {
		t.Errorf("the tree changed:\n%v\n%v", before, after)
	}
}

// An import that fails must not cost the flags.
func TestResolveBrokenCLIArgs(t *testing.T) {
	dir := tree(t, filepath.Join(t.TempDir(), "ComfyUI"))
	write(t, filepath.Join(dir, "comfy", "options.py"), "import no_such_module_at_all\n")
	v, err := Resolve(context.Background(), "", dir, python3(t))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{"--listen": true, "--port": true, "--lowvram": true, "--novram": true}
	if !reflect.DeepEqual(v.Flags, want) {
		t.Errorf("flags = %v, want %v", v.Flags, want)
	}
	if v.Name != "0.29.0" {
		t.Errorf("name = %q, want the release", v.Name)
	}
}

func TestResolveErrors(t *testing.T) {
	root := t.TempDir()
	good := tree(t, filepath.Join(root, "portable", "ComfyUI"))
	empty := filepath.Join(root, "empty")
	write(t, filepath.Join(empty, "main.py"), "")
	write(t, filepath.Join(good, "models", "x.txt"), "")
	write(t, filepath.Join(root, "sh"), "#!/bin/sh\necho hello\n")
	write(t, filepath.Join(root, "old"), "#!/bin/sh\necho '{\"version\": [3, 8, 10]}'\n")
	write(t, filepath.Join(root, "fails"), "#!/bin/sh\necho 'no such option' >&2; exit 3\n")
	write(t, filepath.Join(root, "venv", "bin", "python"), "#!/bin/sh\n")
	if err := os.WriteFile(filepath.Join(root, "text"), []byte("not a program"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, dir, python string
		want              []string
	}{
		{"no folder", filepath.Join(root, "nope"), "", []string{"nope", "does not exist"}},
		{"one too high", filepath.Join(root, "portable"), "", []string{"no main.py", "no nodes.py", "no comfy/", "did you mean " + good}},
		{"inside", filepath.Join(good, "models"), "", []string{"did you mean " + good}},
		{"a file", filepath.Join(good, "main.py"), "", []string{"is a file", "did you mean its folder " + good}},
		{"half a tree", empty, "", []string{"no nodes.py, no comfy/"}},
		{"python missing", good, filepath.Join(root, "nope"), []string{"nope", "does not exist"}},
		{"python not on PATH", good, "no-such-python", []string{`"no-such-python" is not on PATH`}},
		{"python a folder", good, filepath.Join(root, "venv"), []string{"did you mean " + filepath.Join(root, "venv", "bin", "python")}},
		{"not python", good, filepath.Join(root, "sh"), []string{"does not work as a Python", "hello"}},
		{"old python", good, filepath.Join(root, "old"), []string{"is Python 3.8", "3.9"}},
		{"failing", good, filepath.Join(root, "fails"), []string{"does not work as a Python", "no such option"}},
		{"not a program", good, filepath.Join(root, "text"), []string{"does not work as a Python"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Resolve(context.Background(), "v", c.dir, c.python)
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range c.want {
				if got := err.Error(); !strings.Contains(got, want) {
					t.Errorf("got %q, want %q in it", got, want)
				}
			}
		})
	}
}

func TestCommit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git")
	}
	dir := tree(t, filepath.Join(t.TempDir(), "ComfyUI"))
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@b"}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	run("init", "-q")
	ctx := context.Background()
	if got, _, err := commitOf(ctx, dir); err != nil || !strings.HasPrefix(got, "tree:") {
		t.Errorf("empty repository: got %q, %v, want a hash of the tree", got, err)
	}
	run("add", ".")
	run("commit", "-q", "-m", "x")
	write(t, filepath.Join(dir, "untracked.py"), "")
	got, dirty, err := commitOf(ctx, dir)
	if err != nil || got != run("rev-parse", "HEAD") || len(dirty) != 0 {
		t.Errorf("got %q, %q, %v, want a clean HEAD", got, dirty, err)
	}
	write(t, filepath.Join(dir, "nodes.py"), "x = 2\n")
	if err := os.Remove(filepath.Join(dir, "comfy", "options.py")); err != nil {
		t.Fatal(err)
	}
	_, dirty, err = commitOf(ctx, dir)
	if want := []string{"deleted: comfy/options.py", "nodes.py"}; err != nil || !slices.Equal(dirty, want) {
		t.Errorf("dirty = %q, %v, want %q", dirty, err, want)
	}
	if got, want := Missing(memtrix.Version{Dirty: dirty}), []string{"comfy/options.py"}; !slices.Equal(got, want) {
		t.Errorf("missing = %q, want %q", got, want)
	}
	inner := tree(t, filepath.Join(dir, "sub", "ComfyUI"))
	if got, _, err := commitOf(ctx, inner); err != nil || !strings.HasPrefix(got, "tree:") {
		t.Errorf("inside another repository: got %q, %v, want a hash of the tree", got, err)
	}
}

func TestHashTree(t *testing.T) {
	dir := tree(t, t.TempDir())
	sum := func() string {
		t.Helper()
		s, err := hashTree(dir)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	first := sum()
	for _, ignored := range []string{"custom_nodes/p/x.py", "venv/x.py", "own/pyvenv.cfg", "own/x.py", "models/readme.txt", "comfy/__pycache__/x.py", "note.txt"} {
		write(t, filepath.Join(dir, ignored), "y")
	}
	if got := sum(); got != first {
		t.Error("files that are no source changed the hash")
	}
	write(t, filepath.Join(dir, "comfy", "extra.py"), "")
	if got := sum(); got == first {
		t.Error("a new source file did not change the hash")
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Skip(err) // Windows, without the right to
	}
	want := sum()
	if got, err := hashTree(link); err != nil || got != want {
		t.Errorf("by a link to it: %q, %v, want %q", got, err, want)
	}
}

func TestFindPython(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "ComfyUI")
	env := map[string]string{"VIRTUAL_ENV": filepath.Join(root, "active")}
	find := func() string { return findPython(dir, func(k string) string { return env[k] }) }
	for _, place := range []string{
		filepath.Join(root, "active", "bin", "python"),
		filepath.Join(root, "python_embeded", "python"),
		filepath.Join(dir, ".venv", "bin", "python3"),
		filepath.Join(dir, "venv", "bin", "python"),
	} {
		write(t, place, "")
		if got := find(); got != place {
			t.Errorf("got %q, want %q", got, place)
		}
	}
}

func TestDiscover(t *testing.T) {
	root := t.TempDir()
	home := filepath.Join(root, "home")
	comfyCLI := tree(t, filepath.Join(home, "comfy", "ComfyUI"))
	portable := tree(t, filepath.Join(home, "ComfyUI_windows_portable", "ComfyUI"))
	// Not a tree: the desktop application's folder of models.
	write(t, filepath.Join(home, "Documents", "ComfyUI", "models", "x"), "")
	served := tree(t, filepath.Join(root, "served"))
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.URL.Path != "/system_stats" {
			t.Errorf("%s %s: a server that runs must only be looked at", r.Method, r.URL.Path)
		}
		w.Write([]byte(`{"system": {"argv": ["main.py", "--listen"]}}`))
	}))
	defer srv.Close()
	write(t, filepath.Join(root, "proc", "12", "cmdline"), "/opt/venv/bin/python\x00main.py\x00--listen\x00")
	write(t, filepath.Join(root, "proc", "11", "cmdline"), "vim\x00main.py\x00")
	if err := os.Symlink(served, filepath.Join(root, "proc", "12", "cwd")); err != nil {
		t.Fatal(err)
	}
	archive := tree(t, filepath.Join(comfyCLI, "comfy", "ComfyUI-0.29.0"))
	p := places{cwd: filepath.Join(comfyCLI, "comfy"), home: home, url: srv.URL, proc: filepath.Join(root, "proc"), env: func(string) string { return "" }}
	got := p.discover(context.Background())
	want := []Found{
		{Dir: served, Python: "/opt/venv/bin/python", Why: "a server is running at " + srv.URL, URL: srv.URL},
		{Dir: archive, Why: "in the current folder"},
		{Dir: comfyCLI, Why: "above the current folder"},
		{Dir: portable, Why: "the portable build in the home folder"},
	}
	for i := range got {
		if got[i].URL == "" {
			got[i].Python = "" // whichever this machine has on PATH
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestDiscoverNothing(t *testing.T) {
	p := places{cwd: t.TempDir(), home: t.TempDir(), url: "http://127.0.0.1:1", proc: "/nonexistent", env: func(string) string { return "" }}
	if got := p.discover(context.Background()); len(got) != 0 {
		t.Errorf("got %+v, want nothing", got)
	}
}

// An interpreter that never stops talking ends with an error, not with our memory.
func TestEndlessAnswer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "python")
	write(t, path, "#!/bin/sh\nexec yes garbage\n")
	_, err := ask(t.Context(), path, t.TempDir())
	if err == nil || !strings.Contains(err.Error(), "does not work as a Python interpreter") {
		t.Errorf("want an error about the interpreter, got %v", err)
	}
}

// What an interpreter said counts although a child of it keeps the pipes open, as a busy
// machine's may seem to.
func TestAnswerBesideAChild(t *testing.T) {
	path := filepath.Join(t.TempDir(), "python")
	write(t, path, "#!/bin/sh\nsleep 8 &\necho '{\"version\": [3, 12, 1]}'\n")
	if a, err := ask(t.Context(), path, t.TempDir()); err != nil || a.Version[1] != 12 {
		t.Errorf("got %+v, %v", a, err)
	}
}
