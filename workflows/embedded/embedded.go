// Package embedded finds the workflow that ComfyUI's save nodes put into the
// files they write: pictures (PNG, WebP, JPEG, AVIF, OpenEXR, SVG), videos (MP4, MOV,
// WebM, Matroska), sound (FLAC, MP3, Opus and Vorbis in Ogg), 3D models (GLB) and
// latents (safetensors).
//
// A file may hold the workflow (UI format), the prompt (API format), or both.
// They come out as the bytes that were put in; what they say is not judged here.
// The parsers read the few fields they need and skip the rest: a file of any size
// takes no more memory than the texts it holds, which are refused above 64 MiB,
// and what is no such file, or is damaged, gives an error.
package embedded

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"memtrix/internal/pyjson"
)

// Content is what a file carries.
type Content struct {
	// Kind names the kind of file for people, e.g. "a PNG image".
	Kind string
	// Workflow is in UI format and Prompt in API format; nil where the file has
	// none. They are JSON but for NaN and Infinity, which Python writes.
	Workflow, Prompt []byte
	// Damage is why a part of the file could not be read, nil where all could.
	Damage error
}

// ErrUnknown is returned for a file that is of no kind that is read here.
var ErrUnknown = errors.New("no kind of file that carries a workflow")

// NoneError is returned for a file that could carry a workflow and has none.
type NoneError struct {
	Kind string
	Err  error // what was damaged, or nil
}

// Error says what was looked into.
func (e *NoneError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("it is %s without a readable workflow: %v", e.Kind, e.Err)
	}
	return fmt.Sprintf("it is %s, and there is no workflow in it (it was saved without, or a program in between took it out)", e.Kind)
}

func (e *NoneError) Unwrap() error { return e.Err }

// maxText bounds one text, in bytes; ComfyUI refuses requests above 100 MB.
const maxText = 64 << 20

// maxParts bounds how many parts of a file are looked at.
const maxParts = 200_000

// kinds are files by their first bytes, and how each is read.
var kinds = []struct {
	kind   string
	offset int
	magic  string
	read   func(*source) error
}{
	{"a PNG image", 0, "\x89PNG\r\n\x1a\n", readPNG},
	{"a WebP image", 8, "WEBP", readRIFF},
	{"a JPEG image", 0, "\xff\xd8\xff", readJPEG},
	{"an OpenEXR image", 0, "\x76\x2f\x31\x01", readEXR},
	{"an AVIF image", 4, "ftypavif", readAVIF},
	{"an AVIF image", 4, "ftypavis", readAVIF},
	{"an MP4 or MOV video", 4, "ftyp", readMP4},
	{"an MP4 or MOV video", 4, "moov", readMP4},
	{"a WebM or Matroska video", 0, "\x1a\x45\xdf\xa3", readEBML},
	{"a FLAC file", 0, "fLaC", readFLAC},
	{"an Ogg file", 0, "OggS", readOgg},
	{"an MP3 file", 0, "ID3", readID3},
	{"a GLB model", 0, "glTF", readGLB},
	{"an SVG image", 0, "<svg", readSVG},
	{"an SVG image", 0, "<?xml", readSVG},
	// Eight bytes of length, then the JSON header.
	{"a safetensors file", 8, "{\"", readSafetensors},
}

// Kind names the kind of file by its first bytes (16 are enough), or gives "".
func Kind(head []byte) string {
	for _, k := range kinds {
		if matches(head, k.offset, k.magic) {
			return k.kind
		}
	}
	return ""
}

func matches(head []byte, offset int, magic string) bool {
	if len(head) < offset+len(magic) || string(head[offset:offset+len(magic)]) != magic {
		return false
	}
	// JSON may happen to have a magic word in its place. The binary formats with
	// a word that is not first have a NUL or no bracket among their first bytes.
	start := bytes.TrimLeft(head, " \t\r\n")
	json := len(start) > 0 && (start[0] == '{' || start[0] == '[') && !bytes.Contains(head[:min(8, len(head))], []byte{0})
	return offset == 0 || !json
}

// Read finds what a file of so many bytes carries. The error is ErrUnknown for
// a file of another kind and a *NoneError where nothing is in it.
func Read(r io.ReaderAt, size int64) (Content, error) {
	head := make([]byte, min(size, 64))
	if _, err := r.ReadAt(head, 0); err != nil && err != io.EOF {
		return Content{}, err
	}
	for _, k := range kinds {
		if !matches(head, k.offset, k.magic) {
			continue
		}
		s := &source{r: r, size: size}
		err := k.read(s)
		if s.found.Workflow == nil && s.found.Prompt == nil {
			return Content{Kind: k.kind}, &NoneError{k.kind, err}
		}
		// What was read before the damage is good.
		s.found.Kind, s.found.Damage = k.kind, err
		return s.found, nil
	}
	return Content{}, ErrUnknown
}

// source is the file, and what was found in it.
type source struct {
	r     io.ReaderAt
	size  int64
	found Content
	parts int
}

var (
	errShort = errors.New("it ends early")
	errLarge = fmt.Errorf("it holds a text of more than %d MiB", maxText>>20)
	errParts = fmt.Errorf("it has more than %d parts", maxParts)
)

// at reads n bytes from an offset.
func (s *source) at(offset, n int64) ([]byte, error) {
	switch {
	case n > maxText:
		return nil, errLarge
	case offset < 0 || n < 0 || offset > s.size || n > s.size-offset:
		return nil, errShort
	}
	data := make([]byte, n)
	if _, err := s.r.ReadAt(data, offset); err != nil && err != io.EOF {
		return nil, err
	}
	return data, nil
}

// part counts a part of the file that is looked at.
func (s *source) part() error {
	if s.parts++; s.parts > maxParts {
		return errParts
	}
	return nil
}

// take keeps a text under its name. What has another name may still be an object
// that holds both, as video nodes write into a comment.
func (s *source) take(name, value string) {
	value = strings.TrimRight(strings.TrimSpace(value), "\x00")
	if !strings.HasPrefix(value, "{") {
		return
	}
	switch strings.ToLower(strings.TrimSpace(name)) {
	case "workflow":
		s.keep(&s.found.Workflow, value)
	case "prompt":
		s.keep(&s.found.Prompt, value)
	case "comment", "usercomment", "description", "":
		s.takeBoth(value)
	}
}

func (s *source) keep(where *[]byte, value string) {
	if *where == nil {
		*where = []byte(value)
	}
}

func (s *source) takeBoth(value string) {
	var both map[string]json.RawMessage
	if json.Unmarshal(pyjson.Standard([]byte(value)), &both) != nil {
		return
	}
	if _, ui := both["nodes"]; ui {
		s.keep(&s.found.Workflow, value)
		return
	}
	for name, raw := range both {
		var inner string // some write JSON as a text within JSON
		if json.Unmarshal(raw, &inner) != nil {
			inner = string(raw)
		}
		if name = strings.ToLower(name); (name == "workflow" || name == "prompt") && strings.HasPrefix(strings.TrimSpace(inner), "{") {
			s.take(name, inner)
		}
	}
}

// takePair keeps "workflow:{...}", as EXIF texts have it.
func (s *source) takePair(value string) {
	if name, rest, ok := strings.Cut(value, ":"); ok && len(name) <= 20 && !strings.HasPrefix(strings.TrimSpace(value), "{") {
		s.take(name, rest)
		return
	}
	s.take("", value)
}

// asText takes bytes for UTF-8, as ComfyUI writes it, or else for Latin-1.
func asText(data []byte) string {
	if utf8.Valid(data) {
		return string(data)
	}
	runes := make([]rune, len(data))
	for i, c := range data {
		runes[i] = rune(c)
	}
	return string(runes)
}
