package safetensors

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// The tensors of testdata/python.safetensors, in no order.
var python = []Tensor{
	{"b.weight", "F16", []int64{2, 3}},
	{"a", "F32", nil},
	{"z.é<&\"\\\n\t", "F8_E4M3", []int64{0}},
	{"c.0", "BF16", []int64{4, 1, 1}},
	{"u", "U8", []int64{5}},
	{"i", "I64", []int64{2}},
	{"x", "F8_E4M3", []int64{2, 2}},
}

// Ensure that a header is byte for byte that of the Python package.
func TestEncodeAsPython(t *testing.T) {
	file := filepath.Join("testdata", "python.safetensors")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, h, err := Encode(map[string]string{"format": "pt"}, python)
	if err != nil {
		t.Fatal(err)
	}
	if want := data[:len(head)]; !bytes.Equal(head, want) {
		t.Errorf("got  %q\nwant %q", head, want)
	}
	if got, want := h.FileSize(), int64(len(data)); got != want {
		t.Errorf("size: got %d, want %d", got, want)
	}
	read, err := Open(file)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(read, h) {
		t.Errorf("read %+v\nwrote %+v", read, h)
	}
}

func TestReadRefuses(t *testing.T) {
	check := func(header, want string) {
		t.Helper()
		data := append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...)
		_, err := Read(bytes.NewReader(data))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", header, err, want)
		}
	}
	check(``, "does not begin with {")
	check(` {}`, "does not begin with {")
	check(`{`, "not JSON")
	check("{\"\xff\":1}", "not UTF-8")
	check(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}`, `"a" is there twice`)
	check(`{"a":{"dtype":"F31","shape":[1],"data_offsets":[0,4]}}`, `unknown type "F31"`)
	check(`{"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}}`, "impossible shape")
	check(`{"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,4]}}`, "impossible shape")
	check(`{"a":{"dtype":"F64","shape":[9223372036854775807],"data_offsets":[0,4]}}`, "does not end at a byte")
	check(`{"a":{"dtype":"F4","shape":[3],"data_offsets":[0,2]}}`, "does not end at a byte")
	check(`{"a":{"dtype":"F32","shape":[1.5],"data_offsets":[0,4]}}`, "tensor")
	check(`{"a":{"dtype":"F32","shape":[null],"data_offsets":[0,4]}}`, "lacks")
	check(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4,8]}}`, "lacks")
	check(`{"a":{"dtype":"F32","shape":[1]}}`, "lacks")
	check(`{"a":null}`, "lacks")
	check(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}`, "should begin at 0")
	check(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,8]}}`, "of 4 bytes lies at 0 to 8")
	check(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, "should begin at 4")
	check(`{"__metadata__":{"a":1}}`, "metadata")
	check(`{"__metadata__":{"a":null}}`, "not a text")
	check(`{"__metadata__":[]}`, "metadata")

	for _, data := range []string{"", "short", "\xff\xff\xff\xff\xff\xff\xff\x7f{}", "\x10\x00\x00\x00\x00\x00\x00\x00{}"} {
		if _, err := Read(strings.NewReader(data)); err == nil {
			t.Errorf("%q is taken", data)
		}
	}
}

func TestOpenRefusesHalfAFile(t *testing.T) {
	head, h, err := Encode(nil, []Tensor{{"a", "F32", []int64{10}}})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "half.safetensors")
	if err := os.WriteFile(path, append(head, 1, 2, 3), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path); err == nil || !strings.Contains(err.Error(), "broken download") {
		t.Errorf("got %v", err)
	}
	if err := os.Truncate(path, h.FileSize()); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path); err != nil {
		t.Error(err)
	}
}

func TestEncodeRefuses(t *testing.T) {
	check := func(want string, tensors ...Tensor) {
		t.Helper()
		if _, _, err := Encode(nil, tensors); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	check("twice", Tensor{"a", "F16", nil}, Tensor{"a", "F32", nil})
	check("unknown type", Tensor{"a", "fp16", nil})
	check("impossible", Tensor{"a", "F16", []int64{1 << 40, 1 << 40}})
	check("not UTF-8", Tensor{"a\xff", "F16", nil})
	check("can be called", Tensor{MetadataKey, "F16", nil})
	var many []Tensor
	for name := range strings.SplitSeq("abcdefghij", "") {
		many = append(many, Tensor{name, "U8", []int64{1 << 59}})
	}
	check("larger than a file", many...)
}

// What is read can be written again, and is then what was read.
func FuzzRead(f *testing.F) {
	if data, err := os.ReadFile(filepath.Join("testdata", "python.safetensors")); err == nil {
		f.Add(data)
	}
	for _, text := range []string{`{}`, `{"__metadata__":{}}  `, `{"a":{"dtype":"F4","shape":[2],"data_offsets":[0,1]},"b":{"dtype":"BOOL","shape":[0,3],"data_offsets":[1,1]}}`} {
		f.Add(append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := Read(bytes.NewReader(data))
		if err != nil {
			return
		}
		tensors := make([]Tensor, len(h.Tensors))
		for i, e := range h.Tensors {
			tensors[i] = e.Tensor
		}
		roundTrip(t, h.Metadata, tensors, h.FileSize()-h.Size)
	})
}

// What is written can be read, whatever the names.
func FuzzEncode(f *testing.F) {
	f.Add("a", "b", "F16", "F32", int64(3), int64(4), "k", "v")
	f.Add("model.weight", "\"\\\x00<>&é\u2028", "F8_E4M3", "U8", int64(0), int64(1), "format", "pt")
	f.Fuzz(func(t *testing.T, one, two, type1, type2 string, x, y int64, key, value string) {
		tensors := []Tensor{{one, type1, []int64{x, y}}, {two, type2, []int64{y}}}
		_, h, err := Encode(map[string]string{key: value}, tensors)
		if err != nil {
			return
		}
		roundTrip(t, map[string]string{key: value}, tensors, h.FileSize()-h.Size)
	})
}

func roundTrip(t *testing.T, metadata map[string]string, tensors []Tensor, size int64) {
	head, h, err := Encode(metadata, tensors)
	if err != nil {
		t.Fatalf("cannot be written: %v", err)
	}
	if len(head)%8 != 0 || h.FileSize()-h.Size != size {
		t.Fatalf("header of %d bytes, data of %d, want %d", len(head), h.FileSize()-h.Size, size)
	}
	again, err := Read(bytes.NewReader(head))
	if err != nil {
		t.Fatalf("cannot be read again: %v\n%q", err, head)
	}
	for i := range h.Tensors { // no shape and an empty one are the same
		if len(h.Tensors[i].Shape) == 0 {
			h.Tensors[i].Shape = nil
		}
	}
	if !sameSet(again, h) {
		t.Fatalf("got %+v\nwant %+v", again, h)
	}
}

// sameSet leaves out the order of tensors without bytes, which lie at one place.
func sameSet(a, b *Header) bool {
	set := func(h *Header) map[string]Entry {
		m := map[string]Entry{}
		for _, e := range h.Tensors {
			m[e.Name] = e
		}
		return m
	}
	return a.Size == b.Size && reflect.DeepEqual(a.Metadata, b.Metadata) && reflect.DeepEqual(set(a), set(b))
}

func BenchmarkRead(b *testing.B) {
	var tensors []Tensor
	for i := range 2000 {
		tensors = append(tensors, Tensor{strings.Repeat("layer.", 8) + string(rune('a'+i%26)) + strings.Repeat("x", i), "F16", []int64{64, 64}})
	}
	head, _, err := Encode(nil, tensors)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := Read(bytes.NewReader(head)); err != nil {
			b.Fatal(err)
		}
	}
}
