package workflows

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// UIFormatError is returned for a workflow in the format that ComfyUI's
// frontend saves. A server does not take it.
type UIFormatError struct {
	Source string
}

// Error says what it is and what can be done.
func (e *UIFormatError) Error() string {
	return e.Source + " is a UI-format workflow, which a server cannot run; `memtrix convert` will turn it into API format (coming). Until then: open it in ComfyUI and choose Workflow > Export (API)"
}

// media are kinds of files by their first bytes. Those in which ComfyUI may put
// a workflow come with a hint.
var media = []struct {
	kind   string
	offset int
	magic  string
	embeds bool
}{
	{"a PNG image", 0, "\x89PNG\r\n\x1a\n", true},
	{"a WebP image", 8, "WEBP", true},
	{"a JPEG image", 0, "\xff\xd8\xff", false},
	{"a GIF image", 0, "GIF8", false},
	{"an AVIF image", 4, "ftypavif", true},
	{"an MP4 or MOV video", 4, "ftyp", true},
	{"a WebM or Matroska video", 0, "\x1a\x45\xdf\xa3", true},
	{"a FLAC file", 0, "fLaC", true},
	{"an Ogg file", 0, "OggS", true},
	{"an MP3 file", 0, "ID3", true},
	{"a ZIP archive", 0, "PK\x03\x04", false},
	{"a gzip file", 0, "\x1f\x8b", false},
	{"UTF-16 text (save it as UTF-8)", 0, "\xff\xfe", false},
	{"UTF-16 text (save it as UTF-8)", 0, "\xfe\xff", false},
	// Eight bytes of length, then the JSON header.
	{"a safetensors model", 8, "{\"", true},
}

// refuseMedia gives an error for data that is an image, a video or another
// known kind of file, and nil for anything else.
func refuseMedia(source string, data []byte) error {
	for _, m := range media {
		if len(data) < m.offset+len(m.magic) || string(data[m.offset:m.offset+len(m.magic)]) != m.magic {
			continue
		}
		if m.offset > 0 && beginsAsJSON(data) {
			continue
		}
		if !m.embeds {
			return fmt.Errorf("%s is %s, not a workflow in API format", source, m.kind)
		}
		return fmt.Errorf("%s is %s%s; `memtrix convert` will read workflows out of such files (coming). Until then: drop it on ComfyUI and choose Workflow > Export (API)", source, m.kind, embedded(data))
	}
	return nil
}

// beginsAsJSON tells JSON that happens to have a magic word in its place from
// the binary formats, which hold a NUL among their first bytes or none of
// JSON's brackets.
func beginsAsJSON(data []byte) bool {
	head := bytes.TrimLeft(data, " \t\r\n")
	return len(head) > 0 && (head[0] == '{' || head[0] == '[') && !bytes.Contains(data[:min(8, len(data))], []byte{0})
}

// embedded says what a PNG holds, as far as its text chunks show it.
func embedded(data []byte) string {
	var found []string
	for _, key := range []string{"prompt", "workflow"} {
		for _, chunk := range []string{"tEXt", "iTXt", "zTXt"} {
			if bytes.Contains(data, []byte(chunk+key+"\x00")) {
				found = append(found, key)
				break
			}
		}
	}
	if len(found) == 0 {
		return ""
	}
	return " with an embedded " + strings.Join(found, " and ")
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
