package standin

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"strconv"
	"strings"

	"memtrix/workflows/safetensors"
)

// Fill is what weights are. The zero value are zeros.
type Fill struct {
	Random bool
	// Seed makes the same numbers again.
	Seed uint64
}

// Fills are the words for what a stand-in is filled with.
func Fills() []string { return []string{"zero", "random"} }

// ParseFill reads "zero" or "random".
func ParseFill(text string, seed uint64) (Fill, error) {
	switch text {
	case "zero", "":
		return Fill{}, nil
	case "random":
		return Fill{Random: true, Seed: seed}, nil
	}
	return Fill{}, fmt.Errorf("a stand-in is filled with %s, not %q", strings.Join(Fills(), " or "), text)
}

// String is the word, with the seed: "zero", "random seed 1".
func (f Fill) String() string {
	if f.Random {
		return "random seed " + strconv.FormatUint(f.Seed, 10)
	}
	return "zero"
}

// chunk is how many bytes are made at a time, a multiple of every value's size.
const chunk = 4 << 20

// write fills all of a file behind its header, one tensor after the other.
func (f Fill) write(ctx context.Context, w io.WriterAt, h *safetensors.Header, progress func(done, total int64)) error {
	total := h.FileSize() - h.Size
	buf := make([]byte, chunk)
	for i, e := range h.Tensors {
		state := mix(f.Seed) ^ mix(uint64(i)+1)
		for at := e.Begin; at < e.End; {
			if err := ctx.Err(); err != nil {
				return err
			}
			part := buf[:min(chunk, e.End-at)]
			state = fillRandom(part, state, patternOf(e))
			if _, err := w.WriteAt(part, h.Size+at); err != nil {
				return err
			}
			at += int64(len(part))
			if progress != nil {
				progress(at, total)
			}
		}
	}
	return nil
}

// bitPattern makes a random word a number near 0.01: sign and fraction are random,
// the exponent is fixed. A layer of some thousand such weights neither grows nor
// dies out much, and none is infinite or not a number.
type bitPattern struct{ random, fixed uint64 }

// patterns repeat each type's bits over eight bytes. The sizes: 2^-7 to 2^-6, and
// for fp8 (E4M3) 2^-6 to 2^-5, its smallest normal numbers.
var patterns = map[string]bitPattern{
	"BF16":    {0x807f807f807f807f, 0x3c003c003c003c00},
	"F16":     {0x83ff83ff83ff83ff, 0x2000200020002000},
	"F32":     {0x807fffff807fffff, 0x3c0000003c000000},
	"F8_E4M3": {0x8787878787878787, 0x0808080808080808},
}

// signs are the sign bits of each type.
var signs = map[string]uint64{
	"BF16": 0x8000800080008000, "F16": 0x8000800080008000, "F32": 0x8000000080000000, "F8_E4M3": 0x8080808080808080,
}

func patternOf(e safetensors.Entry) bitPattern {
	p, ok := patterns[e.DType]
	if !ok {
		return bitPattern{^uint64(0), 0}
	}
	// A square root is taken of these.
	if strings.Contains(e.Name, "var") || strings.Contains(e.Name, "std") {
		p.random &^= signs[e.DType]
	}
	return p
}

// fillRandom fills a buffer, and gives the state to go on with. The numbers are
// those of SplitMix64 (Steele, Lea, Flood 2014: Fast Splittable Pseudorandom
// Number Generators).
func fillRandom(b []byte, state uint64, p bitPattern) uint64 {
	for len(b) >= 8 {
		state += 0x9e3779b97f4a7c15
		binary.LittleEndian.PutUint64(b, mix(state)&p.random|p.fixed)
		b = b[8:]
	}
	if len(b) > 0 {
		state += 0x9e3779b97f4a7c15
		var last [8]byte
		binary.LittleEndian.PutUint64(last[:], mix(state)&p.random|p.fixed)
		copy(b, last[:])
	}
	return state
}

func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
