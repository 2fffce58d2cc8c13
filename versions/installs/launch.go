package installs

import (
	"regexp"
	"slices"
	"strings"
)

// Script is a line of a file that starts the server: of a run_*.bat of the portable
// build, of a shell script beside a checkout, of Pinokio's start.js.
type Script struct {
	File string
	// Line counts from 1. Text is the line without its end.
	Line int
	Text string
	// Args are the launch flags in it.
	Args []string
}

// mainCall finds the call of main.py by a Python, and what follows it. Comments are
// none: what is in front must not begin as one does.
var mainCall = regexp.MustCompile(`(?i)python\S*\s.*?(?:"[^"]*main\.py"|'[^']*main\.py'|main\.py)`)

// notes begin lines that are not run, in batch files, shells and JavaScript.
var notes = regexp.MustCompile(`(?i)^\s*(?:@?rem\b|::|#|//)`)

// Scripts are the files that start the server, those that are shipped first, in the
// order of their names.
func (in Install) Scripts() []Script {
	m := in.On
	var dirs []string
	switch in.Kind {
	case Portable:
		dirs = []string{in.Dir, m.Join(in.Dir, "advanced")}
	case Checkout, Archive, CLI:
		dirs = []string{in.Tree, m.Parent(in.Tree)}
	case Pinokio:
		dirs = []string{in.Config}
	}
	units := []string{"/etc/systemd/system", m.Join(m.Home, ".config", "systemd", "user")}
	if m.OS == "linux" && in.Tree != "" {
		dirs = append(dirs, units...)
	}
	var all []Script
	for _, dir := range dirs {
		for _, e := range m.List(dir) {
			name := strings.ToLower(e.Name())
			unit := strings.HasSuffix(name, ".service")
			if unit != slices.Contains(units, dir) {
				continue
			}
			if !unit && !slices.ContainsFunc([]string{".bat", ".cmd", ".sh", ".ps1", ".command"}, func(ext string) bool { return strings.HasSuffix(name, ext) }) && name != "start.js" {
				continue
			}
			data, err := m.Read(m.Join(dir, e.Name()))
			if err != nil {
				continue
			}
			if unit && !strings.Contains(string(data), in.Tree) {
				continue // of another one
			}
			if s, ok := parseScript(string(data)); ok {
				s.File = m.Join(dir, e.Name())
				all = append(all, s)
			}
		}
	}
	return all
}

// Running are the launch flags of a server of this installation that runs now, nil
// where there is none or it cannot be seen (/proc, Linux).
func (in Install) Running() []string {
	m := in.On
	if m.OS != "linux" || in.Tree == "" {
		return nil
	}
	for _, e := range m.List("/proc") {
		data, err := m.Read(m.Join("/proc", e.Name(), "cmdline"))
		if err != nil || !strings.Contains(string(data), "main.py") {
			continue
		}
		words := strings.Split(strings.TrimRight(string(data), "\x00"), "\x00")
		i := slices.IndexFunc(words, func(w string) bool { return w == m.Join(in.Tree, "main.py") })
		if i < 0 && in.Python != "" && words[0] == in.Python { // started inside the tree
			i = slices.Index(words, "main.py")
		}
		if i >= 0 {
			return words[i+1:]
		}
	}
	return nil
}

// parseScript finds the first line that starts the server.
func parseScript(text string) (Script, bool) {
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimRight(line, "\r\n")
		if notes.MatchString(line) {
			continue
		}
		at := mainCall.FindStringIndex(line)
		if at == nil {
			continue
		}
		return Script{Line: n, Text: line, Args: flagsIn(line[at[1]:])}, true
	}
	return Script{}, false
}

// flagsIn are the words of a command line up to what a shell does with its output.
func flagsIn(rest string) []string {
	var args []string
	for _, word := range strings.Fields(rest) {
		if strings.ContainsAny(word[:1], "|>&;") || strings.HasPrefix(word, "2>") {
			break
		}
		word = strings.Trim(word, `"'}{,`)
		if word == "" || strings.HasPrefix(word, "%") || strings.HasPrefix(word, "$") {
			continue
		}
		args = append(args, word)
	}
	return args
}

// With gives the line with launch flags added and others left out. What is added
// stands right behind main.py, where nothing can be taken for the value of a flag
// in front of it.
func (s Script) With(add, leave []string) string {
	calls := mainCall.FindAllStringIndex(s.Text, -1)
	if calls == nil {
		return s.Text
	}
	text := s.Text[:calls[0][0]]
	for i, at := range calls {
		// A line of Pinokio has a call for each kind of card.
		end := len(s.Text)
		if i+1 < len(calls) {
			end = calls[i+1][0]
		}
		rest := s.Text[at[1]:end]
		for _, flag := range excluded(add, leave) {
			rest = withoutFlag(rest, flag)
		}
		text += s.Text[at[0]:at[1]]
		if len(add) > 0 {
			text += " " + strings.Join(add, " ")
		}
		text += rest
	}
	return text
}

// withoutFlag takes a flag and its values out of a command line.
func withoutFlag(line, flag string) string {
	re := regexp.MustCompile(`\s` + regexp.QuoteMeta(flag) + `(?:=\S*|(?:\s+[^-\s>|&%$"'][^\s>|&]*)*)(\s|$)`)
	return re.ReplaceAllString(line, "$1")
}

// WithArgs does to a list of flags what Script.With does to a line.
func WithArgs(args, add, leave []string) []string {
	line := " " + strings.Join(args, " ") + " "
	for _, flag := range excluded(add, leave) {
		line = withoutFlag(line, flag)
	}
	return append(slices.Clone(add), strings.Fields(line)...)
}

// groups are flags of which argparse allows one, or of which the last word would
// stand against the new one (comfy/cli_args.py).
var groups = [][]string{
	{"--gpu-only", "--highvram", "--normalvram", "--lowvram", "--novram", "--cpu"},
	{"--cache-classic", "--cache-lru", "--cache-none", "--cache-ram", "--high-ram"},
	{"--cuda-malloc", "--disable-cuda-malloc"},
	{"--async-offload", "--disable-async-offload"},
	{"--enable-dynamic-vram", "--disable-dynamic-vram"},
	{"--fast-disk", "--disable-fast-disk"},
}

// excluded are the flags that have to go: those named, those that are added anew,
// and those that exclude what is added.
func excluded(add, leave []string) []string {
	var gone []string
	for _, word := range slices.Concat(leave, add) {
		flag, _, _ := strings.Cut(word, "=")
		if strings.HasPrefix(flag, "--") {
			gone = append(gone, flag)
		}
	}
	for _, word := range add {
		for _, group := range groups {
			if slices.Contains(group, word) {
				gone = append(gone, group...)
			}
		}
	}
	slices.Sort(gone)
	return slices.Compact(gone)
}

// Setting is an item of the page "Server-Config" in Desktop's settings.
type Setting struct {
	// Section and Name are as the page has them, Value what to choose or enter.
	Section, Name, Value string
}

// Unset is what to choose or enter so that the flag is not given.
func (s Setting) Unset() string {
	switch s.Value {
	case "on":
		return "off"
	case "":
		return "empty"
	}
	return "auto"
}

// OnPage gives the item of Desktop's page for a launch flag, false where the page
// has none (Comfy-Org/ComfyUI_frontend, src/constants/serverConfig.ts).
func OnPage(flag, value string) (Setting, bool) {
	on := "on"
	s, ok := map[string]Setting{
		"--gpu-only":             {"Memory", "VRAM management mode", "gpu-only"},
		"--highvram":             {"Memory", "VRAM management mode", "highvram"},
		"--normalvram":           {"Memory", "VRAM management mode", "normalvram"},
		"--lowvram":              {"Memory", "VRAM management mode", "lowvram"},
		"--novram":               {"Memory", "VRAM management mode", "novram"},
		"--cpu":                  {"Memory", "VRAM management mode", "cpu"},
		"--reserve-vram":         {"Memory", "Reserved VRAM (GB)", value},
		"--disable-smart-memory": {"Memory", "Disable smart memory management", on},
		"--cuda-malloc":          {"CUDA", "Use CUDA malloc for memory allocation", "enable"},
		"--disable-cuda-malloc":  {"CUDA", "Use CUDA malloc for memory allocation", "disable"},
		"--cpu-vae":              {"Inference", "Run VAE on CPU", on},
		"--cache-classic":        {"Cache", "Use classic cache system", on},
		"--cache-lru":            {"Cache", "Use LRU caching with a maximum of N node results cached.", value},
	}[flag]
	return s, ok
}
