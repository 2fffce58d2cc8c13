package pyenv

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// FrontEnd are the packages that only the browser's side needs. A server that
// knows --front-end-root starts without them.
var FrontEnd = []string{"comfyui-frontend-package", "comfyui-workflow-templates", "comfyui-embedded-docs"}

var requirementName = regexp.MustCompile(`^([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)`)

// PackageName writes a package's name as the index compares it (PEP 503).
func PackageName(name string) string {
	return strings.ToLower(separators.ReplaceAllString(name, "-"))
}

var separators = regexp.MustCompile(`[-_.]+`)

// RequirementName is the package that a line of requirements names, "" for none.
func RequirementName(line string) string {
	return PackageName(requirementName.FindString(strings.TrimSpace(line)))
}

// requirements gives the lines to install: those of the file, without comments
// and what is dropped, with overridden packages in the wanted version.
func requirements(r Request) ([]string, error) {
	drop := map[string]bool{}
	for _, name := range r.Drop {
		drop[PackageName(name)] = true
	}
	for name, spec := range r.Overrides {
		drop[PackageName(name)] = true
		if err := checkOverride(name, spec); err != nil {
			return nil, err
		}
	}
	var lines []string
	for _, line := range strings.Split(r.Requirements, "\n") {
		line = strings.TrimSpace(line)
		if i := strings.Index(line, " #"); i >= 0 {
			line = strings.TrimSpace(line[:i])
		}
		name := requirementName.FindString(line)
		if line == "" || strings.HasPrefix(line, "#") || name != "" && drop[PackageName(name)] {
			continue
		}
		lines = append(lines, line)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Overrides)) {
		if line := Override(name, r.Overrides[name]); line != "" {
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		return nil, fmt.Errorf("there are no requirements")
	}
	return lines, nil
}

var (
	versionWord  = regexp.MustCompile(`^[0-9]+(\.[0-9A-Za-z]+)*([.+!-][0-9A-Za-z.+-]+)*(\.\*)?$`)
	versionRange = regexp.MustCompile(`^(==|>=|<=|!=|~=|<|>)[^;@#]+$`)
)

// none leaves a package out.
const none = "none"

func checkOverride(name, spec string) error {
	switch {
	case requirementName.FindString(name) != name:
		return fmt.Errorf("%q is no name of a package", name)
	case spec == none, versionWord.MatchString(spec), versionRange.MatchString(spec), isLocation(spec):
		return nil
	}
	return fmt.Errorf("package %s: %q is no version (0.4.10, >=0.4, a URL or path of a wheel, or none)", name, spec)
}

func isLocation(spec string) bool {
	return strings.Contains(spec, "://") || filepath.IsAbs(spec)
}

// Override writes an override as a requirement, "" where the package is to be
// left out.
func Override(name, spec string) string {
	switch {
	case spec == none:
		return ""
	case versionWord.MatchString(spec):
		return name + "==" + spec
	case versionRange.MatchString(spec):
		return name + spec
	case strings.Contains(spec, "://"):
		return name + " @ " + spec
	}
	return name + " @ file://" + filepath.ToSlash(spec)
}

// CheckOverride reports what is wrong with an override.
func CheckOverride(name, spec string) error { return checkOverride(name, spec) }
