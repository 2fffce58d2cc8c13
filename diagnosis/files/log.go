package files

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"memtrix"
	"memtrix/diagnosis"
)

// Log reads a server's output: plain text as it was printed, or memtrix's own
// form with a time and a stream for each line ({"t_s", "stream", "text"}). Note
// says what of a very long log was not kept, "" for nothing. UTF-16, which
// PowerShell writes, is read as well. What is no text at all (a program, a model) is
// ErrNoLog: words that happen to stand in it say nothing about a server.
func Log(r io.Reader) (lines []memtrix.LogLine, note string, err error) {
	in, err := open(r)
	if err != nil {
		return nil, "", fmt.Errorf("log: %w", err)
	}
	b := bufio.NewReaderSize(in, 1<<16)
	if b, err = decoded(b); err != nil {
		return nil, "", fmt.Errorf("log: %w", err)
	}
	if head, err := b.Peek(sniffed); (err == nil || errors.Is(err, io.EOF)) && binary(head) {
		return nil, "", ErrNoLog
	}
	var k diagnosis.LogKeeper
	for {
		line, err := nextLine(b)
		if len(line) > 0 || err == nil {
			k.Add(logLine(line))
		}
		switch {
		case errors.Is(err, io.EOF):
			return k.Lines(), k.Note(), nil
		case err != nil:
			return nil, "", fmt.Errorf("log: %w", err)
		}
	}
}

// nextLine reads up to a newline. Of a line that never ends only so much is kept
// as the verdict reads: the start, and the newest.
func nextLine(b *bufio.Reader) ([]byte, error) {
	const most = 1 << 20
	var line []byte
	for {
		part, err := b.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > 2*most {
			n := copy(line[most/2:], line[len(line)-most/2:])
			line = line[:most/2+n]
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		return bytes.TrimSuffix(line, []byte("\n")), err
	}
}

// logLine reads memtrix's own form, and takes everything else as text.
func logLine(line []byte) memtrix.LogLine {
	if bytes.HasPrefix(line, []byte(`{"t_s"`)) {
		var l struct {
			At     float64 `json:"t_s"`
			Stream string  `json:"stream"`
			Text   *string `json:"text"`
		}
		if err := json.Unmarshal(line, &l); err == nil && l.Text != nil {
			if at, err := seconds(l.At); err == nil {
				return memtrix.LogLine{At: at, Stream: l.Stream, Text: *l.Text}
			}
		}
	}
	return memtrix.LogLine{Text: strings.ToValidUTF8(string(line), "\uFFFD")}
}

// decoded looks for a byte order mark.
func decoded(b *bufio.Reader) (*bufio.Reader, error) {
	head, err := b.Peek(3)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(head, []byte{0xef, 0xbb, 0xbf}):
		_, err = b.Discard(3)
		return b, err
	case bytes.HasPrefix(head, []byte{0xff, 0xfe}):
		return bufio.NewReaderSize(&utf16Reader{in: b}, 1<<16), nil
	case bytes.HasPrefix(head, []byte{0xfe, 0xff}):
		return bufio.NewReaderSize(&utf16Reader{in: b, big: true}, 1<<16), nil
	}
	if wide, big := unmarked(b); wide {
		return bufio.NewReaderSize(&utf16Reader{in: b, big: big}, 1<<16), nil
	}
	return b, nil
}

// utf16Reader gives UTF-16 as UTF-8.
type utf16Reader struct {
	in   *bufio.Reader
	big  bool
	left []byte // of the last rune
}

func (u *utf16Reader) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		if len(u.left) == 0 {
			r, err := u.rune()
			if err != nil {
				if n > 0 {
					return n, nil
				}
				return 0, err
			}
			if r == '\uFEFF' {
				continue
			}
			u.left = utf8.AppendRune(u.left[:0], r)
		}
		c := copy(p[n:], u.left)
		u.left = u.left[c:]
		n += c
	}
	return n, nil
}

func (u *utf16Reader) rune() (rune, error) {
	first, err := u.unit()
	if err != nil || !utf16.IsSurrogate(first) {
		return first, err
	}
	second, err := u.unit()
	if errors.Is(err, io.EOF) {
		return utf8.RuneError, nil
	}
	return utf16.DecodeRune(first, second), err
}

func (u *utf16Reader) unit() (rune, error) {
	var two [2]byte
	if _, err := io.ReadFull(u.in, two[:]); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = io.EOF // half a unit at the end
		}
		return 0, err
	}
	if u.big {
		return rune(two[0])<<8 | rune(two[1]), nil
	}
	return rune(two[1])<<8 | rune(two[0]), nil
}
