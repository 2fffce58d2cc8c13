package comfysim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// pair and object keep the order of a JSON object's keys: Python's dicts do, and
// the order of nodes decides what runs first and what a client sees.
type pair struct {
	key   string
	value any
}

type object []pair

// MarshalJSON writes the pairs in their order.
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, p := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		key, err := json.Marshal(p.key)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(p.value)
		if err != nil {
			return nil, err
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

func (o object) get(key string) (any, bool) {
	for _, p := range o {
		if p.key == key {
			return p.value, true
		}
	}
	return nil, false
}

// with sets a key, in its old place when it was there (as a Python dict does).
func (o object) with(key string, value any) object {
	for i := range o {
		if o[i].key == key {
			o[i].value = value
			return o
		}
	}
	return append(o, pair{key, value})
}

// decodeJSON reads one JSON document: objects become object, arrays []any,
// numbers json.Number.
func decodeJSON(data []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	v, err := decodeValue(dec)
	if err != nil {
		return nil, err
	}
	if dec.More() {
		return nil, fmt.Errorf("more than one JSON document")
	}
	return v, nil
}

func decodeValue(dec *json.Decoder) (any, error) {
	tok, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch tok {
	case json.Delim('{'):
		return decodeObject(dec)
	case json.Delim('['):
		list := []any{}
		for dec.More() {
			v, err := decodeValue(dec)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err := dec.Token()
		return list, err
	}
	return tok, nil
}

func decodeObject(dec *json.Decoder) (any, error) {
	o := object{}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, err
		}
		v, err := decodeValue(dec)
		if err != nil {
			return nil, err
		}
		o = o.with(key.(string), v) // the decoder lets only strings be keys
	}
	_, err := dec.Token()
	return o, err
}

// pyRepr is Python's repr() of a JSON value, as the log shows it.
func pyRepr(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		if v {
			return "True"
		}
		return "False"
	case string:
		return pyReprString(v)
	case []any:
		words := make([]string, len(v))
		for i := range v {
			words[i] = pyRepr(v[i])
		}
		return "[" + strings.Join(words, ", ") + "]"
	case object:
		words := make([]string, len(v))
		for i, p := range v {
			words[i] = pyReprString(p.key) + ": " + pyRepr(p.value)
		}
		return "{" + strings.Join(words, ", ") + "}"
	}
	return fmt.Sprint(v)
}

func pyReprString(s string) string {
	quote := "'"
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		quote = `"`
	}
	r := strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`, "\t", `\t`, quote, `\`+quote)
	return quote + r.Replace(s) + quote
}

// pyStr is Python's str(): a string stays as it is.
func pyStr(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return pyRepr(v)
}

// pyFloat is Python's repr of a float: the shortest digits, never an integer,
// an exponent from 1e16 on.
func pyFloat(f float64) string {
	if f >= 1e16 {
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}
