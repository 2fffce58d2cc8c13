package convert

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// number prints a number as ECMAScript does (Number::toString, ECMA-262), which
// is what a front end sends: 1.0 is 1, and 18446744073709551615, which a float64
// cannot hold, is 18446744073709552000.
func number(f float64) string {
	abs := math.Abs(f)
	switch {
	case math.IsNaN(f) || math.IsInf(f, 0):
		return "null"
	case f == 0:
		return "0"
	case abs >= 1e-6 && abs < 1e21:
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	s := strconv.FormatFloat(f, 'e', -1, 64)
	mantissa, exp, _ := strings.Cut(s, "e")
	return mantissa + "e" + exp[:1] + strings.TrimLeft(exp[1:], "0")
}

// Canonical writes a value of encoding/json in a form in which equal prompts
// are equal bytes: RFC 8785 with keys sorted by their UTF-8.
func Canonical(v any) []byte {
	var b bytes.Buffer
	write(&b, v)
	return b.Bytes()
}

func write(b *bytes.Buffer, v any) {
	switch v := v.(type) {
	case nil, absent:
		b.WriteString("null")
	case bool:
		b.WriteString(strconv.FormatBool(v))
	case float64:
		b.WriteString(number(v))
	case int:
		b.WriteString(strconv.Itoa(v))
	case string:
		writeText(b, v)
	case []any:
		b.WriteByte('[')
		for i, item := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			write(b, item)
		}
		b.WriteByte(']')
	case map[string]any:
		b.WriteByte('{')
		for i, key := range slices.Sorted(maps.Keys(v)) {
			if i > 0 {
				b.WriteByte(',')
			}
			writeText(b, key)
			b.WriteByte(':')
			write(b, v[key])
		}
		b.WriteByte('}')
	default:
		panic(fmt.Sprintf("convert: no JSON form for %T", v))
	}
}

func writeText(b *bytes.Buffer, s string) {
	b.WriteByte('"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c >= 0x20:
			b.WriteByte(c)
		default:
			if at := strings.IndexByte("\b\t\n\f\r", c); at >= 0 {
				b.WriteByte('\\')
				b.WriteByte("btnfr"[at])
			} else {
				fmt.Fprintf(b, `\u%04x`, c)
			}
		}
	}
	b.WriteByte('"')
}
