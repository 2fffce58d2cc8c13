// Package pyjson reads JSON as Python's json module writes it: with the words
// NaN, Infinity and -Infinity, which no other parser reads.
package pyjson

import "bytes"

// Standard replaces those words by null, as ComfyUI's front end does. Texts are
// left alone; data without such a word comes back as it is.
func Standard(data []byte) []byte {
	if !bytes.Contains(data, []byte("NaN")) && !bytes.Contains(data, []byte("Infinity")) {
		return data
	}
	out := make([]byte, 0, len(data))
	quoted := false
	for i := 0; i < len(data); i++ {
		c := data[i]
		switch {
		case quoted && c == '\\' && i+1 < len(data):
			out = append(out, c)
			i++
			c = data[i]
		case c == '"':
			quoted = !quoted
		case !quoted:
			if n := word(data[i:]); n > 0 {
				out = append(out, "null"...)
				i += n - 1
				continue
			}
		}
		out = append(out, c)
	}
	return out
}

// word is the length of such a word at the beginning of data, or 0.
func word(data []byte) int {
	for _, w := range []string{"NaN", "Infinity", "-Infinity"} {
		if bytes.HasPrefix(data, []byte(w)) {
			return len(w)
		}
	}
	return 0
}
