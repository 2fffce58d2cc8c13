package why

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"
	"unicode/utf16"

	"memtrix"
	"memtrix/versions/installs"
)

// recorded is a log of a real server, as text, with a Windows line end where asked.
func recorded(t *testing.T, name, eol string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "diagnosis", "testdata", "transcripts", name, "log.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	d := json.NewDecoder(z)
	for d.More() {
		var l struct{ Text string }
		if err := d.Decode(&l); err != nil {
			t.Fatal(err)
		}
		b.WriteString(strings.TrimSuffix(l.Text, "\r") + eol)
	}
	return b.String()
}

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.Local)

// place is a machine with files: content, and how many hours before noon each was
// written.
type place struct {
	m     installs.Machine
	files fstest.MapFS
}

func newPlace(os string) place {
	p := place{files: fstest.MapFS{}}
	p.m = installs.Machine{OS: os, FS: p.files, Home: "/home/me", Cwd: "/home/me", Env: func(string) string { return "" }}
	if os == "windows" {
		p.m.Home, p.m.Cwd, p.m.Drives = `C:\Users\me`, `C:\Users\me`, []string{"C"}
	}
	return p
}

func (p place) put(name, text string, hours float64) {
	p.files[name] = &fstest.MapFile{Data: []byte(text), ModTime: noon.Add(-time.Duration(hours * float64(time.Hour)))}
}

func (p place) tree(dir string) {
	for _, f := range []string{"main.py", "nodes.py", "comfy/sd.py"} {
		p.put(dir+"/"+f, "", 9000)
	}
}

func (p place) ask(t *testing.T, what string) Answer {
	t.Helper()
	a, err := Question{On: p.m, What: what, Now: noon}.Ask()
	if err != nil {
		t.Fatal(err)
	}
	return a
}

const (
	portableDir = "C/AI/ComfyUI_windows_portable"
	oldCommit   = "1111111111111111111111111111111111111111"
	newCommit   = "3333333333333333333333333333333333333333"
)

// portable is the build for Windows, updated ten days ago.
func portable(t *testing.T) place {
	p := newPlace("windows")
	p.tree(portableDir + "/ComfyUI")
	p.put(portableDir+"/python_embeded/python.exe", "", 9000)
	p.put(portableDir+"/python_embeded/Lib/site-packages/comfy_aimdo-0.4.10.dist-info/RECORD", "", 240)
	p.put(portableDir+"/python_embeded/Lib/site-packages/torch-2.11.0.dist-info/RECORD", "", 2000)
	p.put(portableDir+"/run_nvidia_gpu.bat", ".\\python_embeded\\python.exe -s ComfyUI\\main.py --windows-standalone-build --highvram\r\npause\r\n", 500)
	p.put(portableDir+"/run_cpu.bat", ".\\python_embeded\\python.exe -s ComfyUI\\main.py --cpu --windows-standalone-build\r\npause\r\n", 500)
	p.put(portableDir+"/ComfyUI/.git/HEAD", newCommit, 240)
	p.put(portableDir+"/ComfyUI/.git/packed-refs", oldCommit+" refs/tags/v0.28.0\n"+newCommit+" refs/tags/v0.29.0\n", 240)
	p.put(portableDir+"/ComfyUI/comfyui_version.py", "__version__ = \"0.29.0\"\n", 240)
	updated := noon.Add(-240 * time.Hour)
	p.put(portableDir+"/ComfyUI/.git/logs/HEAD", fmt.Sprintf("%s %s c <c@u> %d +0000\t\n", oldCommit, newCommit, updated.Unix()), 240)
	return p
}

// TestPortable is the person of the README: the newest log is that of a start after
// the one that died.
func TestPortable(t *testing.T) {
	p := portable(t)
	user := portableDir + "/ComfyUI/user/"
	p.put(user+"comfyui.log", recorded(t, "029-cpu-sd15", "\r\n"), 1)
	p.put(user+"comfyui.prev.log", recorded(t, "029-3gib-highvram-oom-in-load", "\r\n"), 2)
	p.put(user+"comfyui.prev2.log", recorded(t, "0364-8gib-default", "\r\n"), 300)
	for _, what := range []string{"", `C:\AI`, `C:\AI\ComfyUI_windows_portable\ComfyUI\user\comfyui.prev.log`} {
		a := p.ask(t, what)
		if !a.Found || !strings.HasSuffix(a.Log, `user\comfyui.prev.log`) || a.Outcome.Memory != memtrix.MemoryVRAM || a.Outcome.Phase != memtrix.PhaseLoad || a.Kind != "portable" || a.Version != "0.29.0" {
			t.Fatalf("%q: got %+v", what, a)
		}
		w := a.Steps[0].Where
		if w == nil || w.File != `C:\AI\ComfyUI_windows_portable\run_nvidia_gpu.bat` || w.Line != 1 || w.New != `.\python_embeded\python.exe -s ComfyUI\main.py --windows-standalone-build` {
			t.Errorf("%q: change %+v at %+v", what, a.Steps[0], w)
		}
		var changes []string
		for _, c := range a.Since.Changes {
			changes = append(changes, c.String())
		}
		if len(changes) == 0 || changes[0] != "ComfyUI 0.28.0 -> 0.29.0" || !slices.Contains(a.Since.Packages, "comfy-aimdo 0.4.10 (put in on 2026-11-20)") {
			t.Errorf("%q: changes %q, packages %q", what, changes, a.Since.Packages)
		}
		if len(a.Back) != 3 || !strings.Contains(a.Back[1], oldCommit) || strings.Contains(strings.Join(a.Back, ""), "git -C") {
			t.Errorf("%q: back %q", what, a.Back)
		}
	}
	if a := p.ask(t, ""); len(a.Read) != 1 || !strings.Contains(a.Read[0], "one prompt went well") {
		t.Errorf("newer logs: %q", a.Read)
	}
}

// TestNothingFailed checks that it is said what was read.
func TestNothingFailed(t *testing.T) {
	p := portable(t)
	p.put(portableDir+"/ComfyUI/user/comfyui.log", recorded(t, "029-8gib-default", "\n"), 1)
	a := p.ask(t, `C:\AI`)
	if a.Found || len(a.Read) != 1 || !strings.Contains(a.Read[0], "2026-11-30 11:00: no failure, 2 prompts went well") {
		t.Errorf("got %+v", a)
	}
	for _, what := range []string{`C:\nowhere`, `C:\AI\none.log`} {
		if _, err := (Question{On: p.m, What: what, Now: noon}).Ask(); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: error %v", what, err)
		}
	}
	p.put("C/AI/broken.gz", "\x1f\x8bnot gzip", 1)
	if _, err := (Question{On: p.m, What: `C:\AI\broken.gz`, Now: noon}).Ask(); err == nil || !strings.Contains(err.Error(), "broken.gz") {
		t.Errorf("a broken file: error %v", err)
	}
	if a := newPlace("linux").ask(t, ""); a.Found || len(a.Warnings) != 1 || !strings.Contains(a.Warnings[0], "nothing to look at") {
		t.Errorf("no ComfyUI: %+v", a)
	}
}

// TestNothingChanged checks that an installation is not blamed that is what it was
// when it worked.
func TestNothingChanged(t *testing.T) {
	p := portable(t)
	user := portableDir + "/ComfyUI/user/"
	p.put(user+"comfyui.log", recorded(t, "029-3gib-dynamic-oom-in-compute", "\r\n"), 1)
	p.put(user+"comfyui.prev.log", recorded(t, "029-8gib-default", "\r\n"), 24)
	a := p.ask(t, "")
	if len(a.Since.Changes) > 0 || len(a.Back) > 0 || !strings.Contains(a.Since.Note, "nothing of the installation") {
		t.Errorf("got %+v, back %q", a.Since, a.Back)
	}
}

// TestForms checks that a failure is read from what PowerShell, Manager and the
// desktop program write.
func TestForms(t *testing.T) {
	plain := recorded(t, "029-3gib-native-allocator-oom-in-compute", "\r\n")
	wide := []byte{0xff, 0xfe}
	for _, u := range utf16.Encode([]rune(plain)) {
		wide = append(wide, byte(u), byte(u>>8))
	}
	stamped := func(tag string) string {
		var b strings.Builder
		for line := range strings.Lines(plain) {
			b.WriteString(tag + line)
		}
		return b.String()
	}
	for name, text := range map[string]string{
		"plain": plain, "UTF-16": string(wide), "Manager": stamped("[2026-11-30 10:00:00.123] "), "Desktop": stamped("[2026-11-30 10:00:00.123] [info]  "),
		"detail": regexp.MustCompile(`\x1b\[[0-9;]*m`).ReplaceAllString(regexp.MustCompile(`(?m)^\x1b`).ReplaceAllString(plain, "[2026-11-30 10:00:00,123] \x1b"), ""),
	} {
		p := newPlace("windows")
		p.put("C/logs/log.txt", text, 1)
		a := p.ask(t, `C:\logs\log.txt`)
		if !a.Found || a.Outcome.Kind != memtrix.OOM || a.Outcome.Memory != memtrix.MemoryVRAM || a.Outcome.Phase != memtrix.PhaseSample || a.Version != "0.29.0" {
			t.Errorf("%s: got %+v", name, a.Outcome)
		}
		if strings.Contains(text, "2026-11-30") && !strings.HasPrefix(a.Ended, "2026-11-30T10:00:00") {
			t.Errorf("%s: ended %s", name, a.Ended)
		}
	}
}

// TestRestartLoop checks that of several starts in one file the last one that failed
// counts, and how often the same came before.
func TestRestartLoop(t *testing.T) {
	died := recorded(t, "029-3gib-highvram-oom-in-load", "\n")
	well := recorded(t, "029-8gib-default", "\n")
	cut := recorded(t, "029-cpu-killed-in-sample", "\n")
	for _, c := range []struct {
		name    string
		logs    []string
		kind    memtrix.OutcomeKind
		repeats int
		newer   int
	}{
		{"one", []string{died}, memtrix.OOM, 0, 0},
		{"a loop", []string{died, died, died}, memtrix.OOM, 2, 0},
		{"died, then well", []string{well, died, well}, memtrix.OOM, 0, 1},
		{"cut off by the next start", []string{cut, well}, memtrix.Killed, 0, 1},
		{"other end before", []string{cut, died}, memtrix.OOM, 0, 0},
	} {
		p := newPlace("linux")
		p.put("x/log.txt", strings.Join(c.logs, ""), 1)
		a := p.ask(t, "/x/log.txt")
		if !a.Found || a.Outcome.Kind != c.kind || a.Repeats != c.repeats || len(a.Read) != c.newer {
			t.Errorf("%s: got %s, %d repeats, newer %q", c.name, a.Outcome.Kind, a.Repeats, a.Read)
		}
	}
	// The same starts in a second file, and a rotated one of the same family.
	p := newPlace("linux")
	p.tree("c")
	p.put("c/user/comfyui.log", died, 1)
	p.put("c/comfyui_detail.log", died, 1.1)
	if a := p.ask(t, "/c"); a.Repeats != 0 {
		t.Errorf("one start in two files: %d repeats", a.Repeats)
	}
	p.put("c/user/comfyui.prev.log", died, 2)
	if a := p.ask(t, "/c"); a.Repeats != 1 {
		t.Errorf("two starts: %d repeats", a.Repeats)
	}
	if n := len(Split(lines(died + well + cut))); n != 3 {
		t.Errorf("three starts are taken for %d", n)
	}
	if n := len(Split(lines(recorded(t, "029-8gib-verbose-debug", "\n")))); n != 1 {
		t.Errorf("one start with a table of memory is taken for %d", n)
	}
}

func lines(text string) []memtrix.LogLine {
	var all []memtrix.LogLine
	for l := range strings.Lines(text) {
		all = append(all, memtrix.LogLine{Text: strings.TrimSuffix(l, "\n")})
	}
	return all
}

// TestLastPrompt checks that of several failures in one start the last one counts,
// with the prompts around it.
func TestLastPrompt(t *testing.T) {
	well := recorded(t, "029-8gib-default", "\n")
	died := recorded(t, "029-3gib-native-allocator-oom-in-compute", "\n")
	of := func(text string) string { return text[strings.Index(text, "got prompt"):] }
	r := Look(lines(well+of(died)+of(well)), given{gone: true})
	if r.Outcome.Memory != memtrix.MemoryVRAM || r.Well != 4 || r.After != 2 {
		t.Errorf("got %s %s, %d went well, %d after", r.Outcome.Kind, r.Outcome.Memory, r.Well, r.After)
	}
	// A refused workflow behind it is not why it died.
	refused := recorded(t, "029-cpu-missing-model", "\n")
	r = Look(lines(died+of(refused)), given{gone: true})
	if r.Outcome.Kind != memtrix.OOM {
		t.Errorf("with a refusal behind it: got %s", r.Outcome.Kind)
	}
}

// TestExcerpts checks single lines, as people quote them, and what a shell wrote
// behind a log.
func TestExcerpts(t *testing.T) {
	for text, want := range map[string]string{
		"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.":                 "oom vram",
		"got prompt\nRequested to load Flux\n./run.sh: line 3: 4711 Killed python main.py":        "oom ram",
		"VAE load device: cuda:0, offload device: cpu, dtype: torch.bfloat16":                     "pass ",
		"Checkpoint files will always be loaded safely.\nTotal VRAM 8188 MB, total RAM 16000 MB":  "startup-failure none",
		"OSError: The paging file is too small for this operation to complete. (os error 1455)":   "oom commit",
		"Warning: Ran out of memory when regular VAE decoding, retrying with tiled VAE decoding.": "pass vram",
	} {
		r := Look(lines(text), given{gone: true})
		if got := string(r.Outcome.Kind) + " " + string(r.Outcome.Memory); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// TestStillRunning checks that a log which is being written is not called dead.
func TestStillRunning(t *testing.T) {
	p := portable(t)
	p.put(portableDir+"/ComfyUI/user/comfyui.log", recorded(t, "029-cpu-killed-in-sample", "\n"), 0.01)
	if a := p.ask(t, ""); a.Found || !strings.Contains(a.Read[0], "in the middle of a prompt") {
		t.Errorf("got %+v", a)
	}
	p.put(portableDir+"/ComfyUI/user/comfyui.log", recorded(t, "029-cpu-killed-in-sample", "\n"), 1)
	a := p.ask(t, "")
	if !a.Found || a.Outcome.Kind != memtrix.Killed || a.Outcome.Memory != memtrix.MemoryUnknown || len(a.Warnings) == 0 {
		t.Errorf("got %+v", a)
	}
}

// TestPageFile checks that a page-file problem is never answered with the
// resolution, and not with a flag for VRAM.
func TestPageFile(t *testing.T) {
	p := portable(t)
	start := recorded(t, "029-8gib-default", "\r\n")
	start = start[:strings.Index(start, "got prompt")]
	p.put(portableDir+"/ComfyUI/user/comfyui.log", start+"got prompt\r\n!!! Exception during processing !!! The paging file is too small for this operation to complete. (os error 1455)\r\n"+
		"Traceback (most recent call last):\r\n  File \"C:\\AI\\ComfyUI_windows_portable\\ComfyUI\\comfy\\utils.py\", line 60, in load_torch_file\r\nOSError: The paging file is too small for this operation to complete. (os error 1455)\r\n\r\nPrompt executed in 3.21 seconds\r\n", 1)
	a := p.ask(t, "")
	if a.Outcome == nil || a.Outcome.Memory != memtrix.MemoryCommit {
		t.Fatalf("got %+v", a.Outcome)
	}
	told, err := json.Marshal(a.Steps)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(told), "page file") || strings.Contains(string(told), "resolution") || strings.Contains(string(told), "batch") || strings.Contains(string(told), "lowvram") {
		t.Errorf("steps %s", told)
	}
}

// TestDesktop checks the desktop program: its word about the end, and its settings.
func TestDesktop(t *testing.T) {
	p := newPlace("windows")
	data := "C/Users/me/AppData/Roaming/ComfyUI"
	p.put(data+"/config.json", `{"basePath": "C:\\Comfy"}`, 100)
	for _, dir := range []string{"models", "user", "custom_nodes"} {
		p.put("C/Comfy/"+dir+"/x", "", 100)
	}
	p.put("C/Comfy/user/default/comfy.settings.json", `{"Comfy.Server.LaunchArgs": {"highvram": ""}}`, 100)
	p.put(data+"/logs/comfyui.log", recorded(t, "029-3gib-highvram-oom-in-load", "\r\n"), 1)
	a := p.ask(t, "")
	if a.Kind != "desktop" || a.Outcome.Memory != memtrix.MemoryVRAM {
		t.Fatalf("got %+v", a)
	}
	if w := a.Steps[0].Where; w == nil || !strings.Contains(w.Words, `Server-Config, Memory: "VRAM management mode" = auto`) {
		t.Errorf("where: %+v", w)
	}
	if named := p.ask(t, `C:\Users\me\AppData\Roaming\ComfyUI\logs\comfyui.log`); named.Kind != "desktop" {
		t.Errorf("its log, named: %+v", named)
	}
	// An earlier start of the program tells what it was when it worked.
	p.put(data+"/logs/comfyui.log_2026-11-29T10-00-00-000Z.log", recorded(t, "0364-8gib-default", "\r\n"), 26)
	a = p.ask(t, `C:\Comfy`)
	if len(a.Since.Changes) == 0 || a.Since.Changes[0].String() != "ComfyUI 0.3.64 -> 0.29.0" || len(a.Back) == 0 || !strings.Contains(a.Back[0], "ComfyUI Desktop") {
		t.Errorf("since %+v, back %q", a.Since, a.Back)
	}
	p.put(data+"/logs/comfyui.log", recorded(t, "029-cpu-killed-in-sample", "\r\n"), 1)
	p.put(data+"/logs/main.log", "[2026-11-30 11:00:00.000] [error] Python process exited with code 3221225477 and signal null\r\n", 1)
	if a := p.ask(t, ""); a.Outcome == nil || !strings.Contains(a.Cause, "0xC0000005") {
		t.Errorf("with main.log: %+v", a)
	}
}

// TestToldPlace checks that a log which was copied somewhere names its installation.
func TestToldPlace(t *testing.T) {
	p := portable(t)
	p.put("C/mail/theirs.txt", "[2026-11-30 10:00:00.123] ** ComfyUI Path: C:\\AI\\ComfyUI_windows_portable\\ComfyUI\r\n"+recorded(t, "029-3gib-highvram-oom-in-load", "\r\n"), 1)
	a := p.ask(t, `C:\mail\theirs.txt`)
	if a.Kind != "portable" || a.Steps[0].Where.Line != 1 {
		t.Errorf("got %+v", a)
	}
}

// TestUnknownFlag checks that a flag which the version does not know is taken out of
// the line that has it.
func TestUnknownFlag(t *testing.T) {
	p := portable(t)
	p.put(portableDir+"/run_nvidia_gpu.bat", "@echo off\r\n.\\python_embeded\\python.exe -s ComfyUI\\main.py --windows-standalone-build --no-such-flag\r\n", 1)
	p.put(portableDir+"/log.txt", recorded(t, "029-startup-unknown-flag", "\r\n"), 1)
	a := p.ask(t, "")
	if a.Outcome == nil || a.Outcome.Kind != memtrix.StartupFailure || len(a.Steps) != 1 {
		t.Fatalf("got %+v", a)
	}
	if w := a.Steps[0].Where; w == nil || w.Line != 2 || w.New != `.\python_embeded\python.exe -s ComfyUI\main.py --windows-standalone-build` {
		t.Errorf("where: %+v", w)
	}
}

// TestWhere checks what each kind of installation is told about its flags.
func TestWhere(t *testing.T) {
	m := newPlace("linux").m
	for _, c := range []struct {
		in   installs.Install
		args []string // of the log's command
		want string
	}{
		{installs.Install{Kind: installs.Desktop2, Args: []string{"--enable-manager", "--highvram"}}, nil, "in Comfy Desktop: the settings of this installation, Startup arguments: --novram --enable-manager"},
		{installs.Install{Kind: installs.StabilityMatrix}, nil, "in Stability Matrix: Packages, the gear of ComfyUI (launch options): add --novram, leave out --highvram; what is not in the list goes into Extra Launch Arguments"},
		{installs.Install{Kind: installs.CLI, Args: []string{"--listen"}}, nil, "comfy launch -- --novram --listen"},
		{installs.Install{Kind: installs.Checkout, Tree: "/c", Python: "/c/venv/bin/python"}, nil, "in the command that starts it: /c/venv/bin/python /c/main.py ...: add --novram, leave out --highvram"},
		{installs.Install{Kind: installs.Checkout, Tree: "/c"}, []string{"--listen", "--highvram"}, "in the command that starts it: python /c/main.py --novram --listen"},
		{installs.Install{Kind: installs.Desktop, Base: "/b"}, nil, `in ComfyUI Desktop: Settings, Server-Config, Memory: "VRAM management mode" = novram, then restart`},
	} {
		c.in.On = m
		got := where(&Run{Args: c.args}, &c.in, nil, []string{"--novram"}, []string{"--highvram"})
		if got.Words != c.want {
			t.Errorf("%s: got %q, want %q", c.in.Kind, got.Words, c.want)
		}
	}
	desktop := installs.Install{Kind: installs.Desktop, Base: "/b", On: m}
	if got := where(&Run{}, &desktop, nil, []string{"--disable-dynamic-vram"}, nil).Words; !strings.Contains(got, `/b/user/default/comfy.settings.json`) || !strings.Contains(got, `{"disable-dynamic-vram": ""}`) {
		t.Errorf("a flag that Desktop's page lacks: %q", got)
	}
}
