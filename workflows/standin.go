package workflows

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Tensor is one tensor of a model file.
type Tensor struct {
	Name  string
	Shape []int64
}

// Elements is the number of values; a tensor without dimensions has one.
func (t Tensor) Elements() int64 {
	n := int64(1)
	for _, d := range t.Shape {
		n *= d
	}
	return n
}

//go:embed data/shapes.json.gz
var shapesFile []byte

// families maps a family to the parts of its checkpoint in shapesFile.
var families = map[string][]string{
	"sd15": {"sd15.unet", "sd.vae", "sd15.clip"},
	"sdxl": {"sdxl.unet", "sd.vae", "sdxl.clip"},
}

// Families are the model families that have a stand-in.
func Families() []string { return []string{"sd15", "sdxl"} }

// DTypes are the types that a stand-in can be written in, the usual one first.
func DTypes() []string { return []string{"fp16", "bf16", "fp8", "fp32"} }

// dtypes gives the safetensors name and the bytes a value of each.
var dtypes = map[string]struct {
	name  string
	bytes int64
}{
	"fp16": {"F16", 2},
	"bf16": {"BF16", 2},
	"fp8":  {"F8_E4M3", 1},
	"fp32": {"F32", 4},
}

// StandIn lists the tensors of a family's checkpoint: diffusion model, VAE and
// text encoders under the names that ComfyUI knows a checkpoint by.
func StandIn(family string) ([]Tensor, error) {
	parts, ok := families[family]
	if !ok {
		return nil, fmt.Errorf("there is no stand-in for %q; there are %s", family, strings.Join(Families(), ", "))
	}
	all, err := shapes()
	if err != nil {
		return nil, err
	}
	var tensors []Tensor
	for _, part := range parts {
		tensors = append(tensors, all[part]...)
	}
	return tensors, nil
}

var shapes = sync.OnceValues(readShapes)

func readShapes() (map[string][]Tensor, error) {
	zr, err := gzip.NewReader(bytes.NewReader(shapesFile))
	if err != nil {
		return nil, fmt.Errorf("shapes of stand-ins: %w", err)
	}
	var parts map[string][][2]json.RawMessage
	if err := json.NewDecoder(zr).Decode(&parts); err != nil {
		return nil, fmt.Errorf("shapes of stand-ins: %w", err)
	}
	all := map[string][]Tensor{}
	for part, list := range parts {
		for _, pair := range list {
			var t Tensor
			if err := errors.Join(json.Unmarshal(pair[0], &t.Name), json.Unmarshal(pair[1], &t.Shape)); err != nil {
				return nil, fmt.Errorf("shapes of stand-ins: %s: %w", part, err)
			}
			all[part] = append(all[part], t)
		}
	}
	return all, nil
}

// standInKey is the key in a file's metadata that says what it is.
const standInKey = "memtrix.standin"

// StandInSize is the size in bytes of the file that WriteStandIn writes.
func StandInSize(family, dtype string) (int64, error) {
	head, data, err := standInHeader(family, dtype)
	return int64(len(head)) + data, err
}

// standInHeader makes all of the file but its data, and gives the data's size.
// Format: https://github.com/huggingface/safetensors#format
func standInHeader(family, dtype string) (head []byte, data int64, err error) {
	tensors, err := StandIn(family)
	if err != nil {
		return nil, 0, err
	}
	d, ok := dtypes[dtype]
	if !ok {
		return nil, 0, fmt.Errorf("there is no dtype %q for stand-ins; there are %s", dtype, strings.Join(DTypes(), ", "))
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"__metadata__":{"format":"pt",%q:%q}`, standInKey, family+" "+dtype+" zeros")
	for _, t := range tensors {
		shape, err := json.Marshal(append([]int64{}, t.Shape...))
		if err != nil {
			return nil, 0, err
		}
		end := data + t.Elements()*d.bytes
		fmt.Fprintf(&b, `,%q:{"dtype":%q,"shape":%s,"data_offsets":[%d,%d]}`, t.Name, d.name, shape, data, end)
		data = end
	}
	b.WriteByte('}')
	// Data begin at a multiple of eight; the header is filled up with spaces.
	for b.Len()%8 != 0 {
		b.WriteByte(' ')
	}
	head = binary.LittleEndian.AppendUint64(nil, uint64(b.Len()))
	return append(head, b.Bytes()...), data, nil
}

// WriteStandIn writes a checkpoint of zeros with the right names and shapes:
// ComfyUI loads it as it loads the real one, and it takes next to no disk where
// the file system has sparse files. Where it has none, the whole size must fit.
//
// A file that is there is never overwritten (the error is fs.ErrExist), and the
// name appears only when the file is whole.
func WriteStandIn(path, family, dtype string) error {
	head, data, err := standInHeader(family, dtype)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("write stand-in %s: %w", path, fs.ErrExist)
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("write stand-in: %w", err)
	}
	f, err := os.CreateTemp(dir, ".memtrix-standin-*")
	if err != nil {
		return fmt.Errorf("write stand-in: %w", err)
	}
	defer os.Remove(f.Name())
	size := int64(len(head)) + data
	err = fill(f, head, size)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write stand-in %s (%s %s, %.2f GiB): %w", path, family, dtype, float64(size)/(1<<30), err)
	}
	if err := publish(f.Name(), path); err != nil {
		return fmt.Errorf("write stand-in %s: %w", path, err)
	}
	return nil
}

func fill(f *os.File, head []byte, size int64) error {
	if err := f.Chmod(0o644); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	if _, err := f.Write(head); err != nil {
		return err
	}
	makeSparse(f)
	free, err := freeBytes(filepath.Dir(f.Name()))
	if err == nil && !fits(sparse(f), free, size) {
		return fmt.Errorf("the file system has no sparse files, and only %.2f GiB are free", float64(free)/(1<<30))
	}
	return f.Truncate(size)
}

// fits reports whether a file of zeros can be written.
func fits(sparse bool, free, size int64) bool { return sparse || free >= size }

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

// IsStandIn reports whether a file is a stand-in that memtrix wrote, and of
// what ("sd15 fp16 zeros").
func IsStandIn(path string) (what string, ok bool) {
	f, err := os.Open(path)
	if err != nil {
		return "", false
	}
	defer f.Close()
	header, err := readHeader(f)
	if err != nil {
		return "", false
	}
	var meta map[string]string
	if json.Unmarshal(header["__metadata__"], &meta) != nil {
		return "", false
	}
	what, ok = meta[standInKey]
	return what, ok
}

// maxHeader is the largest header that safetensors itself accepts.
const maxHeader = 100_000_000

func readHeader(r io.Reader) (map[string]json.RawMessage, error) {
	var length uint64
	if err := binary.Read(r, binary.LittleEndian, &length); err != nil {
		return nil, err
	}
	if length > maxHeader {
		return nil, fmt.Errorf("safetensors header of %d bytes", length)
	}
	text, err := io.ReadAll(io.LimitReader(r, int64(length)))
	if err != nil {
		return nil, err
	}
	if uint64(len(text)) < length {
		return nil, io.ErrUnexpectedEOF
	}
	var header map[string]json.RawMessage
	if err := json.Unmarshal(slices.Clip(text), &header); err != nil {
		return nil, err
	}
	return header, nil
}
