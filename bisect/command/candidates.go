package command

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Candidates reads a list: one a line, the good end first, the bad end last. Empty
// lines are left out, blanks within a line belong to the candidate. A list of fewer than
// two, or with one of them twice, is an error with its line.
func Candidates(r io.Reader, name string) ([]string, error) {
	var out []string
	seen := map[string]int{}
	scan := bufio.NewScanner(r)
	scan.Buffer(nil, 1<<20)
	line := 0
	for scan.Scan() {
		line++
		text := strings.TrimSuffix(scan.Text(), "\r")
		if line == 1 {
			text = strings.TrimPrefix(text, "\ufeff") // written by an editor on Windows
		}
		if strings.TrimSpace(text) == "" {
			continue
		}
		if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
			return nil, fmt.Errorf("%s:%d:1: the line is not text", name, line)
		}
		if first, ok := seen[text]; ok {
			return nil, fmt.Errorf("%s:%d:1: %q stands in line %d already: a candidate has one place in the order", name, line, text, first)
		}
		seen[text] = line
		out = append(out, text)
	}
	if err := scan.Err(); err != nil {
		return nil, fmt.Errorf("%s:%d:1: %w", name, line+1, err)
	}
	if len(out) < 2 {
		return nil, fmt.Errorf("%s: %d candidate(s): there must be two at least, the first one known to be good and the last one to be bad", name, len(out))
	}
	return out, nil
}
