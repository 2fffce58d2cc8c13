package versions

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"memtrix/versions/pyenv"
)

// undeclared are packages that trees import at their start without naming them
// in requirements.txt: other packages used to bring them in. Today's do not any
// more (huggingface-hub left requests in 2026), and a tree of 2025 does not start.
var undeclared = []struct {
	name     string
	imported *regexp.Regexp
}{
	{"requests", regexp.MustCompile(`(?m)^(import|from) requests\b`)},
	{"packaging", regexp.MustCompile(`(?m)^(import|from) packaging\b`)},
	{"typing-extensions", regexp.MustCompile(`(?m)^(import|from) typing_extensions\b`)},
}

// startFiles are what a server imports before it listens, as far as it matters
// here.
var startFiles = []string{"*.py", "app/*.py", "utils/*.py", "comfy/*.py", "comfy_execution/*.py", "api_server/*/*/*.py"}

// undeclaredOf lists those that a tree imports and its requirements lack.
func undeclaredOf(dir, requirements string) []string {
	declared := map[string]bool{}
	for _, line := range strings.Split(requirements, "\n") {
		declared[pyenv.RequirementName(line)] = true
	}
	var lacking []string
	for _, pattern := range startFiles {
		files, _ := filepath.Glob(filepath.Join(dir, filepath.FromSlash(pattern))) // the patterns are well-formed
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				continue
			}
			for _, u := range undeclared {
				if !declared[u.name] && !slices.Contains(lacking, u.name) && u.imported.Match(data) {
					lacking = append(lacking, u.name)
				}
			}
		}
	}
	slices.Sort(lacking)
	return lacking
}

// frontEnd is how a module imports the front end's package when it is imported itself.
var frontEnd = regexp.MustCompile(`(?m)^(?:try:\r?\n[ \t]+)?import comfyui_frontend_package\b`)

// frontEndAtImport reports whether the server of a tree leaves without the front end's
// package whatever --front-end-root says: from 04cf0ccb (March 2025, 0.3.19) to 94689766
// (0.3.27) it is imported before any flag is read.
func frontEndAtImport(dir string) bool {
	data, err := os.ReadFile(filepath.Join(dir, "app", "frontend_management.py"))
	return err == nil && frontEnd.Match(data)
}

// anyFrontEnd asks for the front end's package in whatever version there is: it is for
// browsers alone, and those of that time have left the index.
func anyFrontEnd(requirements string) string {
	lines := slices.DeleteFunc(strings.Split(requirements, "\n"), func(line string) bool {
		return slices.Contains(pyenv.FrontEnd, pyenv.RequirementName(line))
	})
	return strings.Join(lines, "\n") + "\ncomfyui-frontend-package\n"
}
