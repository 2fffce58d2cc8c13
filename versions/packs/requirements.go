package packs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/BurntSushi/toml"
)

// requirements gives what a pack asks for: the lines of its requirements.txt, else
// the dependencies of its pyproject.toml. Files that it includes (-r) are read, too.
func requirements(path string) ([]string, error) {
	if !isDir(path) {
		return nil, nil
	}
	lines, err := readRequirements(filepath.Join(path, "requirements.txt"), path, 0)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return lines, err
	}
	return readProject(filepath.Join(path, "pyproject.toml"))
}

// includes bounds how deep files may include others.
const includes = 5

func readRequirements(file, root string, depth int) ([]string, error) {
	if depth > includes {
		return nil, fmt.Errorf("%s: files of requirements include one another", file)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	text := strings.ReplaceAll(strings.TrimPrefix(string(data), "\ufeff"), "\\\n", "")
	var lines []string
	for _, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if i := strings.Index(line, " #"); i >= 0 {
			line = strings.TrimSpace(line[:i])
		}
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if other, ok := included(line); ok {
			more, err := readRequirements(filepath.Join(filepath.Dir(file), other), root, depth+1)
			if err != nil {
				return nil, fmt.Errorf("%s includes %s: %w", filepath.Base(file), other, err)
			}
			lines = append(lines, more...)
			continue
		}
		lines = append(lines, line)
	}
	return lines, nil
}

func included(line string) (string, bool) {
	for _, flag := range []string{"-r ", "--requirement ", "--requirement="} {
		if other, ok := strings.CutPrefix(line, flag); ok {
			return strings.TrimSpace(other), true
		}
	}
	return "", false
}

func readProject(file string) ([]string, error) {
	project, err := readPyproject(file)
	return project.Project.Dependencies, err
}

// pyproject is what counts of a pyproject.toml. Its name is what the registry calls
// the pack.
type pyproject struct {
	Project struct {
		Name         string   `toml:"name"`
		Version      string   `toml:"version"`
		Dependencies []string `toml:"dependencies"`
		URLs         struct {
			Repository string `toml:"Repository"`
		} `toml:"urls"`
	} `toml:"project"`
}

func readPyproject(file string) (pyproject, error) {
	var p pyproject
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err != nil {
		return p, err
	}
	if err := toml.Unmarshal(data, &p); err != nil {
		return p, fmt.Errorf("%s: %w", filepath.Base(file), err)
	}
	return p, nil
}

// Installable takes apart what can be installed beside ComfyUI's own requirements
// and what cannot: paths and editable installs mean the pack's own folder.
func Installable(lines []string) (install, left []string) {
	for _, line := range lines {
		switch {
		case strings.HasPrefix(line, "-e"), strings.HasPrefix(line, "--editable"), strings.HasPrefix(line, "."), strings.HasPrefix(line, "/"):
			left = append(left, line)
		default:
			install = append(install, line)
		}
	}
	return install, left
}
