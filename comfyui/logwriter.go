package comfyui

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"sync"
	"time"

	"memtrix"
)

// Names of a trial's raw files.
const (
	LogFile    = "log.txt"      // the server's output, byte for byte
	LogTimes   = "log.jsonl"    // a line each, with time and stream
	EventsFile = "events.jsonl" // what the client sent and saw
	// CommandFile has the words of the command line, a JSON list.
	CommandFile = "command.json"
)

// maxLine cuts lines that never end, so that a server cannot fill our memory.
const maxLine = 1 << 20

// tailLines is how many lines an error about a server can show.
const tailLines = 200

// clock gives the time since a trial's epoch.
type clock func() time.Duration

// logWriter keeps a server's output: raw, and line by line with times.
type logWriter struct {
	now  clock
	tell func(memtrix.LogLine)

	mu    sync.Mutex
	raw   *os.File
	lines *bufio.Writer
	file  *os.File
	tail  []string
	err   error
}

func newLogWriter(dir string, now clock, tell func(memtrix.LogLine)) (*logWriter, error) {
	raw, err := os.Create(filepath.Join(dir, LogFile))
	if err != nil {
		return nil, fmt.Errorf("log: %w", err)
	}
	file, err := os.Create(filepath.Join(dir, LogTimes))
	if err != nil {
		raw.Close()
		return nil, fmt.Errorf("log: %w", err)
	}
	return &logWriter{now: now, tell: tell, raw: raw, file: file, lines: bufio.NewWriter(file)}, nil
}

// read takes one stream until it ends. A line carries the time at which its first
// byte came; what a progress bar draws over itself belongs to one line.
func (w *logWriter) read(stream string, r io.Reader) {
	buf := make([]byte, 64<<10)
	var line []byte
	var since time.Duration
	for {
		n, err := r.Read(buf)
		at := w.now()
		w.write(buf[:n])
		for rest := buf[:n]; len(rest) > 0; {
			if len(line) == 0 {
				since = at
			}
			part, after, ended := bytes.Cut(rest, []byte("\n"))
			line, rest = append(line, part...), after
			if ended || len(line) > maxLine {
				w.line(memtrix.LogLine{At: since, Stream: stream, Text: string(line)})
				line = line[:0]
			}
		}
		if err != nil {
			if len(line) > 0 {
				w.line(memtrix.LogLine{At: since, Stream: stream, Text: string(line)})
			}
			return
		}
	}
}

func (w *logWriter) write(data []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, err := w.raw.Write(data); err != nil && w.err == nil {
		w.err = err
	}
}

func (w *logWriter) line(l memtrix.LogLine) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.tail = append(w.tail, l.Text); len(w.tail) > 2*tailLines {
		w.tail = append([]string(nil), w.tail[tailLines:]...)
	}
	data, err := json.Marshal(struct {
		T      float64 `json:"t_s"`
		Stream string  `json:"stream"`
		Text   string  `json:"text"`
	}{seconds(l.At), l.Stream, l.Text})
	if err == nil {
		_, err = w.lines.Write(append(data, '\n'))
	}
	if err != nil && w.err == nil {
		w.err = err
	}
	if w.tell != nil {
		w.tell(l)
	}
}

// last gives the last n lines as people read them.
func (w *logWriter) last(n int) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var texts []string
	for _, line := range w.tail {
		for _, token := range Clean(line) {
			if !token.Redrawn {
				texts = append(texts, token.Text)
			}
		}
	}
	if len(texts) > n {
		texts = texts[len(texts)-n:]
	}
	return texts
}

// close ends the files; its error is the first that writing met.
func (w *logWriter) close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return errors.Join(w.err, w.lines.Flush(), w.raw.Close(), w.file.Close())
}

// seconds is a time for the raw files: to a tenth of a millisecond.
func seconds(d time.Duration) float64 {
	return math.Round(d.Seconds()*1e4) / 1e4
}
