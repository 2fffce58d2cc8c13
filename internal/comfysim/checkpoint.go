package comfysim

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

type partKind int

const (
	partUNet partKind = iota
	partText
	partVAE
)

// part is what a model file says about one model in it.
type part struct {
	elements int64
	largest  int64 // elements of the largest tensor that is no embedding
	norms    int   // tensors that dynamic VRAM loads at once
	normSize int64 // elements of those
}

// modelFile is a model file's header. The weights are never read.
type modelFile struct {
	path  string
	size  int64 // bytes of the file
	parts [3]part
	// width is the text encoder's token size in cross attention; it tells
	// SD 1.5 (768) from SDXL (2048).
	width  int64
	loras  int // patched weights, in a LoRA
	family family
}

// family is a kind of diffusion model.
type family struct {
	unetClass, textClass string
	factor               float64 // ComfyUI's memory_usage_factor
	width                int64
}

var (
	familySD15 = family{unetClass: "BaseModel", textClass: "SD1ClipModel", factor: 1.0, width: 768}
	familySDXL = family{unetClass: "SDXL", textClass: "SDXLClipModel", factor: 0.8, width: 2048}
)

const vaeClass = "AutoencoderKL"

// maxHeader is the limit that the safetensors library has, too.
const maxHeader = 100_000_000

type tensorInfo struct {
	Dtype string  `json:"dtype"`
	Shape []int64 `json:"shape"`
}

// openModel reads the header of a model file. The error is a Python exception
// as the real loader raises it.
func openModel(path string) (*modelFile, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, &pyError{typ: "FileNotFoundError", message: fmt.Sprintf("No such file or directory: %s", pyRepr(path))}
	}
	m := &modelFile{path: path, size: info.Size()}
	if ext := filepath.Ext(path); ext != ".safetensors" && ext != ".sft" {
		m.guessBySize()
		return m, nil
	}
	tensors, err := readHeader(path)
	if err != nil {
		return nil, &pyError{typ: "safetensors_rust.SafetensorError", message: "Error while deserializing header: " + err.Error()}
	}
	for name, t := range tensors {
		m.add(name, t)
	}
	m.family = familySD15
	if m.width > 1024 {
		m.family = familySDXL
	}
	return m, nil
}

func readHeader(path string) (map[string]tensorInfo, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var length uint64
	if err := binary.Read(f, binary.LittleEndian, &length); err != nil {
		return nil, fmt.Errorf("header too small")
	}
	if length > maxHeader {
		return nil, fmt.Errorf("header too large")
	}
	data := make([]byte, length)
	if _, err := io.ReadFull(f, data); err != nil {
		return nil, fmt.Errorf("invalid header length")
	}
	var tensors map[string]tensorInfo
	if err := json.Unmarshal(data, &tensors); err != nil {
		return nil, fmt.Errorf("invalid JSON in header: %w", err)
	}
	delete(tensors, "__metadata__")
	return tensors, nil
}

var partPrefixes = [3][]string{
	partUNet: {"model.diffusion_model.", "input_blocks.", "middle_block.", "output_blocks.", "time_embed.", "label_emb.", "out."},
	partText: {"conditioner.embedders.", "cond_stage_model.", "text_model.", "transformer."},
	partVAE:  {"first_stage_model.", "encoder.", "decoder.", "quant_conv.", "post_quant_conv."},
}

func (m *modelFile) add(name string, t tensorInfo) {
	if strings.Contains(name, "lora_up") || strings.Contains(name, "lora_B") {
		m.loras++
	}
	for kind, prefixes := range partPrefixes {
		for _, prefix := range prefixes {
			if strings.HasPrefix(name, prefix) {
				m.parts[kind].add(name, t)
				if strings.HasSuffix(name, "attn2.to_k.weight") && len(t.Shape) == 2 {
					m.width = max(m.width, t.Shape[1])
				}
				return
			}
		}
	}
}

func (p *part) add(name string, t tensorInfo) {
	n := int64(1)
	for _, dim := range t.Shape {
		n *= dim
	}
	p.elements += n
	if !strings.Contains(name, "embedding") {
		p.largest = max(p.largest, n)
	}
	if len(t.Shape) == 1 && isNorm(name) {
		p.norms++
		p.normSize += n
	}
}

// isNorm finds the small weights that dynamic VRAM does not page: those of the
// normalisation layers.
func isNorm(name string) bool {
	return strings.Contains(name, "norm") || strings.Contains(name, "ln_") ||
		strings.Contains(name, "_layers.0.") || strings.Contains(name, "diffusion_model.out.0.")
}

// guessBySize stands in for reading a pickled file: what is larger than an
// SD 1.5 in 32 bit is taken for an SDXL in 16.
func (m *modelFile) guessBySize() {
	m.family, m.width = familySD15, familySD15.width
	shares := [3]float64{partUNet: 0.8056, partText: 0.1159, partVAE: 0.0785}
	elements := m.size / 2
	if m.size > 5*gib {
		m.family, m.width = familySDXL, familySDXL.width
		shares = [3]float64{partUNet: 0.7401, partText: 0.2358, partVAE: 0.0241}
	} else if m.size > 3*gib {
		elements = m.size / 4
	}
	for kind, share := range shares {
		n := int64(share * float64(elements))
		m.parts[kind] = part{elements: n, largest: n / 80}
	}
}
