// Package shell writes words of commands that a person copies into a shell. It runs none.
package shell

import "strings"

const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=./:,+@%"

// Word is a word as a POSIX shell reads it: as it is where that is safe, else in single
// quotes (https://pubs.opengroup.org/onlinepubs/9799919799/utilities/V3_chap02.html#tag_19_02_02).
func Word(w string) string {
	if w != "" && strings.Trim(w, plain) == "" {
		return w
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}

// Words are several words with blanks between them.
func Words(words ...string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = Word(w)
	}
	return strings.Join(quoted, " ")
}

// Path is a path as a POSIX shell and Windows' read it alike: as it is, or in double quotes.
// One that has what is special within those is written for a POSIX shell alone: on Windows
// no path has a double quote, and a dollar or backtick is nothing special there.
func Path(path string) string {
	switch {
	case strings.ContainsAny(path, "\"$`!"):
		return Word(path)
	case path == "", strings.ContainsAny(path, " \t\n&()';<>|*?[]{}~#^%"):
		return `"` + path + `"`
	}
	return path
}
