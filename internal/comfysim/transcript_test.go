package comfysim

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// transcript is one recording of the real program.
type transcript struct {
	name string
	meta struct {
		ComfyUI   string   `json:"comfyui"`
		Card      *string  `json:"card"`
		FreeMiB   int64    `json:"free_before_mib"`
		Argv      []string `json:"argv"`
		ExitFirst *int     `json:"exit_before_stop"`
	}
	log    string
	events []event
}

// event is one line of events.jsonl.
type event struct {
	kind string // post_prompt, frame, history, rested, freed, closed, history_at_end
	data any
}

func transcripts(t *testing.T) []transcript {
	t.Helper()
	files, err := filepath.Glob("testdata/transcripts/*.meta.json")
	if err != nil || len(files) < 20 {
		t.Fatalf("recordings: %d, %v", len(files), err)
	}
	var out []transcript
	for _, file := range files {
		out = append(out, readTranscript(t, strings.TrimSuffix(filepath.Base(file), ".meta.json")))
	}
	return out
}

func readTranscript(t *testing.T, name string) transcript {
	t.Helper()
	tr := transcript{name: name}
	base := "testdata/transcripts/" + name
	data, err := os.ReadFile(base + ".meta.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &tr.meta); err != nil {
		t.Fatal(err)
	}
	tr.log = string(readGzip(t, base+".log.gz"))
	if _, err := os.Stat(base + ".events.jsonl.gz"); err != nil {
		return tr
	}
	for line := range bytes.Lines(readGzip(t, base+".events.jsonl.gz")) {
		v, err := decodeJSON(line)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range v.(object) {
			if p.key != "t_s" {
				tr.events = append(tr.events, event{p.key, p.value})
			}
		}
	}
	return tr
}

// posted are the graphs that the recording's client sent, in order. Where no
// history tells them, they follow from the recording's description.
func (tr *transcript) posted(t *testing.T) []any {
	t.Helper()
	var out []any
	for _, e := range tr.events {
		if e.kind != "history" {
			continue
		}
		entry := e.data.(object)[0].value.(object)
		prompt, _ := entry.get("prompt")
		out = append(out, prompt.([]any)[2])
	}
	if len(out) > 0 {
		return out
	}
	switch tr.name {
	case "029-cpu-killed-in-sample":
		return []any{textToImage("sd15.safetensors", 64, 6)}
	case "029-ram-capped-5gib-thrash":
		return []any{textToImage("sdxl.safetensors", 1024, 4)}
	case "029-cpu-missing-model":
		return []any{withoutNegative("not-here.safetensors")}
	case "029-cpu-missing-node-type":
		return []any{imageGraph("NoSuchNode")}
	}
	t.Fatalf("%s: what was posted is not known", tr.name)
	return nil
}

func parse(t testing.TB, text string) any {
	t.Helper()
	v, err := decodeJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func textToImage(ckpt string, size, steps int) any {
	text := strings.NewReplacer("CKPT", ckpt, "SIZE", itoa(size), "STEPS", itoa(steps)).Replace(`{
		"1": {"class_type": "CheckpointLoaderSimple", "inputs": {"ckpt_name": "CKPT"}},
		"2": {"class_type": "CLIPTextEncode", "inputs": {"clip": ["1", 1], "text": "a cat"}},
		"3": {"class_type": "CLIPTextEncode", "inputs": {"clip": ["1", 1], "text": "bad"}},
		"4": {"class_type": "EmptyLatentImage", "inputs": {"width": SIZE, "height": SIZE, "batch_size": 1}},
		"5": {"class_type": "KSampler", "inputs": {"model": ["1", 0], "positive": ["2", 0], "negative": ["3", 0],
			"latent_image": ["4", 0], "seed": 1, "steps": STEPS, "cfg": 7.0, "sampler_name": "euler",
			"scheduler": "normal", "denoise": 1.0}},
		"6": {"class_type": "VAEDecode", "inputs": {"samples": ["5", 0], "vae": ["1", 2]}},
		"7": {"class_type": "SaveImage", "inputs": {"images": ["6", 0], "filename_prefix": "x"}}}`)
	v, err := decodeJSON([]byte(text))
	if err != nil {
		panic(err)
	}
	return v
}

// withoutNegative is a graph whose output is node 6, as the recording's.
func withoutNegative(ckpt string) any {
	v, err := decodeJSON([]byte(`{
		"1": {"class_type": "CheckpointLoaderSimple", "inputs": {"ckpt_name": "` + ckpt + `"}},
		"2": {"class_type": "CLIPTextEncode", "inputs": {"clip": ["1", 1], "text": "a cat"}},
		"3": {"class_type": "EmptyLatentImage", "inputs": {"width": 64, "height": 64, "batch_size": 1}},
		"4": {"class_type": "KSampler", "inputs": {"model": ["1", 0], "positive": ["2", 0], "negative": ["2", 0],
			"latent_image": ["3", 0], "seed": 1, "steps": 2, "cfg": 7.0, "sampler_name": "euler",
			"scheduler": "normal", "denoise": 1.0}},
		"5": {"class_type": "VAEDecode", "inputs": {"samples": ["4", 0], "vae": ["1", 2]}},
		"6": {"class_type": "SaveImage", "inputs": {"images": ["5", 0], "filename_prefix": "x"}}}`))
	if err != nil {
		panic(err)
	}
	return v
}

func imageGraph(middle string) any {
	v, err := decodeJSON([]byte(`{
		"1": {"class_type": "EmptyImage", "inputs": {"width": 512, "height": 512, "batch_size": 1, "color": 255}},
		"2": {"class_type": "` + middle + `", "inputs": {"image": ["1", 0], "upscale_method": "nearest-exact",
			"width": 1024, "height": 1024, "crop": "disabled"}},
		"3": {"class_type": "SaveImage", "inputs": {"images": ["2", 0], "filename_prefix": "s"}}}`))
	if err != nil {
		panic(err)
	}
	return v
}
