package embedded

import (
	"bytes"
	"encoding/binary"
)

// readEXR reads the attributes in the header of an OpenEXR image (OpenEXR File
// Layout): name, type, size and value, up to an empty name.
func readEXR(s *source) error {
	const longest = 256 // of names and types
	for at := int64(8); ; {
		if err := s.part(); err != nil {
			return err
		}
		head, err := s.at(at, min(2*longest+4, max(s.size-at, 0)))
		if err != nil {
			return err
		}
		name, rest, ok := bytes.Cut(head, []byte{0})
		if ok && len(name) == 0 {
			return nil
		}
		typ, rest, typed := bytes.Cut(rest, []byte{0})
		if !ok || !typed || len(rest) < 4 {
			return errShort
		}
		n := int64(binary.LittleEndian.Uint32(rest))
		at += int64(len(name) + len(typ) + 2 + 4)
		if string(typ) == "string" {
			data, err := s.at(at, n)
			if err != nil {
				return err
			}
			s.take(string(name), asText(data))
		}
		at += n
	}
}
