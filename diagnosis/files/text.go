package files

import (
	"bufio"
	"bytes"
	"errors"
)

// ErrNoLog is of a file that holds no text.
var ErrNoLog = errors.New("it is not a log: it holds no text")

// sniffed is how much of a file decides whether it is text, bytes.
const sniffed = 1 << 16

// magic is how many bytes the marks of binary formats have at most: nearly all (ELF, PE,
// PNG, zip, SQLite, GGUF, the length at the start of safetensors) have a NUL in them.
const magic = 16

// binary reports whether the start of a file is that of no text. Invalid UTF-8 does not
// count: logs in the code pages of Windows (GBK, Shift-JIS, 1252) are full of it, and
// have no control characters all the same. A run of NULs counts once: a computer that
// lost its power leaves them where the last lines should be. So does every second one:
// PowerShell appends UTF-16 to a file of another program.
func binary(head []byte) bool {
	if first := head[:min(len(head), magic)]; bytes.IndexByte(first, 0) >= 0 && len(bytes.Trim(first, "\x00")) > 0 && len(head) >= magic {
		return true
	}
	control := 0
	for i, c := range head {
		switch {
		case c == 0 && (i > 0 && head[i-1] == 0 || i > 1 && head[i-2] == 0):
		case c < ' ' && !bytes.ContainsRune([]byte("\t\n\v\f\r\a\b\x1b\x1a"), rune(c)), c == 0x7f:
			control++
		}
	}
	return control > 2 && control*50 > len(bytes.Trim(head, "\x00"))
}

// unmarked looks for UTF-16 without its mark: what PowerShell appends to a file that it
// did not begin, and what tools make that drop the mark. Of two bytes one is nearly
// always NUL, and always the same one.
func unmarked(b *bufio.Reader) (wide, big bool) {
	head, _ := b.Peek(4096)
	head = head[:len(head)&^1]
	if len(head) < magic {
		return false, false
	}
	var nuls [2]int
	for i, c := range head {
		if c == 0 {
			nuls[i%2]++
		}
	}
	most := max(nuls[0], nuls[1])
	return min(nuls[0], nuls[1]) == 0 && most*10 > len(head)/2*9, nuls[0] > nuls[1]
}
