package embedded

import (
	"bytes"
	"encoding/binary"
	"strings"
)

// readFLAC reads the comments of a FLAC file (RFC 9639, 8.6).
func readFLAC(s *source) error {
	for at := int64(4); ; {
		if err := s.part(); err != nil {
			return err
		}
		head, err := s.at(at, 4)
		if err != nil {
			return err
		}
		n := int64(binary.BigEndian.Uint32(head) & 0xffffff)
		if head[0]&0x7f == 4 {
			data, err := s.at(at+4, n)
			if err != nil {
				return err
			}
			if err := s.takeComments(data); err != nil {
				return err
			}
		}
		if head[0]&0x80 != 0 {
			return nil
		}
		at += 4 + n
	}
}

// takeComments reads Vorbis comments (xiph.org/vorbis/doc/v-comment.html).
func (s *source) takeComments(data []byte) error {
	next := func() ([]byte, bool) {
		if len(data) < 4 {
			return nil, false
		}
		n := int64(binary.LittleEndian.Uint32(data))
		if n > int64(len(data)-4) {
			return nil, false
		}
		part := data[4 : 4+n]
		data = data[4+n:]
		return part, true
	}
	if _, ok := next(); !ok || len(data) < 4 { // who wrote it
		return errShort
	}
	count := binary.LittleEndian.Uint32(data)
	for data = data[4:]; count > 0; count-- {
		comment, ok := next()
		if !ok {
			return errShort
		}
		if name, value, ok := strings.Cut(string(comment), "="); ok {
			s.take(name, value)
		}
	}
	return nil
}

// readOgg puts the second packet of each stream together, which holds the
// comments of Opus (RFC 7845, 5.2), Vorbis and FLAC.
func readOgg(s *source) error {
	type stream struct {
		packets int
		data    []byte
	}
	streams := map[uint32]*stream{}
	held := 0
	for at := int64(0); at+27 <= s.size; {
		if err := s.part(); err != nil {
			return err
		}
		head, err := s.at(at, 27)
		if err != nil {
			return err
		}
		if string(head[:4]) != "OggS" {
			return errShort
		}
		serial := binary.LittleEndian.Uint32(head[14:])
		lengths, err := s.at(at+27, int64(head[26]))
		if err != nil {
			return err
		}
		at += 27 + int64(len(lengths))
		st := streams[serial]
		if st == nil {
			if len(streams) >= 64 {
				return errParts
			}
			st = &stream{}
			streams[serial] = st
		}
		done := true
		for _, n := range lengths {
			if st.packets == 1 {
				data, err := s.at(at, int64(n))
				if err != nil {
					return err
				}
				if held += len(data); held > maxText {
					return errLarge
				}
				st.data = append(st.data, data...)
			}
			at += int64(n)
			if n < 255 {
				if st.packets++; st.packets == 2 {
					if err := s.takePacket(st.data); err != nil {
						return err
					}
					st.data = nil
				}
			}
		}
		for _, other := range streams {
			done = done && other.packets >= 2
		}
		if done {
			return nil
		}
	}
	return nil
}

func (s *source) takePacket(data []byte) error {
	for _, magic := range []string{"OpusTags", "\x03vorbis"} {
		if rest, ok := bytes.CutPrefix(data, []byte(magic)); ok {
			return s.takeComments(rest)
		}
	}
	if len(data) > 4 && data[0]&0x7f == 4 { // a block of FLAC
		return s.takeComments(data[4:])
	}
	return nil
}

// readID3 reads texts that a person named, and comments, of an ID3v2 tag
// (id3.org/id3v2.3.0, 4.2.2; id3v2.4.0-structure).
func readID3(s *source) error {
	head, err := s.at(0, 10)
	if err != nil {
		return err
	}
	version, flags := head[3], head[5]
	data, err := s.at(10, min(int64(syncsafe(head[6:])), s.size-10))
	if err != nil {
		return err
	}
	if flags&0x80 != 0 {
		data = bytes.ReplaceAll(data, []byte{0xff, 0}, []byte{0xff})
	}
	if flags&0x40 != 0 && len(data) >= 4 { // a header of its own
		n := int64(syncsafe(data))
		if version == 3 {
			n = int64(binary.BigEndian.Uint32(data)) + 4
		}
		data = data[min(n, int64(len(data))):]
	}
	for version >= 3 && len(data) > 10 && data[0] != 0 {
		if err := s.part(); err != nil {
			return err
		}
		n := int64(binary.BigEndian.Uint32(data[4:]))
		if version == 4 {
			n = int64(syncsafe(data[4:]))
		}
		if n > int64(len(data)-10) {
			return errShort
		}
		body := data[10 : 10+n]
		switch string(data[:4]) {
		case "TXXX":
			s.takeFrame(body)
		case "COMM":
			if len(body) > 4 {
				_, text := frameTexts(body[0], body[4:])
				s.take("comment", text)
			}
		}
		data = data[10+n:]
	}
	return nil
}

func (s *source) takeFrame(body []byte) {
	if len(body) > 1 {
		name, text := frameTexts(body[0], body[1:])
		s.take(name, text)
	}
}

// frameTexts are the two texts of a frame, in one of four codes.
func frameTexts(code byte, data []byte) (name, text string) {
	if code == 0 || code == 3 {
		a, b, _ := bytes.Cut(data, []byte{0})
		return asText(a), asText(b)
	}
	for i := 0; i+1 < len(data); i += 2 {
		if data[i] == 0 && data[i+1] == 0 {
			return marked(data[:i], code), marked(data[i+2:], code)
		}
	}
	return marked(data, code), ""
}

// marked is UTF-16 with a byte order mark, or big endian without.
func marked(data []byte, code byte) string {
	var order binary.ByteOrder = binary.BigEndian
	switch {
	case bytes.HasPrefix(data, []byte{0xff, 0xfe}):
		order, data = binary.LittleEndian, data[2:]
	case bytes.HasPrefix(data, []byte{0xfe, 0xff}):
		data = data[2:]
	case code == 1:
		order = binary.LittleEndian
	}
	return utf16Text(data, order)
}

// syncsafe is a number of four times seven bits.
func syncsafe(b []byte) int {
	return int(b[0]&0x7f)<<21 | int(b[1]&0x7f)<<14 | int(b[2]&0x7f)<<7 | int(b[3]&0x7f)
}
