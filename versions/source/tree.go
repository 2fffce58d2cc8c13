package source

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"memtrix/versions/cache"
)

// Tree is the files of a commit, in the cache.
type Tree struct {
	// Dir holds main.py. Its files are only read.
	Dir string
	// Missing are files that the commit has and the source lacks.
	Missing []string
	// Files are those that it has, with slashes, sorted.
	Files []string
}

// manifest says what belongs to a tree. It is written last.
type manifest struct {
	Commit  string    `json:"commit"`
	Date    time.Time `json:"date"`
	Files   []file    `json:"files"`
	Missing []string  `json:"missing,omitempty"`
}

type file struct {
	Path string `json:"path"`
	Mode string `json:"mode"` // as git's: 100644, 100755, 120000
	Blob string `json:"blob"`
	Size int64  `json:"size"`
}

const (
	manifestName = "memtrix-tree.json"
	treeFolder   = "ComfyUI"
)

// Tree gives the files of a commit, writing them first where they are not there
// yet. It stays in use until the Repo is closed. Files that were changed or
// removed since are written again; files that the source lacks are named.
func (r *Repo) Tree(ctx context.Context, c Commit) (Tree, error) {
	use, err := r.cache.Use(ctx, cache.Tree, c.Hash)
	if err != nil {
		return Tree{}, err
	}
	r.temp = append(r.temp, use)
	lock, err := r.cache.Write(ctx, cache.Tree, c.Hash, func() { r.say("waiting for another memtrix that writes the files of " + c.Name) })
	if err != nil {
		return Tree{}, err
	}
	defer lock.Unlock()
	top := r.cache.Path(cache.Tree, c.Hash)
	m, err := readManifest(top)
	if err != nil || m.Commit != c.Hash {
		if m, err = r.write(ctx, c); err != nil {
			return Tree{}, fmt.Errorf("files of %s: %w", c.Name, err)
		}
	} else if err := r.repair(ctx, top, &m); err != nil {
		return Tree{}, fmt.Errorf("files of %s: %w", c.Name, err)
	}
	return Tree{Dir: filepath.Join(top, treeFolder), Missing: m.Missing, Files: slices.Sorted(slices.Values(names(m.Files)))}, nil
}

func (r *Repo) writeLock(ctx context.Context) (*cache.Lock, error) {
	return r.cache.Write(ctx, cache.Source, r.name, nil)
}

func readManifest(top string) (manifest, error) {
	var m manifest
	data, err := os.ReadFile(filepath.Join(top, manifestName))
	if err != nil {
		return m, err
	}
	return m, json.Unmarshal(data, &m)
}

func (m manifest) save(top string) error {
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	path := filepath.Join(top, manifestName)
	if err := os.WriteFile(path+".new", data, 0o644); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// write writes all files beside the tree's place and renames the folder.
func (r *Repo) write(ctx context.Context, c Commit) (manifest, error) {
	r.say("writing the files of " + c.Name)
	m := manifest{Commit: c.Hash, Date: c.Date}
	files, err := r.list(ctx, c.Hash)
	if err != nil {
		return m, err
	}
	temp, err := r.cache.Temp(cache.Tree)
	if err != nil {
		return m, err
	}
	defer os.RemoveAll(temp)
	if err := os.Chmod(temp, 0o755); err != nil {
		return m, err
	}
	if err := r.extract(ctx, temp, &m, files); err != nil {
		return m, err
	}
	about := c.Name
	if !strings.HasPrefix(c.Hash, c.Name) {
		about += " " + c.Hash[:10]
	}
	if err := os.WriteFile(filepath.Join(temp, cache.AboutFile), []byte(about+" of "+r.source+"\n"), 0o644); err != nil {
		return m, err
	}
	if err := m.save(temp); err != nil {
		return m, err
	}
	return m, r.cache.Replace(temp, cache.Tree, c.Hash)
}

// list reads a commit's tree. Submodules are not files of it.
func (r *Repo) list(ctx context.Context, commit string) ([]file, error) {
	out, err := r.git(ctx, "ls-tree", "-r", "-z", "--full-tree", commit)
	if err != nil {
		return nil, whyGit(err)
	}
	var files []file
	for _, entry := range strings.Split(out, "\x00") {
		head, path, ok := strings.Cut(entry, "\t")
		words := strings.Fields(head)
		if !ok || len(words) != 3 || words[1] != "blob" {
			continue
		}
		if !filepath.IsLocal(filepath.FromSlash(path)) {
			return nil, fmt.Errorf("the commit has a file %q outside its tree", path)
		}
		files = append(files, file{Path: path, Mode: words[0], Blob: words[2]})
	}
	if len(files) == 0 {
		return nil, errors.New("the commit has no files")
	}
	return files, nil
}

// extract writes files below top; those that the clone lacks go to m.Missing.
func (r *Repo) extract(ctx context.Context, top string, m *manifest, files []file) error {
	var ask strings.Builder
	for _, f := range files {
		ask.WriteString(f.Blob + "\n")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	pr, pw := io.Pipe()
	done := make(chan error, 1)
	go func() {
		_, err := runGit(ctx, r.dir, strings.NewReader(ask.String()), pw, nil, "cat-file", "--batch")
		pw.CloseWithError(err)
		done <- err
	}()
	in := bufio.NewReaderSize(pr, 1<<20)
	var err error
	for _, f := range files {
		if err = extractOne(in, top, m, f); err != nil {
			break
		}
	}
	pr.CloseWithError(errors.New("no more is wanted"))
	if err != nil {
		cancel()
		<-done
		return err
	}
	return whyGit(<-done)
}

func extractOne(in *bufio.Reader, top string, m *manifest, f file) error {
	data, ok, err := nextObject(in)
	if err != nil {
		return err
	}
	if !ok {
		m.Missing = append(m.Missing, f.Path)
		return nil
	}
	f.Size = int64(len(data))
	if err := put(filepath.Join(top, treeFolder), f, data, m.Date); err != nil {
		return err
	}
	m.Files = append(m.Files, f)
	return nil
}

// nextObject reads one answer of git cat-file --batch; ok is false for an object
// that is missing.
func nextObject(in *bufio.Reader) (data []byte, ok bool, err error) {
	head, err := in.ReadString('\n')
	if err != nil {
		return nil, false, fmt.Errorf("read from git: %w", err)
	}
	words := strings.Fields(head)
	if len(words) >= 2 && words[len(words)-1] == "missing" {
		return nil, false, nil
	}
	if len(words) != 3 {
		return nil, false, fmt.Errorf("read from git: %q", strings.TrimSpace(head))
	}
	size, err := strconv.ParseInt(words[2], 10, 64)
	if err != nil || size < 0 {
		return nil, false, fmt.Errorf("read from git: %q", strings.TrimSpace(head))
	}
	data = make([]byte, size+1) // and a line feed
	if _, err := io.ReadFull(in, data); err != nil {
		return nil, false, fmt.Errorf("read from git: %w", err)
	}
	return data[:size], true, nil
}

// put writes one file, read-only and with the commit's time: a file that was
// changed later shows it.
func put(root string, f file, data []byte, date time.Time) error {
	path := filepath.Join(root, filepath.FromSlash(f.Path))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if f.Mode == "120000" {
		_ = os.Remove(path)
		return os.Symlink(string(data), path)
	}
	mode := os.FileMode(0o444)
	if f.Mode == "100755" {
		mode = 0o555
	}
	temp := path + ".memtrix-new"
	if err := os.WriteFile(temp, data, 0o644); err != nil {
		return err
	}
	if err := os.Chtimes(temp, date, date); err != nil {
		return err
	}
	if err := os.Chmod(temp, mode); err != nil {
		return err
	}
	return os.Rename(temp, path)
}

// repair writes files again that were changed or removed since, and tries again
// those that the source lacked.
func (r *Repo) repair(ctx context.Context, top string, m *manifest) error {
	root := filepath.Join(top, treeFolder)
	var damaged []file
	var kept []file
	for _, f := range m.Files {
		if intact(root, f, m.Date) {
			kept = append(kept, f)
		} else {
			damaged = append(damaged, f)
		}
	}
	again := damaged
	if len(m.Missing) > 0 {
		found, err := r.nowThere(ctx, m)
		if err != nil {
			return err
		}
		again = append(again, found...)
	}
	if len(again) == 0 {
		return nil
	}
	if n := len(damaged); n > 0 {
		r.warn(fmt.Sprintf("%d files of the tree %s were changed or removed (%s); they are written again", n, root, few(names(damaged))))
	}
	lacking := m.Missing
	m.Files, m.Missing = kept, nil
	if err := r.extract(ctx, top, m, again); err != nil {
		return err
	}
	for _, path := range lacking {
		if !has(again, path) {
			m.Missing = append(m.Missing, path)
		}
	}
	return m.save(top)
}

// nowThere gives the files that the tree lacks and this clone has.
func (r *Repo) nowThere(ctx context.Context, m *manifest) ([]file, error) {
	all, err := r.list(ctx, m.Commit)
	if err != nil {
		return nil, err
	}
	var lacking []file
	var ask strings.Builder
	for _, f := range all {
		if slices.Contains(m.Missing, f.Path) {
			lacking = append(lacking, f)
			ask.WriteString(f.Blob + "\n")
		}
	}
	var out bytes.Buffer
	if _, err := runGit(ctx, r.dir, strings.NewReader(ask.String()), &out, nil, "cat-file", "--batch-check"); err != nil {
		return nil, whyGit(err)
	}
	var found []file
	for i, line := range strings.Split(strings.TrimSpace(out.String()), "\n") {
		if i < len(lacking) && !strings.HasSuffix(line, "missing") {
			found = append(found, lacking[i])
		}
	}
	return found, nil
}

// intact compares size and time, and the content where the time is another.
func intact(root string, f file, date time.Time) bool {
	path := filepath.Join(root, filepath.FromSlash(f.Path))
	info, err := os.Lstat(path)
	if err != nil {
		return false
	}
	if f.Mode == "120000" {
		to, err := os.Readlink(path)
		return err == nil && blobHash([]byte(to)) == f.Blob
	}
	if !info.Mode().IsRegular() || info.Size() != f.Size {
		return false
	}
	if info.ModTime().Equal(date) {
		return true
	}
	data, err := os.ReadFile(path)
	return err == nil && blobHash(data) == f.Blob
}

// blobHash is git's name of a file's content (SHA-1, as ComfyUI's repository
// uses it).
func blobHash(data []byte) string {
	h := sha1.New()
	fmt.Fprintf(h, "blob %d\x00", len(data))
	h.Write(data)
	return hex.EncodeToString(h.Sum(nil))
}

func names(files []file) []string {
	out := make([]string, len(files))
	for i, f := range files {
		out[i] = f.Path
	}
	return out
}

func has(files []file, path string) bool { return slices.Contains(names(files), path) }

// few names some of many.
func few(list []string) string {
	if len(list) <= 3 {
		return strings.Join(list, ", ")
	}
	return strings.Join(list[:3], ", ") + " ..."
}
