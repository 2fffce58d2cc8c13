package comfyui

import (
	"strconv"
	"strings"
)

// release is a version number of ComfyUI. Numbers jumped from 0.3.77 to 0.4.0,
// so they are compared part by part, never as text.
type release struct {
	known bool
	parts [3]int
}

// parseRelease reads "0.29.0"; what follows a part's digits ("-dev") is ignored.
func parseRelease(s string) release {
	r := release{}
	for i, word := range strings.SplitN(strings.TrimPrefix(s, "v"), ".", 3) {
		end := strings.IndexFunc(word, func(c rune) bool { return c < '0' || c > '9' })
		if end < 0 {
			end = len(word)
		}
		n, err := strconv.Atoi(word[:end])
		if err != nil {
			return release{}
		}
		r.parts[i], r.known = n, true
	}
	return r
}

// atLeast is false for an unknown release.
func (r release) atLeast(a, b, c int) bool {
	if !r.known {
		return false
	}
	want := [3]int{a, b, c}
	for i, n := range r.parts {
		if n != want[i] {
			return n > want[i]
		}
	}
	return true
}
