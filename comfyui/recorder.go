package comfyui

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// recorder writes down what the client sent and saw, one JSON object a line:
// {"t_s": 1.5, "frame": {...}}. The other words beside t_s are post_prompt,
// history, binary (its size), closed.
type recorder struct {
	mu   sync.Mutex
	file *os.File
	buf  *bufio.Writer
	err  error
}

func newRecorder(dir string) (*recorder, error) {
	file, err := os.Create(filepath.Join(dir, EventsFile))
	if err != nil {
		return nil, fmt.Errorf("events: %w", err)
	}
	return &recorder{file: file, buf: bufio.NewWriter(file)}, nil
}

func (r *recorder) write(at time.Duration, word string, what any) {
	value, err := json.Marshal(what)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		_, err = fmt.Fprintf(r.buf, "{\"t_s\": %g, %q: %s}\n", seconds(at), word, value)
	}
	if err != nil && r.err == nil {
		r.err = err
	}
}

func (r *recorder) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return errors.Join(r.err, r.buf.Flush(), r.file.Close())
}
