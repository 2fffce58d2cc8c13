package pyenv

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"memtrix/versions/cache"
)

// shareCompiled links the compiled files that other environments have of the
// same files: they take 100 MB and half a minute at the first start. Python keeps
// them below cache/pycache, by the path of the source; it takes one whose noted
// size and time are those of the source, and puts the right path into what it
// loads from it. Packages that uv linked from its cache are the very same files.
//
// It is a favour: what does not work is compiled when it is needed.
func shareCompiled(c *cache.Cache, dir string) {
	siblings, err := os.ReadDir(filepath.Dir(dir))
	if err != nil {
		return
	}
	for _, s := range siblings {
		other := filepath.Join(filepath.Dir(dir), s.Name())
		if other != dir && s.IsDir() && !strings.HasPrefix(s.Name(), ".") {
			shareFrom(filepath.Join(c.Root(), "pycache"), other, dir)
		}
	}
}

func shareFrom(prefix, from, to string) {
	root := filepath.Join(prefix, from)
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".pyc") {
			return nil
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return nil
		}
		// module.cpython-312.pyc is of module.py.
		name, _, _ := strings.Cut(filepath.Base(rel), ".")
		source := filepath.Join(filepath.Dir(rel), name+".py")
		if !sameFile(filepath.Join(from, source), filepath.Join(to, source)) {
			return nil
		}
		target := filepath.Join(prefix, to, rel)
		if os.MkdirAll(filepath.Dir(target), 0o755) == nil {
			_ = os.Link(path, target)
		}
		return nil
	})
}

func sameFile(a, b string) bool {
	x, err1 := os.Stat(a)
	y, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(x, y)
}
