package safetensors

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"
)

// Encode makes all of a file but its data: what stands before them, and where
// each tensor goes. The bytes are those that the safetensors library writes for
// the same tensors (its metadata are in no fixed order where there are several).
func Encode(metadata map[string]string, tensors []Tensor) ([]byte, *Header, error) {
	entries, err := place(tensors)
	if err != nil {
		return nil, nil, err
	}
	for k, v := range metadata {
		if !utf8.ValidString(k) || !utf8.ValidString(v) {
			return nil, nil, fmt.Errorf("metadata %q is not UTF-8", k)
		}
	}
	b := bytes.NewBuffer(make([]byte, 8, 8+128*len(entries)))
	b.WriteByte('{')
	if metadata != nil {
		writeMetadata(b, metadata)
	}
	for i, e := range entries {
		if i > 0 || metadata != nil {
			b.WriteByte(',')
		}
		writeEntry(b, e)
	}
	b.WriteByte('}')
	// Data begin at a multiple of eight; the header is filled up with spaces.
	for b.Len()%8 != 0 {
		b.WriteByte(' ')
	}
	head := b.Bytes()
	if len(head)-8 > MaxHeader {
		return nil, nil, fmt.Errorf("a header of %d bytes is more than safetensors takes (%d)", len(head)-8, MaxHeader)
	}
	binary.LittleEndian.PutUint64(head, uint64(len(head)-8))
	return head, &Header{Tensors: entries, Metadata: metadata, Size: int64(len(head))}, nil
}

func writeMetadata(b *bytes.Buffer, metadata map[string]string) {
	writeText(b, MetadataKey)
	b.WriteString(":{")
	for i, k := range slices.Sorted(maps.Keys(metadata)) {
		if i > 0 {
			b.WriteByte(',')
		}
		writeText(b, k)
		b.WriteByte(':')
		writeText(b, metadata[k])
	}
	b.WriteByte('}')
}

func writeEntry(b *bytes.Buffer, e Entry) {
	writeText(b, e.Name)
	b.WriteString(`:{"dtype":`)
	writeText(b, e.DType)
	b.WriteString(`,"shape":[`)
	for i, d := range e.Shape {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.FormatInt(d, 10))
	}
	fmt.Fprintf(b, `],"data_offsets":[%d,%d]}`, e.Begin, e.End)
}

// writeText writes a JSON string as the library does: with nothing escaped that
// need not be, so "<" stays "<".
func writeText(b *bytes.Buffer, s string) {
	b.WriteByte('"')
	for i := range len(s) {
		switch c := s[i]; c {
		case '"', '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case '\b':
			b.WriteString(`\b`)
		case '\f':
			b.WriteString(`\f`)
		case '\n':
			b.WriteString(`\n`)
		case '\r':
			b.WriteString(`\r`)
		case '\t':
			b.WriteString(`\t`)
		default:
			if c < 0x20 {
				fmt.Fprintf(b, `\u%04x`, c)
			} else {
				b.WriteByte(c)
			}
		}
	}
	b.WriteByte('"')
}
