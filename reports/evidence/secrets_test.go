package evidence

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"

	"memtrix"
)

// plant makes one secret of a kind: the text that has it, and the part that must go.
type plant func(r *rand.Rand) (text, secret string)

func letters(r *rand.Rand, alphabet string, n int) string {
	var b strings.Builder
	for range n {
		b.WriteByte(alphabet[r.IntN(len(alphabet))])
	}
	return b.String()
}

const (
	lowers  = "abcdefghijklmnopqrstuvwxyz"
	base62  = lowers + "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	hexes   = "0123456789abcdef"
	numbers = "0123456789"
)

func token(prefix, alphabet string, n int) plant {
	return func(r *rand.Rand) (string, string) {
		secret := letters(r, alphabet, n-1) + letters(r, numbers, 1)
		return prefix + secret, secret
	}
}

func within(form string, make plant) plant {
	return func(r *rand.Rand) (string, string) {
		text, secret := make(r)
		return fmt.Sprintf(form, text), secret
	}
}

func word(n int) plant {
	return func(r *rand.Rand) (string, string) {
		w := letters(r, "bcdfghjkmpqrtvwxz", n)
		return w, w
	}
}

// plants are secrets of 24 kinds.
var plants = map[string]plant{
	"Linux home":      within("/home/%s/models/x.safetensors", word(9)),
	"Windows home":    within(`C:\Users\%s\AppData\Local\x.bin`, word(9)),
	"macOS home":      within("/Users/%s/ComfyUI/models", word(9)),
	"mount of a disk": within("/media/%s/disk/models", word(9)),
	"share":           within(`\\%s\models\x.gguf`, word(9)),
	"host":            within("http://%s.local:8188/", word(9)),
	"shell":           within("%s@tower:~$ python main.py", word(9)),
	"IPv4": func(r *rand.Rand) (string, string) {
		ip := fmt.Sprintf("88.%d.%d.%d", r.IntN(256), r.IntN(256), 1+r.IntN(254))
		return "http://" + ip + ":8188", ip
	},
	"IPv6": func(r *rand.Rand) (string, string) {
		ip := "2001:db8:" + letters(r, "123456789abcdef", 4) + "::" + letters(r, "123456789", 3)
		return "listen " + ip, ip
	},
	"MAC": func(r *rand.Rand) (string, string) {
		m := "02:1a:" + letters(r, hexes, 2) + ":" + letters(r, hexes, 2) + ":4b:9c"
		return "eth0 " + m, m
	},
	"e-mail":       within("%s@example.com", word(9)),
	"Hugging Face": token("hf_", lowers+strings.ToUpper(lowers), 34),
	"GitHub":       token("ghp_", base62, 36),
	"GitHub, fine": token("github_pat_", base62, 60),
	"OpenAI":       token("sk-proj-", base62, 48),
	"AWS":          within("aws_secret_access_key=%s", token("", base62, 40)),
	"Google":       token("AIza", base62, 35),
	"Slack":        token("xoxb-", numbers, 30),
	"comfy.org":    token("comfyui-", hexes, 64),
	"web token": func(r *rand.Rand) (string, string) {
		s := letters(r, base62, 40)
		return "eyJhbGciOiJIUzI1NiJ9.eyJ" + s + "." + letters(r, base62, 30), s
	},
	"bearer":  within("Authorization: Bearer %s", token("", base62, 30)),
	"address": within("https://user:%s@example.com/x", token("", base62, 16)),
	"named":   within("MY_SERVICE_TOKEN=%s", token("", lowers, 20)),
	"civitai": within("https://civitai.com/api/download/models/1?token=%s", token("", hexes, 32)),
}

// places put a text somewhere into an input.
var places = map[string]func(in *Input, text string){
	"log": func(in *Input, text string) { in.Log += "[INFO] loading " + text + "\n" },
	"traceback": func(in *Input, text string) {
		in.Log += "  File \"" + text + "\", line 3, in f\n    x = '" + text + "'\n"
	},
	"log as JSON": func(in *Input, text string) {
		data, _ := json.Marshal(text)
		in.Log += "{\"a\": " + string(data) + "}\n"
	},
	"environment": func(in *Input, text string) {
		in.Trial.Environment["env.COMFY_"+fmt.Sprint(len(in.Trial.Environment))] = text
	},
	"facts":     func(in *Input, text string) { in.Trial.Environment["server.argv"] += " " + text },
	"arguments": func(in *Input, text string) { in.Command = append(in.Command, "--x="+text) },
	"setting":   func(in *Input, text string) { in.Trial.Argv = append(in.Trial.Argv, text) },
	"evidence": func(in *Input, text string) {
		in.Trial.Outcome.Evidence = append(in.Trial.Outcome.Evidence, "at "+text)
	},
	"message": func(in *Input, text string) { in.Trial.Outcome.Message += " " + text },
	"warning": func(in *Input, text string) { in.Trial.Warnings = append(in.Trial.Warnings, "odd: "+text) },
	"workflow": func(in *Input, text string) {
		node(in, "n"+fmt.Sprint(len(in.Trial.Cell.Workflow.Graph)), map[string]string{"text": "see " + text})
	},
	"file in the workflow": func(in *Input, text string) {
		node(in, "n"+fmt.Sprint(len(in.Trial.Cell.Workflow.Graph)), map[string]string{"image": text})
	},
	"name of the workflow": func(in *Input, text string) { in.Trial.Cell.Workflow.Name += " " + text },
	"version's path":       func(in *Input, text string) { in.Trial.Cell.Version.Dirty = append(in.Trial.Cell.Version.Dirty, text) },
}

func node(in *Input, id string, inputs map[string]string) {
	n := memtrix.GraphNode{ClassType: "Note", Inputs: map[string]json.RawMessage{}}
	for name, value := range inputs {
		n.Inputs[name], _ = json.Marshal(value)
	}
	in.Trial.Cell.Workflow.Graph[id] = n
}

// TestSecretsElsewhere checks places that only some trials have: the address of a
// server that ran before, what a spec changed in a workflow, where a pack comes from.
func TestSecretsElsewhere(t *testing.T) {
	all := kinds(t)
	for _, name := range []string{"attached", "packs, front end's form, machine"} {
		in := all[name]
		trial := *in.Trial
		if trial.Cell.Version.Attached != nil {
			trial.Cell.Version.Attached = &memtrix.Attached{URL: "http://192.168.77.5:8188", Argv: []string{"--listen", "192.168.77.5", "--password", "zzsecretzz"}}
		}
		if trial.Cell.Workflow.UI != nil {
			trial.Cell.Workflow.Changes = []memtrix.Change{
				{Path: "2.text", Value: json.RawMessage(`"zzprompt of a person"`)}, {Path: "9.image", Value: json.RawMessage(`"/home/zzperson/in.png"`)},
				{Path: "9.api_key", Value: json.RawMessage(`"zzsecretzz1"`)},
			}
			trial.Cell.Version.Packs = []memtrix.Pack{{Name: "zzperson-pack", Source: "https://me:zzsecretzz2@example.com/x", Hash: "h", Dir: "/home/zzperson/ComfyUI/custom_nodes/x"}}
		}
		in.Trial, in.HidePrompts = &trial, true
		_, files := bundled(t, in)
		for file, text := range files {
			for _, secret := range []string{"192.168.77.5", "zzsecretzz", "zzprompt", "zzperson"} {
				if strings.Contains(text, secret) {
					t.Errorf("%s: %s has %s", name, file, secret)
				}
			}
		}
	}
}

// TestSecrets plants more than 200 secrets of more than 20 kinds in logs,
// environment, arguments, paths and workflow, and finds none in any file of the
// bundle, in whatever way it may be written.
func TestSecrets(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	in := failing(t)
	in.Events = nil // its history has the workflow without what is planted
	total := 0
	secrets := map[string]string{}
	for _, kind := range slices.Sorted(maps.Keys(plants)) {
		for _, place := range slices.Sorted(maps.Keys(places)) {
			text, secret := plants[kind](r)
			places[place](&in, text)
			secrets[secret] = kind + " in the " + place
			total++
		}
	}
	_, files := bundled(t, in)
	left := 0
	for name, text := range files {
		low := strings.ToLower(name + "\n" + text)
		for secret, where := range secrets {
			for _, form := range []string{secret, url.QueryEscape(secret)} {
				if strings.Contains(low, strings.ToLower(form)) {
					left++
					t.Errorf("%s: %s is left", name, where)
				}
			}
		}
	}
	t.Logf("%d secrets of %d kinds in %d places, %d left", total, len(plants), len(places), left)
	// What a maintainer reads is still there.
	for _, want := range []string{"nvidia-cublas==13.1.0.3", "2.11.0+cu130", "580.159.04", "3e8cf83f7c1d2a9b4e5f60718293a4b5c6d7e8f9", "1d59a7b01e251e4f", "sdxl.safetensors", "960.00 MiB", "KSampler", "--reserve-vram", "execution.py", "max_split_size_mb:512"} {
		if !slices.ContainsFunc(slices.Collect(maps.Values(files)), func(text string) bool { return strings.Contains(text, want) }) {
			t.Errorf("%s is in no file", want)
		}
	}
}
