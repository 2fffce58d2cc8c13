package embedded

import (
	"encoding/binary"
	"strings"
)

// readMP4 reads the texts of moov/udta/meta (ISO 14496-12, 8.10 and 8.11; QuickTime
// File Format, Metadata): keys by number and the values in ilst. ffmpeg writes
// them so with movflags use_metadata_tags, which ComfyUI sets.
func readMP4(s *source) error {
	return s.boxes(0, s.size, 0, &mp4Keys{})
}

type mp4Keys struct{ names []string }

// maxBoxes bounds how deep boxes nest.
const maxBoxes = 8

func (s *source) boxes(at, end int64, depth int, keys *mp4Keys) error {
	if depth > maxBoxes {
		return nil
	}
	for at+8 <= end {
		if err := s.part(); err != nil {
			return err
		}
		head, err := s.at(at, 8)
		if err != nil {
			return err
		}
		n, body := int64(binary.BigEndian.Uint32(head)), at+8
		switch n {
		case 0:
			n = end - at
		case 1:
			large, err := s.at(body, 8)
			if err != nil {
				return err
			}
			n, body = int64(binary.BigEndian.Uint64(large)), body+8
		}
		if n < body-at || n > end-at {
			return errShort
		}
		if err := s.box(string(head[4:]), body, at+n, depth, keys); err != nil {
			return err
		}
		at += n
	}
	return nil
}

func (s *source) box(kind string, at, end int64, depth int, keys *mp4Keys) error {
	switch kind {
	case "moov", "udta":
		return s.boxes(at, end, depth+1, keys)
	case "meta":
		// In MP4 it begins with a version, in QuickTime with its first box.
		if head, err := s.at(at, min(8, end-at)); err == nil && len(head) == 8 && string(head[4:]) != "hdlr" {
			at += 4
		}
		return s.boxes(at, end, depth+1, keys)
	case "keys":
		return s.readKeys(at, end, keys)
	case "ilst":
		return s.readItems(at, end, keys)
	}
	return nil
}

func (s *source) readKeys(at, end int64, keys *mp4Keys) error {
	data, err := s.at(at, end-at)
	if err != nil {
		return err
	}
	if len(data) < 8 {
		return errShort
	}
	keys.names = nil
	for data = data[8:]; len(data) >= 8; {
		n := int64(binary.BigEndian.Uint32(data))
		if n < 8 || n > int64(len(data)) {
			return errShort
		}
		keys.names = append(keys.names, string(data[8:n]))
		data = data[n:]
	}
	return nil
}

func (s *source) readItems(at, end int64, keys *mp4Keys) error {
	for at+8 <= end {
		if err := s.part(); err != nil {
			return err
		}
		head, err := s.at(at, 8)
		if err != nil {
			return err
		}
		n := int64(binary.BigEndian.Uint32(head))
		if n < 8 || n > end-at {
			return errShort
		}
		name := ""
		if i := binary.BigEndian.Uint32(head[4:]); i >= 1 && int64(i) <= int64(len(keys.names)) {
			name = keys.names[i-1]
		} else if strings.HasSuffix(string(head[4:]), "cmt") {
			name = "comment"
		}
		if name != "" {
			if err := s.readItem(name, at+8, at+n); err != nil {
				return err
			}
		}
		at += n
	}
	return nil
}

// readItem reads the data box of an item: a type, a language and the value.
func (s *source) readItem(name string, at, end int64) error {
	if end-at < 16 {
		return nil
	}
	data, err := s.at(at, end-at)
	if err != nil {
		return err
	}
	n := int64(binary.BigEndian.Uint32(data))
	if string(data[4:8]) == "data" && n >= 16 && n <= int64(len(data)) {
		s.take(name, asText(data[16:n]))
	}
	return nil
}
