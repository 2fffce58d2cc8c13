package why

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"memtrix"
	"memtrix/comfyui"
	"memtrix/diagnosis"
)

// Run is one life of a server, as a log tells it.
type Run struct {
	// Outcome is that of its last failure, or pass. Evidence is what it rests on.
	Outcome  memtrix.Outcome
	Evidence diagnosis.Evidence
	Banner   comfyui.Banner
	// Begun: lines of a start or a prompt are there at all. Ready: the server
	// answered. Open: the log ends in the middle of a prompt.
	Begun, Ready, Open bool
	// Well counts prompts that went well, After those of them behind the failure.
	Well, After int
	// Started and Ended are from the stamps of lines, zero where lines have none.
	Started, Ended time.Time
	// Args are the launch flags, nil where the log does not show the command.
	Args []string
	// Place names the folders that ComfyUI-Manager writes at the start.
	Place Place
}

// Place is what ComfyUI-Manager tells of an installation at the start of a log
// (prestartup_script.py), "" for what it does not.
type Place struct{ Tree, Base, User, Python string }

// Failed says that the run has something to explain.
func (r Run) Failed() bool {
	switch r.Outcome.Kind {
	case memtrix.OOM, memtrix.Error, memtrix.Killed, memtrix.Hang, memtrix.StartupFailure, memtrix.InvalidWorkflow:
		return true
	}
	return r.Outcome.Slow != nil
}

// starts are lines of which each server prints one, while it starts.
var starts = []string{"** ComfyUI startup time", "[START] Security scan", "Checkpoint files will always be loaded safely", "MB, total RAM "}

// early are lines in front of those; several of a kind belong to one start.
var early = []string{"setup plugin alembic", "Adding extra search path", "Found comfy_kitchen backend", "Setting output directory to", "Setting base directory to", "usage: main.py"}

// answered are signs that a server has started.
var answered = []string{"To see the GUI go to: ", "Starting server", "got prompt"}

// Split parts a log at the starts of servers: a restart loop, or a file to which
// each start appends.
func Split(log []memtrix.LogLine) [][]memtrix.LogLine {
	var runs [][]memtrix.LogLine
	from, ready := 0, false
	seen := map[string]bool{}
	for i, l := range log {
		sign, first := signOf(l.Text, starts), false
		switch {
		case sign != "" && (seen[sign] || ready):
			first = true
		case ready && (signOf(l.Text, early) != "" || echoes(l.Text)):
			first = true
		}
		if first {
			runs = append(runs, log[from:i])
			from, ready = i, false
			seen = map[string]bool{}
		}
		if sign != "" {
			seen[sign] = true
		}
		ready = ready || signOf(l.Text, answered) != ""
	}
	return append(runs, log[from:])
}

func signOf(text string, signs []string) string {
	i := slices.IndexFunc(signs, func(s string) bool { return strings.Contains(text, s) })
	if i < 0 {
		return ""
	}
	return signs[i]
}

// command is the call of main.py that a batch file's echo shows, and the words of
// a report.
var command = regexp.MustCompile(`(?i)(?:>.*python\S*\s.*main\.py"?|Arguments:\*{0,2} .*main\.py)\s*(.*)$`)

func echoes(text string) bool {
	return strings.Contains(text, "main.py") && command.MatchString(strings.TrimRight(text, "\r"))
}

// given is what is known about a run besides its log.
type given struct {
	platform string
	// exit is how the server ended, where somebody wrote that down.
	exit *memtrix.Exit
	// gone: the server does not run any more, whatever the log says.
	gone bool
	// release is ComfyUI's version where the log does not say it.
	release string
}

// Look judges one run: its last prompt that failed counts, since that is what its
// user saw.
func Look(log []memtrix.LogLine, g given) Run {
	head, prompts, tail := parts(log)
	r := Run{Banner: comfyui.ParseBanner(log[:head])}
	r.read(log, head)
	e := diagnosis.Evidence{Platform: g.platform, Settings: r.Banner.Settings()}
	if r.Banner.ComfyUI == "" {
		r.Banner.ComfyUI = g.release
	}
	e.Flags = comfyui.FlagsOf(memtrix.Version{Release: r.Banner.ComfyUI}, e.Settings)
	r.Ready = slices.ContainsFunc(log, func(l memtrix.LogLine) bool { return signOf(l.Text, answered) != "" })

	waiting := waiting(log)
	r.Open = waiting > 0 && works(log[tail:])
	end := e
	end.Log = context(log, head, tail, tail, len(log), r.Open)
	if g.exit != nil {
		end.Exit, end.Died = *g.exit, true
	}
	r.Outcome, r.Evidence = diagnosis.Judge(end), end
	r.Begun = slices.ContainsFunc(log, func(l memtrix.LogLine) bool { return signOf(l.Text, starts) != "" || signOf(l.Text, early) != "" })
	if !r.Failed() && g.exit == nil && g.gone && (r.Open || r.Begun && !r.Ready) {
		// It ended, and nothing in the log says how.
		end.Exit, end.Died = memtrix.Exit{Unknown: true}, true
		r.Outcome, r.Evidence = diagnosis.Judge(end), end
	}
	if r.Failed() && r.Outcome.Kind != memtrix.InvalidWorkflow {
		r.Well = wellEnded(prompts, log, nil)
		return r
	}
	atEnd := r
	bad := map[int]bool{}
	for i := len(prompts) - 1; i >= 0; i-- {
		p := prompts[i]
		if !suspect(log[p.from:p.to]) {
			continue
		}
		at := e
		at.Log = context(log, head, p.from, p.from, p.to, true)
		o := diagnosis.Judge(at)
		found := Run{Outcome: o}
		if !found.Failed() {
			continue
		}
		bad[i] = true
		if r.Failed() && r.Outcome.Kind != memtrix.InvalidWorkflow || o.Kind == memtrix.InvalidWorkflow && r.Failed() {
			continue
		}
		r.Outcome, r.Evidence, r.After = o, at, len(prompts)-1-i-countAbove(bad, i)
	}
	r.Well = wellEnded(prompts, log, bad)
	if r.Failed() {
		return r
	}
	// Nothing failed: steps may have become slow, memory may have been got round.
	whole := e
	whole.Log = log
	if o := diagnosis.Judge(whole); o.Slow != nil || o.HiddenRetries > 0 && o.Kind == memtrix.Pass {
		r.Outcome, r.Evidence = o, whole
		return r
	}
	r.Outcome = atEnd.Outcome
	return r
}

func countAbove(bad map[int]bool, i int) int {
	n := 0
	for k := range bad {
		if k > i {
			n++
		}
	}
	return n
}

// span is one prompt's work, as indices of lines.
type span struct{ from, to int }

// parts finds the start-up, the work of each prompt (it ends with "Prompt executed
// in") and where what is behind the last one begins.
func parts(log []memtrix.LogLine) (head int, prompts []span, tail int) {
	head = len(log)
	for i, l := range log {
		if strings.Contains(l.Text, "got prompt") || strings.Contains(l.Text, "Prompt executed in ") {
			head = i
			break
		}
	}
	from := head
	for i := head; i < len(log); i++ {
		if strings.Contains(log[i].Text, "Prompt executed in ") {
			prompts = append(prompts, span{from, i + 1})
			from = i + 1
		}
	}
	return head, prompts, from
}

// waiting counts prompts that were taken and not ended; refused ones are none.
func waiting(log []memtrix.LogLine) int {
	n := 0
	for _, l := range log {
		switch {
		case strings.Contains(l.Text, "got prompt"):
			n++
		case strings.Contains(l.Text, "Prompt executed in "), strings.Contains(l.Text, "invalid prompt: {"):
			n = max(n-1, 0)
		}
	}
	return n
}

// works says that lines show work on a prompt.
func works(log []memtrix.LogLine) bool {
	return slices.ContainsFunc(log, func(l memtrix.LogLine) bool {
		return signOf(l.Text, []string{"got prompt", "Requested to load ", "loaded completely", "loaded partially", "prepared for dynamic VRAM", "model_type ", "model weight dtype", "%|"}) != ""
	})
}

// suspect says that lines are worth a look: some rule may know one of them.
func suspect(log []memtrix.LogLine) bool {
	return slices.ContainsFunc(log, func(l memtrix.LogLine) bool {
		return strings.Contains(l.Text, "!!!") || strings.Contains(l.Text, "Failed to validate") || diagnosis.Interesting(l.Text)
	})
}

// mostModels is how many lines about models of earlier prompts are told along.
const mostModels = 200

// context is a prompt's lines behind the start-up and what was said about models
// before, which may still be loaded.
func context(log []memtrix.LogLine, head, before, from, to int, prompt bool) []memtrix.LogLine {
	all := slices.Clone(log[:head])
	var models []memtrix.LogLine
	for _, l := range log[head:before] {
		if signOf(l.Text, []string{"Requested to load ", "loaded completely", "loaded partially", "prepared for dynamic VRAM", "model weight dtype"}) != "" && !strings.Contains(l.Text, "%|") {
			models = append(models, l)
		}
	}
	all = append(all, models[max(0, len(models)-mostModels):]...)
	part := log[from:to]
	if prompt && !slices.ContainsFunc(part, func(l memtrix.LogLine) bool { return strings.Contains(l.Text, "got prompt") }) {
		all = append(all, memtrix.LogLine{Text: "got prompt"}) // it was taken while another one ran
	}
	return append(all, part...)
}

// wellEnded counts prompts without a failure.
func wellEnded(prompts []span, log []memtrix.LogLine, bad map[int]bool) int {
	n := 0
	for i, p := range prompts {
		failed := bad[i] || slices.ContainsFunc(log[p.from:p.to], func(l memtrix.LogLine) bool {
			return strings.Contains(l.Text, "!!! Exception") || strings.Contains(l.Text, "Processing interrupted")
		})
		if !failed {
			n++
		}
	}
	return n
}

var (
	stamp   = regexp.MustCompile(`\[(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)`)
	startup = regexp.MustCompile(`\*\* ComfyUI startup time: (\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)`)
	places  = regexp.MustCompile(`\*\* (ComfyUI Path|ComfyUI Base Folder Path|User directory|Python executable): ?(.+?)\r?$`)
)

// read takes stamps, the command and the folders from a run's lines.
func (r *Run) read(log []memtrix.LogLine, head int) {
	for i, l := range log {
		if m := stamp.FindStringSubmatch(l.Text[:min(len(l.Text), 64)]); m != nil {
			at, err := time.ParseInLocation(time.DateTime, m[1]+" "+m[2], time.Local)
			if err == nil {
				if r.Started.IsZero() {
					r.Started = at
				}
				r.Ended = at
			}
		}
		if i >= head {
			continue
		}
		if m := startup.FindStringSubmatch(l.Text); m != nil {
			if at, err := time.ParseInLocation(time.DateTime, m[1]+" "+m[2], time.Local); err == nil {
				r.Started = at
			}
		}
		if m := places.FindStringSubmatch(l.Text); m != nil {
			*map[string]*string{"ComfyUI Path": &r.Place.Tree, "ComfyUI Base Folder Path": &r.Place.Base, "User directory": &r.Place.User, "Python executable": &r.Place.Python}[m[1]] = m[2]
		}
		if echoes(l.Text) {
			r.Args = strings.Fields(command.FindStringSubmatch(strings.TrimRight(l.Text, "\r"))[1])
		}
	}
}

// String is a run in a few words, for lists.
func (r Run) String() string {
	switch {
	case r.Failed():
		return string(r.Outcome.Kind)
	case r.Open:
		return "it ends in the middle of a prompt"
	case r.Outcome.HiddenRetries > 0:
		return fmt.Sprintf("no failure, but memory ran out %s and was got round (%s went well)", diagnosis.Often(r.Outcome.HiddenRetries), prompts(r.Well))
	case r.Well == 1:
		return "no failure, one prompt went well"
	case r.Well > 1:
		return fmt.Sprintf("no failure, %d prompts went well", r.Well)
	}
	if !r.Begun && !r.Ready {
		return "nothing in it is of a start of ComfyUI, or of a prompt"
	}
	return "no failure, no prompt"
}
