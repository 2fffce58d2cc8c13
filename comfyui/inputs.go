package comfyui

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"memtrix"
)

// showInputs makes the person's input files visible in a trial's own input
// folder. Files that the graph names are private copies: newer releases refuse an
// input that a link leads out of the folder (0.29.0, folder_paths.py,
// is_within_directory), and a copy can be written without harm. All others are
// links, so that folder listings look as they do at home.
func showInputs(from, to, cacheDir string, w memtrix.Workflow) error {
	real, err := filepath.EvalSymlinks(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // no input folder
	}
	if err == nil {
		err = mirrorInputs(real, to, cacheDir, namesIn(w))
	}
	if err != nil {
		return fmt.Errorf("show input files of %s: %w", from, err)
	}
	return nil
}

func mirrorInputs(from, to, cacheDir string, named inputNames) error {
	return filepath.WalkDir(from, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, file)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		if d.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		info, err := os.Stat(file)
		if err != nil {
			return nil // a dangling link
		}
		if info.Mode().IsRegular() && named.covers(filepath.ToSlash(rel)) {
			return privateCopy(file, target, info, cacheDir)
		}
		return os.Symlink(file, target)
	})
}

// inputNames are all strings that a workflow's inputs hold.
type inputNames map[string]bool

// covers reports whether the graph names the file, by its path, by its plain name
// or by a folder that it lies in.
func (n inputNames) covers(rel string) bool {
	if n[path.Base(rel)] {
		return true
	}
	for p := rel; p != "." && p != "/"; p = path.Dir(p) {
		if n[p] {
			return true
		}
	}
	return false
}

func namesIn(w memtrix.Workflow) inputNames {
	names := inputNames{}
	var ui any
	if w.UI != nil && json.Unmarshal(w.UI, &ui) == nil {
		names.collect(ui) // which of its texts become inputs shows later
	}
	for _, c := range w.Changes { // not in the graph before that
		var value any
		if json.Unmarshal(c.Value, &value) == nil {
			names.collect(value)
		}
	}
	for _, node := range w.Graph {
		for _, raw := range node.Inputs {
			var value any
			if json.Unmarshal(raw, &value) == nil {
				names.collect(value)
			}
		}
	}
	return names
}

func (n inputNames) collect(value any) {
	switch v := value.(type) {
	case string:
		// "name.png [input]" is how a name says which folder it means.
		name := strings.TrimSuffix(strings.TrimSpace(v), " [input]")
		n[path.Clean(strings.ReplaceAll(name, `\`, "/"))] = true
	case []any:
		for _, item := range v {
			n.collect(item)
		}
	case map[string]any:
		for _, item := range v {
			n.collect(item)
		}
	}
}

// privateCopy copies a file once and hard-links the copy into each trial, so that
// a hundred trials do not hold a hundred copies of a video.
func privateCopy(file, target string, info fs.FileInfo, cacheDir string) error {
	if cacheDir == "" {
		return copyFile(file, target)
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d\x00%d", file, info.Size(), info.ModTime().UnixNano()))
	kept := filepath.Join(cacheDir, "inputs", hex.EncodeToString(sum[:12]))
	if _, err := os.Stat(kept); err != nil {
		if err := os.MkdirAll(filepath.Dir(kept), 0o755); err != nil {
			return err
		}
		if err := copyFile(file, kept); err != nil {
			return err
		}
	}
	if os.Link(kept, target) == nil {
		return nil
	}
	// Another file system.
	return copyFile(kept, target)
}

// copyFile never leaves half a file under the final name.
func copyFile(from, to string) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.CreateTemp(filepath.Dir(to), ".copy-*")
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	err = errors.Join(err, dst.Chmod(0o644), dst.Close())
	if err == nil {
		err = os.Rename(dst.Name(), to)
	}
	if err != nil {
		os.Remove(dst.Name())
	}
	return err
}
