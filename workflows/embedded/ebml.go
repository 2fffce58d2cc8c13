package embedded

import "math/bits"

// Elements of Matroska (RFC 9559) that lead to a tag.
const (
	idSegment   = 0x18538067
	idCluster   = 0x1F43B675
	idTags      = 0x1254C367
	idTag       = 0x7373
	idSimpleTag = 0x67C8
	idTagName   = 0x45A3
	idTagString = 0x4487
)

// readEBML reads the tags of a WebM or Matroska file.
func readEBML(s *source) error {
	return s.elements(0, s.size, 0, &simpleTag{})
}

type simpleTag struct{ name, value string }

func (s *source) elements(at, end int64, depth int, tag *simpleTag) error {
	if depth > 8 {
		return nil
	}
	for at < end {
		if err := s.part(); err != nil {
			return err
		}
		head, err := s.at(at, min(12, end-at))
		if err != nil {
			return err
		}
		id, k := vint(head, false)
		if k == 0 {
			return errShort
		}
		n, m := vint(head[k:], true)
		if m == 0 {
			return errShort
		}
		body := at + int64(k+m)
		if n < 0 || n > end-body { // of unknown size: to the end of what is around it
			if n >= 0 && id != idSegment {
				return errShort
			}
			n = end - body
			if id == idCluster {
				// A live stream; what it has of tags follows as if it were inside.
				at = body
				continue
			}
		}
		if err := s.element(id, body, body+n, depth, tag); err != nil {
			return err
		}
		at = body + n
	}
	return nil
}

func (s *source) element(id, at, end int64, depth int, tag *simpleTag) error {
	switch id {
	case idSegment, idTags, idTag:
		return s.elements(at, end, depth+1, tag)
	case idSimpleTag:
		inner := &simpleTag{}
		err := s.elements(at, end, depth+1, inner)
		s.take(inner.name, inner.value)
		return err
	case idTagName, idTagString:
		data, err := s.at(at, end-at)
		if err != nil {
			return err
		}
		if id == idTagName {
			tag.name = asText(data)
		} else {
			tag.value = asText(data)
		}
	}
	return nil
}

// vint reads a number of variable length (RFC 8794, 4); a size without its
// length mark, an id with it. -1 is an unknown size; a length of 0 is no number.
func vint(data []byte, size bool) (n int64, length int) {
	if len(data) == 0 || data[0] == 0 {
		return 0, 0
	}
	length = bits.LeadingZeros8(data[0]) + 1
	if length > len(data) || !size && length > 4 {
		return 0, 0
	}
	n = int64(data[0])
	if size {
		n &= 1<<(8-length) - 1
	}
	for _, c := range data[1:length] {
		n = n<<8 | int64(c)
	}
	if size && n == 1<<(7*length)-1 {
		return -1, length
	}
	return n, length
}
