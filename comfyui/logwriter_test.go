package comfyui

import (
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"memtrix"
)

// pieces is a reader that gives one piece a read.
type pieces []string

func (p *pieces) Read(buf []byte) (int, error) {
	if len(*p) == 0 {
		return 0, io.EOF
	}
	n := copy(buf, (*p)[0])
	*p = (*p)[1:]
	return n, nil
}

func TestLogWriter(t *testing.T) {
	dir := t.TempDir()
	var ticks time.Duration
	var got []memtrix.LogLine
	w, err := newLogWriter(dir, func() time.Duration { ticks += time.Second; return ticks }, func(l memtrix.LogLine) { got = append(got, l) })
	if err != nil {
		t.Fatal(err)
	}
	w.read("stderr", &pieces{"one", " line\ntwo\n\n", "\r 50%", "\r100%", "\nend without"})
	want := []memtrix.LogLine{
		{At: 1 * time.Second, Stream: "stderr", Text: "one line"},
		{At: 2 * time.Second, Stream: "stderr", Text: "two"},
		{At: 2 * time.Second, Stream: "stderr", Text: ""},
		{At: 3 * time.Second, Stream: "stderr", Text: "\r 50%\r100%"},
		{At: 5 * time.Second, Stream: "stderr", Text: "end without"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got, want := w.last(3), []string{"two", "100%", "end without"}; !reflect.DeepEqual(got, want) {
		t.Errorf("last lines %q, want %q", got, want)
	}
	if err := w.close(); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(dir, LogFile))
	if want := "one line\ntwo\n\n\r 50%\r100%\nend without"; err != nil || string(raw) != want {
		t.Errorf("log.txt = %q, %v, want %q", raw, err, want)
	}
	times, err := os.ReadFile(filepath.Join(dir, LogTimes))
	if want := `{"t_s":3,"stream":"stderr","text":"\r 50%\r100%"}`; err != nil || !strings.Contains(string(times), want+"\n") {
		t.Errorf("log.jsonl = %s, %v, want %s in it", times, err, want)
	}
}

// A line that never ends is cut, and no byte of it is lost.
func TestLogWriterEndlessLine(t *testing.T) {
	dir := t.TempDir()
	longest, total := 0, 0
	w, err := newLogWriter(dir, func() time.Duration { return 0 }, func(l memtrix.LogLine) {
		longest, total = max(longest, len(l.Text)), total+len(l.Text)
	})
	if err != nil {
		t.Fatal(err)
	}
	w.read("stdout", strings.NewReader(strings.Repeat("x", 5<<20)))
	if err := w.close(); err != nil {
		t.Fatal(err)
	}
	if total != 5<<20 || longest > maxLine+64<<10 {
		t.Errorf("%d bytes in lines of up to %d", total, longest)
	}
}

func TestLogWriterErrors(t *testing.T) {
	if _, err := newLogWriter("/nonexistent/folder", nil, nil); err == nil {
		t.Error("a log in no folder")
	}
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no /dev/full")
	}
	w, err := newLogWriter(t.TempDir(), func() time.Duration { return 0 }, nil)
	if err != nil {
		t.Fatal(err)
	}
	w.raw.Close()
	w.raw = full
	w.read("stdout", strings.NewReader("x\n"))
	if err := w.close(); err == nil {
		t.Error("a full disk went unnoticed")
	}
}
