package versions

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"memtrix"
	"memtrix/versions/child"
)

// Marks before names in Version.Dirty: of tracked files that are gone, and of
// files that the source repository itself lacks.
const (
	deletedMark = "deleted: "
	missingMark = "missing: "
)

// Missing lists the tracked files that a version's tree lacks, such as tokenizer
// data that was never fetched. The tree may still run, without them.
func Missing(v memtrix.Version) []string {
	var files []string
	for _, d := range v.Dirty {
		for _, mark := range []string{deletedMark, missingMark} {
			if f, ok := strings.CutPrefix(d, mark); ok {
				files = append(files, f)
			}
		}
	}
	return files
}

// commitOf identifies the tree by its git commit, or by a hash of its Python
// files where it is no git checkout of its own or git cannot be asked.
func commitOf(ctx context.Context, dir string) (commit string, dirty []string, err error) {
	if child.IsGitTop(ctx, dir) {
		if head, err := child.Git(ctx, dir, "rev-parse", "HEAD"); err == nil {
			dirty, err := dirtyFiles(ctx, dir)
			return strings.TrimSpace(head), dirty, err
		}
		// A repository without a commit: only its files say what it is.
	}
	sum, err := hashTree(dir)
	if err != nil {
		return "", nil, fmt.Errorf("identify %s: %w", dir, err)
	}
	return "tree:" + sum, nil, nil
}

func dirtyFiles(ctx context.Context, dir string) ([]string, error) {
	out, err := child.Git(ctx, dir, "status", "--porcelain", "-z", "--untracked-files=no", "--no-renames")
	if err != nil {
		return nil, fmt.Errorf("what differs from the commit: %w", err)
	}
	return parseStatus(out), nil
}

// parseStatus reads `git status --porcelain -z --no-renames`.
func parseStatus(out string) []string {
	var files []string
	for _, entry := range strings.Split(out, "\x00") {
		if len(entry) < 4 {
			continue
		}
		state, name := entry[:2], entry[3:]
		if strings.Contains(state, "D") {
			name = deletedMark + name
		}
		files = append(files, name)
	}
	return files
}

// notSource are folders that say nothing about which ComfyUI a tree is.
var notSource = map[string]bool{
	"custom_nodes": true, "models": true, "venv": true, ".venv": true, "env": true,
	"output": true, "input": true, "user": true, "temp": true, ".git": true,
	"__pycache__": true, "node_modules": true,
}

// hashTree hashes path and content of the tree's Python files, in order. The tree may be a
// link to one, which WalkDir by itself would not follow.
func hashTree(dir string) (string, error) {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			if rel != "." && skipDir(path, d.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() || filepath.Ext(path) != ".py" {
			return nil
		}
		return hashFile(h, path, filepath.ToSlash(rel))
	})
	if err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)[:12]), nil
}

func skipDir(path, name string) bool {
	if notSource[name] {
		return true
	}
	_, err := os.Stat(filepath.Join(path, "pyvenv.cfg"))
	return err == nil
}

func hashFile(h io.Writer, path, rel string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	// The length keeps two files from looking like one.
	fmt.Fprintf(h, "%s\x00%d\x00", rel, len(data))
	_, err = h.Write(data)
	return err
}
