package evidence

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"memtrix"
	"memtrix/reports"
)

// pasteLines is the most that paste.txt has: people read that much of an issue.
const pasteLines = 15

// simulatedLine is the first line of every page about a simulated trial.
const simulatedLine = "SIMULATED: made by memtrix's simulated ComfyUI. Nothing here was measured, and it is no bug report."

// paste is what goes into an issue: what, where, with which versions, how it differs
// from what works, whether it needs real weights, how to repeat it.
func (c *Case) paste() []byte {
	var lines []string
	add := func(label, text string) {
		if text != "" {
			lines = append(lines, label+text)
		}
	}
	if c.Simulated() {
		add("", simulatedLine)
	}
	add("", c.Headline)
	add("Where: ", c.where())
	add("Versions: ", c.versions())
	add("Machine: ", c.machine())
	add("Custom nodes: ", c.packs())
	add("A/B: ", c.ab())
	add("Happens with stand-ins: ", c.StandIns)
	if c.Simulated() {
		add("Repeat: ", "memtrix run "+specFile+" simulates it again; there is no ComfyUI in which it could be repeated")
	} else {
		add("Repeat without memtrix", c.repeatWords())
	}
	for _, step := range c.shortSteps() {
		add("  ", step)
	}
	if len(lines) > pasteLines-1 {
		lines = append(lines[:pasteLines-2], "  ... (all steps are in report.md)")
	}
	add("", c.attached())
	return []byte(strings.Join(lines, "\n") + "\n")
}

// attached names what the bundle has besides.
func (c *Case) attached() string {
	var words []string
	add := func(there bool, word string) {
		if there {
			words = append(words, word)
		}
	}
	add(len(c.Log) > 0, "log")
	add(len(c.Workflow) > 0, "workflow")
	add(len(c.Trial.Spans) > 0, "timeline")
	add(len(c.Packages) > 0, "exact versions")
	if len(words) > 1 {
		words = append(words[:len(words)-2], words[len(words)-2]+" and "+words[len(words)-1])
	}
	text := strings.Join(words, ", ")
	if text == "" {
		return "The attached bundle has the rest, report.md first."
	}
	return strings.ToUpper(text[:1]) + text[1:] + ": the attached bundle, report.md first."
}

// where is the place of the failure, or what passed.
func (c *Case) where() string {
	t, o := c.Trial, c.Trial.Outcome
	words := []string{"workflow " + t.Cell.Workflow.Name}
	if c.Sizes != "" {
		words[0] += " (" + c.Sizes + ")"
	}
	passed := 0
	for _, p := range t.Prompts {
		if p.Outcome == memtrix.Pass {
			passed++
		}
	}
	switch {
	case !c.Failed():
		words = append(words, fmt.Sprintf("%d of %d prompts passed", passed, len(t.Prompts)))
	case len(t.Prompts) > 0:
		word := fmt.Sprintf("prompt %d", len(t.Prompts))
		if passed > 0 {
			word += fmt.Sprintf(" (%d passed before)", passed)
		}
		words = append(words, word)
	}
	if o.Node != nil {
		words = append(words, "node "+nodeText(*o.Node))
	}
	if o.Phase != "" {
		words = append(words, "phase "+string(o.Phase))
	}
	if o.Memory != "" && o.Memory != memtrix.MemoryNone {
		words = append(words, "memory "+string(o.Memory))
	}
	if o.How != "" {
		words = append(words, "by "+string(o.How))
	}
	if end := exitText(t.Exit); end != "" {
		words = append(words, end)
	}
	return strings.Join(words, ", ")
}

// exitText says how the server ended, if it did so by itself.
func exitText(e memtrix.Exit) string {
	switch {
	case e.Asked:
		return ""
	case e.Unknown:
		return "the server is gone; how it ended is not known"
	case e.Signal != "":
		return "the server was ended by signal " + e.Signal
	case e.Status != 0:
		return fmt.Sprintf("the server ended with status %d", e.Status)
	}
	return ""
}

func (c *Case) versions() string {
	var words []string
	for _, label := range []string{"ComfyUI commit", "front end", "Python", "torch", "CUDA of the driver", "driver", "comfy-aimdo", "comfy-kitchen"} {
		v := c.fact(label)
		if v == "" || label == "Python" && strings.HasPrefix(v, "CPython ") {
			v = strings.TrimPrefix(v, "CPython ")
		}
		if v == "" {
			continue
		}
		switch label {
		case "ComfyUI commit":
			label = "commit"
			if strings.HasPrefix(v, "not a git tree") {
				continue
			}
		case "CUDA of the driver":
			label = "CUDA"
		}
		words = append(words, label+" "+v)
	}
	return strings.Join(words, ", ")
}

func (c *Case) machine() string {
	var words []string
	for _, label := range []string{"GPU 0", "GPU 1", "GPU", "made smaller for this trial", beforeStart, "RAM", "swap or page file", "OS"} {
		v := c.fact(label)
		switch {
		case v == "":
		case label == "GPU": // why there is none
			v, _, _ = strings.Cut(v, ":")
			words = append(words, v)
		case strings.HasPrefix(label, "GPU"), label == "OS", label == "made smaller for this trial":
			words = append(words, v)
		case label == "RAM":
			words = append(words, v+" RAM")
		case label == beforeStart:
			words = append(words, v+" in use before the start by others")
		default:
			words = append(words, "swap "+v)
		}
	}
	if d := c.fact("disk of the models"); d != "" {
		words = append(words, "models on "+d)
	}
	return strings.Join(words, "; ")
}

func (c *Case) packs() string {
	packs := c.Trial.Cell.Version.Packs
	switch {
	case len(packs) == 0 && c.Launch.PacksOff:
		return "none, all were off"
	case len(packs) == 0:
		return "not known: the server ran before memtrix came"
	}
	var words []string
	for _, p := range packs {
		words = append(words, p.Short())
	}
	return strings.Join(words, ", ")
}

// ab says how the trial's own cell ended against its counterpart.
func (c *Case) ab() string {
	own := c.Compared[slices.IndexFunc(c.Compared, func(r Row) bool { return r.own })]
	best := c.Best()
	if best == nil {
		return ""
	}
	text := "this " + described(own) + "; " + c.otherwise(*best) + " " + described(*best)
	if d := against(own, *best); d != "" {
		text += "; this against that: " + d + " (medians, not tested for noise)"
	}
	return text
}

// against is by how much figures differ where both passed; where one did not, its
// peaks are where it stopped.
func against(a, b Row) string {
	if a.Passed == 0 || b.Passed == 0 {
		return ""
	}
	var words []string
	add := func(label string, x, y float64) {
		if y > 0 {
			words = append(words, label+" "+reports.Percent(x/y-1))
		}
	}
	if a.VRAM != nil && b.VRAM != nil {
		add("VRAM peak", float64(*a.VRAM), float64(*b.VRAM))
	}
	if a.RAM != nil && b.RAM != nil {
		add("RAM peak", float64(*a.RAM), float64(*b.RAM))
	}
	if a.Seconds != nil && b.Seconds != nil {
		add("prompt", *a.Seconds, *b.Seconds)
	}
	return strings.Join(words, ", ")
}

func described(r Row) string {
	return strings.TrimSuffix(r.Outcome()+" ("+cmp.Or(r.Figures(), trialNumbers(r.Trials))+")", " ()")
}

// otherwise names a row by what is other about it.
func (c *Case) otherwise(r Row) string {
	switch r.What {
	case "this":
		return "this"
	case "version":
		return r.Version
	}
	if strings.HasPrefix(r.What, ofHardware) {
		return "on " + r.What
	}
	return "with " + r.What
}

func (c *Case) repeatWords() string {
	switch {
	case c.Launch.Attached:
		return " (on a server of yours):"
	case len(c.Models) == 0:
		return " (no model needed):"
	case c.standable() && c.stoodIn():
		return " and without a model (BUNDLE is the unpacked bundle):"
	case c.standable():
		return " (BUNDLE is the unpacked bundle; stand-ins take the models' places, which was not tried here):"
	}
	return " (BUNDLE is the unpacked bundle; the models are needed):"
}

// shortSteps are the steps without comments, the first ones in one line. What stays in
// the foreground keeps the comment that says so.
func (c *Case) shortSteps() []string {
	var steps []string
	if c.Simulated() {
		return nil
	}
	for _, s := range c.plainSteps() {
		if strings.HasPrefix(s, "#") {
			continue
		}
		s, comment, _ := strings.Cut(s, "   # ")
		if strings.HasPrefix(comment, leaveRunning) {
			s += "   # " + leaveRunning
		}
		if install, ok := strings.CutPrefix(s, venv); ok && len(steps) > 0 {
			steps[0] += " && " + install
			continue
		}
		steps = append(steps, s)
	}
	return steps
}
