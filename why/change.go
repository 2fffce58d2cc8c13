package why

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"memtrix/diagnosis"
	"memtrix/versions/installs"
)

// Step is one thing to do.
type Step struct {
	Text string `json:"text"`
	// Bytes are what it should bring, 0 where that is not known.
	Bytes int64 `json:"bytes,omitempty"`
	// Amount says so in words, and that it is not enough where it is not.
	Amount string `json:"amount,omitempty"`
	// Flags are launch flags to add, Without those to leave out.
	Flags   []string `json:"flags,omitempty"`
	Without []string `json:"without,omitempty"`
	// Where is the place of the change, nil where it is no setting.
	Where *Where `json:"where,omitempty"`
}

// Where is a place in which launch flags are written.
type Where struct {
	// File and Line are a line that starts the server, Now and New how it is and
	// should be. Others are further files that start it.
	File   string   `json:"file,omitempty"`
	Line   int      `json:"line,omitempty"`
	Now    string   `json:"now,omitempty"`
	New    string   `json:"new,omitempty"`
	Others []string `json:"others,omitempty"`
	// Words say where it is, where it is no line of a file.
	Words string `json:"words,omitempty"`
}

// steps are what to do about a run, what costs least first, each setting with its
// place.
func steps(r *Run, in *installs.Install, scripts []installs.Script) []Step {
	var all []Step
	args, known := startArgs(r, in, scripts)
	for _, a := range diagnosis.Advise(r.Outcome, r.Evidence) {
		if len(a.Flags) == 0 && len(a.Without) > 0 && !slices.ContainsFunc(a.Without, func(w string) bool { return slices.Contains(args, w) }) {
			if known {
				continue // it is not there
			}
			a.Text = "if it is started with " + strings.Join(a.Without, " ") + ": " + a.Text
		}
		s := Step{Text: a.Text, Bytes: a.Bytes, Amount: a.Amount(), Flags: a.Flags, Without: a.Without}
		if len(a.Flags) > 0 {
			s.Text = setting.ReplaceAllString(a.Text, "") // the flag says it
		}
		all = append(all, s)
	}
	if len(all) == 0 {
		if unknown := unrecognized(r.Outcome.Evidence); unknown != nil {
			all = append(all, Step{Text: "this version does not know " + strings.Join(unknown, " ") + ": take it out", Without: unknown})
		} else {
			for _, text := range r.Outcome.Advice {
				all = append(all, Step{Text: text})
			}
		}
	}
	for i := range all {
		if s := &all[i]; len(s.Flags)+len(s.Without) > 0 {
			s.Where = where(r, in, scripts, s.Flags, s.Without)
		}
	}
	return all
}

// startArgs are the flags with which a run was started; false where nothing tells.
func startArgs(r *Run, in *installs.Install, scripts []installs.Script) ([]string, bool) {
	if r.Args != nil {
		return r.Args, true
	}
	if in == nil {
		return nil, false
	}
	switch in.Kind {
	case installs.Desktop, installs.Desktop2, installs.StabilityMatrix:
		return in.Args, true
	}
	// Of several scripts it may have been any.
	var all []string
	for _, s := range scripts {
		all = append(all, s.Args...)
	}
	return all, len(scripts) > 0
}

// setting is how diagnosis names a setting in front of its reason.
var setting = regexp.MustCompile(`^[a-z0-9-]+=\S+, `)

var notKnown = regexp.MustCompile(`main\.py: error: unrecognized arguments: (.+)`)

// unrecognized are the flags that argparse refused.
func unrecognized(evidence []string) []string {
	for _, line := range evidence {
		if m := notKnown.FindStringSubmatch(line); m != nil {
			return slices.DeleteFunc(strings.Fields(m[1]), func(w string) bool { return !strings.HasPrefix(w, "--") })
		}
	}
	return nil
}

// where says in which place a change of flags is made.
func where(r *Run, in *installs.Install, scripts []installs.Script, add, leave []string) *Where {
	if in == nil {
		return &Where{Words: "in the command that starts ComfyUI: " + r.call("python main.py", add, leave)}
	}
	switch in.Kind {
	case installs.Desktop:
		return &Where{Words: desktopWords(in, add, leave)}
	case installs.Desktop2:
		return &Where{Words: "in Comfy Desktop: the settings of this installation, Startup arguments: " + strings.Join(installs.WithArgs(in.Args, add, leave), " ")}
	case installs.StabilityMatrix:
		return &Where{Words: "in Stability Matrix: Packages, the gear of ComfyUI (launch options): " + changed(add, leave) + "; what is not in the list goes into Extra Launch Arguments"}
	}
	if s, others := fitting(r, scripts, leave); s != nil {
		return &Where{File: s.File, Line: s.Line, Now: s.Text, New: s.With(add, leave), Others: others}
	}
	if in.Kind == installs.CLI {
		args := installs.WithArgs(in.Args, add, leave)
		return &Where{Words: "comfy launch -- " + strings.Join(args, " ")}
	}
	python := "python"
	if in.Python != "" {
		python = in.Python
	}
	return &Where{Words: "in the command that starts it: " + r.call(python+" "+in.On.Join(in.Tree, "main.py"), add, leave)}
}

// call is a command as it should be, or where its flags are not known, what changes
// in it.
func (r *Run) call(start string, add, leave []string) string {
	if r.Args == nil {
		return start + " ...: " + changed(add, leave)
	}
	return strings.TrimSpace(start + " " + strings.Join(installs.WithArgs(r.Args, add, leave), " "))
}

// changed says in words which flags come and go.
func changed(add, leave []string) string {
	var words []string
	if len(add) > 0 {
		words = append(words, "add "+strings.Join(add, " "))
	}
	if len(leave) > 0 {
		words = append(words, "leave out "+strings.Join(leave, " "))
	}
	return strings.Join(words, ", ")
}

// desktopWords names the item on Desktop's page of the server, or the file for flags
// that the page does not have.
func desktopWords(in *installs.Install, add, leave []string) string {
	var items, rest []string
	for i, word := range add {
		if !strings.HasPrefix(word, "--") {
			continue
		}
		value := ""
		if i+1 < len(add) && !strings.HasPrefix(add[i+1], "--") {
			value = add[i+1]
		}
		if s, ok := installs.OnPage(word, value); ok {
			items = append(items, fmt.Sprintf("%s: %q = %s", s.Section, s.Name, s.Value))
			continue
		}
		rest = append(rest, fmt.Sprintf("%q: %q", strings.TrimPrefix(word, "--"), value))
	}
	for _, word := range leave {
		s, ok := installs.OnPage(word, "")
		switch {
		case ok && slices.ContainsFunc(items, func(i string) bool { return strings.Contains(i, s.Name) }):
		case ok:
			items = append(items, fmt.Sprintf("%s: %q = %s", s.Section, s.Name, s.Unset()))
		case strings.HasPrefix(word, "--"):
			rest = append(rest, fmt.Sprintf("no %q", strings.TrimPrefix(word, "--")))
		}
	}
	var words []string
	if len(items) > 0 {
		words = append(words, "in ComfyUI Desktop: Settings, Server-Config, "+strings.Join(items, ", ")+", then restart")
	}
	if len(rest) > 0 {
		words = append(words, fmt.Sprintf("close ComfyUI Desktop and write into %s, below \"Comfy.Server.LaunchArgs\": {%s}", in.DesktopSettings(), strings.Join(rest, ", ")))
	}
	return strings.Join(words, "; ")
}

// fitting is the script that started the run, as far as one can tell: one that has
// the flags to be left out, or those of the log's command; not one for the CPU when
// the run used a card, and so on. Others are those that would fit as well.
func fitting(r *Run, scripts []installs.Script, leave []string) (best *installs.Script, others []string) {
	most := -1 << 30
	scores := make([]int, len(scripts))
	for i, s := range scripts {
		scores[i] = score(r, s, leave)
		if scores[i] > most {
			most, best = scores[i], &scripts[i]
		}
	}
	for i := range scripts {
		if &scripts[i] != best && scores[i] == most {
			others = append(others, scripts[i].File)
		}
	}
	return best, others
}

func score(r *Run, s installs.Script, leave []string) int {
	has := func(flag string) bool { return slices.Contains(s.Args, flag) }
	n := 0
	if r.Args != nil && slices.Equal(r.Args, s.Args) {
		n += 100
	}
	for _, flag := range leave {
		if has(flag) {
			n += 20
		}
	}
	agree := func(told, flagged bool) {
		if told != flagged {
			n -= 10
		}
	}
	if r.Banner.VRAMState != "" {
		agree(r.Banner.Device == "cpu" || r.Banner.VRAMState == "DISABLED", has("--cpu"))
		agree(r.Banner.FP16Accum, has("fp16_accumulation") || has("--fast"))
		for state, flag := range map[string]string{"LOW_VRAM": "--lowvram", "NO_VRAM": "--novram", "HIGH_VRAM": "--highvram"} {
			agree(r.Banner.VRAMState == state || flag == "--highvram" && has("--gpu-only"), has(flag) || flag == "--highvram" && has("--gpu-only"))
		}
	}
	// Of two alike the one that guides name, then the one at the top.
	name := strings.ToLower(path.Base(strings.ReplaceAll(s.File, `\`, "/")))
	if name == "run_nvidia_gpu.bat" {
		n += 2
	}
	if !strings.Contains(strings.ToLower(s.File), "advanced") {
		n++
	}
	return n
}
