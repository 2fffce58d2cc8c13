package files

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"unicode/utf16"
)

func wide(text string, big bool) string {
	var b strings.Builder
	for _, u := range utf16.Encode([]rune(text)) {
		lo, hi := byte(u), byte(u>>8)
		if big {
			lo, hi = hi, lo
		}
		b.WriteByte(lo)
		b.WriteByte(hi)
	}
	return b.String()
}

func TestNoLog(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	random := rand.NewChaCha8([32]byte{1})
	noise := make([]byte, 1<<17)
	random.Read(noise)
	const line = "[INFO] got prompt\r\n!!! Exception during processing !!! VBAR OOM\r\n"
	// GBK, as a Chinese Windows writes it: no valid UTF-8, and text.
	gbk := strings.Repeat("\xb4\xed\xce\xf3: \xc4\xda\xb4\xe6\xb2\xbb\xd7\xe3\r\n", 20)
	for name, c := range map[string]struct {
		data string
		log  bool
	}{
		"a program":                    {string(program), false},
		"random":                       {string(noise), false},
		"safetensors":                  {"\x40\x02\x00\x00\x00\x00\x00\x00{\"__metadata__\":{}}" + strings.Repeat(" ", 4000), false},
		"png":                          {"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR VBAR OOM\n", false},
		"a line":                       {line, true},
		"short":                        {"OOM\x00", true},
		"nothing":                      {"", true},
		"colours and a progress bar":   {strings.Repeat("\x1b[32m[INFO]\x1b[0m 3%|\b\b\r", 200), true},
		"a code page":                  {gbk, true},
		"UTF-16":                       {"\xff\xfe" + wide(line, false), true},
		"UTF-16 without its mark":      {wide(line, false), true},
		"UTF-16, big, without mark":    {wide(line, true), true},
		"UTF-16 behind other lines":    {line + wide(line, false), true},
		"the power went":               {line + strings.Repeat("\x00", 4096), true},
		"the power went, and it began": {line + strings.Repeat("\x00", 4096) + line, true},
	} {
		lines, _, err := Log(strings.NewReader(c.data))
		if got := !errors.Is(err, ErrNoLog); got != c.log || c.log && err != nil {
			t.Errorf("%s: want a log %v, got error %v", name, c.log, err)
		}
		if !strings.HasPrefix(name, "UTF-16") {
			continue
		}
		if want := "[INFO] got prompt"; len(lines) == 0 || !bytes.Contains([]byte(lines[0].Text), []byte(want)) {
			t.Errorf("%s: want %q, got %+v", name, want, lines)
		}
	}
}
