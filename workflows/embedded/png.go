package embedded

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// readPNG reads tEXt, zTXt and iTXt chunks (PNG specification, 11.3.3), and
// comf, in which ComfyUI's animated PNGs keep the same after the picture.
//
// A chunk that cannot be read is told, and does not hide the others.
func readPNG(s *source) error {
	var bad error
	for at := int64(8); at < s.size; {
		if err := s.part(); err != nil {
			return err
		}
		head, err := s.at(at, 8)
		if err != nil {
			return errors.Join(bad, err)
		}
		n := int64(binary.BigEndian.Uint32(head))
		switch kind := string(head[4:]); kind {
		case "tEXt", "zTXt", "iTXt", "comf":
			data, err := s.at(at+8, n)
			if err != nil {
				return errors.Join(bad, err)
			}
			if err := s.takeChunk(kind, data); err != nil && bad == nil {
				bad = err
			}
		case "IEND":
			return bad
		}
		at += 12 + n
	}
	return bad
}

func (s *source) takeChunk(kind string, data []byte) error {
	key, rest, ok := bytes.Cut(data, []byte{0})
	if !ok {
		return nil
	}
	name := string(key)
	if name != "workflow" && name != "prompt" {
		return nil
	}
	packed := kind == "zTXt"
	switch {
	case kind == "zTXt":
		if len(rest) < 1 {
			return errShort
		}
		rest = rest[1:] // the method; there is one only
	case kind == "iTXt":
		if len(rest) < 2 {
			return errShort
		}
		packed = rest[0] == 1
		rest = rest[2:]
		// A language and the key in that language.
		for range 2 {
			if _, rest, ok = bytes.Cut(rest, []byte{0}); !ok {
				return errShort
			}
		}
	}
	if packed {
		var err error
		if rest, err = inflate(rest, maxText); err != nil {
			return fmt.Errorf("%s chunk %q: %w", kind, name, err)
		}
	}
	s.take(name, asText(rest))
	return nil
}

// inflate unpacks zlib data of at most so many bytes.
func inflate(data []byte, most int) ([]byte, error) {
	z, err := zlib.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	var out bytes.Buffer
	if _, err := out.ReadFrom(io.LimitReader(z, int64(most)+1)); err != nil {
		return nil, err
	}
	if out.Len() > most {
		return nil, errLarge
	}
	return out.Bytes(), nil
}
