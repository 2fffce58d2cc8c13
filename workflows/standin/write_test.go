package standin

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"memtrix/workflows/safetensors"
)

func mustFind(t *testing.T, name string) *Family {
	t.Helper()
	f, err := Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func zeros(t *testing.T, family, dtype string) Plan {
	t.Helper()
	return Plan{Family: mustFind(t, family), DType: dtype, FullSize: true}
}

func TestWrite(t *testing.T) {
	check := func(family, dtype string, tensors int, size int64) {
		t.Helper()
		path := filepath.Join(t.TempDir(), "models", family+".safetensors")
		if err := Write(context.Background(), path, zeros(t, family, dtype)); err != nil {
			t.Fatal(err)
		}
		h, err := safetensors.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := h.FileSize(); got != size || len(h.Tensors) != tensors {
			t.Errorf("%s %s: %d tensors, %d bytes, want %d, %d", family, dtype, len(h.Tensors), got, tensors, size)
		}
		made, ok := Inspect(path)
		if want := (Made{family, dtype, "zero", size}); !ok || made != want {
			t.Errorf("got %+v, %v, want %+v", made, ok, want)
		}
	}
	// Sizes of the published files but for their metadata.
	check("sd15", "fp16", 1130, 2132625222)
	check("sdxl", "fp16", 2514, 6938040464)
	check("t5-xxl", "fp8_scaled", 389, 5157348770)
	check("ltx2-19b", "bf16", 4049, 43278783754)
}

// Ensure that scales are one and tokenizers are there, whatever the weights are.
func TestContents(t *testing.T) {
	path := filepath.Join(t.TempDir(), "umt5.safetensors")
	if err := Write(context.Background(), path, zeros(t, "umt5-xxl", "fp8_scaled")); err != nil {
		t.Fatal(err)
	}
	h, err := safetensors.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	scales := 0
	buf, zero := make([]byte, 1<<20), make([]byte, 1<<20)
	for _, e := range h.Tensors {
		data := buf[:min(e.End-e.Begin, int64(len(buf)))]
		if _, err := f.ReadAt(data, h.Size+e.Begin); err != nil {
			t.Fatal(err)
		}
		switch {
		case e.DType == "F32":
			scales++
			if got := math.Float32frombits(binary.LittleEndian.Uint32(data)); got != 1 {
				t.Fatalf("%s is %v, want 1", e.Name, got)
			}
		case e.Name == "spiece_model":
			if want := t5Pieces(); !slices.Equal(data, want) {
				t.Errorf("the tokenizer has %d bytes, want %d", len(data), len(want))
			}
		case !bytes.Equal(data, zero[:len(data)]):
			t.Fatalf("%s is not zero", e.Name)
		}
	}
	if scales != 168 {
		t.Errorf("%d scales, want 168", scales)
	}
}

func TestWriteNeverOverwrites(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	path := filepath.Join(dir, "sd15.safetensors")
	if err := os.WriteFile(path, []byte("the user's own"), 0o600); err != nil {
		t.Fatal(err)
	}
	plan := zeros(t, "sd15", "fp16")
	if err := Write(ctx, path, plan); !errors.Is(err, fs.ErrExist) {
		t.Errorf("got %v, want ErrExist", err)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "the user's own" {
		t.Errorf("the file is now %q, %v", data, err)
	}
	// A dangling link is somebody's file, too.
	link := filepath.Join(dir, "link.safetensors")
	if err := os.Symlink(filepath.Join(dir, "away"), link); err == nil {
		if err := Write(ctx, link, plan); !errors.Is(err, fs.ErrExist) {
			t.Errorf("link: got %v, want ErrExist", err)
		}
	}
	if _, ok := Inspect(path); ok {
		t.Error("the user's file is taken for a stand-in")
	}
	if err := Write(ctx, filepath.Join(path, "x"), plan); err == nil {
		t.Error("no error below a file")
	}
	err := Write(ctx, filepath.Join(dir, strings.Repeat("x", 300)), plan)
	if err == nil || strings.Contains(err.Error(), ".memtrix-standin") {
		t.Errorf("got %v, want an error without a name of ours", err)
	}
	// Two at a time: one wins, and nothing else is left in the folder.
	var wg sync.WaitGroup
	errs := make([]error, 2)
	for i := range errs {
		wg.Go(func() { errs[i] = Write(ctx, filepath.Join(dir, "two", "sd15.safetensors"), plan) })
	}
	wg.Wait()
	if (errs[0] == nil) == (errs[1] == nil) || !errors.Is(errors.Join(errs...), fs.ErrExist) {
		t.Errorf("got %v and %v, want one success and one ErrExist", errs[0], errs[1])
	}
	if left, err := os.ReadDir(filepath.Join(dir, "two")); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestRandom(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, seed uint64) []byte {
		t.Helper()
		path := filepath.Join(dir, name)
		plan := Plan{Family: mustFind(t, "esrgan-4x"), DType: "fp8", Fill: Fill{Random: true, Seed: seed}}
		last := int64(0)
		plan.Progress = func(done, total int64) {
			if done < last || done > total {
				t.Errorf("progress %d after %d of %d", done, last, total)
			}
			last = done
		}
		if err := Write(context.Background(), path, plan); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(path)
		if err != nil || last == 0 {
			t.Fatal(last, err)
		}
		if made, ok := Inspect(path); !ok || made.Fill != plan.Fill.String() {
			t.Errorf("got %+v", made)
		}
		return data
	}
	one, again, two := write("1", 1), write("2", 1), write("3", 2)
	if !slices.Equal(one, again) || slices.Equal(one, two) {
		t.Error("a seed makes the same numbers, another one others")
	}

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	plan := Plan{Family: mustFind(t, "esrgan-4x"), DType: "fp16", Fill: Fill{Random: true}}
	if err := Write(ctx, filepath.Join(dir, "stopped"), plan); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 3 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// Ensure that all numbers are finite and of a sane size, and roots can be taken
// where roots are taken.
func TestRandomNumbers(t *testing.T) {
	check := func(dtype, name string, least, most float64, negative bool) {
		t.Helper()
		buf := make([]byte, 4099)
		fillRandom(buf, 1, patternOf(safetensors.Entry{Tensor: safetensors.Tensor{Name: name, DType: dtype}}))
		step := map[string]int{"BF16": 2, "F16": 2, "F32": 4, "F8_E4M3": 1}[dtype]
		some := map[float64]bool{}
		below := false
		for i := 0; i+step <= len(buf)-3; i += step {
			v := decode(dtype, buf[i:])
			some[v] = true
			below = below || v < 0
			if a := math.Abs(v); a < least || a >= most || math.IsNaN(v) {
				t.Fatalf("%s: %v is not within %v and %v", dtype, v, least, most)
			}
		}
		if below != negative || len(some) < 8 {
			t.Errorf("%s %s: negative %v, %d numbers", dtype, name, below, len(some))
		}
	}
	check("BF16", "a.weight", 0x1p-7, 0x1p-6, true)
	check("F16", "a.weight", 0x1p-7, 0x1p-6, true)
	check("F32", "a.weight", 0x1p-7, 0x1p-6, true)
	check("F8_E4M3", "a.weight", 0x1p-6, 0x1p-5, true)
	check("F32", "bn.running_var", 0x1p-7, 0x1p-6, false)
	check("BF16", "per_channel_statistics.std-of-means", 0x1p-7, 0x1p-6, false)
}

func decode(dtype string, b []byte) float64 {
	switch dtype {
	case "BF16":
		return float64(math.Float32frombits(uint32(binary.LittleEndian.Uint16(b)) << 16))
	case "F32":
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
	case "F16": // normal numbers only
		v := binary.LittleEndian.Uint16(b)
		return sign(v>>15) * math.Ldexp(1+float64(v&0x3ff)/1024, int(v>>10&31)-15)
	}
	v := b[0]
	return sign(uint16(v>>7)) * math.Ldexp(1+float64(v&7)/8, int(v>>3&15)-7)
}

func sign(bit uint16) float64 { return 1 - 2*float64(bit) }

func TestFits(t *testing.T) {
	if err := fits("d", 1<<40, 0, true, false); err != nil {
		t.Errorf("holes need no space: %v", err)
	}
	if err := fits("d", 10, 10, false, true); err != nil {
		t.Error(err)
	}
	err := fits("/mnt/usb", 5<<30, 7<<30, false, false)
	if want := "the file system of /mnt/usb has no sparse files: this stand-in would take 5.00 GiB there (7.00 GiB are free)"; err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
	if err := fits("d", 10, 9, false, true); err == nil || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("got %v, want a full disk", err)
	}
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if free, err := freeBytes(filepath.Dir(f.Name())); err != nil || free <= 0 {
		t.Errorf("free: got %d, %v", free, err)
	}
	if _, err := f.Write(make([]byte, probeSize)); err != nil {
		t.Fatal(err)
	}
	// Synced, so that what was written has its blocks.
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	if sparse(f) {
		t.Error("a file that is written throughout counts as sparse")
	}
}

func TestInspectOddFiles(t *testing.T) {
	for _, data := range []string{"", "short", "\xff\xff\xff\xff\xff\xff\xff\x7f{}", "\x10\x00\x00\x00\x00\x00\x00\x00{}", "\x02\x00\x00\x00\x00\x00\x00\x00{}"} {
		path := filepath.Join(t.TempDir(), "x")
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
		if made, ok := Inspect(path); ok {
			t.Errorf("%q: got %+v", data, made)
		}
	}
}

// Ensure that no tokenizer has more pieces than its model has room for.
func TestTokenizers(t *testing.T) {
	count := func(model []byte) (n int) {
		for len(model) > 0 {
			field, size := model[0]>>3, 0
			model = model[1:]
			for shift := 0; ; shift += 7 {
				b := model[0]
				model = model[1:]
				size |= int(b&0x7f) << shift
				if b < 0x80 {
					break
				}
			}
			if field == 1 {
				n++
			}
			model = model[size:]
		}
		return n
	}
	for _, model := range [][]byte{t5Pieces(), gemmaPieces()} {
		if n := count(model); n < 10000 || n > 256000 {
			t.Errorf("%d pieces", n)
		}
	}
	var file struct {
		Vocab []struct {
			Rank int `json:"rank"`
		} `json:"vocab"`
		Specials []any `json:"special_tokens"`
	}
	if err := json.Unmarshal(tekken(), &file); err != nil || len(file.Vocab) < 10000 || len(file.Vocab)+len(file.Specials) > 131072 {
		t.Errorf("%d tokens, %v", len(file.Vocab), err)
	}
}

func BenchmarkFillRandom(b *testing.B) {
	buf := make([]byte, chunk)
	b.SetBytes(chunk)
	for b.Loop() {
		fillRandom(buf, 1, patterns["BF16"])
	}
}

// TestImage checks that an image gives the file that Write writes.
func TestImage(t *testing.T) {
	for _, name := range []string{"sd15", "t5-xxl"} {
		f, err := Find(name)
		if err != nil {
			t.Fatal(err)
		}
		image, err := f.Image(f.DTypes[0])
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "model.safetensors")
		if err := Write(t.Context(), path, Plan{Family: f, DType: f.DTypes[0], FullSize: true}); err != nil {
			t.Fatal(err)
		}
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		info, err := file.Stat()
		if err != nil {
			t.Fatal(err)
		}
		if info.Size() != image.Size {
			t.Errorf("%s: image of %d bytes, file of %d", name, image.Size, info.Size())
		}
		for _, p := range append(image.Parts, Part{0, image.Head}) {
			got := make([]byte, len(p.Data))
			if _, err := file.ReadAt(got, p.At); err != nil || !bytes.Equal(got, p.Data) {
				t.Errorf("%s: the file has something else at %d (%v)", name, p.At, err)
			}
		}
	}
}
