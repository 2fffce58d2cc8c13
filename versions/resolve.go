package versions

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

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
	v.Commit, v.Dirty, err = commitOf(ctx, v.Dir)
	return err
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
