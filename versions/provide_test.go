//go:build unix

package versions

import (
	"context"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"memtrix"
)

// upstream is a repository with two releases.
func upstream(t *testing.T) (dir string, commits []string) {
	t.Helper()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("no git")
	}
	dir = tree(t, filepath.Join(t.TempDir(), "upstream"))
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.Command(git, append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@b"}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_COMMITTER_DATE=1785312000 +0000")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	run("init", "-q", "-b", "master")
	write(t, filepath.Join(dir, "app", "frontend_management.py"), "import requests\n")
	write(t, filepath.Join(dir, "comfy", "cli_args.py"), cliArgs+"\nparser.add_argument(\"--front-end-root\", type=str)\n")
	for _, release := range []string{"0.28.0", "0.29.0"} {
		write(t, filepath.Join(dir, "comfyui_version.py"), "__version__ = \""+release+"\"\n")
		write(t, filepath.Join(dir, "requirements.txt"), "comfyui-frontend-package==1."+release+"\ncomfy-aimdo==0.4.10\ntorch==2.11.0\n")
		run("add", ".")
		run("commit", "-q", "-m", release)
		commits = append(commits, run("rev-parse", "HEAD"))
	}
	return dir, commits
}

// provider has stand-ins for uv and Python alone on PATH, and git.
func provider(t *testing.T) (*Provider, *[]string) {
	t.Helper()
	bin, err := filepath.Abs(filepath.Join("testdata", "bin"))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	var warnings []string
	p := &Provider{Cache: filepath.Join(t.TempDir(), "cache"), Warn: func(s string) { warnings = append(warnings, s) }}
	t.Cleanup(p.Close)
	return p, &warnings
}

func get(t *testing.T, p *Provider, r Request) memtrix.Version {
	t.Helper()
	v, err := p.Get(context.Background(), r)
	if err != nil {
		t.Fatalf("%+v: %v", r, err)
	}
	return v
}

func TestProvide(t *testing.T) {
	src, commits := upstream(t)
	p, _ := provider(t)
	v := get(t, p, Request{Version: "latest", Source: src})
	if v.Name != "0.29.0" || v.Release != "0.29.0" || v.Commit != commits[1] || v.Target != memtrix.TargetComfyUI {
		t.Errorf("got %+v", v)
	}
	if want := map[string]string{"comfy-aimdo": "0.4.10", "torch": "2.11.0"}; !maps.Equal(v.Packages, want) {
		t.Errorf("packages: got %v, want %v", v.Packages, want)
	}
	if v.PackageHashes["torch"] != "abc" || !slices.Equal(v.Dirty, []string{"package torch: torch/a.py"}) {
		t.Errorf("contents: got %v, %v", v.PackageHashes, v.Dirty)
	}
	asked, err := os.ReadFile(filepath.Join(filepath.Dir(filepath.Dir(v.Python)), "asked"))
	if err != nil || string(asked) != "comfy-aimdo==0.4.10\ntorch==2.11.0\nrequests\n" {
		t.Errorf("installed: %q, %v", asked, err)
	}
	// But for the front end, both releases ask for the same.
	if other := get(t, p, Request{Version: "0.28.0", Source: src}); other.Python != v.Python || other.Commit != commits[0] || len(p.Made()) != 1 {
		t.Errorf("got %s after %d environments, want that of 0.29.0", other.Python, len(p.Made()))
	}
	// Other packages, another environment and another name.
	over := get(t, p, Request{Version: commits[1][:8], Source: src, Overrides: map[string]string{"comfy-aimdo": "0.4.9"}})
	if over.Python == v.Python || over.Packages["comfy-aimdo"] != "0.4.9" || over.Name != commits[1][:10]+" comfy-aimdo 0.4.9" {
		t.Errorf("override: got %+v", over)
	}
	date := get(t, p, Request{Version: "master", Name: "then", Source: src, Packages: AsOfDate})
	if asked, err := os.ReadFile(filepath.Join(filepath.Dir(filepath.Dir(date.Python)), "asked")); err != nil || !strings.HasPrefix(string(asked), "before 2026-07-30T00:00:00Z\n") || date.Name != "then" {
		t.Errorf("as of its date: %q, %v", asked, err)
	}
	// A person's folder with packages of its own, and with an environment kept.
	own := get(t, p, Request{Path: src, Packages: Required})
	if own.Dir != src || own.Python != v.Python || own.Commit != commits[1] {
		t.Errorf("own folder: got %+v", own)
	}
	kept := get(t, p, Request{Version: "0.28.0", Source: src, Packages: Keep, Python: "python3.12"})
	if kept.Python != filepath.Join(filepath.Dir(mustAbs(t, "testdata")), "testdata", "bin", "python3.12") {
		t.Errorf("kept: got %s", kept.Python)
	}
}

func mustAbs(t *testing.T, path string) string {
	t.Helper()
	abs, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return abs
}

// A look makes no environments, and takes those that are there.
func TestProvideLook(t *testing.T) {
	src, _ := upstream(t)
	p, warnings := provider(t)
	p.Look = true
	r := Request{Version: "0.29.0", Source: src}
	v := get(t, p, r)
	if len(v.Packages) != 1 || v.Packages[unbuilt] == "" || len(v.Dirty) != 0 || len(p.Made()) != 0 || !v.Flags["--cpu"] {
		t.Errorf("got %+v", v)
	}
	if len(*warnings) != 1 || !strings.Contains((*warnings)[0], "memtrix run makes it") {
		t.Errorf("warnings: %q", *warnings)
	}
	p.Look = false
	made := get(t, p, r)
	p.Look = true
	if again := get(t, p, r); again.Python != made.Python || !maps.Equal(again.Packages, made.Packages) {
		t.Errorf("got %+v, want %+v", again, made)
	}
}

func TestProvideErrors(t *testing.T) {
	src, _ := upstream(t)
	p, _ := provider(t)
	for _, c := range []struct {
		req    Request
		want   string
		cannot bool
	}{
		{Request{Version: "0.27.0", Source: src}, "near it: 0.28.0, 0.29.0", false},
		{Request{Version: "0.29.0", Source: filepath.Join(src, "nope")}, "is no folder and no URL", true},
		{Request{Version: "0.29.0", Source: src, Packages: Keep}, "needs python:", false},
		{Request{Version: "0.29.0", Source: src, Packages: Keep, Python: "python3.12", Wheels: "x"}, "have no meaning with it", false},
		{Request{Version: "0.29.0", Source: src, Overrides: map[string]string{"torch": "new"}}, `"new" is no version`, false},
		{Request{Version: "0.29.0", Source: src, Python: "/no/such/python"}, "does not exist", true},
		{Request{Path: tree(t, t.TempDir()), Packages: AsOfDate}, "is no git checkout", true},
		{Request{Path: tree(t, t.TempDir()), Packages: Required}, "requirements of 0.29.0", true},
	} {
		_, err := p.Get(context.Background(), c.req)
		var cannot *CannotError
		if err == nil || !strings.Contains(err.Error(), c.want) || errors.As(err, &cannot) != c.cannot {
			t.Errorf("%+v: got %v, want %q (machine's fault: %v)", c.req, err, c.want, c.cannot)
		}
	}
}

// A checkout that lacks files is said to, with at most five of their names, once.
func TestWarnOfMissing(t *testing.T) {
	p, warned := provider(t)
	v := memtrix.Version{Name: "mine", Dir: "/a"}
	p.warnOfMissing(v)
	v.Dirty = []string{"nodes.py", "deleted: b/1", "deleted: b/2"}
	p.warnOfMissing(v)
	p.warnOfMissing(v)
	v.Dirty = append(v.Dirty, "deleted: b/3", "deleted: b/4", "deleted: b/5", "deleted: b/6")
	p.warnOfMissing(v)
	want := []string{
		"mine runs without files that its commit has: b/1, b/2. 'git checkout -- FILE' in /a brings them back",
		"mine runs without files that its commit has: b/1, b/2, b/3, b/4, b/5 and 1 more. 'git checkout -- FILE' in /a brings them back",
	}
	if !slices.Equal(*warned, want) {
		t.Errorf("got %q, want %q", *warned, want)
	}
}
