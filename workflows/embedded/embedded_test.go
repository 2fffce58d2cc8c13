package embedded

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

const (
	flow   = `{"nodes":[{"id":1,"type":"A"}],"links":[]}`
	prompt = `{"1":{"class_type":"A","inputs":{}}}`
)

func read(data []byte) (Content, error) { return Read(bytes.NewReader(data), int64(len(data))) }

func be32(n int) []byte { return binary.BigEndian.AppendUint32(nil, uint32(n)) }
func le32(n int) []byte { return binary.LittleEndian.AppendUint32(nil, uint32(n)) }

func cat(parts ...any) []byte {
	var b bytes.Buffer
	for _, p := range parts {
		switch p := p.(type) {
		case string:
			b.WriteString(p)
		case []byte:
			b.Write(p)
		case int:
			b.WriteByte(byte(p))
		}
	}
	return b.Bytes()
}

func packed(s string) []byte {
	var b bytes.Buffer
	z, err := zlib.NewWriterLevel(&b, zlib.BestSpeed)
	if err != nil {
		panic(err)
	}
	z.Write([]byte(s))
	z.Close()
	return b.Bytes()
}

func chunk(kind string, body []byte) []byte {
	return cat(be32(len(body)), kind, body, binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE(cat(kind, body))))
}

func png(chunks ...[]byte) []byte {
	return cat("\x89PNG\r\n\x1a\n", chunk("IHDR", make([]byte, 13)), bytes.Join(chunks, nil), chunk("IEND", nil))
}

// tiff is an EXIF block with texts under the given tags.
func tiff(order binary.AppendByteOrder, tags map[uint16]string) []byte {
	head := "II*\x00"
	if order == binary.AppendByteOrder(binary.BigEndian) {
		head = "MM\x00*"
	}
	b := order.AppendUint32([]byte(head), 8)
	b = order.AppendUint16(b, uint16(len(tags)))
	at := uint32(8 + 2 + 12*len(tags) + 4)
	var texts []byte
	for tag := range uint16(0xffff) {
		text, ok := tags[tag]
		if !ok {
			continue
		}
		b = order.AppendUint16(b, tag)
		b = order.AppendUint16(b, 2)
		b = order.AppendUint32(b, uint32(len(text)+1))
		b = order.AppendUint32(b, at)
		texts = append(append(texts, text...), 0)
		at += uint32(len(text) + 1)
	}
	return append(order.AppendUint32(b, 0), texts...)
}

func webp(exif []byte) []byte {
	body := cat("WEBP", "VP8X", le32(10), make([]byte, 10), "EXIF", le32(len(exif)), exif)
	return cat("RIFF", le32(len(body)), body)
}

func jpeg(exif []byte) []byte {
	exif = cat("Exif\x00\x00", exif)
	return cat("\xff\xd8\xff\xe0\x00\x04xx\xff\xe1", binary.BigEndian.AppendUint16(nil, uint16(len(exif)+2)), exif, "\xff\xda\x00\x02\xff\xd9")
}

func box(kind string, body ...any) []byte {
	b := cat(body...)
	return cat(be32(len(b)+8), kind, b)
}

func item(n int, value string) []byte {
	return cat(be32(24+len(value)), be32(n), box("data", be32(1), be32(0), value))
}

func mp4(full bool) []byte {
	hdlr := box("hdlr", make([]byte, 25))
	body := cat(hdlr,
		box("keys", be32(0), be32(2), be32(14), "mdta", "prompt", be32(16), "mdta", "workflow"),
		box("ilst", item(1, prompt), item(2, flow)))
	if full {
		body = cat(be32(0), body)
	}
	return cat(box("ftyp", "isom", be32(0)), cat(be32(1), "mdat", be32(0), be32(16+5), "video"), box("moov", box("mvhd", make([]byte, 100)), box("udta", box("meta", body))))
}

func element(id string, body []byte) []byte {
	return cat(id, 0x10|len(body)>>24, len(body)>>16&0xff, len(body)>>8&0xff, len(body)&0xff, body)
}

func webm(unknown bool) []byte {
	tag := func(name, value string) []byte {
		return element("\x67\xc8", cat(element("\x45\xa3", []byte(name)), element("\x44\x87", []byte(value))))
	}
	tags := element("\x12\x54\xc3\x67", element("\x73\x73", cat(tag("ENCODER", "x"), tag("PROMPT", prompt), tag("WORKFLOW", flow))))
	body := cat(element("\x1f\x43\xb6\x75", []byte{0xe7, 0x81, 0}), tags)
	segment := element("\x18\x53\x80\x67", body)
	if unknown {
		segment = cat("\x18\x53\x80\x67\x01\xff\xff\xff\xff\xff\xff\xff", body)
	}
	return cat(element("\x1a\x45\xdf\xa3", nil), segment)
}

func comments() []byte {
	c := func(s string) []byte { return cat(le32(len(s)), s) }
	return cat(c("Lavf"), le32(3), c("encoder=x"), c("prompt="+prompt), c("WORKFLOW="+flow))
}

func flac() []byte {
	c := comments()
	return cat("fLaC", 0, 0, 0, 34, make([]byte, 34), 0x84, len(c)>>16, len(c)>>8&0xff, len(c)&0xff, c)
}

func page(serial int, continued bool, packets ...[]byte) []byte {
	var lengths, body []byte
	for _, p := range packets {
		n := len(p)
		for ; n >= 255; n -= 255 {
			lengths = append(lengths, 255)
		}
		lengths, body = append(lengths, byte(n)), append(body, p...)
	}
	return cat("OggS", 0, 0, make([]byte, 8), le32(serial), le32(0), le32(0), len(lengths), lengths, body)
}

func opus() []byte {
	return cat(page(7, false, []byte("OpusHead")), page(7, false, cat("OpusTags", comments())), page(7, false, []byte("sound")))
}

func mp3(version int) []byte {
	frame := func(id string, body []byte) []byte {
		n := be32(len(body))
		if version == 4 {
			n = []byte{0, 0, byte(len(body) >> 7), byte(len(body) & 0x7f)}
		}
		return cat(id, n, 0, 0, body)
	}
	utf16 := func(s string) []byte {
		b := []byte{0xff, 0xfe}
		for _, r := range s {
			b = append(b, byte(r), 0)
		}
		return b
	}
	body := cat(frame("TIT2", []byte("\x03song")), frame("TXXX", cat(3, "prompt\x00", prompt)), frame("TXXX", cat(1, utf16("workflow"), 0, 0, utf16(flow))), make([]byte, 20))
	return cat("ID3", version, 0, 0, 0, 0, len(body)>>7, len(body)&0x7f, body)
}

func quoted(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

func glb() []byte {
	doc := fmt.Sprintf(`{"asset":{"version":"2.0","extras":{"prompt":%s,"workflow":%s}}}`, quoted(prompt), flow)
	return cat("glTF", le32(2), le32(20+len(doc)), le32(len(doc)), "JSON", doc)
}

func safetensors() []byte {
	doc := fmt.Sprintf(`{"__metadata__":{"prompt":%s,"workflow":%s}}`, quoted(prompt), quoted(flow))
	return cat(le32(len(doc)), le32(0), doc)
}

// files are one of each kind, each with the workflow and the prompt.
func files() map[string][]byte {
	exif := map[uint16]string{0x010f: "workflow:" + flow, 0x0110: "prompt:" + prompt}
	text := func(s string) []byte { return cat("\x00\x00en\x00\x00", s) }
	return map[string][]byte{
		"png tEXt":            png(chunk("tEXt", cat("prompt\x00", prompt)), chunk("tEXt", cat("workflow\x00", flow))),
		"png iTXt":            png(chunk("iTXt", cat("prompt\x00", text(prompt))), chunk("iTXt", cat("workflow\x00", text(flow)))),
		"png zTXt":            png(chunk("zTXt", cat("prompt\x00\x00", packed(prompt))), chunk("zTXt", cat("workflow\x00\x00", packed(flow)))),
		"png compressed iTXt": png(chunk("iTXt", cat("prompt\x00\x01\x00\x00\x00", packed(prompt))), chunk("iTXt", cat("workflow\x00\x01\x00\x00\x00", packed(flow)))),
		"png comf":            png(chunk("IDAT", []byte("x")), chunk("comf", cat("prompt\x00", prompt)), chunk("comf", cat("workflow\x00", flow))),
		"webp":                webp(tiff(binary.LittleEndian, exif)),
		"webp big endian":     webp(cat("Exif\x00\x00", tiff(binary.BigEndian, exif))),
		"jpeg":                jpeg(tiff(binary.BigEndian, exif)),
		"jpeg comment":        cat("\xff\xd8\xff\xfe", binary.BigEndian.AppendUint16(nil, uint16(2+len(flow)+len(prompt)+26)), `{"prompt": `, prompt, `,"workflow": `, flow, `}  `, "\xff\xd9"),
		"avif":                cat(box("ftyp", "avif"), box("mdat", "picture", "Exif\x00\x00", tiff(binary.LittleEndian, exif))),
		"mp4":                 mp4(true),
		"mov":                 mp4(false),
		"mp4 comment":         cat(box("ftyp", "isom"), box("moov", box("udta", box("meta", be32(0), box("hdlr", make([]byte, 25)), box("ilst", box("\xa9cmt", box("data", be32(1), be32(0), `{"prompt": `, prompt, `,"workflow": `, flow, `}`))))))),
		"webm":                webm(false),
		"webm live":           webm(true),
		"flac":                flac(),
		"opus":                opus(),
		"mp3 2.3":             mp3(3),
		"mp3 2.4":             mp3(4),
		"exr":                 cat("\x76\x2f\x31\x01\x02\x00\x00\x00", "prompt\x00string\x00", le32(len(prompt)), prompt, "lineOrder\x00lineOrder\x00", le32(1), 0, "workflow\x00string\x00", le32(len(flow)), flow, 0),
		"glb":                 glb(),
		"safetensors":         safetensors(),
		"svg":                 []byte(`<svg xmlns="x"><metadata> <![CDATA[{"prompt": ` + prompt + `, "workflow": ` + flow + `}]]></metadata><path/></svg>`),
	}
}

func TestRead(t *testing.T) {
	for name, data := range files() {
		c, err := read(data)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := string(c.Workflow); got != flow {
			t.Errorf("%s: got workflow %q", name, got)
		}
		if got := string(c.Prompt); got != prompt {
			t.Errorf("%s: got prompt %q", name, got)
		}
		if k := Kind(data[:min(16, len(data))]); k == "" || k != c.Kind {
			t.Errorf("%s: kind %q and %q", name, k, c.Kind)
		}
	}
}

// Files that end early, wherever, and files with nothing in them are errors,
// unless what is wanted came before the end.
func TestDamaged(t *testing.T) {
	for name, data := range files() {
		for n := range data {
			c, err := read(data[:n])
			if err == nil && c.Workflow == nil && c.Prompt == nil {
				t.Errorf("%s, %d bytes: neither content nor error", name, n)
			}
			if err == nil && c.Workflow != nil && !json.Valid(c.Workflow) && !strings.HasPrefix(name, "avif") {
				t.Errorf("%s, %d bytes: got %q", name, n, c.Workflow)
			}
		}
	}
	var none *NoneError
	if _, err := read(png(chunk("tEXt", []byte("Software\x00x")))); !errors.As(err, &none) || none.Err != nil {
		t.Errorf("got %v", err)
	}
	for _, text := range []string{"", "{", `{"ftyp": 1}`, `{"1":{"WEBP":2}}`, "GIF89a"} {
		if _, err := read([]byte(text)); !errors.Is(err, ErrUnknown) {
			t.Errorf("%q: got %v", text, err)
		}
	}
}

// Lengths are what a file says; memory is what it has.
func TestBoundedMemory(t *testing.T) {
	for name, data := range map[string][]byte{
		"png that says 2 GiB":  cat("\x89PNG\r\n\x1a\n", be32(1<<31-1), "tEXt", "workflow\x00{"),
		"flac that says 4 GiB": cat("fLaC", 0x84, 0, 0, 12, le32(-1), le32(-1), le32(-1)),
		"mp4 that says much":   cat(be32(1), "ftyp", be32(0x7fffffff), be32(-1), "x"),
		"webm that says much":  cat("\x1a\x45\xdf\xa3\x80\x18\x53\x80\x67\x01\x7f\xff\xff\xff\xff\xff\xff"),
		"safetensors":          cat(le32(-1), le32(0), "{\""),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := read(data)
		runtime.ReadMemStats(&after)
		if err == nil {
			t.Errorf("%s: no error", name)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 5*maxText {
			t.Errorf("%s: %d MiB", name, used>>20)
		}
	}
}

// What unpacks to much more than a text may have ends there. The buffer doubles, and
// all its sizes count.
func TestBomb(t *testing.T) {
	const most = 64 << 10
	bomb := packed(strings.Repeat(" ", 100*most))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := inflate(bomb, most)
	runtime.ReadMemStats(&after)
	if !errors.Is(err, errLarge) {
		t.Errorf("got %v", err)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 20*most {
		t.Errorf("%d KiB for a text of at most %d", used>>10, most>>10)
	}
	if got, err := inflate(packed("x"), 1); err != nil || string(got) != "x" {
		t.Errorf("as much as may be: %q, %v", got, err)
	}
}

// Files that ComfyUI itself and Pillow wrote; see testdata/README.md.
func TestRealFiles(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.*")
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) < 13 {
		t.Errorf("%d files", len(paths))
	}
	for _, path := range paths {
		if filepath.Ext(path) == ".md" {
			continue
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		info, err := f.Stat()
		if err != nil {
			t.Fatal(err)
		}
		c, err := Read(f, info.Size())
		f.Close()
		if err != nil || !json.Valid(c.Prompt) || !json.Valid(c.Workflow) {
			t.Errorf("%s: got %d and %d bytes, %v", path, len(c.Prompt), len(c.Workflow), err)
		}
	}
}

// Ensure that a chunk that cannot be unpacked is told and hides no other.
func TestDamagedChunk(t *testing.T) {
	bad := chunk("zTXt", []byte("workflow\x00\x00no zlib"))
	got, err := read(png(bad, chunk("tEXt", []byte(`prompt`+"\x00"+`{"1": {}}`))))
	if err != nil || string(got.Prompt) != `{"1": {}}` || got.Workflow != nil || got.Damage == nil || !strings.Contains(got.Damage.Error(), "workflow") {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := read(png(bad)); err == nil || !strings.Contains(err.Error(), "zlib") {
		t.Errorf("got %v", err)
	}
}
