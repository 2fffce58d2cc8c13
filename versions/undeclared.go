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

// frontEndAtImport: from 04cf0ccb (March 2025, 0.3.19) to 94689766 (0.3.27) a server
// imports the front end's package before it reads its flags, and leaves without it,
// whatever --front-end-root says.
var frontEndAtImport = regexp.MustCompile(`(?m)^(?:try:\r?\n[ \t]+)?import comfyui_frontend_package\b`)

// droppable are the packages that a tree whose server knows --front-end-root starts
// without.
func droppable(dir string) []string {
	data, err := os.ReadFile(filepath.Join(dir, "app", "frontend_management.py"))
	if err != nil || !frontEndAtImport.Match(data) {
		return pyenv.FrontEnd
	}
	return slices.DeleteFunc(slices.Clone(pyenv.FrontEnd), func(name string) bool { return name == "comfyui-frontend-package" })
}
