package source

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"memtrix/versions/cache"
)

// upstream is a repository made for a test.
type upstream struct {
	t    *testing.T
	dir  string
	tick int
}

func newUpstream(t *testing.T) *upstream {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git")
	}
	u := &upstream{t: t, dir: filepath.Join(t.TempDir(), "ComfyUI")}
	u.git("init", "-q", "-b", "master", u.dir)
	return u
}

func (u *upstream) git(args ...string) string {
	u.t.Helper()
	if args[0] != "init" {
		args = append([]string{"-C", u.dir}, args...)
	}
	cmd := exec.Command("git", args...)
	// Dates run backwards: nothing may go by them.
	u.tick++
	date := fmt.Sprintf("%d +0000", 1_800_000_000-u.tick*3600)
	cmd.Env = append(gitEnviron(os.Environ()), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull,
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b",
		"GIT_AUTHOR_DATE="+date, "GIT_COMMITTER_DATE="+date)
	out, err := cmd.CombinedOutput()
	if err != nil {
		u.t.Fatalf("git %v: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// commit changes files and gives the commit.
func (u *upstream) commit(files map[string]string) string {
	u.t.Helper()
	for name, text := range files {
		path := filepath.Join(u.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			u.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			u.t.Fatal(err)
		}
	}
	u.git("add", ".")
	u.git("commit", "-q", "-m", fmt.Sprint("change ", u.tick))
	return u.git("rev-parse", "HEAD")
}

func (u *upstream) release(v string) string {
	return u.commit(map[string]string{versionFile: "__version__ = \"" + v + "\"\n", "nodes.py": "x = " + v[:1] + " # " + v + "\n"})
}

func resolve(t *testing.T, r *Repo, name, want string) {
	t.Helper()
	c, err := r.Resolve(context.Background(), name)
	if err != nil || c.Hash != want {
		t.Errorf("%s: got %s %s, %v, want %s", name, c.Name, c.Hash, err, want)
	}
}

func TestResolve(t *testing.T) {
	u := newUpstream(t)
	first := u.commit(map[string]string{"main.py": "print()\n", "comfy/options.py": "a = 1\n"})
	u.release("0.3.77")
	// A release that was set, taken back and set again is the last.
	u.release("0.4.0")
	u.release("0.3.77")
	r377 := u.git("rev-parse", "HEAD")
	r400 := u.release("0.4.0")
	u.commit(map[string]string{versionFile: "# another comment\n__version__ = \"0.4.0\"\n"})
	r1200 := u.release("0.12.0")
	// A release on a branch of its own has a tag only; and a tag wins.
	u.git("checkout", "-q", "-b", "release/0.4")
	r401 := u.release("0.4.1")
	u.git("tag", "-a", "-m", "x", "v0.4.1")
	u.git("checkout", "-q", "master")
	after := u.commit(map[string]string{"nodes.py": "x = 9\n"})
	u.git("tag", "v0.12.0")
	u.git("tag", "not-a-release")
	u.git("checkout", "-q", "-b", "feature/x")
	pr := u.commit(map[string]string{"pr.py": ""})
	u.git("update-ref", "refs/pull/12/head", pr)
	u.git("checkout", "-q", "master")

	r := open(t, context.Background(), t.TempDir(), u.dir)
	resolve(t, r, "0.3.77", r377)
	resolve(t, r, "v0.4.0", r400)
	resolve(t, r, "0.4.1", r401)
	resolve(t, r, "0.12.0", after)
	resolve(t, r, "latest", after)
	resolve(t, r, "latest~1", r401)
	resolve(t, r, "latest~3", r377)
	resolve(t, r, "master", after)
	resolve(t, r, "feature/x", pr)
	resolve(t, r, "not-a-release", after)
	resolve(t, r, first[:7], first)
	resolve(t, r, strings.ToUpper(r1200), r1200)
	resolve(t, r, "pr:12", pr)
	resolve(t, r, "PR:12", pr)

	for name, want := range map[string]string{
		"0.4.2":    `no version "0.4.2" in ` + filepath.Join(u.dir, ".git") + `; near it: 0.4.0, 0.4.1, 0.12.0`,
		"0.1.0":    "near it: 0.3.77, 0.4.0, ... 0.12.0",
		"latest~9": "it has 4 releases",
		"feature":  "near it: feature/x",
		"mastre":   "near it: master",
		"pr:13":    "it has no refs/pull/13/head",
		"abcdef1":  `no version "abcdef1"`,
	} {
		_, err := r.Resolve(context.Background(), name)
		var unknown *UnknownError
		if !errors.As(err, &unknown) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", name, err, want)
		}
	}
}

func TestResolveLooksAgain(t *testing.T) {
	u := newUpstream(t)
	u.commit(map[string]string{"main.py": ""})
	old := u.release("0.4.0")
	dir, ctx := t.TempDir(), context.Background()
	open(t, ctx, dir, u.dir).Close()

	now := u.release("0.5.0")
	r := open(t, ctx, dir, u.dir)
	resolve(t, r, "0.4.0", old)
	if r.fetched {
		t.Error("the source was asked for a release that is known")
	}
	resolve(t, r, "0.5.0", now)
	u.git("checkout", "-q", "-b", "main")
	u.git("branch", "-q", "-D", "master")
	last := u.commit(map[string]string{"x.py": ""})
	r = open(t, ctx, dir, u.dir)
	resolve(t, r, "main", last)
	if _, err := r.Resolve(ctx, "master"); err == nil {
		t.Error("a branch that is gone was found")
	}

	// Without the source, what is known is still there, with a warning.
	var warnings []string
	if err := os.Rename(filepath.Join(u.dir, ".git", "objects"), filepath.Join(u.dir, ".git", "moved")); err != nil {
		t.Fatal(err)
	}
	c, err := cache.Open(filepath.Join(dir, "cache"))
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	r = &Repo{cache: c, source: r.source, local: false, name: r.name, dir: r.dir, say: func(string) {}, warn: func(s string) { warnings = append(warnings, s) }}
	resolve(t, r, "main", last)
	if len(warnings) != 1 || !strings.Contains(warnings[0], "main is what it was") {
		t.Errorf("warnings: %q", warnings)
	}
	_, err = r.Resolve(ctx, "0.6.0")
	if err == nil || !strings.Contains(err.Error(), "0.5.0") {
		t.Errorf("got %v, want the nearest releases", err)
	}
}

func TestOpenErrors(t *testing.T) {
	c, err := cache.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	empty := t.TempDir()
	for src, want := range map[string]string{
		empty:                          "is no git repository",
		filepath.Join(empty, "nope"):   "is no folder and no URL",
		"file://" + empty + "/nothing": "is no folder",
		"https://127.0.0.1:1/ComfyUI":  "Without a network, name a clone",
	} {
		if _, err := Open(context.Background(), c, src, Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", src, err, want)
		}
	}
	t.Setenv("PATH", empty)
	if _, err := Open(context.Background(), c, empty, Options{}); !errors.Is(err, ErrNoGit) {
		t.Errorf("no git: got %v", err)
	}
}

func TestTree(t *testing.T) {
	u := newUpstream(t)
	files := map[string]string{"main.py": "print()\n", "nodes.py": "x = 1\n", "comfy/options.py": "a = 1\n", "big.json": strings.Repeat("{}", 5000), "empty.py": ""}
	hash := u.commit(files)
	dir, ctx := t.TempDir(), context.Background()
	r := open(t, ctx, dir, u.dir)
	c, err := r.Resolve(ctx, "master")
	if err != nil {
		t.Fatal(err)
	}
	tree, err := r.Tree(ctx, c)
	if err != nil || len(tree.Missing) != 0 {
		t.Fatalf("got %+v, %v", tree, err)
	}
	same := func() {
		t.Helper()
		for name, want := range files {
			if got, err := os.ReadFile(filepath.Join(tree.Dir, name)); err != nil || string(got) != want {
				t.Errorf("%s: got %.20q, %v", name, got, err)
			}
		}
	}
	same()
	// What was changed or removed since is written again.
	main := filepath.Join(tree.Dir, "main.py")
	if err := os.Chmod(main, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(main, []byte("print(1)\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(tree.Dir, "comfy")); err != nil {
		t.Fatal(err)
	}
	var warnings []string
	r.warn = func(s string) { warnings = append(warnings, s) }
	if _, err = r.Tree(ctx, c); err != nil || len(warnings) != 1 || !strings.Contains(warnings[0], "2 files") {
		t.Errorf("repair: %v, warnings %q", err, warnings)
	}
	same()
	// A tree whose list is gone is written as a whole.
	if err := os.Remove(filepath.Join(dir, "cache", "trees", hash, manifestName)); err != nil {
		t.Fatal(err)
	}
	if _, err = r.Tree(ctx, c); err != nil {
		t.Error(err)
	}
	same()
}

func TestMissingFiles(t *testing.T) {
	u := newUpstream(t)
	u.commit(map[string]string{"main.py": "print()\n", "comfy/tokenizer.json": "{\"a\": 1}\n"})
	blob := u.git("rev-parse", "HEAD:comfy/tokenizer.json")
	object := filepath.Join(u.dir, ".git", "objects", blob[:2], blob[2:])
	kept := filepath.Join(t.TempDir(), "kept")
	if err := os.Rename(object, kept); err != nil {
		t.Fatal(err)
	}
	dir, ctx := t.TempDir(), context.Background()
	r := open(t, ctx, dir, u.dir)
	c, err := r.Resolve(ctx, "master")
	if err != nil {
		t.Fatal(err)
	}
	tree, err := r.Tree(ctx, c)
	if err != nil || !slices.Equal(tree.Missing, []string{"comfy/tokenizer.json"}) {
		t.Fatalf("got %+v, %v, want the tokenizer missing", tree, err)
	}
	if tree, err = r.Tree(ctx, c); err != nil || len(tree.Missing) != 1 {
		t.Errorf("again: got %+v, %v", tree, err)
	}
	// A source that has it fills the same tree.
	if err := os.Rename(kept, filepath.Join(r.dir, "objects", blob[:2]+blob[2:])); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(r.dir, "objects", blob[:2]), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(r.dir, "objects", blob[:2]+blob[2:]), filepath.Join(r.dir, "objects", blob[:2], blob[2:])); err != nil {
		t.Fatal(err)
	}
	if tree, err = r.Tree(ctx, c); err != nil || len(tree.Missing) != 0 {
		t.Errorf("with the object: got %+v, %v", tree, err)
	}
	if got, err := os.ReadFile(filepath.Join(tree.Dir, "comfy", "tokenizer.json")); err != nil || string(got) != "{\"a\": 1}\n" {
		t.Errorf("got %q, %v", got, err)
	}
}

// Several runs at once share one clone and one tree.
func TestAtOnce(t *testing.T) {
	u := newUpstream(t)
	u.commit(map[string]string{"main.py": "print()\n", "nodes.py": ""})
	want := u.release("0.4.0")
	dir := t.TempDir()
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			c, err := cache.Open(dir)
			if err != nil {
				t.Error(err)
				return
			}
			r, err := Open(context.Background(), c, u.dir, Options{})
			if err != nil {
				t.Error(err)
				return
			}
			defer r.Close()
			commit, err := r.Resolve(context.Background(), "latest")
			if err != nil || commit.Hash != want {
				t.Errorf("got %v, %v", commit, err)
				return
			}
			tree, err := r.Tree(context.Background(), commit)
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := os.Stat(filepath.Join(tree.Dir, "main.py")); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, folder := range []string{"sources", "trees"} {
		entries, err := os.ReadDir(filepath.Join(dir, folder))
		if err != nil || len(entries) != 1 {
			t.Errorf("%s: got %v, %v, want one entry", folder, entries, err)
		}
	}
}

// A clone of which half is gone is made again.
func TestBrokenClone(t *testing.T) {
	u := newUpstream(t)
	want := u.release("0.4.0")
	dir, ctx := t.TempDir(), context.Background()
	r := open(t, ctx, dir, u.dir)
	r.Close()
	if err := os.RemoveAll(filepath.Join(r.dir, "objects")); err != nil {
		t.Fatal(err)
	}
	resolve(t, open(t, ctx, dir, u.dir), "0.4.0", want)
}

func TestParseName(t *testing.T) {
	for text, want := range map[string]Name{
		"0.29.0":     {Text: "0.29.0", Kind: KindRelease, Release: "0.29.0"},
		"v0.3.64":    {Text: "v0.3.64", Kind: KindRelease, Release: "0.3.64"},
		"latest":     {Text: "latest", Kind: KindLatest},
		"latest~12":  {Text: "latest~12", Kind: KindLatest, Number: 12},
		"pr:15886":   {Text: "pr:15886", Kind: KindPull, Number: 15886},
		"1234567":    {Text: "1234567", Kind: KindCommit},
		"ABCDEF1234": {Text: "abcdef1234", Kind: KindCommit},
		"abc":        {Text: "abc", Kind: KindBranch},
		"feature/x":  {Text: "feature/x", Kind: KindBranch},
	} {
		if got, err := ParseName(text); err != nil || got != want {
			t.Errorf("%s: got %+v, %v, want %+v", text, got, err, want)
		}
	}
	for _, bad := range []string{"", "0.29", "v0.3", "latest~", "latest~-1", "latest~x", "pr:", "pr:x", "a b", "--upload-pack=x", "-x", "a..b", "a~1", "HEAD^", "a@{1}", "x.lock", "/a", "a/", "a\nb", ":/x"} {
		if got, err := ParseName(bad); err == nil {
			t.Errorf("%q: got %+v, want an error", bad, got)
		}
	}
}

func TestCompareReleases(t *testing.T) {
	list := []string{"0.12.0", "0.3.9", "0.3.77", "0.4.0", "0.12.10", "0.12.9", "1.0.0"}
	slices.SortFunc(list, compareReleases)
	want := []string{"0.3.9", "0.3.77", "0.4.0", "0.12.0", "0.12.9", "0.12.10", "1.0.0"}
	if !slices.Equal(list, want) {
		t.Errorf("got %v, want %v", list, want)
	}
}
