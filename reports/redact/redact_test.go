package redact

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"
)

// planted is a secret in a text: what must not be left, and the text around it.
type planted struct {
	secret string // a part that tells it, in the letters in which it is left
	text   string
}

// source makes secrets that look as real ones do and are none.
type source struct{ *rand.Rand }

func (s source) of(alphabet string, n int) string {
	var b strings.Builder
	for range n {
		b.WriteByte(alphabet[s.IntN(len(alphabet))])
	}
	return b.String()
}

const (
	small   = "abcdefghijklmnopqrstuvwxyz"
	capital = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits  = "0123456789"
	hex     = digits + "abcdef"
	base62  = small + capital + digits
)

func (s source) name() string {
	return s.of(small, 1) + s.of("bcdfgklmnprstvz", 2) + s.of(small, 5) + s.of("qxz", 1)
}

func (s source) pick(list ...string) string { return list[s.IntN(len(list))] }

// key is a token with a known beginning.
func key(prefix, alphabet string, n int) func(s source) planted {
	return func(s source) planted {
		token := prefix + s.of(alphabet, n-1) + s.of(digits, 1)
		return planted{token[len(prefix):], s.pick(
			"export TOKEN_X=%s", "loading with %s failed", `{"inputs": {"text": "key %s"}}`, "--hub %s", "File \"/srv/%s/x.py\", line 3", "['%s']",
		) + "\x00" + token}
	}
}

// shown fills in the token.
func (p planted) shown() string {
	form, token, ok := strings.Cut(p.text, "\x00")
	if !ok {
		return p.text
	}
	return fmt.Sprintf(form, token)
}

// kinds make planted secrets of more than twenty kinds in the places where they
// turn up: logs, environments, command lines, paths, workflows.
var kinds = map[string]func(s source) planted{
	"user, Linux": func(s source) planted {
		n := s.name()
		return planted{n, fmt.Sprintf(s.pick("  File \"/home/%s/ComfyUI/execution.py\", line 543, in execute", "Adding extra search path loras /home/%s/models/loras",
			"HOME=/home/%s", "PATH=/usr/bin:/home/%s/.local/bin", "file:///home/%s/out.png", "url %%2Fhome%%2F%s%%2Fin.png", "/var/home/%s", `\\wsl.localhost\Ubuntu\home\%s\ComfyUI`), n)}
	},
	"user, Windows": func(s source) planted {
		n := strings.ToUpper(s.name()[:1]) + s.name()
		form := s.pick(`  File "C:\Users\%s\ComfyUI\main.py", line 1`, `{"path": "C:\\Users\\%s\\AppData\\Local"}`, `D:/Users/%s/models`, `/mnt/c/Users/%s/ComfyUI`, `C%%3A%%5CUsers%%5C%s%%5Ctemp`,
			`c:\users\%s`, `C:\\\\Users\\\\%s\\\\x`, `Adding extra search path C:\Documents and Settings\%s\models`)
		return planted{n, fmt.Sprintf(form, n)}
	},
	"user with a space": func(s source) planted {
		n := s.name() + " " + s.name()
		return planted{n, fmt.Sprintf(s.pick(`C:\Users\%s\AppData\Local`, `{"p": "C:\\Users\\%s\\x.safetensors"}`, `C:/Users/%s/ComfyUI/`), n)}
	},
	"user of another alphabet": func(s source) planted {
		n := s.pick("张三丰", "Jürgen", "Алексей", "josé", "ユウコ")
		quoted := strconv.QuoteToASCII(n)
		return planted{s.pick(n, n), fmt.Sprintf(s.pick(`C:\Users\%[1]s\AppData`, "/home/%[1]s/ComfyUI", "/home/%[2]s/x", `{"p": "C:\\Users\\%[3]s\\x"}`, "/Users/%[1]s and %[1]s"), n, url.PathEscape(n), quoted[1:len(quoted)-1])}
	},
	"user at an address": func(s source) planted {
		n := s.name()
		return planted{n, "ssh -p 2222 " + n + "@88.1.2.3 nvidia-smi"}
	},
	"field of a document": func(s source) planted {
		n := s.name()
		return planted{n, fmt.Sprintf(s.pick(`{"username": "%s"}`, `{'hostname': '%s'}`), n)}
	},
	"user, macOS": func(s source) planted {
		n := s.name()
		return planted{n, fmt.Sprintf(s.pick("/Users/%s/Documents/ComfyUI", "cwd=/Users/%s", "'/Users/%s/a b/c'"), n)}
	},
	"user beside the path": func(s source) planted {
		n := s.name()
		return planted{n, fmt.Sprintf(s.pick("/home/%[1]s/ComfyUI: owner %[1]s", "/home/%[1]s/models/loras/%[1]s_face_v2.safetensors", "USER=%[1]s and /data/%[1]s", "/Users/%[1]s and by%[2]sLora.pt"), n, strings.ToUpper(n[:1])+n[1:])}
	},
	"shell prompt": func(s source) planted {
		n := s.name()
		return planted{n, fmt.Sprintf(s.pick("%[1]s@tower:~$ python main.py", "(venv) %[1]s@tower:/opt$ ls", "%[1]s@tower:~/ComfyUI$"), n)}
	},
	"host": func(s source) planted {
		n := s.name() + "-box"
		return planted{n, fmt.Sprintf(s.pick("HOSTNAME=%s", "COMPUTERNAME=%s", "http://%s.local:8188/", "me@%s:~$ nvidia-smi", `\\%s\models\sdxl.safetensors`, `"\\\\%s\\share\\x"`, "wss://%s.trycloudflare.com/ws", "on %s.fritz.box", "mounted from %s.lan", "http://%s.internal/x"), n)}
	},
	"host that Windows made up": func(s source) planted {
		n := s.of(capital+digits, 7)
		return planted{n, "computer DESKTOP-" + n + " restarted"}
	},
	"IPv4": func(s source) planted {
		ip := fmt.Sprintf("%d.%d.%d.%d", 11+s.IntN(100), s.IntN(256), s.IntN(256), 1+s.IntN(254))
		return planted{ip, fmt.Sprintf(s.pick("--listen %s", "Starting server\nTo see the GUI go to: http://%s:8188", "connection from %s lost", "ip: %s", "('%s', 8188)", "SSH_CLIENT=%s 50000 22", `{"host": "%s"}`, "%s - - GET /prompt", "route %s/24"), ip)}
	},
	"IPv6": func(s source) planted {
		ip := fmt.Sprintf("2%s:%s:%s::%s", s.of(hex, 3), s.of("123456789abcdef", 3), s.of("123456789", 3), s.of("123456789", 3))
		return planted{ip, fmt.Sprintf(s.pick("--listen %s", "http://[%s]:8188", "from %s", "fe80 and %s"), ip)}
	},
	"MAC": func(s source) planted {
		var p []string
		for range 6 {
			p = append(p, s.of(hex, 2))
		}
		mac := strings.Join(p, s.pick(":", "-"))
		return planted{mac, "eth0 " + mac + " up"}
	},
	"e-mail": func(s source) planted {
		n := s.name()
		return planted{n, fmt.Sprintf(s.pick("author %s@example.com", "GIT_AUTHOR_EMAIL=%s@mail.example.org", `{"by": "%s.x@gmail.com"}`, "?email=%s%%40example.com", "<%s@users.noreply.github.com>"), n)}
	},
	"Hugging Face": key("hf_", small+capital, 34),
	"GitHub":       key("ghp_", base62, 36),
	"GitHub, fine": key("github_pat_", base62+"_", 82),
	"OpenAI":       key("sk-proj-", base62+"_-", 64),
	"Anthropic":    key("sk-ant-api03-", base62+"_-", 93),
	"AWS key id":   key("AKIA", capital+"234567", 16),
	"Google":       key("AIza", base62+"_-", 35),
	"Slack":        key("xoxb-", digits+base62+"-", 40),
	"comfy.org":    key("comfyui-", hex, 64),
	"GitLab":       key("glpat-", base62, 20),
	"Replicate":    key("r8_", base62, 37),
	"npm":          key("npm_", base62, 36),
	"AWS secret": func(s source) planted {
		k := s.of(base62+"/+", 39) + s.of(digits, 1)
		return planted{k, fmt.Sprintf(s.pick("AWS_SECRET_ACCESS_KEY=%s", `"aws_secret_access_key": "%s"`, "secret_access_key = %s", "--aws-secret-access-key %s"), k)}
	},
	"web token": func(s source) planted {
		body := base64.RawURLEncoding.EncodeToString([]byte(`{"sub":"` + s.name() + `"}`))
		return planted{body, "token eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9." + body + "." + s.of(base62, 43)}
	},
	"bearer": func(s source) planted {
		t := s.of(base62, 24)
		return planted{t, fmt.Sprintf(s.pick("Authorization: Bearer %s", `{"Authorization": "Bearer %s"}`, "curl -H 'authorization: bearer %s'", "using Bearer %s"), t)}
	},
	"basic header": func(s source) planted {
		t := base64.StdEncoding.EncodeToString([]byte("u:" + s.name()))
		return planted{t, fmt.Sprintf(s.pick("Authorization: Basic %s", `"Authorization": "Basic %s"`), t)}
	},
	"password in an address": func(s source) planted {
		p := s.of(base62+"!.", 12)
		return planted{p, fmt.Sprintf(s.pick("http://me:%s@example.com/x", "--database-url postgresql://comfy:%s@db/x", "HTTPS_PROXY=http://me:%s@proxy.example.com:3128", "git+https://%s@github.com/a/b"), p)}
	},
	"private key": func(s source) planted {
		var lines []string
		for range 4 {
			lines = append(lines, s.of(base62+"+/", 64))
		}
		br := s.pick("\n", `\n`, "\r\n", `\\n`)
		body := strings.Join(lines, br)
		kind := s.pick("RSA ", "", "OPENSSH ", "EC ")
		return planted{lines[s.IntN(4)], "-----BEGIN " + kind + "PRIVATE KEY-----" + br + body + br + "Ab0=" + br + "-----END " + kind + "PRIVATE KEY-----"}
	},
	"civitai": func(s source) planted {
		t := s.of(hex, 32)
		return planted{t, fmt.Sprintf(s.pick("https://civitai.com/api/download/models/128713?type=Model&token=%s", "CIVITAI_API_KEY=%s", `{"civitai_api_key": "%s"}`, "--civitai-token %s"), t)}
	},
	"variable": func(s source) planted {
		t := s.of(small+digits, 14)
		return planted{t, fmt.Sprintf(s.pick("MY_SERVICE_TOKEN=%s", "export RUNPOD_API_KEY='%s'", "DB_PASSWORD=%s", "WANDB_API_KEY: %s", "set NGROK_AUTHTOKEN=%s", `environ({'MY_SECRET': '%s'})`), t)}
	},
	"password argument": func(s source) planted {
		t := s.of(small, 6) + s.of(digits, 2)
		return planted{t, fmt.Sprintf(s.pick("main.py --password %s --lowvram", "--password=%s", "['main.py', '--password', '%s']", "--api-key \"%s\"", "--auth-token %s"), t)}
	},
	"cookie": func(s source) planted {
		t := s.of(base62, 24)
		return planted{t, fmt.Sprintf(s.pick("Cookie: session=%s; a=b", "Set-Cookie: sid=%s; Path=/", `"cookie": "sid=%s"`), t)}
	},
	"signed address": func(s source) planted {
		t := s.of(hex, 64)
		return planted{t, fmt.Sprintf(s.pick("https://b.s3.amazonaws.com/m?X-Amz-Expires=300&X-Amz-Signature=%s", "https://x.blob.core.windows.net/a?sv=1&sig=%s&se=2"), t)}
	},
	"card": func(s source) planted {
		id := fmt.Sprintf("%s-%s-%s-%s-%s", s.of(hex, 8), s.of(hex, 4), s.of(hex, 4), s.of(hex, 4), s.of(hex, 12))
		return planted{id, "GPU 0: NVIDIA H200 (UUID: GPU-" + id + ")"}
	},
}

// TestPlantedSecrets plants a dozen secrets of each kind, and finds none of
// them afterwards, in whatever way it may be written.
func TestPlantedSecrets(t *testing.T) {
	const each = 12
	n, left := 0, 0
	for name, make := range kinds {
		s := source{rand.New(rand.NewPCG(uint64(len(name)), 9))}
		for range each {
			p := make(s)
			for _, text := range []string{p.shown(), "2026-07-01 [INFO] " + p.shown() + "\n", escaped(p.shown())} {
				n++
				got := New(Options{}).Text(text)
				if holds(got, p.secret) {
					left++
					t.Errorf("%s: left in %q, of %q", name, got, text)
				}
				if again := New(Options{}).Text(got); again != got {
					t.Errorf("%s: redacted twice: %q, once: %q", name, again, got)
				}
			}
		}
	}
	t.Logf("%d secrets of %d kinds planted, %d left", n, len(kinds), left)
}

// escaped is a text as it stands in a JSON document.
func escaped(text string) string {
	data, err := json.Marshal(map[string]string{"line": text})
	if err != nil {
		panic(err)
	}
	return string(data)
}

func holds(text, secret string) bool {
	low := strings.ToLower(text)
	quoted, _ := json.Marshal(secret)
	ascii := strconv.QuoteToASCII(secret)
	for _, s := range []string{secret, url.QueryEscape(secret), url.PathEscape(secret), string(quoted[1 : len(quoted)-1]), ascii[1 : len(ascii)-1]} {
		if strings.Contains(low, strings.ToLower(s)) {
			return true
		}
	}
	return false
}

// TestNothingUsefulDestroyed checks that what a maintainer reads stays.
func TestNothingUsefulDestroyed(t *testing.T) {
	r := New(Options{Versions: []string{"13.1.0.3", "9.19.0.56", "5.0.0.93", "10.4.0.35"}})
	r.Learn("/home/alice/ComfyUI", "HF_TOKEN=hf_"+strings.Repeat("aB3", 12))
	data, err := os.ReadFile("testdata/useful.txt")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "#") || line == "" {
			continue
		}
		n++
		if got := r.Text(line); got != line {
			t.Errorf("got  %s\nwant %s", got, line)
		}
	}
	if n < 80 {
		t.Errorf("only %d lines were looked at", n)
	}
}

// TestText checks what remains of lines with something in them.
func TestText(t *testing.T) {
	check := func(text, want string) {
		t.Helper()
		if got := New(Options{}).Text(text); got != want {
			t.Errorf("%q\n got  %q\n want %q", text, got, want)
		}
	}
	check(`  File "C:\Users\Alice\ComfyUI\execution.py", line 543, in execute`, `  File "C:\Users\<user>\ComfyUI\execution.py", line 543, in execute`)
	check(`C:\Users\Alice and D:\models`, `C:\Users\<user> and D:\models`)
	check("/home/alice/models/loras/alice_face.safetensors", "/home/<user>/models/loras/<user>_face.safetensors")
	check("/home/ubuntu/ComfyUI and /root/x", "/home/ubuntu/ComfyUI and /root/x")
	check("http://192.168.1.20:8188 then 192.168.1.20 and 192.168.1.21", "http://<ip-1>:8188 then <ip-1> and <ip-2>")
	check("nvidia-cublas 13.1.0.3 on http://13.1.0.3:80", "nvidia-cublas 13.1.0.3 on http://<ip-1>:80")
	check("To see the GUI go to: http://127.0.0.1:8188", "To see the GUI go to: http://127.0.0.1:8188")
	check("HF_TOKEN=abc12345xyz; later abc12345xyz", "HF_TOKEN=<secret-1>; later <secret-1>")
	check("git@github.com:city96/ComfyUI-GGUF.git", "git@github.com:city96/ComfyUI-GGUF.git")
	check(`{"api_key": "q1w2e3r4", "seed": 1}`, `{"api_key": "<secret-1>", "seed": 1}`)
	check(`\\nas01\models\sdxl.safetensors`, `\\<host>\models\sdxl.safetensors`)
	check("alice@tower:~/ComfyUI$ python main.py", "<user>@<host>:~/ComfyUI$ python main.py")
}

// TestArgs checks that the word after a flag goes, and flags without one do not.
func TestArgs(t *testing.T) {
	got := strings.Join(New(Options{}).Args([]string{"main.py", "--lowvram", "--password", "hunter2", "--api-key=x9y8z7w6", "--token", "--cpu"}), " ")
	want := "main.py --lowvram --password <secret-1> --api-key=<secret-2> --token --cpu"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestKnownNames checks names that are known from elsewhere, and that one that is a
// word of the texts stays outside of paths.
func TestKnownNames(t *testing.T) {
	r := New(Options{Users: []string{"bob jones"}, Hosts: []string{"quarry.example"}, Keep: []string{"KSampler"}})
	r.Learn("/home/ksampler/x")
	check := func(text, want string) {
		t.Helper()
		if got := r.Text(text); got != want {
			t.Errorf("%q\n got  %q\n want %q", text, got, want)
		}
	}
	check("Bob Jones and bob_jones on QUARRY", "<user> and <user> on <host>")
	check("KSampler in /home/ksampler/y", "KSampler in /home/<user-2>/y")
	check("bobsled quarrys", "bobsled quarrys")
}

// TestValue checks what stands under a name: a field "user" may be a prompt, and an
// address is no name.
func TestValue(t *testing.T) {
	check := func(name, value, want string) {
		t.Helper()
		if got := New(Options{}).Value(name, value); got != want {
			t.Errorf("%s: %q gave %q, want %q", name, value, got, want)
		}
	}
	check("USER", "wilhelmina", "<user>")
	check("username", "wilhelmina", "<user>")
	check("user", "a lighthouse at dawn", "a lighthouse at dawn")
	check("hostname", "127.0.0.1", "127.0.0.1")
	check("HOSTNAME", "box17", "<host>")
	check("HF_TOKEN", "abc", "<secret-1>")
	check("token_normalization", "none", "none")
	check("text", "max steps", "max steps")
}

// TestCommonNames checks that a name that is a word goes from paths only.
func TestCommonNames(t *testing.T) {
	got := New(Options{}).Text("/home/max/ComfyUI: max 77 tokens, Max is reached")
	if want := "/home/<user>/ComfyUI: max 77 tokens, Max is reached"; got != want {
		t.Errorf("got %s", got)
	}
}

// TestPrompts checks that prompts go where they are told by their name or their
// length, and that short ones do not take words out of sentences.
func TestPrompts(t *testing.T) {
	long := "a portrait of Jane,\n\"golden hour\", 85mm photograph"
	r := New(Options{Prompts: []string{long, "bad"}})
	doc, err := r.JSON([]byte(`{"6": {"inputs": {"text": ` + string(must(json.Marshal(long))) + `, "seed": 18446744073709551615}}, "7": {"inputs": {"text": "bad"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := `{
  "6": {
    "inputs": {
      "seed": 18446744073709551615,
      "text": "<prompt-1: 50 characters>"
    }
  },
  "7": {
    "inputs": {
      "text": "<prompt-2: 3 characters>"
    }
  }
}
`
	if string(doc) != want {
		t.Errorf("got %s\nwant %s", doc, want)
	}
	for _, text := range []string{"error in {'text': 'a portrait of Jane,\\n\"golden hour\", 85mm photograph'}", escaped("text: " + long), "line 2 is \"golden hour\", 85mm photograph 2"} {
		if got := r.Text(text); strings.Contains(got, "golden") {
			t.Errorf("left: %s", got)
		}
	}
	if got := r.Text("bad allocation"); got != "bad allocation" {
		t.Errorf("a word went: %s", got)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestForms checks that each form says where it is written down.
func TestForms(t *testing.T) {
	for _, f := range forms {
		if !strings.HasPrefix(f.source, "https://") {
			t.Errorf("%s has no source", f.name)
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add("C:\\Users\\alice\\x HF_TOKEN=abc12345 http://u:p@1.2.3.4/ a@b.cd")
	f.Add("-----BEGIN PRIVATE KEY-----\nabc")
	f.Fuzz(func(t *testing.T, s string) {
		once := New(Options{}).Text(s)
		if twice := New(Options{}).Text(once); len(twice) > len(once)+200 {
			t.Errorf("grows: %q, %q", once, twice)
		}
	})
}

func BenchmarkText(b *testing.B) {
	line := "[INFO] Adding extra search path checkpoints /home/alice/models/checkpoints\n  File \"/opt/venv/lib/python3.12/site-packages/torch/nn/modules/module.py\", line 1779, in _wrapped_call_impl\n"
	text := strings.Repeat(line, 2000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		New(Options{}).Text(text)
	}
}
