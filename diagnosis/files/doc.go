// Package files reads the files that a recording of a server's life consists of
// into evidence for package diagnosis: a log, the events that a client saw, a
// table of memory, readings of the host. Files may be compressed (gzip, known by
// their first bytes). It judges nothing.
//
// It refuses to guess at what a file holds: a line that is none of its form is an
// error with its number. A log may be anything, and of any length: it is read in
// bounded memory (diagnosis.LogKeeper).
package files

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"time"
)

// longest line that is read whole; of a log's line that is longer, the middle is
// left out.
const longest = 64 << 20

// open looks through compression.
func open(r io.Reader) (io.Reader, error) {
	b := bufio.NewReaderSize(r, 1<<16)
	head, err := b.Peek(2)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(head) < 2 || head[0] != 0x1f || head[1] != 0x8b {
		return b, nil
	}
	z, err := gzip.NewReader(b)
	if err != nil {
		return nil, fmt.Errorf("gzip: %w", err)
	}
	return z, nil
}

// eachLine gives the lines that are not empty, with their numbers.
func eachLine(r io.Reader, do func(n int, line []byte) error) error {
	in, err := open(r)
	if err != nil {
		return err
	}
	s := bufio.NewScanner(in)
	s.Buffer(make([]byte, 0, 1<<16), longest)
	n := 0
	for s.Scan() {
		if n++; len(s.Bytes()) == 0 {
			continue
		}
		if err := do(n, s.Bytes()); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
	if err := s.Err(); err != nil {
		return fmt.Errorf("after line %d: %w", n, err)
	}
	return nil
}

// most seconds that a file may tell: some centuries fit in a time.Duration.
const mostSeconds = 1e9

func seconds(s float64) (time.Duration, error) {
	if !(s >= -mostSeconds && s <= mostSeconds) {
		return 0, fmt.Errorf("time %v s is out of range", s)
	}
	return time.Duration(s * float64(time.Second)), nil
}
