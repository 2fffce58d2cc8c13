// Package safetensors reads and writes the headers of safetensors files: which
// tensors a model file holds, of what type and shape, and where their bytes lie.
// It never reads or holds the tensors themselves.
//
// It refuses what the safetensors library refuses: headers of more than 100 MB,
// unknown types, tensors that overlap, leave a gap or have another size than
// their shape, and names that are there twice.
//
// The format: https://github.com/huggingface/safetensors#format
package safetensors

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"unicode/utf8"
)

// MetadataKey is the header's key that names no tensor.
const MetadataKey = "__metadata__"

// MaxHeader is the largest header that the safetensors library takes, in bytes.
const MaxHeader = 100_000_000

// dtypes are the types with the bits of a value, in the order in which the
// library sorts tensors: those of the widest alignment come first in a file
// (safetensors/src/tensor.rs, enum Dtype).
var dtypes = []struct {
	name string
	bits int64
}{
	{"BOOL", 8}, {"F4", 4}, {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"U8", 8}, {"I8", 8}, {"F8_E5M2", 8}, {"F8_E4M3", 8},
	{"F8_E8M0", 8}, {"I16", 16}, {"U16", 16}, {"F16", 16}, {"BF16", 16}, {"I32", 32}, {"U32", 32}, {"F32", 32},
	{"C64", 64}, {"F64", 64}, {"I64", 64}, {"U64", 64},
}

func dtypeRank(name string) int {
	for i, d := range dtypes {
		if d.name == name {
			return i
		}
	}
	return -1
}

// Tensor is one tensor of a model file.
type Tensor struct {
	Name  string
	DType string // as in the file: "F16", "BF16", "F8_E4M3"
	Shape []int64
}

// Elements is the number of values; a tensor without dimensions has one. It is
// an error where that is no number of 63 bits.
func (t Tensor) Elements() (int64, error) {
	n := uint64(1)
	for _, d := range t.Shape {
		hi, lo := bits.Mul64(n, uint64(d))
		if d < 0 || hi != 0 || lo > 1<<63-1 {
			return 0, fmt.Errorf("tensor %q has an impossible shape %v", t.Name, t.Shape)
		}
		n = lo
	}
	return int64(n), nil
}

// Bytes is what the values take.
func (t Tensor) Bytes() (int64, error) {
	rank := dtypeRank(t.DType)
	if rank < 0 {
		return 0, fmt.Errorf("tensor %q is of an unknown type %q", t.Name, t.DType)
	}
	n, err := t.Elements()
	if err != nil {
		return 0, err
	}
	hi, lo := bits.Mul64(uint64(n), uint64(dtypes[rank].bits))
	if hi != 0 || lo > 1<<63-1 || lo%8 != 0 {
		return 0, fmt.Errorf("tensor %q of %s %v does not end at a byte", t.Name, t.DType, t.Shape)
	}
	return int64(lo / 8), nil
}

// Entry is a tensor with its place.
type Entry struct {
	Tensor
	// Begin and End are offsets in the file's data, which begin behind the header.
	Begin, End int64
}

// Header is what a file says of itself.
type Header struct {
	// Tensors are in the order in which their bytes lie in the file.
	Tensors []Entry
	// Metadata is nil where there is none.
	Metadata map[string]string
	// Size is where the data begin, in bytes.
	Size int64
}

// FileSize is how large the file must be, in bytes.
func (h *Header) FileSize() int64 {
	if len(h.Tensors) == 0 {
		return h.Size
	}
	return h.Size + h.Tensors[len(h.Tensors)-1].End
}

// place lays tensors one behind the other, in the order of the library: by type,
// then by name.
func place(tensors []Tensor) ([]Entry, error) {
	tensors = slices.Clone(tensors)
	slices.SortStableFunc(tensors, func(a, b Tensor) int {
		if d := dtypeRank(b.DType) - dtypeRank(a.DType); d != 0 {
			return d
		}
		return strings.Compare(a.Name, b.Name)
	})
	seen := make(map[string]bool, len(tensors))
	entries := make([]Entry, 0, len(tensors))
	at := int64(0)
	for _, t := range tensors {
		n, err := t.Bytes()
		switch {
		case err != nil:
			return nil, err
		case seen[t.Name]:
			return nil, fmt.Errorf("tensor %q is there twice", t.Name)
		case !utf8.ValidString(t.Name):
			return nil, fmt.Errorf("the name of tensor %q is not UTF-8", t.Name)
		case t.Name == MetadataKey:
			return nil, fmt.Errorf("no tensor can be called %q", t.Name)
		case n > 1<<62-at:
			return nil, fmt.Errorf("tensor %q makes the file larger than a file can be", t.Name)
		}
		seen[t.Name] = true
		entries = append(entries, Entry{Tensor: t, Begin: at, End: at + n})
		at += n
	}
	return entries, nil
}
