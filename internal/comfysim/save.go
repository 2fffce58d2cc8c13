package comfysim

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// saveImages writes one small PNG for each image of a batch. It is a gradient,
// not the picture: nothing was computed.
func saveImages(ctx context.Context, c *call) ([]any, object, error) {
	img, err := typed[*picture](c, "images")
	if err != nil {
		return nil, nil, err
	}
	root, kind, prefix := c.s.cfg.folders.output, "output", c.str("filename_prefix")
	if c.n.class == "PreviewImage" {
		root, kind, prefix = c.s.cfg.folders.temp, "temp", "ComfyUI_temp_"+c.e.item.id[:min(5, len(c.e.item.id))]
	}
	subfolder, name := filepath.Split(filepath.FromSlash(prefix))
	subfolder = filepath.Clean(subfolder)
	if subfolder == "." {
		subfolder = ""
	}
	if subfolder != "" && !filepath.IsLocal(subfolder) {
		return nil, nil, &pyError{typ: "Exception", message: "**** ERROR: Saving image outside the output folder is not allowed."}
	}
	dir := filepath.Join(root, subfolder)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, nil, &pyError{typ: "PermissionError", message: err.Error()}
	}
	images := []any{}
	next := nextCounter(dir, name)
	for i := range int(img.batch) {
		file := fmt.Sprintf("%s_%05d_.png", strings.ReplaceAll(name, "%batch_num%", strconv.Itoa(i)), next+i)
		if err := os.WriteFile(filepath.Join(dir, file), c.png(img), 0o644); err != nil {
			return nil, nil, &pyError{typ: "OSError", message: err.Error()}
		}
		images = append(images, object{{"filename", file}, {"subfolder", subfolder}, {"type", kind}})
	}
	err = c.s.clock.wait(ctx, seconds(0.04*img.megapixels()*float64(img.batch)))
	return nil, object{{"images", images}}, err
}

// nextCounter is one more than the highest number of files of that prefix.
func nextCounter(dir, name string) int {
	highest := 0
	entries, _ := os.ReadDir(dir) // it has just been made
	for _, e := range entries {
		digits, ok := strings.CutPrefix(e.Name(), name+"_")
		if !ok {
			continue
		}
		digits, _, _ = strings.Cut(digits, "_")
		if n, err := strconv.Atoi(digits); err == nil {
			highest = max(highest, n)
		}
	}
	return highest + 1
}

const thumbnail = 64 // pixels of the longer side

func (c *call) png(img *picture) []byte {
	longer := max(img.h, img.w, 1)
	w, h := int(max(1, img.w*thumbnail/longer)), int(max(1, img.h*thumbnail/longer))
	m := image.NewGray(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			m.SetGray(x, y, color.Gray{Y: uint8(255 * (x + y) / (w + h))})
		}
	}
	var b bytes.Buffer
	if png.Encode(&b, m) != nil {
		return nil // writing to memory cannot fail
	}
	texts := []pair{{"simulated", "by comfysim: nothing was computed"}}
	if !c.s.cfg.opts.has("--disable-metadata") {
		prompt, _ := json.Marshal(c.e.item.prompt) // it came from JSON
		texts = append(texts, pair{"prompt", string(prompt)})
	}
	return withTexts(b.Bytes(), texts)
}

// withTexts puts tEXt chunks behind a PNG's header chunk
// (https://www.w3.org/TR/png-3/#11tEXt).
func withTexts(data []byte, texts []pair) []byte {
	const headerEnd = 8 + 25 // signature, IHDR with length, name and checksum
	out := bytes.Clone(data[:headerEnd])
	for _, t := range texts {
		chunk := fmt.Appendf([]byte("tEXt"), "%s\x00%s", t.key, t.value)
		out = binary.BigEndian.AppendUint32(out, uint32(len(chunk)-4))
		out = append(out, chunk...)
		out = binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(chunk))
	}
	return append(out, data[headerEnd:]...)
}
