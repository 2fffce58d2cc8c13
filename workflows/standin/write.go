package standin

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"

	"memtrix/internal/files"
	"memtrix/workflows/safetensors"
)

// Plan is what to write.
type Plan struct {
	Family *Family
	DType  string
	Fill   Fill
	// FullSize allows a file of zeros to take its whole size on a file system
	// that has no sparse files.
	FullSize bool
	// Progress is told how much of a file that is not sparse is written, in
	// bytes; nil for nobody.
	Progress func(done, total int64)
}

// NoSparseError is returned where a file of zeros would take its whole size.
type NoSparseError struct {
	Dir        string
	Size, Free int64 // bytes
}

// Error says how big it gets.
func (e *NoSparseError) Error() string {
	return fmt.Sprintf("the file system of %s has no sparse files: this stand-in would take %.2f GiB there (%.2f GiB are free)", e.Dir, gib(e.Size), gib(e.Free))
}

// NoRoomError is returned where a file does not fit.
type NoRoomError struct {
	Dir        string
	Size, Free int64 // bytes
}

// Error says how much is missing.
func (e *NoRoomError) Error() string {
	return fmt.Sprintf("the stand-in takes %.2f GiB and %s has %.2f GiB free", gib(e.Size), e.Dir, gib(e.Free))
}

// Unwrap makes it what a full disk is.
func (e *NoRoomError) Unwrap() error { return errNoSpace }

func gib(n int64) float64 { return float64(n) / (1 << 30) }

// Write writes a stand-in: ComfyUI loads it as it loads the real file. One of
// zeros takes next to no disk where the file system has sparse files.
//
// A file that is there is never overwritten (the error is fs.ErrExist), and the
// name appears only when the file is whole.
func Write(ctx context.Context, path string, p Plan) error {
	head, h, err := p.Family.header(p.DType, p.Fill)
	if err != nil {
		return err
	}
	what := fmt.Sprintf("write stand-in %s (%s, %.2f GiB)", path, p.name(), gib(h.FileSize()))
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("%s: %w", what, fs.ErrExist)
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	f, err := os.CreateTemp(dir, ".memtrix-standin-*")
	if err != nil {
		return fmt.Errorf("%s: %w", what, files.Cause(err))
	}
	defer os.Remove(f.Name())
	err = p.write(ctx, f, head, h)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if err := publish(f.Name(), path); err != nil {
		return fmt.Errorf("%s: %w", what, files.Cause(err))
	}
	return nil
}

// name is what the file's metadata say: "sd15 fp16 zero".
func (p Plan) name() string { return p.Family.Name + " " + p.DType + " " + p.Fill.String() }

func (p Plan) write(ctx context.Context, f *os.File, head []byte, h *safetensors.Header) error {
	if err := f.Chmod(0o644); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	if err := p.room(f, h.FileSize()); err != nil {
		return err
	}
	if _, err := f.WriteAt(head, 0); err != nil {
		return err
	}
	if err := f.Truncate(h.FileSize()); err != nil {
		return err
	}
	if p.Fill.Random {
		if err := p.Fill.write(ctx, f, h, p.Progress); err != nil {
			return err
		}
	}
	for _, e := range h.Tensors {
		if data := p.Family.content(e); len(data) > 0 {
			if _, err := f.WriteAt(data, h.Size+e.Begin); err != nil {
				return err
			}
		}
	}
	return nil
}

// room looks whether the file fits, as far as the file system tells.
func (p Plan) room(f *os.File, size int64) error {
	dir := filepath.Dir(f.Name())
	free, err := freeBytes(dir)
	if err != nil {
		free = math.MaxInt64
	}
	holes := false
	if !p.Fill.Random {
		makeSparse(f)
		holes = sparse(f)
	}
	return fits(dir, size, free, holes, p.Fill.Random || p.FullSize)
}

// fits decides whether a file may be written: one with holes always, another if
// that is meant and it fits.
func fits(dir string, size, free int64, holes, whole bool) error {
	switch {
	case holes:
		return nil
	case !whole:
		return &NoSparseError{Dir: dir, Size: size, Free: free}
	case free < size:
		return &NoRoomError{Dir: dir, Size: size, Free: free}
	}
	return nil
}

// content is what a tensor holds whatever the file is filled with; nil for
// weights.
func (f *Family) content(e safetensors.Entry) []byte {
	for _, x := range f.extra {
		if x.name == e.Name {
			return x.bytes()
		}
	}
	one := func(v float32) []byte {
		return binary.LittleEndian.AppendUint32(nil, math.Float32bits(v))
	}
	switch {
	case e.DType == "F32" && strings.HasSuffix(e.Name, ".scale_weight"):
		return one(1)
	case e.DType == "F32" && strings.HasSuffix(e.Name, ".alpha"):
		return one(1)
	}
	return nil
}

// probeSize is how far a file is stretched to see whether holes take space.
const probeSize = 4 << 20

// sparse stretches the file a little and looks what that takes.
func sparse(f *os.File) bool {
	if f.Truncate(probeSize) != nil {
		return false
	}
	used, ok := allocated(f)
	return ok && used < probeSize/2
}

// publish gives a finished file its name, unless that is taken. A hard link
// fails if the name is taken; where there are no hard links a look must do.
func publish(from, to string) error {
	err := os.Link(from, to)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	if _, err := os.Lstat(to); err == nil {
		return fs.ErrExist
	}
	return os.Rename(from, to)
}

// key is the key in a file's metadata that says what it is.
const key = "memtrix.standin"

// header makes all of the file but its data.
func (f *Family) header(dtype string, fill Fill) ([]byte, *safetensors.Header, error) {
	tensors, err := f.Tensors(dtype)
	if err != nil {
		return nil, nil, err
	}
	metadata := map[string]string{"format": "pt", key: Plan{Family: f, DType: dtype, Fill: fill}.name()}
	for k, file := range f.metadata {
		data, err := shapeFiles.ReadFile(file)
		if err != nil {
			return nil, nil, fmt.Errorf("metadata of stand-ins: %w", err)
		}
		metadata[k] = string(data)
	}
	return safetensors.Encode(metadata, tensors)
}

// Image is a stand-in of zeros as little data: whoever writes Head, stretches the
// file to Size and puts each part in its place has the file that Write writes.
type Image struct {
	Head  []byte
	Size  int64 // bytes of the whole file
	Parts []Part
}

// Part is what stands at a place of a file that is no weight.
type Part struct {
	At   int64 // offset, bytes
	Data []byte
}

// Image makes the image of a stand-in.
func (f *Family) Image(dtype string) (Image, error) {
	head, h, err := f.header(dtype, Fill{})
	if err != nil {
		return Image{}, err
	}
	i := Image{Head: head, Size: h.FileSize()}
	for _, e := range h.Tensors {
		if data := f.content(e); len(data) > 0 {
			i.Parts = append(i.Parts, Part{h.Size + e.Begin, data})
		}
	}
	return i, nil
}

// Made is what a stand-in file says of itself.
type Made struct {
	Family string
	DType  string
	Fill   string // "zero" or "random seed 1"
	Bytes  int64
}

// Inspect reports what a file is, if it is a stand-in that memtrix wrote.
func Inspect(path string) (Made, bool) {
	h, err := safetensors.Open(path)
	if err != nil {
		return Made{}, false
	}
	words := strings.SplitN(h.Metadata[key], " ", 3)
	if len(words) != 3 {
		return Made{}, false
	}
	if words[2] == "zeros" { // until there were other fills
		words[2] = "zero"
	}
	return Made{Family: words[0], DType: words[1], Fill: words[2], Bytes: h.FileSize()}, true
}
