package embedded

import (
	"bytes"
	"encoding/binary"
	"encoding/json"

	"memtrix/internal/pyjson"
)

// readSafetensors reads the metadata of a safetensors file, such as a latent.
func readSafetensors(s *source) error {
	head, err := s.at(0, 8)
	if err != nil {
		return err
	}
	n := binary.LittleEndian.Uint64(head)
	if n > maxText {
		return errLarge
	}
	data, err := s.at(8, int64(n))
	if err != nil {
		return err
	}
	var header struct {
		Metadata map[string]json.RawMessage `json:"__metadata__"`
	}
	if err := json.Unmarshal(data, &header); err != nil {
		return err
	}
	s.takeObject(header.Metadata)
	return nil
}

// takeObject keeps the workflow and prompt of a JSON object, each an object or a
// text that holds one.
func (s *source) takeObject(o map[string]json.RawMessage) {
	for _, name := range []string{"workflow", "prompt"} {
		var text string
		if json.Unmarshal(o[name], &text) != nil {
			text = string(o[name])
		}
		s.take(name, text)
	}
}

// readGLB reads the extras of a binary glTF model (glTF 2.0, 4.4).
func readGLB(s *source) error {
	head, err := s.at(12, 8)
	if err != nil {
		return err
	}
	if string(head[4:]) != "JSON" {
		return nil
	}
	data, err := s.at(20, int64(binary.LittleEndian.Uint32(head)))
	if err != nil {
		return err
	}
	var doc struct {
		Asset struct {
			Extras map[string]json.RawMessage `json:"extras"`
		} `json:"asset"`
		Extras map[string]json.RawMessage `json:"extras"`
	}
	if err := json.Unmarshal(pyjson.Standard(data), &doc); err != nil {
		return err
	}
	s.takeObject(doc.Asset.Extras)
	s.takeObject(doc.Extras)
	return nil
}

// readSVG reads the metadata element that ComfyUI writes, a CDATA section with a
// JSON object.
func readSVG(s *source) error {
	data, err := s.at(0, min(s.size, maxText))
	if err != nil {
		return err
	}
	for {
		_, rest, ok := bytes.Cut(data, []byte("<metadata>"))
		if !ok {
			return nil
		}
		inner, after, ok := bytes.Cut(rest, []byte("</metadata>"))
		if !ok {
			return errShort
		}
		text := bytes.TrimSpace(inner)
		text = bytes.TrimSuffix(bytes.TrimPrefix(text, []byte("<![CDATA[")), []byte("]]>"))
		s.take("", asText(text))
		data = after
	}
}
