package redact

import (
	"cmp"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Folder is a folder that texts name, with what it is for: "results", "comfyui".
type Folder struct {
	// Path is absolute, of any system.
	Path string
	// Name is what stands in its place, without the brackets.
	Name string
}

// placed is a folder as it is looked for.
type placed struct {
	re   *regexp.Regexp
	last string // its last part in small letters: most texts do not have it
	path string
	mark string
}

var drive = regexp.MustCompile(`^[A-Za-z]:[\\/]`)

// Absolute reports whether a path is one from the root of a system or of a share.
func Absolute(path string) bool {
	return strings.HasPrefix(path, "/") || strings.HasPrefix(path, `\\`) || drive.MatchString(path)
}

// place makes a folder be named by its mark wherever it stands. Roots are none.
func (r *Redactor) place(path, name string) {
	if !Absolute(path) {
		return
	}
	words := strings.FieldsFunc(path, func(c rune) bool { return c == '/' || c == '\\' })
	if len(words) == 0 || len(words) == 1 && drive.MatchString(path) {
		return
	}
	text := strings.Join(words, "/")
	if slices.ContainsFunc(r.folders, func(p placed) bool { return p.path == text }) {
		return
	}
	mark := "<" + name + ">"
	for n := 2; slices.ContainsFunc(r.folders, func(p placed) bool { return p.mark == mark }); n++ {
		mark = "<" + name + "-" + strconv.Itoa(n) + ">"
	}
	forms := make([]string, len(words))
	for i, w := range words {
		forms[i] = regexp.QuoteMeta(w)
		if escaped := url.PathEscape(w); escaped != w {
			forms[i] = "(?:" + forms[i] + "|" + regexp.QuoteMeta(escaped) + ")"
		}
	}
	pattern := strings.Join(forms, sep)
	switch {
	case drive.MatchString(path):
		pattern = `(?i)` + pattern // also with another case, as Windows takes them
	case strings.HasPrefix(path, "/"):
		pattern = `(?:/|%2F)` + pattern
	default:
		pattern = `(?i)(?:\\+|/+)` + pattern
	}
	if r.marks[Place] == nil {
		r.marks[Place] = map[string]string{}
	}
	r.marks[Place][text] = mark
	r.folders = append(r.folders, placed{regexp.MustCompile(pattern), strings.ToLower(words[len(words)-1]), text, mark})
	slices.SortStableFunc(r.folders, func(a, b placed) int { return cmp.Compare(len(b.path), len(a.path)) })
}

// hideFolders names folders by what they are for. A folder whose name only begins so is
// another one, and so is one of that name further down.
func (r *Redactor) hideFolders(s string) string {
	low := ""
	for _, f := range r.folders {
		if low == "" {
			low = strings.ToLower(s)
		}
		if !strings.Contains(low, f.last) && !strings.Contains(low, strings.ToLower(url.PathEscape(f.last))) {
			continue
		}
		s = replace(f.re, s, func(m match) (string, bool) {
			if !wholePath(m) {
				return "", false
			}
			r.used[f.mark] = true
			return f.mark, true
		})
	}
	return s
}

func wholePath(m match) bool {
	if b := m.before(2); b != "" {
		c := b[len(b)-1]
		escaped := len(b) == 2 && b[0] == '\\' && strings.IndexByte("nrt", c) >= 0 // "\n/tmp" in JSON
		if (alphanumeric(c) || strings.IndexByte("_-.~>", c) >= 0) && !escaped {
			return false
		}
	}
	a := m.after(2)
	if a == "" {
		return true
	}
	if a[0] == '.' {
		return len(a) == 1 || !alphanumeric(a[1])
	}
	return !alphanumeric(a[0]) && a[0] != '_' && a[0] != '-'
}
