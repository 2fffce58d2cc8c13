package results

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/bits"
	"slices"
	"time"

	"github.com/klauspost/compress/zstd"

	"memtrix"
)

// Series are stored by change. The moments of all series of a trial are kept
// once (its ticks), because the meters of one sampler tick share a moment; a
// series then holds positions in the ticks and values. Both are exact.
//
// A blob is
//
//	byte 0   format, 1
//	byte 1   0 as is, 1 compressed with zstd
//	2..5     CRC-32C (little endian) of the payload before compression
//	6..      payload
//
// and a payload is a row of columns, each
//
//	uvarint  count
//	varint   first value
//	uvarint  unit: the greatest common divisor of all steps
//	varint   steps, each divided by the unit
//
// Steps wrap around like int64 itself, so every int64 survives. The unit makes
// pages (4 KiB), MiB and microseconds cost no more than they say.

const (
	seriesFormat = 1
	headerLen    = 6
	// maxPayload bounds what a damaged blob can make us allocate. A day at
	// 1 kHz of one meter that changes at each tick is about 400 MB.
	maxPayload = 1 << 29
)

var (
	errSeriesCorrupt = errors.New("stored series is damaged")
	castagnoli       = crc32.MakeTable(crc32.Castagnoli)
)

// codec turns columns of numbers into blobs and back. It is safe for use by
// several goroutines.
type codec struct {
	enc *zstd.Encoder
	dec *zstd.Decoder
}

func newCodec() (*codec, error) {
	enc, err := zstd.NewWriter(nil,
		zstd.WithEncoderConcurrency(2),
		zstd.WithEncoderCRC(false), // the blob has a sum of its own
		zstd.WithEncoderLevel(zstd.SpeedBetterCompression),
		zstd.WithWindowSize(1<<20),
		zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, fmt.Errorf("series encoder: %w", err)
	}
	dec, err := zstd.NewReader(nil,
		zstd.WithDecoderConcurrency(2),
		zstd.WithDecoderMaxMemory(maxPayload),
		zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil, fmt.Errorf("series decoder: %w", err)
	}
	return &codec{enc: enc, dec: dec}, nil
}

func (c *codec) close() {
	c.enc.Close()
	c.dec.Close()
}

// SeriesSize is how many bytes the series of one trial take in the store.
func SeriesSize(series []memtrix.Series) (int, error) {
	c, err := newCodec()
	if err != nil {
		return 0, err
	}
	defer c.close()
	times := make([][]time.Duration, len(series))
	for i, s := range series {
		times[i] = s.T
	}
	all := ticks(times)
	size := len(c.encode(all))
	for _, s := range series {
		pos, err := positions(s.T, all)
		if err != nil {
			return 0, fmt.Errorf("series %s: %w", s.Meter.Name, err)
		}
		size += len(c.encode(pos, s.V))
	}
	return size, nil
}

// encode packs columns into one blob.
func (c *codec) encode(columns ...[]int64) []byte {
	var payload []byte
	for _, col := range columns {
		payload = appendColumn(payload, col)
	}
	blob := make([]byte, headerLen, headerLen+len(payload))
	blob[0] = seriesFormat
	binary.LittleEndian.PutUint32(blob[2:], crc32.Checksum(payload, castagnoli))
	if packed := c.enc.EncodeAll(payload, nil); len(packed) < len(payload) {
		blob[1] = 1
		return append(blob, packed...)
	}
	return append(blob, payload...)
}

// decode unpacks n columns. It fails on anything that encode did not make.
func (c *codec) decode(blob []byte, n int) ([][]int64, error) {
	payload, err := c.payload(blob)
	if err != nil {
		return nil, err
	}
	columns := make([][]int64, n)
	for i := range columns {
		columns[i], payload, err = cutColumn(payload)
		if err != nil {
			return nil, err
		}
	}
	if len(payload) != 0 {
		return nil, fmt.Errorf("%w: %d bytes too many", errSeriesCorrupt, len(payload))
	}
	return columns, nil
}

func (c *codec) payload(blob []byte) ([]byte, error) {
	if len(blob) < headerLen {
		return nil, fmt.Errorf("%w: %d bytes are too few", errSeriesCorrupt, len(blob))
	}
	if blob[0] != seriesFormat {
		return nil, fmt.Errorf("stored series has format %d, this memtrix knows format %d", blob[0], seriesFormat)
	}
	payload := blob[headerLen:]
	switch blob[1] {
	case 0:
	case 1:
		var err error
		if payload, err = c.dec.DecodeAll(payload, nil); err != nil {
			return nil, fmt.Errorf("%w: %v", errSeriesCorrupt, err)
		}
	default:
		return nil, fmt.Errorf("%w: unknown compression %d", errSeriesCorrupt, blob[1])
	}
	if crc32.Checksum(payload, castagnoli) != binary.LittleEndian.Uint32(blob[2:]) {
		return nil, fmt.Errorf("%w: wrong checksum", errSeriesCorrupt)
	}
	return payload, nil
}

// appendColumn writes one column to the payload.
func appendColumn(b []byte, col []int64) []byte {
	b = binary.AppendUvarint(b, uint64(len(col)))
	if len(col) == 0 {
		return b
	}
	b = binary.AppendVarint(b, col[0])
	unit := stepUnit(col)
	b = binary.AppendUvarint(b, unit)
	for i := 1; i < len(col); i++ {
		b = binary.AppendVarint(b, divide(step(col[i-1], col[i]), unit))
	}
	return b
}

// cutColumn reads one column and gives the rest of the payload.
func cutColumn(b []byte) ([]int64, []byte, error) {
	n, size := binary.Uvarint(b)
	if size <= 0 {
		return nil, nil, fmt.Errorf("%w: no count", errSeriesCorrupt)
	}
	b = b[size:]
	// Each value takes a byte or more, so a count beyond that is a lie; it must
	// not be believed with memory.
	if n > uint64(len(b)) {
		return nil, nil, fmt.Errorf("%w: %d values in %d bytes", errSeriesCorrupt, n, len(b))
	}
	if n == 0 {
		return nil, b, nil
	}
	col := make([]int64, n)
	first, size := binary.Varint(b)
	if size <= 0 {
		return nil, nil, fmt.Errorf("%w: no first value", errSeriesCorrupt)
	}
	b = b[size:]
	unit, size := binary.Uvarint(b)
	if size <= 0 {
		return nil, nil, fmt.Errorf("%w: no unit", errSeriesCorrupt)
	}
	b = b[size:]
	col[0] = first
	for i := 1; i < len(col); i++ {
		q, size := binary.Varint(b)
		if size <= 0 {
			return nil, nil, fmt.Errorf("%w: %d of %d values", errSeriesCorrupt, i, n)
		}
		b = b[size:]
		col[i] = int64(uint64(col[i-1]) + uint64(q)*unit)
	}
	return col, b, nil
}

// step is b-a, wrapping.
func step(a, b int64) int64 { return int64(uint64(b) - uint64(a)) }

// magnitude is |d|; it is exact also for the smallest int64.
func magnitude(d int64) uint64 {
	if d < 0 {
		return -uint64(d)
	}
	return uint64(d)
}

// stepUnit is the greatest common divisor of all steps, 1 where there is none.
func stepUnit(col []int64) uint64 {
	var unit uint64
	for i := 1; i < len(col) && unit != 1; i++ {
		unit = gcd(unit, magnitude(step(col[i-1], col[i])))
	}
	return max(unit, 1)
}

// divide is d/unit where unit divides |d|.
func divide(d int64, unit uint64) int64 {
	q := int64(magnitude(d) / unit)
	if d < 0 {
		return -q
	}
	return q
}

// gcd is Stein's algorithm: no division in the loop.
func gcd(a, b uint64) uint64 {
	if a == 0 || b == 0 {
		return a | b
	}
	shift := bits.TrailingZeros64(a | b)
	a >>= bits.TrailingZeros64(a)
	for b != 0 {
		b >>= bits.TrailingZeros64(b)
		if a > b {
			a, b = b, a
		}
		b -= a
	}
	return a << shift
}

// ticks gives all moments at which any series changes, once each, in order.
func ticks(times [][]time.Duration) []int64 {
	n := 0
	for _, t := range times {
		n += len(t)
	}
	all := make([]int64, 0, n)
	for _, t := range times {
		for _, at := range t {
			all = append(all, int64(at))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// positions finds the moments of one series in the ticks. Moments do not
// decrease, so one walk over both is enough.
func positions(t []time.Duration, ticks []int64) ([]int64, error) {
	pos := make([]int64, len(t))
	k := 0
	for i, at := range t {
		if i > 0 && at < t[i-1] {
			return nil, fmt.Errorf("moment %d (%v) is before the one in front of it (%v)", i, at, t[i-1])
		}
		for ticks[k] < int64(at) {
			k++
		}
		pos[i] = int64(k)
	}
	return pos, nil
}

// moments turns positions back into times.
func moments(pos, ticks []int64) ([]time.Duration, error) {
	if len(pos) == 0 {
		return nil, nil
	}
	t := make([]time.Duration, len(pos))
	for i, p := range pos {
		if p < 0 || p >= int64(len(ticks)) {
			return nil, fmt.Errorf("%w: position %d of %d moments", errSeriesCorrupt, p, len(ticks))
		}
		t[i] = time.Duration(ticks[p])
	}
	return t, nil
}
