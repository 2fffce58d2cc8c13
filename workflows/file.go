package workflows

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"memtrix"
	"memtrix/internal/pyjson"
	"memtrix/workflows/embedded"
)

// maxSize bounds a workflow file: API-format prompts have some 100 KB, and
// ComfyUI itself refuses requests above 100 MB. A picture or video that carries a
// workflow may have any size.
const maxSize = 64 << 20

// File is what a workflow file holds: a workflow in UI format, or a prompt in API
// format. Of a file with both the workflow counts, as for the front end.
type File struct {
	// Kind names a file that carries a workflow, e.g. "a PNG image"; "" for JSON.
	Kind string
	// UI is the workflow in UI format, nil where the file holds a prompt only.
	UI []byte

	// Warning is about a part that could not be read, where the file holds another.
	Warning string

	prompt map[string]json.RawMessage
}

// Prompt is the graph of a file in API format.
func (f File) Prompt(source string) (map[string]memtrix.GraphNode, error) {
	return decodeGraph(source, f.prompt)
}

// ErrNoFile is returned for a folder, a pipe or a device.
var ErrNoFile = errors.New("not a file")

// ReadFile reads a workflow file of any kind. A folder, a pipe or a device is
// refused with ErrNoFile: a run reads its workflows more than once.
func ReadFile(path string) (File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return File{}, fmt.Errorf("read workflow: %w", err)
	}
	if !info.Mode().IsRegular() {
		return File{}, fmt.Errorf("%s is %w", path, ErrNoFile)
	}
	f, err := os.Open(path)
	if err != nil {
		return File{}, fmt.Errorf("read workflow: %w", err)
	}
	defer f.Close()
	return read(path, f, info.Size())
}

func read(source string, r io.ReaderAt, size int64) (File, error) {
	content, err := embedded.Read(r, size)
	if !errors.Is(err, embedded.ErrUnknown) {
		if err != nil {
			return File{}, fmt.Errorf("%s: %w", source, err)
		}
		return carried(source, content)
	}
	if size > maxSize {
		return File{}, refuse(source, r, size)
	}
	data := make([]byte, size)
	if _, err := r.ReadAt(data, 0); err != nil && err != io.EOF {
		return File{}, fmt.Errorf("read workflow: %w", err)
	}
	if err := refuseMedia(source, data); err != nil {
		return File{}, err
	}
	top, ui, err := topLevel(source, bytes.TrimPrefix(data, []byte("\ufeff")))
	return File{UI: ui, prompt: top}, err
}

// carried takes the workflow of a picture or video, else its prompt. What Python
// wrote there may hold NaN.
func carried(source string, c embedded.Content) (File, error) {
	var problem error
	for _, part := range []struct {
		name string
		data []byte
	}{{"workflow", c.Workflow}, {"prompt", c.Prompt}} {
		if part.data == nil {
			continue
		}
		top, ui, err := topLevel(fmt.Sprintf("the %s in %s", part.name, source), pyjson.Standard(part.data))
		if err == nil {
			f := File{Kind: c.Kind, UI: ui, prompt: top}
			switch {
			case problem != nil:
				f.Warning = fmt.Sprintf("%v; its %s is taken", problem, part.name)
			case c.Damage != nil:
				f.Warning = fmt.Sprintf("%s is %s with damage (%v); the %s in it is taken", source, c.Kind, c.Damage, part.name)
			}
			return f, nil
		}
		problem = errors.Join(problem, err)
	}
	return File{}, problem
}

// refuse says why a file is too large; a video or a model is named as such.
func refuse(source string, r io.ReaderAt, size int64) error {
	head := make([]byte, 64)
	n, _ := r.ReadAt(head, 0)
	if err := refuseMedia(source, head[:n]); err != nil {
		return err
	}
	return fmt.Errorf("%s has %d MiB; a workflow has less than %d MiB", source, size>>20, maxSize>>20)
}
