package redact

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// JSON gives a document with every text in it redacted, keys included, indented and
// with its keys in order. What stands under a name that says so (an api key in a
// node's inputs) goes whole. Numbers stay as they are written.
func (r *Redactor) JSON(data []byte) ([]byte, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber() // seeds have up to 64 bits
	var doc any
	if err := dec.Decode(&doc); err != nil {
		return nil, fmt.Errorf("redact: %w", err)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(r.value("", doc)); err != nil {
		return nil, fmt.Errorf("redact: %w", err)
	}
	return b.Bytes(), nil
}

func (r *Redactor) value(name string, v any) any {
	switch v := v.(type) {
	case string:
		return r.Value(name, v)
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = r.value(name, item)
			if text, ok := item.(string); ok && i > 0 {
				if flag, ok := v[i-1].(string); ok && secretFlag(flag) && text != "" && text[0] != '-' {
					out[i] = r.secret(text)
				}
			}
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for _, k := range slices.Sorted(maps.Keys(v)) {
			out[r.Text(k)] = r.value(k, v[k])
		}
		return out
	}
	return v
}

// textChunks are the chunks of a PNG that hold texts
// (https://www.w3.org/TR/png-3/#11textinfo), and photographs' notes.
var textChunks = []string{"tEXt", "zTXt", "iTXt", "eXIf", "tIME"}

// PNG gives a picture without its texts: ComfyUI writes prompt and workflow there.
// What is no PNG is given back as it is.
func PNG(data []byte) []byte {
	const signature = "\x89PNG\r\n\x1a\n"
	if !bytes.HasPrefix(data, []byte(signature)) {
		return data
	}
	out := []byte(signature)
	for rest := data[len(signature):]; len(rest) >= 12; {
		size := uint64(binary.BigEndian.Uint32(rest)) + 12
		if size > uint64(len(rest)) {
			return append(out, rest...)
		}
		if !slices.Contains(textChunks, string(rest[4:8])) {
			out = append(out, rest[:size]...)
		}
		rest = rest[size:]
	}
	return out
}
