package versions

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// treeParts are what every ComfyUI since 2023 has at its top.
var treeParts = []string{"main.py", "nodes.py", "comfy"}

// NotATreeError says what a folder lacks to be a ComfyUI, and which folder was
// probably meant.
type NotATreeError struct {
	Dir     string
	Missing []string
	Hint    string // "" or a folder that is a ComfyUI
}

func (e *NotATreeError) Error() string {
	msg := fmt.Sprintf("%s is not a ComfyUI folder: it has no %s", e.Dir, strings.Join(e.Missing, ", no "))
	if e.Hint != "" {
		msg += fmt.Sprintf("; did you mean %s?", e.Hint)
	}
	return msg
}

// checkTree reports an error unless dir is a ComfyUI tree.
func checkTree(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("ComfyUI folder %s does not exist", dir)
	case err != nil:
		return fmt.Errorf("ComfyUI folder: %w", err)
	case !info.IsDir():
		return notADirectory(dir)
	}
	missing := missingParts(dir)
	if len(missing) == 0 {
		return nil
	}
	return &NotATreeError{Dir: dir, Missing: missing, Hint: nearbyTree(dir)}
}

func notADirectory(path string) error {
	if parent := filepath.Dir(path); len(missingParts(parent)) == 0 {
		return fmt.Errorf("%s is a file; did you mean its folder %s?", path, parent)
	}
	return fmt.Errorf("%s is a file, not a ComfyUI folder", path)
}

func missingParts(dir string) []string {
	var missing []string
	for _, part := range treeParts {
		info, err := os.Stat(filepath.Join(dir, part))
		wantDir := filepath.Ext(part) == ""
		if err == nil && info.IsDir() == wantDir {
			continue
		}
		if wantDir {
			part += string(filepath.Separator)
		}
		missing = append(missing, part)
	}
	return missing
}

// nearbyTree looks where people usually mean to point: one folder too high (the
// portable build's folder, ~/comfy) or somewhere inside the tree.
func nearbyTree(dir string) string {
	for _, sub := range []string{"ComfyUI", filepath.Join("ComfyUI_windows_portable", "ComfyUI")} {
		if d := filepath.Join(dir, sub); len(missingParts(d)) == 0 {
			return d
		}
	}
	for up, last := filepath.Dir(dir), dir; up != last; up, last = filepath.Dir(up), up {
		if len(missingParts(up)) == 0 {
			return up
		}
	}
	return ""
}

var versionLine = regexp.MustCompile(`(?m)^__version__\s*=\s*["']([^"']+)["']`)

// releaseOf reads comfyui_version.py, which exists since early 2025. Older trees
// have no release: "".
func releaseOf(dir string) string {
	data, err := os.ReadFile(filepath.Join(dir, "comfyui_version.py"))
	if err != nil {
		return ""
	}
	m := versionLine.FindSubmatch(data)
	if m == nil {
		return ""
	}
	return string(m[1])
}

var addArgument = regexp.MustCompile(`add_argument\(\s*((?:["']-[A-Za-z0-9_-]+["']\s*,?\s*)+)`)
var optionString = regexp.MustCompile(`["'](--[A-Za-z0-9][A-Za-z0-9_-]*)["']`)

// scanFlags finds option strings in the text of comfy/cli_args.py: the second
// best way, for when the tree's own Python cannot import it.
func scanFlags(dir string) (map[string]bool, error) {
	data, err := os.ReadFile(filepath.Join(dir, "comfy", "cli_args.py"))
	if err != nil {
		return nil, fmt.Errorf("launch flags: %w", err)
	}
	flags := map[string]bool{}
	for _, call := range addArgument.FindAllSubmatch(data, -1) {
		for _, m := range optionString.FindAllSubmatch(call[1], -1) {
			flags[string(m[1])] = true
		}
	}
	if len(flags) == 0 {
		return nil, fmt.Errorf("launch flags: no add_argument in %s", filepath.Join(dir, "comfy", "cli_args.py"))
	}
	return flags, nil
}
