package cache

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Item is one thing in the cache.
type Item struct {
	Kind Kind   `json:"kind"`
	Name string `json:"name"`
	Path string `json:"path"`
	// About says what it is, e.g. a release or a URL; "" where nobody noted it.
	About string `json:"about,omitempty"`
	// Bytes is its size on disk, a file with several names counted once.
	Bytes int64 `json:"bytes"`
	// Own is the part of Bytes whose files have no name outside the item: what
	// removing it frees. The rest is shared, e.g. with the cache of uv.
	Own int64 `json:"own_bytes"`
	// Used is when a run last used it; zero where that is not known.
	Used time.Time `json:"used,omitzero"`
	// InUse says that a process uses it now.
	InUse bool `json:"in_use"`
}

// AboutFile is the file in an entry that says in one line what it is.
const AboutFile = "memtrix-about.txt"

// List gives what is in the cache: sources, trees, environments, and compiled
// files as one item, in this order and by name. A cache that is not there is
// empty.
func (c *Cache) List() ([]Item, error) {
	var items []Item
	for _, kind := range []Kind{Source, Tree, Environment} {
		entries, err := os.ReadDir(filepath.Join(c.root, folders[kind]))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("list the cache: %w", err)
		}
		for _, e := range entries {
			name, ok := entryName(kind, e.Name())
			if !ok || !e.IsDir() {
				continue
			}
			item, err := c.item(kind, name)
			if err != nil {
				return nil, err
			}
			items = append(items, item)
		}
	}
	compiled, err := c.compiled()
	if err != nil {
		return nil, err
	}
	if compiled.Bytes > 0 {
		items = append(items, compiled)
	}
	return items, nil
}

func (c *Cache) item(kind Kind, name string) (Item, error) {
	i := Item{Kind: kind, Name: name, Path: c.Path(kind, name)}
	if data, err := os.ReadFile(filepath.Join(i.Path, AboutFile)); err == nil {
		i.About = strings.TrimSpace(string(data))
	}
	use := c.lockFile(kind, name, "use")
	if info, err := os.Stat(use); err == nil {
		i.Used = info.ModTime()
		i.InUse = c.held(kind, name)
	}
	var err error
	i.Bytes, i.Own, err = usage(i.Path)
	return i, err
}

// held tries the locks for a moment.
func (c *Cache) held(kind Kind, name string) bool {
	for _, what := range []string{"use", "write"} {
		path := c.lockFile(kind, name, what)
		if _, err := os.Stat(path); err != nil {
			continue
		}
		l, err := try(path, exclusive)
		if errors.Is(err, errHeld) {
			return true
		}
		l.Unlock()
	}
	return false
}

// compiledFolders are those that servers fill: comfyui.Target names them.
var compiledFolders = []string{"pycache", "triton", "inductor", "warm"}

func (c *Cache) compiled() (Item, error) {
	i := Item{Kind: Compiled, Name: string(Compiled), Path: c.root, About: strings.Join(compiledFolders, ", ")}
	for _, dir := range compiledFolders {
		bytes, own, err := usage(filepath.Join(c.root, dir))
		if err != nil {
			return i, err
		}
		i.Bytes, i.Own = i.Bytes+bytes, i.Own+own
		if info, err := os.Stat(filepath.Join(c.root, dir)); err == nil && info.ModTime().After(i.Used) {
			i.Used = info.ModTime()
		}
	}
	items, err := c.names(Environment)
	for _, name := range items {
		i.InUse = i.InUse || c.held(Environment, name)
	}
	return i, err
}

func (c *Cache) names(kind Kind) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(c.root, folders[kind]))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list the cache: %w", err)
	}
	var names []string
	for _, e := range entries {
		if name, ok := entryName(kind, e.Name()); ok {
			names = append(names, name)
		}
	}
	return names, nil
}

// usage sums the blocks of a folder's files.
func usage(dir string) (bytes, own int64, err error) {
	seen := map[fileID]int64{} // names met of files that have several
	sizes := map[fileID]fileUse{}
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // it went while we looked
		}
		if err != nil {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		u := useOf(info)
		if d.IsDir() || u.links <= 1 {
			bytes, own = bytes+u.bytes, own+u.bytes
			return nil
		}
		seen[u.id]++
		sizes[u.id] = u
		return nil
	})
	if err != nil {
		return 0, 0, fmt.Errorf("size of %s: %w", dir, err)
	}
	for id, u := range sizes {
		bytes += u.bytes
		if seen[id] >= u.links {
			own += u.bytes
		}
	}
	return bytes, own, nil
}

type fileID struct{ dev, inode uint64 }

type fileUse struct {
	id    fileID
	bytes int64
	links int64
}

// Pruned is what Prune did with an item.
type Pruned struct {
	Item
	// Kept says why it is still there; "" when it was removed.
	Kept string
}

// Prune removes the items that want says, unless they are in use.
func (c *Cache) Prune(want func(Item) bool) ([]Pruned, error) {
	items, err := c.List()
	if err != nil {
		return nil, err
	}
	var done []Pruned
	for _, i := range items {
		if !want(i) {
			continue
		}
		p := Pruned{Item: i}
		if i.Kind == Compiled {
			p.Kept, err = c.removeCompiled(i)
		} else {
			p.Kept, err = c.removeEntry(i)
		}
		if err != nil {
			return done, err
		}
		done = append(done, p)
	}
	return done, c.sweep()
}

func (c *Cache) removeEntry(i Item) (kept string, err error) {
	for _, what := range []string{"write", "use"} {
		l, err := try(c.lockFile(i.Kind, i.Name, what), exclusive)
		if errors.Is(err, errHeld) {
			return "in use", nil
		}
		if err != nil {
			return "", err
		}
		defer l.Unlock()
	}
	if err := Remove(i.Path); err != nil {
		return "", err
	}
	// What was compiled of it is of no use to anybody else.
	return "", os.RemoveAll(filepath.Join(c.root, "pycache", i.Path))
}

func (c *Cache) removeCompiled(i Item) (kept string, err error) {
	if i.InUse {
		return "in use", nil
	}
	for _, dir := range compiledFolders {
		if err := os.RemoveAll(filepath.Join(c.root, dir)); err != nil {
			return "", fmt.Errorf("remove compiled files: %w", err)
		}
	}
	return "", nil
}

// sweepAge is older than anything that is still being made.
const sweepAge = 24 * time.Hour

// sweep removes what interrupted runs left behind.
func (c *Cache) sweep() error {
	for _, kind := range []Kind{Source, Tree, Environment} {
		dir := filepath.Join(c.root, folders[kind])
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			info, err := e.Info()
			if err != nil || !strings.HasPrefix(e.Name(), tempPrefix) || time.Since(info.ModTime()) < sweepAge {
				continue
			}
			if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
				return fmt.Errorf("remove what was left half-made: %w", err)
			}
		}
	}
	return nil
}

// ByName selects items whose name is one of names or begins with one that has
// six letters or more.
func ByName(names []string) func(Item) bool {
	return func(i Item) bool {
		return slices.ContainsFunc(names, func(n string) bool {
			return i.Name == n || len(n) >= 6 && strings.HasPrefix(i.Name, n)
		})
	}
}

// OlderThan selects items that were last used before age ago. One of which that
// is not known counts as old.
func OlderThan(age time.Duration) func(Item) bool {
	return func(i Item) bool { return time.Since(i.Used) > age }
}
