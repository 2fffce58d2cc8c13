package workflows

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"memtrix"
)

// Hash identifies a graph by content: order, white space, titles and the way a
// number is written (7 or 7.0) do not matter; every node id, class, input and
// value does.
func Hash(graph map[string]memtrix.GraphNode) string {
	var b bytes.Buffer
	for _, id := range slices.Sorted(maps.Keys(graph)) {
		n := graph[id]
		writeString(&b, id)
		writeString(&b, n.ClassType)
		b.WriteByte('{')
		for _, name := range slices.Sorted(maps.Keys(n.Inputs)) {
			writeString(&b, name)
			writeRaw(&b, n.Inputs[name])
		}
		b.WriteByte('}')
	}
	sum := sha256.Sum256(b.Bytes())
	return hex.EncodeToString(sum[:8])
}

// writeRaw writes one JSON value in a form in which equal values are equal.
func writeRaw(b *bytes.Buffer, raw json.RawMessage) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber() // seeds have up to 64 bits, float64 only 53
	var v any
	if dec.Decode(&v) != nil {
		// Not JSON: cannot come from Decode or Set; keep it apart from all that is.
		b.WriteString("?")
		writeString(b, string(raw))
		return
	}
	writeValue(b, v)
}

func writeValue(b *bytes.Buffer, v any) {
	switch v := v.(type) {
	case nil:
		b.WriteString("null")
	case bool:
		b.WriteString(strconv.FormatBool(v))
	case string:
		writeString(b, v)
	case json.Number:
		b.WriteString(plainNumber(string(v)))
		b.WriteByte(' ')
	case []any:
		b.WriteByte('[')
		for _, item := range v {
			writeValue(b, item)
		}
		b.WriteByte(']')
	case map[string]any:
		b.WriteByte('{')
		for _, k := range slices.Sorted(maps.Keys(v)) {
			writeString(b, k)
			writeValue(b, v[k])
		}
		b.WriteByte('}')
	}
}

// writeString puts the length first, so that no two texts run together.
func writeString(b *bytes.Buffer, s string) {
	b.WriteString(strconv.Itoa(len(s)))
	b.WriteByte('"')
	b.WriteString(s)
}

// plainNumber writes whole numbers exactly, however they were written, and
// others as the shortest text of the nearest float64.
func plainNumber(text string) string {
	if !strings.ContainsAny(text, ".eE") {
		if v, ok := new(big.Int).SetString(text, 10); ok {
			return v.String()
		}
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return text
	}
	if v == math.Trunc(v) && math.Abs(v) < 1e21 {
		whole, _ := big.NewFloat(v).Int(nil)
		return whole.String()
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}
