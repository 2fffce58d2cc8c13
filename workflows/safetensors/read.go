package safetensors

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"unicode/utf8"
)

// Open reads the header of a file and checks that the file is as long as it says.
func Open(path string) (*Header, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	h, err := Read(f)
	if err != nil {
		return nil, fmt.Errorf("%s is no safetensors file: %w", path, err)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() != h.FileSize() {
		return nil, fmt.Errorf("%s has %d bytes where its header tells of %d: a broken download?", path, info.Size(), h.FileSize())
	}
	return h, nil
}

// Read reads a header, and nothing behind it.
func Read(r io.Reader) (*Header, error) {
	var length uint64
	if err := binary.Read(r, binary.LittleEndian, &length); err != nil {
		return nil, fmt.Errorf("length of the header: %w", noEOF(err))
	}
	if length > MaxHeader {
		return nil, fmt.Errorf("a header of %d bytes", length)
	}
	text, err := io.ReadAll(io.LimitReader(r, int64(length)))
	if err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	if uint64(len(text)) < length {
		return nil, fmt.Errorf("header: %w", io.ErrUnexpectedEOF)
	}
	h, err := decode(text)
	if err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	h.Size = 8 + int64(length)
	return h, nil
}

// noEOF: a file that ends too early is broken, however short it is.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func decode(text []byte) (*Header, error) {
	switch {
	case len(text) == 0 || text[0] != '{':
		return nil, errors.New("does not begin with {")
	case !utf8.Valid(text):
		return nil, errors.New("is not UTF-8")
	case !json.Valid(text):
		return nil, errors.New("is not JSON")
	}
	h := &Header{}
	seen := map[string]bool{}
	dec := json.NewDecoder(bytes.NewReader(text))
	if _, err := dec.Token(); err != nil { // the brace
		return nil, err
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, err
		}
		name, _ := key.(string)
		if seen[name] {
			return nil, fmt.Errorf("%q is there twice", name)
		}
		seen[name] = true
		if name == MetadataKey {
			err = decodeMetadata(dec, h)
		} else {
			err = decodeEntry(dec, name, h)
		}
		if err != nil {
			return nil, err
		}
	}
	return h, checkPlaces(h)
}

func decodeMetadata(dec *json.Decoder, h *Header) error {
	var texts map[string]*string
	if err := dec.Decode(&texts); err != nil {
		return fmt.Errorf("metadata are not texts: %w", err)
	}
	if texts == nil {
		return nil
	}
	h.Metadata = make(map[string]string, len(texts))
	for k, v := range texts {
		if v == nil {
			return fmt.Errorf("metadata %q is not a text", k)
		}
		h.Metadata[k] = *v
	}
	return nil
}

func decodeEntry(dec *json.Decoder, name string, h *Header) error {
	var fields struct {
		DType   *string  `json:"dtype"`
		Shape   []*int64 `json:"shape"`
		Offsets []*int64 `json:"data_offsets"`
	}
	if err := dec.Decode(&fields); err != nil {
		return fmt.Errorf("tensor %q: %w", name, err)
	}
	if fields.DType == nil || fields.Shape == nil || len(fields.Offsets) != 2 ||
		slices.Contains(fields.Offsets, nil) || slices.Contains(fields.Shape, nil) {
		return fmt.Errorf("tensor %q lacks its dtype, shape or data_offsets", name)
	}
	e := Entry{Tensor: Tensor{Name: name, DType: *fields.DType}, Begin: *fields.Offsets[0], End: *fields.Offsets[1]}
	for _, d := range fields.Shape {
		e.Shape = append(e.Shape, *d)
	}
	h.Tensors = append(h.Tensors, e)
	return nil
}

// checkPlaces sorts the tensors by their places, and wants each to begin where
// the one before it ends and to be as long as its shape.
func checkPlaces(h *Header) error {
	slices.SortStableFunc(h.Tensors, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(a.Begin, b.Begin), cmp.Compare(a.End, b.End))
	})
	at := int64(0)
	for _, e := range h.Tensors {
		n, err := e.Bytes()
		if err != nil {
			return err
		}
		if e.Begin != at || n > 1<<62-at || e.End != at+n {
			return fmt.Errorf("tensor %q of %d bytes lies at %d to %d, and should begin at %d", e.Name, n, e.Begin, e.End, at)
		}
		at = e.End
	}
	return nil
}
