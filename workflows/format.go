package workflows

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// media are kinds of files in which no workflow is looked for, by their first
// bytes.
var media = []struct{ kind, magic string }{
	{"a GIF image, which cannot carry one", "GIF8"},
	{"a ZIP archive", "PK\x03\x04"},
	{"a gzip file", "\x1f\x8b"},
	{"UTF-16 text (save it as UTF-8)", "\xff\xfe"},
	{"UTF-16 text (save it as UTF-8)", "\xfe\xff"},
}

// refuseMedia gives an error for data of such a kind, and nil for anything else.
func refuseMedia(source string, data []byte) error {
	for _, m := range media {
		if bytes.HasPrefix(data, []byte(m.magic)) {
			return fmt.Errorf("%s is not a workflow: it is %s", source, m.kind)
		}
	}
	return nil
}

// jsonError says where text stops being JSON.
func jsonError(source string, data []byte) error {
	var syntax *json.SyntaxError
	var any json.RawMessage
	err := json.Unmarshal(data, &any)
	if !errors.As(err, &syntax) {
		return fmt.Errorf("%s is not JSON: %v", source, err)
	}
	// Offset counts the bytes read, the wrong one included.
	at := max(0, int(syntax.Offset)-1)
	if at > 0 && data[at-1] == '-' && data[at] == 'I' {
		at-- // the minus alone would have been good
	}
	line, col := place(data, at)
	msg := syntax.Error()
	if word := notANumber(data[at:]); word != "" {
		msg = word + " is no JSON value; Python writes it for a float that is not a number: put a number there"
	}
	return fmt.Errorf("%s:%d:%d: not JSON: %s", source, line, col, msg)
}

func notANumber(rest []byte) string {
	for _, word := range []string{"NaN", "Infinity", "-Infinity"} {
		if bytes.HasPrefix(rest, []byte(word)) {
			return word
		}
	}
	return ""
}

// place turns an offset into line and column, both from 1, in characters.
func place(data []byte, offset int) (line, col int) {
	before := data[:min(offset, len(data))]
	line = bytes.Count(before, []byte("\n")) + 1
	start := bytes.LastIndexByte(before, '\n') + 1
	return line, utf8.RuneCount(before[start:]) + 1
}
