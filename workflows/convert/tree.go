package convert

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"memtrix/internal/pyjson"
)

// A workflow file is read into the plain values of encoding/json: people edit
// such files, custom nodes write into them, and a key of an unexpected form must
// be no reason to refuse what the front end takes.

// absent is a value that JavaScript calls undefined: it is not sent, while nil
// is sent as null.
type absent struct{}

func dict(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

func whole(v any) (int, bool) {
	switch v := v.(type) {
	case float64:
		if v == float64(int(v)) {
			return int(v), true
		}
	case string:
		n, err := strconv.Atoi(v)
		return n, err == nil
	}
	return 0, false
}

// idOf reads an id, which is a number in most files and a text in some.
func idOf(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case float64:
		return number(v)
	}
	return ""
}

// truthy is what JavaScript takes for true.
func truthy(v any) bool {
	switch v := v.(type) {
	case nil, absent:
		return false
	case bool:
		return v
	case float64:
		return v != 0 && v == v
	case string:
		return v != ""
	}
	return true
}

// field is one key of an object, in the order of the text.
type field struct {
	name string
	raw  json.RawMessage
}

// fields reads the keys of a JSON object in their order, which encoding/json
// does not keep. What is no object has none.
func fields(raw json.RawMessage) []field {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if tok, err := dec.Token(); err != nil || tok != json.Delim('{') {
		return nil
	}
	var all []field
	for dec.More() {
		tok, err := dec.Token()
		name, ok := tok.(string)
		if err != nil || !ok {
			return all
		}
		f := field{name: name}
		if dec.Decode(&f.raw) != nil {
			return all
		}
		all = append(all, f)
	}
	return all
}

// decode reads JSON as the front end does: NaN and the infinities, which Python
// writes and JSON does not have, are null.
func decode(data []byte) (any, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	var v any
	err := json.Unmarshal(data, &v)
	if err == nil {
		return v, nil
	}
	if clean := pyjson.Standard(data); !bytes.Equal(clean, data) && json.Unmarshal(clean, &v) == nil {
		return v, nil
	}
	return nil, fmt.Errorf("not JSON: %w", err)
}
