package results

import (
	"compress/gzip"
	"encoding/csv"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"memtrix"
)

func mustCodec(tb testing.TB) *codec {
	tb.Helper()
	c, err := newCodec()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(c.close)
	return c
}

// Ensure that every column comes back as it was, at the edges of int64 too.
func TestCodecRoundTrip(t *testing.T) {
	c := mustCodec(t)
	const lo, hi = math.MinInt64, math.MaxInt64
	long := make([]int64, 100_000)
	for i := range long {
		long[i] = int64(rand.Uint64())
	}
	for name, columns := range map[string][][]int64{
		"empty":         {nil},
		"two empty":     {nil, nil},
		"one":           {{42}},
		"constant":      {{7, 7, 7, 7}},
		"pages":         {{4096, 8192, 0, 4096 * 3}, {1, 2, 3, 4}},
		"offset pages":  {{1 + 4096, 1 + 8192, 1}},
		"edges":         {{lo, hi, lo, 0, -1, hi, lo, 1}},
		"largest step":  {{0, lo}},
		"largest unit":  {{lo, 0, lo}},
		"alone":         {{lo}},
		"negative":      {{-1, -3, -5, 5}},
		"random":        {long},
		"mixed lengths": {{1, 2, 3}, nil, {9}},
	} {
		blob := c.encode(columns...)
		got, err := c.decode(blob, len(columns))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if !reflect.DeepEqual(got, columns) {
			t.Errorf("%s: got something else back", name)
		}
	}
}

// Ensure that a unit makes large steps cost what small ones do.
func TestCodecUnit(t *testing.T) {
	c := mustCodec(t)
	const n = 1000
	ones, pages := make([]int64, n), make([]int64, n)
	random := rand.New(rand.NewPCG(5, 6))
	for i := range ones {
		ones[i] = random.Int64N(50)
		pages[i] = ones[i] * 4096
	}
	small, large := len(c.encode(ones)), len(c.encode(pages))
	if large > small+8 { // the unit and the first value cost a little
		t.Errorf("multiples of 4096 take %d bytes, ones %d", large, small)
	}
}

// Ensure that each flipped bit and each cut of a blob is an error.
func TestCodecDamage(t *testing.T) {
	c := mustCodec(t)
	for _, columns := range [][][]int64{{{1, 5, 4, 3}, {4096, 0, 8192, 1}}, {make([]int64, 500), make([]int64, 500)}} {
		blob := c.encode(columns...)
		for i := range blob {
			for bit := range 8 {
				bad := append([]byte(nil), blob...)
				bad[i] ^= 1 << bit
				if got, err := c.decode(bad, 2); err == nil && !reflect.DeepEqual(got, columns) {
					t.Errorf("byte %d bit %d: no error and other values", i, bit)
				}
			}
			if _, err := c.decode(blob[:i], 2); err == nil {
				t.Errorf("cut at %d: no error", i)
			}
		}
		if _, err := c.decode(blob, 1); !errors.Is(err, errSeriesCorrupt) {
			t.Errorf("too few columns asked: got %v", err)
		}
		if _, err := c.decode(blob, 3); !errors.Is(err, errSeriesCorrupt) {
			t.Errorf("too many columns asked: got %v", err)
		}
	}
}

func TestPositions(t *testing.T) {
	a, b := []time.Duration{1, 3, 3, 9}, []time.Duration{2, 3}
	all := ticks([][]time.Duration{a, b, nil})
	if want := []int64{1, 2, 3, 9}; !reflect.DeepEqual(all, want) {
		t.Fatalf("ticks: want %v, got %v", want, all)
	}
	for _, in := range [][]time.Duration{a, b} {
		pos, err := positions(in, all)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := moments(pos, all); err != nil || !reflect.DeepEqual(got, in) {
			t.Errorf("want %v, got %v, %v", in, got, err)
		}
	}
	if _, err := positions([]time.Duration{3, 1}, all); err == nil {
		t.Error("moments that go back: no error")
	}
	if _, err := moments([]int64{4}, all); !errors.Is(err, errSeriesCorrupt) {
		t.Errorf("position behind the end: got %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	c := mustCodec(f)
	f.Add([]byte(nil))
	f.Add([]byte{seriesFormat, 0, 0, 0, 0, 0})
	f.Add([]byte{seriesFormat, 1, 0, 0, 0, 0, 0x28, 0xb5, 0x2f, 0xfd})
	f.Add(c.encode([]int64{1, 2, 3}, []int64{4096, 8192, 0}))
	f.Add(c.encode(make([]int64, 5000), make([]int64, 5000)))
	f.Fuzz(func(t *testing.T, blob []byte) {
		columns, err := c.decode(blob, 2)
		if err != nil {
			return
		}
		again, err := c.decode(c.encode(columns...), 2)
		if err != nil || !reflect.DeepEqual(again, columns) {
			t.Errorf("decoded columns do not survive: %v", err)
		}
	})
}

// FuzzColumns gets behind the checksum, where fuzzing of blobs seldom comes.
func FuzzColumns(f *testing.F) {
	f.Add([]byte{})
	f.Add(appendColumn(nil, []int64{math.MinInt64, math.MaxInt64, 0}))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01})
	f.Add([]byte{3, 0, 0, 1})
	f.Fuzz(func(t *testing.T, payload []byte) {
		col, rest, err := cutColumn(payload)
		if err != nil {
			return
		}
		if len(rest) > len(payload) {
			t.Error("more is left than there was")
		}
		if again, _, err := cutColumn(appendColumn(nil, col)); err != nil || !reflect.DeepEqual(again, col) {
			t.Errorf("column does not survive: %v", err)
		}
	})
}

// recorded reads a recording as memtrix would have sampled it: one series a
// column, by change.
func recorded(tb testing.TB, name string) []memtrix.Series {
	tb.Helper()
	f, err := os.Open(filepath.Join("testdata", name+".memory.csv.gz"))
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		tb.Fatal(err)
	}
	rows, err := csv.NewReader(z).ReadAll()
	if err != nil {
		tb.Fatal(err)
	}
	series := make([]memtrix.Series, len(rows[0])-1)
	for i := range series {
		series[i].Meter = memtrix.Meter{Name: strings.TrimSuffix(rows[0][i+1], "_mib"), Unit: memtrix.UnitBytes, Source: "recording"}
	}
	for _, row := range rows[1:] {
		at, err := strconv.ParseFloat(row[0], 64)
		if err != nil {
			tb.Fatal(err)
		}
		for i := range series {
			mib, err := strconv.ParseInt(row[i+1], 10, 64)
			if err != nil {
				tb.Fatal(err)
			}
			s := &series[i]
			if v := mib << 20; len(s.V) == 0 || s.V[len(s.V)-1] != v {
				s.T = append(s.T, time.Duration(math.Round(at*1e4))*100*time.Microsecond)
				s.V = append(s.V, v)
			}
		}
	}
	return series
}

// rough is a recording as it would be with exact clocks and pages: moments
// differ in nanoseconds, RAM in 4 KiB.
func rough(series []memtrix.Series) []memtrix.Series {
	random := rand.New(rand.NewPCG(1, 2))
	shift := map[time.Duration]time.Duration{}
	out := make([]memtrix.Series, len(series))
	for i, s := range series {
		out[i] = memtrix.Series{Meter: s.Meter, T: make([]time.Duration, len(s.T)), V: make([]int64, len(s.V))}
		for k := range s.T {
			if _, ok := shift[s.T[k]]; !ok {
				shift[s.T[k]] = time.Duration(random.Int64N(100_000))
			}
			out[i].T[k] = s.T[k] + shift[s.T[k]]
			out[i].V[k] = s.V[k] + random.Int64N(256)*4096
		}
	}
	return out
}

// size is how many bytes the series of a trial take, and how many changes they
// hold.
func size(tb testing.TB, c *codec, series []memtrix.Series) (bytes, changes int) {
	tb.Helper()
	var times [][]time.Duration
	for _, s := range series {
		times = append(times, s.T)
	}
	all := ticks(times)
	bytes = len(c.encode(all))
	for _, s := range series {
		pos, err := positions(s.T, all)
		if err != nil {
			tb.Fatal(err)
		}
		bytes += len(c.encode(pos, s.V))
		changes += len(s.V)
	}
	return bytes, changes
}

// Ensure that a real trial stays small: 4 bytes a change, even when every
// moment has its own nanoseconds.
func TestSeriesSize(t *testing.T) {
	c := mustCodec(t)
	for _, name := range []string{"029-8gib-disable-dynamic-vram", "029-cpu-sd15"} {
		series := recorded(t, name)
		for kind, s := range map[string][]memtrix.Series{"as recorded": series, "rough": rough(series)} {
			bytes, changes := size(t, c, s)
			t.Logf("%s, %s: %d changes, %.2f bytes each", name, kind, changes, float64(bytes)/float64(changes))
			const limit = 4
			if bytes > limit*changes {
				t.Errorf("%s, %s: %d bytes for %d changes, want %d each", name, kind, bytes, changes, limit)
			}
		}
	}
}

func BenchmarkEncode(b *testing.B) {
	c := mustCodec(b)
	series := rough(recorded(b, "029-8gib-disable-dynamic-vram"))
	bytes, changes := size(b, c, series)
	for b.Loop() {
		size(b, c, series)
	}
	b.ReportMetric(float64(bytes)/float64(changes), "bytes/change")
	b.ReportMetric(float64(changes)*float64(b.N)/b.Elapsed().Seconds(), "changes/s")
}

func BenchmarkDecode(b *testing.B) {
	c := mustCodec(b)
	series := rough(recorded(b, "029-8gib-disable-dynamic-vram"))
	var times [][]time.Duration
	for _, s := range series {
		times = append(times, s.T)
	}
	all := ticks(times)
	tickBlob := c.encode(all)
	var blobs [][]byte
	changes := 0
	for _, s := range series {
		pos, err := positions(s.T, all)
		if err != nil {
			b.Fatal(err)
		}
		blobs = append(blobs, c.encode(pos, s.V))
		changes += len(s.V)
	}
	for b.Loop() {
		columns, err := c.decode(tickBlob, 1)
		if err != nil {
			b.Fatal(err)
		}
		for i, blob := range blobs {
			if _, _, err := unpack(c, blob, len(series[i].V), columns[0]); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(changes)*float64(b.N)/b.Elapsed().Seconds(), "changes/s")
}
