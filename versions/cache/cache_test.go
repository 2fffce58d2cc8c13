package cache

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func fill(t *testing.T, c *Cache, kind Kind, name string) string {
	t.Helper()
	temp, err := c.Temp(kind)
	if err != nil {
		t.Fatal(err)
	}
	for file, size := range map[string]int{AboutFile: 10, "a/b": 8192} {
		path := filepath.Join(temp, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(strings.Repeat("x", size)), 0o444); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Replace(temp, kind, name); err != nil {
		t.Fatal(err)
	}
	return c.Path(kind, name)
}

func open(t *testing.T) *Cache {
	t.Helper()
	c, err := Open(filepath.Join(t.TempDir(), "cache"))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestListAndPrune(t *testing.T) {
	c, ctx := open(t), context.Background()
	if items, err := c.List(); err != nil || len(items) != 0 {
		t.Fatalf("empty cache: %v, %v", items, err)
	}
	source := fill(t, c, Source, "0123456789abcdef")
	tree := fill(t, c, Tree, "aaaaaaaa")
	env := fill(t, c, Environment, "bbbbbbbb")
	// One file of the environment has another name outside.
	if err := os.Link(filepath.Join(env, "a", "b"), filepath.Join(t.TempDir(), "outside")); err != nil {
		t.Fatal(err)
	}
	compiled := filepath.Join(c.Root(), "pycache", tree, "x.pyc")
	if err := os.MkdirAll(filepath.Dir(compiled), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(compiled, []byte("pyc"), 0o644); err != nil {
		t.Fatal(err)
	}
	use, err := c.Use(ctx, Environment, "bbbbbbbb")
	if err != nil {
		t.Fatal(err)
	}
	items, err := c.List()
	if err != nil || len(items) != 4 {
		t.Fatalf("got %+v, %v, want a source, a tree, an environment and compiled files", items, err)
	}
	for i, want := range []string{source, tree, env, c.Root()} {
		if items[i].Path != want {
			t.Errorf("item %d: got %s, want %s", i, items[i].Path, want)
		}
	}
	if e := items[2]; !e.InUse || e.Bytes-e.Own != 8192 || e.About != strings.Repeat("x", 10) {
		t.Errorf("environment: got %+v, want in use with 8192 bytes shared", e)
	}
	if items[1].InUse || items[1].Own != items[1].Bytes {
		t.Errorf("tree: got %+v, want all its own", items[1])
	}

	all := func(i Item) bool { return i.Kind != Compiled }
	done, err := c.Prune(all)
	if err != nil || len(done) != 3 || done[0].Kept != "" || done[1].Kept != "" || done[2].Kept != "in use" {
		t.Errorf("prune: got %+v, %v, want all but the environment removed", done, err)
	}
	for path, want := range map[string]bool{source: false, tree: false, compiled: false, env: true} {
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("%s there: %v, want %v", path, err == nil, want)
		}
	}
	use.Unlock()
	if done, err := c.Prune(ByName([]string{"bbbbbb"})); err != nil || len(done) != 1 || done[0].Kept != "" {
		t.Errorf("prune by name: got %+v, %v", done, err)
	}
	if _, err := os.Stat(env); err == nil {
		t.Error("the environment is still there")
	}
}

func TestSelectors(t *testing.T) {
	i := Item{Name: "abcdef0123", Used: time.Now().Add(-48 * time.Hour)}
	for name, want := range map[string]bool{"abcdef0123": true, "abcdef": true, "abcde": false, "bcdef0": false} {
		if got := ByName([]string{name})(i); got != want {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
	if !OlderThan(24*time.Hour)(i) || OlderThan(72*time.Hour)(i) || !OlderThan(time.Hour)(Item{}) {
		t.Error("older: wrong")
	}
}

func TestLocks(t *testing.T) {
	c := open(t)
	ctx := context.Background()
	one, err := c.Write(ctx, Tree, "x", nil)
	if err != nil {
		t.Fatal(err)
	}
	// Using does not wait for writing.
	use, err := c.Use(ctx, Tree, "x")
	if err != nil {
		t.Fatal(err)
	}
	use.Unlock()
	stopped, cancel := context.WithCancel(ctx)
	waits := 0
	_, err = c.Write(stopped, Tree, "x", func() { waits++; cancel() })
	if !errors.Is(err, context.Canceled) || waits != 1 {
		t.Errorf("got %v after %d calls, want to be stopped while waiting", err, waits)
	}
	go func() { one.Unlock() }()
	two, err := c.Write(ctx, Tree, "x", nil)
	if err != nil {
		t.Errorf("after unlock: %v", err)
	}
	two.Unlock()
	two.Unlock() // twice does no harm
}

func TestReplaceLeavesNoHalfEntry(t *testing.T) {
	c := open(t)
	path := fill(t, c, Tree, "x")
	fill(t, c, Tree, "x") // over an old one
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("got %v, %v, want the entry alone", entries, err)
	}
	if err := Remove(filepath.Join(c.Root(), "nothing", "here")); err != nil {
		t.Errorf("remove what is not there: %v", err)
	}
}
