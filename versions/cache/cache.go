// Package cache is the folder in which memtrix keeps what it fetched or built
// and could fetch or build again: clones of sources, trees of commits, Python
// environments, compiled files.
//
// Each entry has two locks: one for writing it, one that says that it is in
// use. Both are advisory locks of the system, so they end with the process that
// holds them, however it ends. The package never removes what is in use, and
// nothing outside its folder.
package cache

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Kind is a family of entries.
type Kind string

const (
	Source      Kind = "source"      // a bare clone
	Tree        Kind = "tree"        // the files of one commit
	Environment Kind = "environment" // a Python environment
	Compiled    Kind = "compiled"    // what Python and the compilers made of sources
)

// folders of the kinds that have entries of their own.
var folders = map[Kind]string{Source: "sources", Tree: "trees", Environment: "envs"}

// endings of an entry's folder.
var endings = map[Kind]string{Source: ".git"}

// Cache is a cache folder. The zero value is not ready: see Open.
type Cache struct{ root string }

// Open gives the cache in root, "" being memtrix's folder in the user's cache
// folder. Nothing is made until an entry is.
func Open(root string) (*Cache, error) {
	if root == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return nil, fmt.Errorf("find the cache folder: %w", err)
		}
		root = filepath.Join(user, "memtrix")
	}
	abs, err := filepath.Abs(root)
	if err != nil {
		return nil, fmt.Errorf("cache folder %s: %w", root, err)
	}
	return &Cache{root: abs}, nil
}

// Root is the cache's folder, absolute.
func (c *Cache) Root() string { return c.root }

// Path is where an entry lies, whether it is there or not.
func (c *Cache) Path(kind Kind, name string) string {
	return filepath.Join(c.root, folders[kind], name+endings[kind])
}

// Use marks an entry as in use by this process until the lock is let go, and
// notes the time.
func (c *Cache) Use(ctx context.Context, kind Kind, name string) (*Lock, error) {
	l, err := acquire(ctx, c.lockFile(kind, name, "use"), shared, nil)
	if err != nil {
		return nil, fmt.Errorf("use %s %s: %w", kind, name, err)
	}
	now := time.Now()
	// It only tells people what can be removed.
	_ = os.Chtimes(l.path, now, now)
	return l, nil
}

// Write waits until nobody else writes an entry. waiting is called once when it
// must wait; it may be nil.
func (c *Cache) Write(ctx context.Context, kind Kind, name string, waiting func()) (*Lock, error) {
	l, err := acquire(ctx, c.lockFile(kind, name, "write"), exclusive, waiting)
	if err != nil {
		return nil, fmt.Errorf("write %s %s: %w", kind, name, err)
	}
	return l, nil
}

func (c *Cache) lockFile(kind Kind, name, what string) string {
	return filepath.Join(c.root, "locks", string(kind)+"-"+name+"."+what)
}

// Temp makes a folder beside the entries of a kind, from which one can be
// renamed into its place.
func (c *Cache) Temp(kind Kind) (string, error) {
	parent := filepath.Join(c.root, folders[kind])
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", fmt.Errorf("cache folder: %w", err)
	}
	dir, err := os.MkdirTemp(parent, tempPrefix)
	if err != nil {
		return "", fmt.Errorf("cache folder: %w", err)
	}
	return dir, nil
}

// tempPrefix begins names of folders that are not entries.
const tempPrefix = ".new-"

// Replace puts a folder made by Temp into an entry's place; what was there is
// removed. The caller holds the entry's lock for writing.
func (c *Cache) Replace(temp string, kind Kind, name string) error {
	path := c.Path(kind, name)
	if err := Remove(path); err != nil {
		return err
	}
	if err := os.Rename(temp, path); err != nil {
		return fmt.Errorf("put %s into the cache: %w", filepath.Base(path), err)
	}
	return nil
}

// Remove removes a folder of the cache whole. It is renamed first, so that what
// is left after an interruption is no entry.
func Remove(path string) error {
	old, err := os.MkdirTemp(filepath.Dir(path), tempPrefix+"old-")
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("remove %s: %w", path, err)
	}
	err = os.Rename(path, filepath.Join(old, "it"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		os.Remove(old)
		return fmt.Errorf("remove %s: %w", path, err)
	}
	if err := os.RemoveAll(old); err != nil {
		return fmt.Errorf("remove %s: %w", path, err)
	}
	return nil
}

// entryName gives the name of an entry from that of its file.
func entryName(kind Kind, file string) (string, bool) {
	if strings.HasPrefix(file, ".") || !strings.HasSuffix(file, endings[kind]) {
		return "", false
	}
	return strings.TrimSuffix(file, endings[kind]), true
}
