package comfyui

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"memtrix"
)

// markName is an empty pack that is shown to servers and never allowed to load:
// that it is skipped is said just before the first pack is imported, which is the
// only word about that moment.
const markName = "memtrix_imports_begin"

// PacksOff says why a version cannot load its packs and keep all others off; ""
// where it can. Until 0.3.43 a server loads all packs that it sees or none: there
// only those may be seen that were asked for.
func PacksOff(v memtrix.Version) string {
	if len(v.Packs) == 0 {
		return ""
	}
	known := knownFlags(v)
	var others []string
	for _, o := range v.OtherPacks {
		i := slices.IndexFunc(v.Packs, func(p memtrix.Pack) bool { return p.Name == o.Name })
		switch {
		case i >= 0 && samePlace(v.Packs[i].Dir, o.Dir):
		case i >= 0:
			return fmt.Sprintf("%s: custom nodes %s and %s have the same name, and the server would load both", v.Name, v.Packs[i].Dir, o.Dir)
		default:
			others = append(others, o.Dir)
		}
	}
	if len(others) == 0 || known["--whitelist-custom-nodes"] {
		return ""
	}
	const shown = 3
	text := strings.Join(others[:min(len(others), shown)], ", ")
	if more := len(others) - shown; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("%s can only load all custom nodes that it sees or none (0.3.44 is the first that can be told which), and it would see %s, too", v.Name, text)
}

func samePlace(a, b string) bool {
	x, err1 := filepath.EvalSymlinks(a)
	y, err2 := filepath.EvalSymlinks(b)
	return err1 == nil && err2 == nil && x == y
}

// showNodes makes a folder of links to the version's packs and gives it, as
// extra_model_paths.yaml writes it, with their names. It is the same folder for the
// same packs: Python keeps compiled files by path, and a new path a trial would make
// each start a cold one.
func (t *Target) showNodes(known map[string]bool, job memtrix.Job) (folders string, names []string, err error) {
	v := job.Cell.Version
	if len(v.Packs) == 0 {
		return "", nil, nil
	}
	if reason := PacksOff(v); reason != "" {
		return "", nil, errors.New(reason)
	}
	links := map[string]string{}
	for _, p := range v.Packs {
		if _, err := os.Stat(p.Dir); err != nil {
			return "", nil, fmt.Errorf("custom node %s: %w", p.Name, err)
		}
		if other, taken := links[p.Name]; taken && other != p.Dir {
			return "", nil, fmt.Errorf("custom nodes %s and %s have the same name", other, p.Dir)
		}
		names = append(names, p.Name)
		// One that the server sees anyway would be imported twice.
		if !slices.ContainsFunc(v.OtherPacks, func(o memtrix.Pack) bool { return o.Name == p.Name }) {
			links[p.Name] = p.Dir
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	root := t.CacheDir
	if root == "" {
		root = job.Dir
	}
	folder, err := linkFolder(root, links)
	if err != nil || !known["--whitelist-custom-nodes"] {
		return folder, names, err
	}
	mark, err := filepath.Abs(filepath.Join(root, "nodes", "mark"))
	if err != nil {
		return "", nil, fmt.Errorf("custom nodes: %w", err)
	}
	if err := os.MkdirAll(filepath.Join(mark, markName), 0o755); err != nil {
		return "", nil, fmt.Errorf("custom nodes: %w", err)
	}
	return mark + "\n" + folder, names, nil
}

// linkFolder makes the folder of links below root.
func linkFolder(root string, links map[string]string) (string, error) {
	h := sha256.New()
	for _, name := range sortedKeys(links) {
		fmt.Fprintf(h, "%s\x00%s\x00", name, links[name])
	}
	folder, err := filepath.Abs(filepath.Join(root, "nodes", hex.EncodeToString(h.Sum(nil)[:8])))
	if err != nil {
		return "", fmt.Errorf("custom nodes: %w", err)
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", fmt.Errorf("custom nodes: %w", err)
	}
	for name, path := range links {
		if err := os.Symlink(path, filepath.Join(folder, name)); err != nil && !errors.Is(err, fs.ErrExist) {
			return "", fmt.Errorf("custom nodes: %w", err)
		}
	}
	return folder, nil
}

// notImported says which of the version's packs the server did not import, in its
// own words. Until it has spoken of its imports at all, nothing is known.
func notImported(packs []memtrix.Pack, said importLog, b Banner) []string {
	var reasons []string
	for _, p := range packs {
		i, listed := said.of(p.Name)
		switch {
		case i.Failed:
			reasons = append(reasons, fmt.Sprintf("custom node %s is not in force: its import failed: %s", p.Name, i.Reason))
		case listed:
		case said.ended:
			reasons = append(reasons, fmt.Sprintf("custom node %s is not in force: the server did not import it", p.Name))
		case b.VRAMState != "":
			reasons = append(reasons, fmt.Sprintf("custom node %s is not in force: the server says nothing of its import", p.Name))
		}
	}
	return reasons
}
