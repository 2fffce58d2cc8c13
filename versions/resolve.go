package versions

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"memtrix"
)

// Resolve finds out all that identifies the ComfyUI in dir when it is run by
// python ("" means: find it). Its errors say what a person must change. Files
// that git says are gone do not make it fail; see Missing.
func Resolve(ctx context.Context, name, dir, python string) (memtrix.Version, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return memtrix.Version{}, fmt.Errorf("ComfyUI folder %s: %w", dir, err)
	}
	if err := checkTree(abs); err != nil {
		return memtrix.Version{}, err
	}
	if python == "" {
		if python = findPython(abs, os.Getenv); python == "" {
			return memtrix.Version{}, fmt.Errorf("no Python found for %s: neither venv, .venv nor python3 on PATH; name one", abs)
		}
	}
	if python, err = resolvePython(python); err != nil {
		return memtrix.Version{}, err
	}
	v := memtrix.Version{Name: name, Target: memtrix.TargetComfyUI, Dir: abs, Python: python, Release: releaseOf(abs)}
	if err := fill(ctx, &v); err != nil {
		return memtrix.Version{}, err
	}
	if v.Name == "" {
		v.Name = nameOf(v)
	}
	return v, nil
}

// fill asks git and the interpreter.
func fill(ctx context.Context, v *memtrix.Version) error {
	said, err := ask(ctx, v.Python, v.Dir)
	if err != nil {
		return err
	}
	v.Packages = said.Packages
	if v.Flags = setOf(said.Flags); v.Flags == nil {
		// Nil flags are allowed: the target then goes by the release.
		v.Flags, _ = scanFlags(v.Dir)
	}
	if v.Commit == "" { // a tree of the cache is known already
		if v.Commit, v.Dirty, err = commitOf(ctx, v.Dir); err != nil {
			return err
		}
	}
	said.contents(v)
	return nil
}

// maxChanged keeps a broken package from filling every table.
const maxChanged = 20

// contents notes the hashes of packages, and as dirty each file of them that is
// not as it was installed.
func (a answer) contents(v *memtrix.Version) {
	for _, name := range slices.Sorted(maps.Keys(a.Contents)) {
		if v.PackageHashes == nil {
			v.PackageHashes = map[string]string{}
		}
		c := a.Contents[name]
		v.PackageHashes[name] = c.Hash
		for i, file := range c.Changed {
			if i == maxChanged {
				v.Dirty = append(v.Dirty, fmt.Sprintf("package %s: %d more", name, len(c.Changed)-i))
				break
			}
			v.Dirty = append(v.Dirty, fmt.Sprintf("package %s: %s", name, file))
		}
	}
}

// nameOf names a version that nobody named.
func nameOf(v memtrix.Version) string {
	if v.Release != "" {
		return v.Release
	}
	return filepath.Base(v.Dir)
}

func setOf(list []string) map[string]bool {
	if len(list) == 0 {
		return nil
	}
	set := make(map[string]bool, len(list))
	for _, s := range list {
		set[s] = true
	}
	return set
}
