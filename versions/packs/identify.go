package packs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"memtrix"
	"memtrix/versions/child"
)

// Identify tells what a pack on this machine is: its git commit where it is a
// checkout, whether its files are others than the commit's, a hash of its files and what it requires.
//
// The hash is over all files but .git, __pycache__ and compiled Python; in a
// checkout, what its own .gitignore names (models that it fetched, logs) is left
// out, so that running a pack does not make it another one.
func Identify(ctx context.Context, place Place) (memtrix.Pack, error) {
	p := memtrix.Pack{Name: place.Name, Dir: place.Path}
	root := place.Path
	var files []string
	if !isDir(root) {
		root, files = filepath.Dir(root), []string{filepath.Base(place.Path)}
	} else if listed, ok := checkout(ctx, &p, root); ok {
		files = listed
	} else {
		var err error
		if files, err = walk(root); err != nil {
			return p, fmt.Errorf("custom node %s: %w", p.Name, err)
		}
	}
	var err error
	if p.Hash, err = hashFiles(root, files); err != nil {
		return p, fmt.Errorf("custom node %s: %w", p.Name, err)
	}
	p.Requirements, err = requirements(place.Path)
	if err != nil {
		return p, fmt.Errorf("custom node %s: %w", p.Name, err)
	}
	return p, nil
}

// checkout asks git, where the folder is a checkout of its own: for its commit,
// where it comes from, and its files.
func checkout(ctx context.Context, p *memtrix.Pack, dir string) ([]string, bool) {
	if !child.IsGitTop(ctx, dir) {
		return nil, false
	}
	head, err := child.Git(ctx, dir, "rev-parse", "--verify", "--quiet", "HEAD")
	if err != nil {
		return nil, false
	}
	p.Commit = strings.TrimSpace(head)
	if status, err := child.Git(ctx, dir, "status", "--porcelain", "-z", "--untracked-files=all", "--no-renames"); err == nil {
		p.Dirty = slices.ContainsFunc(strings.Split(status, "\x00"), func(entry string) bool {
			return len(entry) > 3 && counts(entry[3:])
		})
	}
	if url, err := child.Git(ctx, dir, "config", "--get", "remote.origin.url"); err == nil {
		p.Source = withoutSecret(strings.TrimSpace(url))
	}
	out, err := child.Git(ctx, dir, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err != nil {
		return nil, false
	}
	var files []string
	for _, name := range strings.Split(out, "\x00") {
		info, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(name)))
		if name != "" && err == nil && !info.IsDir() && counts(name) {
			files = append(files, name)
		}
	}
	slices.Sort(files)
	return slices.Compact(files), true
}

// withoutSecret drops a user or token from a URL: what identifies a pack is shown
// in reports.
func withoutSecret(url string) string {
	scheme, rest, ok := strings.Cut(url, "://")
	if !ok {
		return url
	}
	host, path, _ := strings.Cut(rest, "/")
	if i := strings.LastIndex(host, "@"); i >= 0 {
		host = host[i+1:]
	}
	return scheme + "://" + host + "/" + path
}

// walk lists the files of a folder with slashes, sorted. The folder may be a link to one,
// which WalkDir by itself would not follow.
func walk(root string) ([]string, error) {
	root, err := filepath.EvalSymlinks(root)
	if err != nil {
		return nil, err
	}
	var files []string
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			if d.Name() == ".git" || d.Name() == "__pycache__" {
				return filepath.SkipDir
			}
			return nil
		}
		if name := filepath.ToSlash(rel); counts(name) {
			files = append(files, name)
		}
		return nil
	})
	slices.Sort(files)
	return files, err
}

// counts leaves out what Python and git make by themselves.
func counts(name string) bool {
	if strings.HasSuffix(name, ".pyc") {
		return false
	}
	for _, part := range strings.Split(name, "/") {
		if part == ".git" || part == "__pycache__" {
			return false
		}
	}
	return true
}

// wholeFile bounds what is read of one file: a checkpoint in a pack's folder counts
// by its size and its ends.
const wholeFile = 64 << 20

// hashFiles hashes names and contents in order.
func hashFiles(root string, files []string) (string, error) {
	h := sha256.New()
	for _, name := range files {
		if err := hashFile(h, filepath.Join(root, filepath.FromSlash(name)), name); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:12]), nil
}

func hashFile(h io.Writer, path, name string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		to, err := os.Readlink(path)
		fmt.Fprintf(h, "%s\x00link\x00%s\x00", name, to)
		return err
	}
	// The length keeps two files from looking like one.
	fmt.Fprintf(h, "%s\x00%d\x00", name, info.Size())
	if !info.Mode().IsRegular() {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if info.Size() <= wholeFile {
		_, err = io.Copy(h, f)
		return err
	}
	const end = 1 << 20
	if _, err := io.CopyN(h, f, end); err != nil {
		return err
	}
	if _, err := f.Seek(-end, io.SeekEnd); err != nil {
		return err
	}
	_, err = io.Copy(h, f)
	return err
}
