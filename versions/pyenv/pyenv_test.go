//go:build unix

package pyenv

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"memtrix/internal/files"
	"memtrix/versions/cache"
)

func script(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// fakePython answers as an interpreter of that version does.
func fakePython(t *testing.T, path, version, environment string) string {
	t.Helper()
	minor := strings.Split(version, ".")[1]
	return script(t, path, `echo '{"version": "`+version+`", "major": 3, "minor": `+minor+`, "implementation": "CPython", "base": "`+filepath.Dir(filepath.Dir(path))+`", "environment": `+environment+`}'`+"\n")
}

// builder has testdata/uv for uv, which writes down how it was called.
func builder(t *testing.T, dir string) (*Builder, *[]string) {
	t.Helper()
	c, err := cache.Open(filepath.Join(dir, "cache"))
	if err != nil {
		t.Fatal(err)
	}
	fake, err := filepath.Abs(filepath.Join("testdata", "uv"))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("FAKE_UV_LOG", filepath.Join(dir, "uv.log"))
	var said []string
	b := &Builder{Cache: c, LookPath: func(string) (string, error) { return fake, nil },
		Say: func(s string) { said = append(said, s) }, Warn: func(s string) { said = append(said, "warning: "+s) }}
	t.Cleanup(b.Close)
	return b, &said
}

func calls(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(os.Getenv("FAKE_UV_LOG"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return string(data)
}

func TestGet(t *testing.T) {
	dir, ctx := t.TempDir(), context.Background()
	b, said := builder(t, dir)
	req := Request{
		Requirements: "torch\ncomfyui-frontend-package==1.2\ncomfy-aimdo==0.4.10\n", Drop: FrontEnd,
		Overrides: map[string]string{"comfy-aimdo": "0.4.9", "xformers": "none"},
		Before:    time.Date(2026, 7, 29, 0, 0, 0, 0, time.UTC),
		Python:    fakePython(t, filepath.Join(dir, "py", "bin", "python3"), "3.12.1", "false"), About: "0.29.0",
	}
	key, ready, python, err := b.Key(ctx, req)
	if err != nil || ready || python != req.Python {
		t.Fatalf("key: %s, %v, %s, %v, want one that is not ready", key, ready, python, err)
	}
	env, err := b.Get(ctx, req)
	if err != nil || !env.Built || env.Key != key {
		t.Fatalf("got %+v, %v", env, err)
	}
	log := calls(t)
	for _, want := range []string{
		"venv --quiet --no-project --no-python-downloads --python " + req.Python + " " + env.Dir,
		"pip install --python " + env.Python, "--exclude-newer 2026-07-29T00:00:00Z", "--override ",
		"requirements: torch", "requirements: comfy-aimdo==0.4.9",
		"overrides: comfy-aimdo==0.4.9", "overrides: xformers; sys_platform == 'none'",
	} {
		if !strings.Contains(log, want) {
			t.Errorf("uv was not called with %q:\n%s", want, log)
		}
	}
	for _, not := range []string{"frontend", "0.4.10", "requirements: xformers"} {
		if strings.Contains(log, not) {
			t.Errorf("uv was called with %q:\n%s", not, log)
		}
	}
	if !slices.Contains(*said, "Resolved 2 packages in 1ms") || slices.Contains(*said, "+ torch==2.15.0") {
		t.Errorf("said %q", *said)
	}
	// It is there now, and is not made again.
	if again, err := b.Get(ctx, req); err != nil || again.Built || again.Python != env.Python || calls(t) != log {
		t.Errorf("again: %+v, %v", again, err)
	}
	if _, ready, python, _ := b.Key(ctx, req); !ready || python != env.Python {
		t.Errorf("key: ready %v, %s", ready, python)
	}
	// Files that were removed since make it anew, as does a missing mark.
	for _, damage := range []string{filepath.Join("lib", "python3.12", "site-packages", "torch", "b.py"), manifestName} {
		if err := os.Remove(filepath.Join(env.Dir, damage)); err != nil {
			t.Fatal(err)
		}
		if again, err := b.Get(ctx, req); err != nil || !again.Built {
			t.Errorf("without %s: %+v, %v, want it made again", damage, again, err)
		}
	}
	if !slices.ContainsFunc(*said, func(s string) bool {
		return strings.HasPrefix(s, "warning: the environment "+key+" lacks files (torch)")
	}) {
		t.Errorf("no warning about torch in %q", *said)
	}
}

func TestKeys(t *testing.T) {
	dir, ctx := t.TempDir(), context.Background()
	b, _ := builder(t, dir)
	python := fakePython(t, filepath.Join(dir, "py", "bin", "python3"), "3.12.1", "false")
	other := fakePython(t, filepath.Join(dir, "py11", "bin", "python3"), "3.11.2", "false")
	wheels := filepath.Join(dir, "wheels")
	script(t, filepath.Join(wheels, "a.whl"), "x")
	seen := map[string]int{}
	same := []Request{
		{Requirements: "torch\nnumpy>=1\n", Python: python},
		{Requirements: "# comment\nnumpy>=1 # why\n\ntorch\r\n", Python: python, About: "another"},
		{Requirements: "torch\nnumpy>=1\ncomfyui_frontend_package==1\n", Drop: FrontEnd, Python: python},
	}
	different := []Request{
		same[0],
		{Requirements: "torch\nnumpy>=2\n", Python: python},
		{Requirements: "torch\nnumpy>=1\n", Python: other},
		{Requirements: "torch\nnumpy>=1\n", Python: python, Before: time.Unix(1e9, 0)},
		{Requirements: "torch\nnumpy>=1\n", Python: python, Wheels: wheels},
		{Requirements: "torch\nnumpy>=1\n", Python: python, Overrides: map[string]string{"numpy": "1.0"}},
	}
	key := func(r Request) string {
		k, _, _, err := b.Key(ctx, r)
		if err != nil {
			t.Fatalf("%+v: %v", r, err)
		}
		return k
	}
	for i, r := range same {
		if got, want := key(r), key(same[0]); got != want {
			t.Errorf("request %d: got another environment", i)
		}
	}
	for i, r := range different {
		if first, again := seen[key(r)]; again {
			t.Errorf("requests %d and %d: got one environment", first, i)
		}
		seen[key(r)] = i
	}
	t.Setenv("UV_TORCH_BACKEND", "cpu")
	if _, again := seen[key(same[0])]; again {
		t.Error("another backend of torch gave the same environment")
	}
	t.Setenv("UV_TORCH_BACKEND", "")
	script(t, filepath.Join(wheels, "b.whl"), "x")
	if _, again := seen[key(different[4])]; again {
		t.Error("a further wheel gave the same environment")
	}
}

func TestGetFails(t *testing.T) {
	dir := t.TempDir()
	b, _ := builder(t, dir)
	python := fakePython(t, filepath.Join(dir, "py", "bin", "python3"), "3.12.1", "false")
	for _, c := range []struct {
		fault string
		req   Request
		want  []string
	}{
		{"conflict", Request{Requirements: "torch"}, []string{"No solution found", "torch==99", "cannot be met together from the package index", "0.29.0"}},
		{"network", Request{Requirements: "torch"}, []string{"Failed to fetch", "cannot be reached", "wheels: DIR"}},
		{"", Request{Requirements: "# nothing\n"}, []string{"no requirements"}},
		{"", Request{Requirements: "torch", Overrides: map[string]string{"torch": "newest"}}, []string{`package torch: "newest" is no version`}},
		{"", Request{Requirements: "torch", Wheels: filepath.Join(dir, "nope")}, []string{"wheels: ", "nope"}},
		{"", Request{Requirements: "torch", Wheels: t.TempDir()}, []string{"is empty"}},
	} {
		t.Setenv("FAKE_UV_FAULT", c.fault)
		c.req.Python, c.req.About = python, "0.29.0"
		_, err := b.Get(context.Background(), c.req)
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want %q", c.fault, err, want)
			}
		}
	}
	entries, err := os.ReadDir(filepath.Join(dir, "cache", "envs"))
	if err != nil || len(entries) != 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

func TestGetIsStopped(t *testing.T) {
	dir := t.TempDir()
	b, _ := builder(t, dir)
	python := fakePython(t, filepath.Join(dir, "py", "bin", "python3"), "3.12.1", "false")
	t.Setenv("FAKE_UV_FAULT", "hang")
	ctx, cancel := context.WithCancel(context.Background())
	b.Say = func(s string) {
		if s == "hanging" {
			cancel()
		}
	}
	_, err := b.Get(ctx, Request{Requirements: "torch", Python: python})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	entries, _ := os.ReadDir(filepath.Join(dir, "cache", "envs"))
	if len(entries) != 0 {
		t.Errorf("left behind: %v", entries)
	}
}

func TestGetAtOnce(t *testing.T) {
	dir := t.TempDir()
	b, _ := builder(t, dir)
	python := fakePython(t, filepath.Join(dir, "py", "bin", "python3"), "3.12.1", "false")
	var wg sync.WaitGroup
	built := make(chan bool, 8)
	for range cap(built) {
		wg.Go(func() {
			mine := &Builder{Cache: b.Cache, LookPath: b.LookPath}
			env, err := mine.Get(context.Background(), Request{Requirements: "torch", Python: python})
			if err != nil {
				t.Error(err)
			}
			built <- env.Built
			mine.Close()
		})
	}
	wg.Wait()
	close(built)
	n := 0
	for is := range built {
		if is {
			n++
		}
	}
	if n != 1 || strings.Count(calls(t), "venv ") != 1 {
		t.Errorf("made %d times, want once:\n%s", n, calls(t))
	}
}

// Without uv it is Python's own venv and pip.
func TestPip(t *testing.T) {
	dir := t.TempDir()
	b, _ := builder(t, dir)
	b.LookPath = func(string) (string, error) { return "", os.ErrNotExist }
	fake, err := filepath.Abs(filepath.Join("testdata", "python"))
	if err != nil {
		t.Fatal(err)
	}
	env, err := b.Get(context.Background(), Request{Requirements: "torch", Wheels: filepath.Dir(fake), Python: fake})
	if err != nil || !env.Built {
		t.Fatalf("got %+v, %v", env, err)
	}
	for _, want := range []string{"-m venv " + env.Dir, "-m pip install", "--no-index --find-links " + filepath.Dir(fake)} {
		if !strings.Contains(calls(t), want) {
			t.Errorf("not called with %q:\n%s", want, calls(t))
		}
	}
	_, err = b.Get(context.Background(), Request{Requirements: "torch", Before: time.Unix(1e9, 0), Python: fake})
	if want := "--uploaded-prior-to 2001-09-09T01:46:40Z"; err != nil || !strings.Contains(calls(t), want) {
		t.Errorf("as of a date: got %v, want %q in\n%s", err, want, calls(t))
	}
	t.Setenv("FAKE_UV_FAULT", "old pip")
	_, err = b.Get(context.Background(), Request{Requirements: "torch", Before: time.Unix(2e9, 0), Python: fake})
	if err == nil || !strings.Contains(err.Error(), "as-of-date needs uv or pip 26") {
		t.Errorf("as of a date, with an old pip: got %v", err)
	}
}

func TestFind(t *testing.T) {
	home, path := t.TempDir(), t.TempDir()
	t.Setenv("PATH", path)
	f := finder{home: home, env: func(string) string { return "" }}
	find := func(want string) {
		t.Helper()
		p, err := f.find(context.Background())
		if err != nil || p.Path != want {
			t.Errorf("got %s, %v, want %s", p.Path, err, want)
		}
	}
	_, err := f.find(context.Background())
	if err == nil || !strings.Contains(err.Error(), "no Python on PATH") {
		t.Errorf("nothing: got %v", err)
	}
	old := fakePython(t, filepath.Join(path, "python3"), "3.9.1", "false")
	if _, err := f.find(context.Background()); err == nil || !strings.Contains(err.Error(), old+" is Python 3.9.1; environments need 3.10") {
		t.Errorf("too old: got %v", err)
	}
	find(fakePython(t, filepath.Join(path, "python"), "3.10.2", "false"))
	find(fakePython(t, filepath.Join(path, "python3.13"), "3.13.0", "false"))
	// A shim for a version that is not switched on does not work.
	script(t, filepath.Join(path, "python3.12"), "exit 127\n")
	find(filepath.Join(path, "python3.13"))
	fakePython(t, filepath.Join(home, ".pyenv", "versions", "3.12.1", "bin", "python3.12"), "3.12.1", "false")
	find(filepath.Join(home, ".pyenv", "versions", "3.12.1", "bin", "python3.12"))
}

// What an interpreter said counts although a child of it keeps the pipe open.
func TestProbeBesideAChild(t *testing.T) {
	path := script(t, filepath.Join(t.TempDir(), "python"), `sleep 8 &
echo '{"version": "3.12.1", "major": 3, "minor": 12, "implementation": "CPython", "base": "/x"}'
`)
	if got, err := Probe(t.Context(), path); err != nil || got.Version != "3.12.1" {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestProbe(t *testing.T) {
	dir := t.TempDir()
	got, err := Probe(context.Background(), fakePython(t, filepath.Join(dir, "v", "bin", "python"), "3.12.1", "true"))
	want := Interpreter{Path: filepath.Join(dir, "v", "bin", "python"), Real: filepath.Join(dir, "v"), Version: "3.12.1", Implementation: "CPython", Environment: true, minor: 12}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	for _, bad := range []string{script(t, filepath.Join(dir, "x"), "echo hello\n"), script(t, filepath.Join(dir, "y"), "exit 3\n"), filepath.Join(dir, "nope"), "no-such-python"} {
		if _, err := Probe(context.Background(), bad); err == nil {
			t.Errorf("%s: no error", bad)
		}
	}
}

func TestOverride(t *testing.T) {
	for _, c := range []struct{ spec, want string }{
		{"0.4.10", "a==0.4.10"}, {"2.11.0+cu130", "a==2.11.0+cu130"}, {"1.0rc1", "a==1.0rc1"}, {"2.*", "a==2.*"},
		{">=0.4,<1", "a>=0.4,<1"}, {"~=2.0", "a~=2.0"}, {"none", ""},
		{"https://host.example/a.whl", "a @ https://host.example/a.whl"}, {"/w/a.whl", "a @ file:///w/a.whl"},
	} {
		if err := CheckOverride("a", c.spec); err != nil {
			t.Errorf("%s: %v", c.spec, err)
		}
		if got := Override("a", c.spec); got != c.want {
			t.Errorf("%s: got %q, want %q", c.spec, got, c.want)
		}
	}
	for _, bad := range [][2]string{{"a", ""}, {"a", "new"}, {"a", "==1; x"}, {"a b", "1"}, {"-r", "1"}} {
		if err := CheckOverride(bad[0], bad[1]); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}

func TestShareCompiled(t *testing.T) {
	c, err := cache.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	a, b := c.Path(cache.Environment, "a"), c.Path(cache.Environment, "b")
	one := script(t, filepath.Join(a, "lib", "m.py"), "same")
	script(t, filepath.Join(a, "lib", "n.py"), "own")
	script(t, filepath.Join(b, "lib", "n.py"), "own")
	if err := os.Link(one, filepath.Join(b, "lib", "m.py")); err != nil {
		t.Fatal(err)
	}
	prefix := filepath.Join(c.Root(), "pycache")
	script(t, filepath.Join(prefix, a, "lib", "m.cpython-312.pyc"), "m")
	script(t, filepath.Join(prefix, a, "lib", "n.cpython-312.pyc"), "n")
	shareCompiled(c, b)
	if !sameFile(filepath.Join(prefix, a, "lib", "m.cpython-312.pyc"), filepath.Join(prefix, b, "lib", "m.cpython-312.pyc")) {
		t.Error("the compiled file of a shared source is not shared")
	}
	if files.Exist(filepath.Join(prefix, b, "lib", "n.cpython-312.pyc")) {
		t.Error("the compiled file of another source is shared")
	}
}
