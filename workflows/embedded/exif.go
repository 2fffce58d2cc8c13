package embedded

import (
	"bytes"
	"encoding/binary"
	"unicode/utf16"
)

// readRIFF looks for the EXIF chunk of a WebP image
// (developers.google.com/speed/webp/docs/riff_container).
func readRIFF(s *source) error {
	for at := int64(12); at+8 <= s.size; {
		if err := s.part(); err != nil {
			return err
		}
		head, err := s.at(at, 8)
		if err != nil {
			return err
		}
		n := int64(binary.LittleEndian.Uint32(head[4:]))
		if string(head[:4]) == "EXIF" {
			data, err := s.at(at+8, n)
			if err != nil {
				return err
			}
			s.takeEXIF(data)
		}
		at += 8 + n + n%2
	}
	return nil
}

// readJPEG looks for EXIF in APP1 segments, and for comments.
func readJPEG(s *source) error {
	for at := int64(2); ; {
		if err := s.part(); err != nil {
			return err
		}
		head, err := s.at(at, 4)
		if err != nil {
			return err
		}
		if head[0] != 0xff {
			return nil
		}
		n := int64(binary.BigEndian.Uint16(head[2:]))
		switch kind := head[1]; {
		case kind == 0xff: // filling
			at++
			continue
		case kind == 0xda || kind == 0xd9: // the picture begins, or the end
			return nil
		case kind == 0x01 || kind >= 0xd0 && kind <= 0xd7: // without a length
			at += 2
			continue
		case kind == 0xe1 || kind == 0xfe:
			data, err := s.at(at+4, n-2)
			if err != nil {
				return err
			}
			if kind == 0xfe {
				s.takePair(asText(data))
			} else if bytes.HasPrefix(data, []byte("Exif\x00\x00")) {
				s.takeEXIF(data)
			}
		}
		at += 2 + n
	}
}

// readAVIF looks for EXIF data wherever they lie: the item that holds them is
// found by the header that they begin with.
func readAVIF(s *source) error {
	const step = 1 << 20
	for at := int64(0); at < s.size; at += step {
		data, err := s.at(at, min(step+16, s.size-at))
		if err != nil {
			return err
		}
		for i := 0; ; {
			k := bytes.Index(data[i:], []byte("Exif\x00\x00"))
			if k < 0 || i+k >= step {
				break
			}
			i += k + 6
			if !isTIFF(data[i:]) {
				continue
			}
			from := at + int64(i)
			exif, err := s.at(from, min(s.size-from, maxText))
			if err != nil {
				return err
			}
			s.takeEXIF(exif)
			return nil
		}
	}
	return nil
}

func isTIFF(data []byte) bool {
	return bytes.HasPrefix(data, []byte("II*\x00")) || bytes.HasPrefix(data, []byte("MM\x00*"))
}

// Tags that lead to further directories (EXIF 2.3, 4.6.3), and the comment.
const (
	tagExifIFD     = 0x8769
	tagUserComment = 0x9286
)

// takeEXIF keeps the texts of all tags, whichever they are: ComfyUI uses those
// of the camera's make and model.
func (s *source) takeEXIF(data []byte) {
	data = bytes.TrimPrefix(data, []byte("Exif\x00\x00"))
	if !isTIFF(data) || len(data) < 8 {
		return
	}
	var order binary.ByteOrder = binary.LittleEndian
	if data[0] == 'M' {
		order = binary.BigEndian
	}
	todo := []uint32{order.Uint32(data[4:])}
	for range 8 { // directories
		if len(todo) == 0 {
			return
		}
		at := int(todo[0])
		todo = todo[1:]
		if at < 8 || at+2 > len(data) {
			continue
		}
		n := int(order.Uint16(data[at:]))
		at += 2
		for ; n > 0 && at+12 <= len(data); n-- {
			if next, ok := s.takeTag(data, data[at:at+12], order); ok {
				todo = append(todo, next)
			}
			at += 12
		}
		if at+4 <= len(data) && n == 0 {
			if next := order.Uint32(data[at:]); next != 0 {
				todo = append(todo, next)
			}
		}
	}
}

// takeTag keeps a tag's text, or gives where a further directory lies.
func (s *source) takeTag(data, entry []byte, order binary.ByteOrder) (next uint32, ok bool) {
	tag, typ := order.Uint16(entry), order.Uint16(entry[2:])
	count, value := order.Uint32(entry[4:]), order.Uint32(entry[8:])
	if tag == tagExifIFD {
		return value, true
	}
	if typ != 1 && typ != 2 && typ != 7 { // bytes, text, undefined
		return 0, false
	}
	text := entry[8:12]
	if count > 4 {
		if int64(value)+int64(count) > int64(len(data)) {
			return 0, false
		}
		text = data[value : int64(value)+int64(count)]
	}
	if tag == tagUserComment && len(text) >= 8 {
		text = userComment(text)
	}
	s.takePair(asText(bytes.TrimRight(text, "\x00")))
	return 0, false
}

// userComment reads a comment by the name of its code in the first 8 bytes.
func userComment(data []byte) []byte {
	code, rest := data[:8], data[8:]
	if !bytes.HasPrefix(code, []byte("UNICODE")) {
		return rest
	}
	// The byte order is not said: the side where the zeros of ASCII are tells.
	var order binary.ByteOrder = binary.BigEndian
	if len(rest) > 1 && rest[1] == 0 {
		order = binary.LittleEndian
	}
	return []byte(utf16Text(rest, order))
}

func utf16Text(data []byte, order binary.ByteOrder) string {
	units := make([]uint16, len(data)/2)
	for i := range units {
		units[i] = order.Uint16(data[2*i:])
	}
	return string(utf16.Decode(units))
}
