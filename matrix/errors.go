package matrix

import (
	"fmt"
	"slices"
	"strings"
)

// SpecError is one mistake in a spec, with the place that a person must change.
// Line and Col count from 1, Col in characters; they are 0 for a spec that was
// made from flags, which has no places.
type SpecError struct {
	File string
	Line int
	Col  int
	Msg  string

	cause error
}

// Error writes "nightly.yaml:12:5: message".
func (e SpecError) Error() string {
	switch {
	case e.File == "":
		return e.Msg
	case e.Line == 0:
		return e.File + ": " + e.Msg
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Col, e.Msg)
}

// Unwrap gives the error of the workflow or the version that it is about, if
// it came from there.
func (e SpecError) Unwrap() error { return e.cause }

// Errors are all mistakes of a spec, in order of their place.
type Errors []SpecError

// maxShown keeps a file that is not a spec at all from filling the terminal.
const maxShown = 50

// Error writes one mistake a line.
func (e Errors) Error() string {
	shown := e[:min(len(e), maxShown)]
	lines := make([]string, 0, len(shown)+1)
	for _, err := range shown {
		lines = append(lines, err.Error())
	}
	if more := len(e) - len(shown); more > 0 {
		lines = append(lines, fmt.Sprintf("... and %d more", more))
	}
	return strings.Join(lines, "\n")
}

// Unwrap lets errors.As look into each.
func (e Errors) Unwrap() []error {
	errs := make([]error, len(e))
	for i := range e {
		errs[i] = e[i]
	}
	return errs
}

func (e Errors) sort() {
	slices.SortStableFunc(e, func(a, b SpecError) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Col - b.Col
	})
}

// pos is a place in the spec; the zero value is no place.
type pos struct{ line, col int }

// suggest writes `; did you mean "x"?` for the nearest of the words, or the
// words themselves where none is near.
func suggest(word string, words []string) string {
	if near := nearest(word, words); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	if len(words) == 0 {
		return ""
	}
	return " (there is " + strings.Join(words, ", ") + ")"
}

// nearest finds the word that differs by the fewest typing mistakes, or ""
// where all differ by more than a third of their letters.
func nearest(word string, words []string) string {
	best, bestAt := "", len(word)
	for _, w := range words {
		d := distance(plain(word), plain(w))
		if d < bestAt && d <= max(1, max(len(w), len(word))/3) {
			best, bestAt = w, d
		}
	}
	return best
}

// plain lets pinned_memory and --Pinned-Memory meet pinned-memory.
func plain(s string) string {
	return strings.TrimLeft(strings.ReplaceAll(strings.ToLower(s), "_", "-"), "-")
}

// distance is Damerau-Levenshtein's in its restricted form: insertions,
// deletions, changes and swaps of neighbours.
func distance(a, b string) int {
	const long = 64 // nobody mistypes so long a word; and it keeps this cheap
	if len(a) > long || len(b) > long {
		return max(len(a), len(b))
	}
	rows := [3][]int{make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)}
	for j := range rows[1] {
		rows[1][j] = j
	}
	for i := 1; i <= len(a); i++ {
		older, old, now := rows[(i-1)%3], rows[i%3], rows[(i+1)%3]
		now[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			now[j] = min(old[j]+1, now[j-1]+1, old[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				now[j] = min(now[j], older[j-2]+1)
			}
		}
	}
	return rows[(len(a)+1)%3][len(b)]
}
