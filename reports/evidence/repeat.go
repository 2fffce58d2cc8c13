package evidence

import (
	"bytes"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"memtrix"
	"memtrix/internal/shell"
)

// Names of files that make it happen again.
const (
	specFile   = "repeat.yaml"
	makeScript = "make_models.py"
	headFolder = "standins"
)

// repository is where ComfyUI comes from.
const repository = "https://github.com/Comfy-Org/ComfyUI"

//go:embed make_models.py
var makeModels []byte

// standInFiles are the stand-ins as little data, and the script that makes files of
// them: nothing but Python is needed.
func (c *Case) standInFiles() ([]File, error) {
	type entry struct {
		Folder string   `json:"folder"`
		Name   string   `json:"name"`
		Bytes  int64    `json:"bytes"`
		Head   string   `json:"head"`
		About  string   `json:"about"`
		Parts  [][2]any `json:"parts,omitempty"`
	}
	var files []File
	var index []entry
	for i, m := range c.Models {
		if m.image == nil {
			continue
		}
		head := fmt.Sprintf("%s/%d.head", headFolder, i+1)
		e := entry{Folder: m.Folder, Name: m.Name, Bytes: m.Bytes, Head: head, About: m.Family + " " + m.DType + ", zeros for weights"}
		for _, p := range m.image.Parts {
			e.Parts = append(e.Parts, [2]any{p.At, base64.StdEncoding.EncodeToString(p.Data)})
		}
		index = append(index, e)
		files = append(files, File{head, m.image.Head})
	}
	if index == nil {
		return nil, nil
	}
	data, err := json.MarshalIndent(index, "", " ")
	if err != nil {
		return nil, fmt.Errorf("stand-ins: %w", err)
	}
	return append(files, File{headFolder + "/index.json", append(data, '\n')}, File{makeScript, makeModels}), nil
}

// venv makes an environment of its own.
const venv = "python -m venv venv && . venv/bin/activate && "

// leaveRunning is said of commands that do not end by themselves.
const leaveRunning = "leave it running"

// plainSteps are the commands that repeat it without memtrix. Of a simulated trial
// nobody asks them: there is no ComfyUI that it could be repeated in.
func (c *Case) plainSteps() []string {
	t := c.Trial
	var steps []string
	add := func(format string, args ...any) { steps = append(steps, fmt.Sprintf(format, args...)) }
	if c.Launch.Attached {
		add("# a ComfyUI that ran before; its own start:")
	} else {
		add("git clone %s && cd ComfyUI && git checkout %s", repository, c.checkout())
		exact := ""
		if len(c.Packages) > 0 {
			exact = "   # packages.txt has the exact versions"
		}
		add("%s", venv+"pip install -r requirements.txt"+exact)
	}
	for _, p := range t.Cell.Version.Packs {
		add("%s", packStep(p))
	}
	if len(c.Models) > 0 && c.standable() {
		if !c.stoodIn() {
			add("# with real models: put them into models/ (%s) instead of the next step", c.modelWords())
		}
		add("python BUNDLE/%s models   # %s", makeScript, c.modelWords())
	} else if len(c.Models) > 0 {
		add("# models needed: %s", c.modelWords())
	}
	steps = append(steps, c.smaller()...)
	if _, not := c.env(); len(not) > 0 {
		add("# it also ran with %s: of that machine", brieflySet(not))
	}
	if len(c.Launch.Gone) > 0 {
		add("# it also ran with files of that machine: %s", strings.Join(c.Launch.Gone, " "))
	}
	add("%s   # %s; once it names the GUI's address, in another terminal:", c.startCommand(), leaveRunning)
	for _, p := range c.shownPrompts() {
		add("curl -X POST -H 'Content-Type: application/json' -d @BUNDLE/%s http://127.0.0.1:8188/prompt", promptFile(p))
	}
	return steps
}

// startCommand starts ComfyUI as the trial's server was started, in a memory group
// where the trial had one.
func (c *Case) startCommand() string {
	start := shell.Words(append([]string{"python", "main.py"}, c.Launch.Plain...)...)
	if here, _ := c.env(); len(here) > 0 {
		start = assignments(here) + " " + start
	}
	h := c.Trial.Cell.Hardware
	if h.RAM > 0 || h.Swap != nil {
		limit := "systemd-run --user --scope"
		if h.RAM > 0 {
			limit += fmt.Sprintf(" -p MemoryMax=%d", h.RAM)
		}
		if h.Swap != nil {
			limit += fmt.Sprintf(" -p MemorySwapMax=%d", *h.Swap)
		}
		if i := strings.Index(start, "python main.py"); i > 0 {
			return limit + " env " + start
		}
		return limit + " " + start
	}
	return start
}

// smaller makes a card small as memtrix did: something else holds the rest.
func (c *Case) smaller() []string {
	h := c.Trial.Cell.Hardware
	if h.VRAM <= 0 {
		return nil
	}
	return []string{fmt.Sprintf("# on a larger card, in another terminal: hold all but %d bytes of VRAM", h.VRAM),
		fmt.Sprintf(`python -c "import torch; free = torch.cuda.mem_get_info()[0]; hold = torch.empty(free - %d, dtype=torch.uint8, device='cuda'); input('held')"   # %s`, h.VRAM, leaveRunning)}
}

// checkout is what git takes for the version.
func (c *Case) checkout() string {
	v := c.Trial.Cell.Version
	release := c.fact("ComfyUI")
	if v.Commit != "" && !strings.Contains(v.Commit, ":") {
		return v.Commit
	}
	if release != "" {
		return "v" + release
	}
	return shell.Word(v.Name)
}

func packStep(p memtrix.Pack) string {
	if p.Source == "" {
		return "# custom node pack " + p.Short() + ": where it comes from is not known"
	}
	url := p.Source
	if !strings.Contains(url, "://") && !strings.HasPrefix(url, "git@") {
		url = "https://github.com/" + url
	}
	step := shell.Words("git", "clone", url, "custom_nodes/"+p.Name)
	if p.Commit != "" {
		step += " && git -C " + shell.Word("custom_nodes/"+p.Name) + " checkout " + p.Commit
	}
	if p.Dirty {
		step += "   # its files had changes"
	}
	return step
}

func (c *Case) modelWords() string {
	var words []string
	for _, m := range c.Models {
		words = append(words, path.Join(m.Folder, m.Name))
	}
	return strings.Join(words, ", ")
}

// shownPrompts are the prompts up to the failure, but not more than fit a list: of
// many the first and the last.
func (c *Case) shownPrompts() []SentPrompt {
	if n := len(c.Prompts); n > 4 {
		return []SentPrompt{c.Prompts[0], c.Prompts[n-1]}
	}
	return c.Prompts
}

func promptFile(p SentPrompt) string { return "prompt-" + strconv.Itoa(p.Number) + ".json" }

// spec is the same cell for memtrix.
func (c *Case) spec() []byte {
	t := c.Trial
	var b bytes.Buffer
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	if c.Simulated() {
		line("# %s", simulatedLine)
	}
	line("# %s", oneLine(c.Headline))
	line("# memtrix run %s", specFile)
	line("name: repeat")
	line("versions:")
	v := t.Cell.Version
	switch {
	case c.Simulated():
		line("  - sim: %s", text(c.fact("ComfyUI")))
	case v.Attached != nil:
		line("  - url: http://127.0.0.1:8188   # a server of yours, started with: %s", shell.Words(c.Launch.Plain...))
	default:
		line("  - version: %s", text(strings.TrimPrefix(c.checkout(), "v")))
	}
	line("workflows:")
	line("  - file: workflow.json")
	line("    name: %s", text(t.Cell.Workflow.Name))
	c.specChanges(line)
	line("settings: {list: [{%s}]}", settingsText(t.Cell.Settings))
	if h := t.Cell.Hardware; h.VRAM > 0 || h.RAM > 0 || h.Swap != nil {
		line("hardware: [{%s}]", hardwareText(h))
	}
	line("prompts: %d", max(1, len(t.Prompts)))
	if t.Outcome.Kind != memtrix.Pass {
		line("rest: off")
		line("free: off")
	}
	if len(c.Models) > 0 && v.Attached == nil {
		line("standin: missing   # models that are not here get stand-ins: nothing is downloaded")
		c.specFamilies(line)
	}
	c.specEnv(line)
	if gone := c.Launch.Gone; len(gone) > 0 {
		line("# left out, since what they name lies on the machine of the trial: %s", strings.Join(gone, " "))
	}
	if len(c.Launch.Extra) > 0 {
		words := make([]string, len(c.Launch.Extra))
		for i, w := range c.Launch.Extra {
			words[i] = text(w)
		}
		line("args: [%s]", strings.Join(words, ", "))
	}
	return b.Bytes()
}

// specChanges are what the spec changed in a workflow with UI; in others it is in the
// file.
func (c *Case) specChanges(line func(string, ...any)) {
	w := c.Trial.Cell.Workflow
	if w.UI == nil {
		return
	}
	if len(w.Changes) > 0 {
		line("    set:")
		for _, change := range w.Changes {
			line("      %s: %s", text(change.Path), change.Value)
		}
	}
	if len(w.VaryPaths) > 0 {
		words := make([]string, len(w.VaryPaths))
		for i, p := range w.VaryPaths {
			words[i] = text(p)
		}
		line("    vary: [%s]", strings.Join(words, ", "))
	}
}

func (c *Case) specFamilies(line func(string, ...any)) {
	var known []Model
	for _, m := range c.Models {
		if m.Family != "" {
			known = append(known, m)
		}
	}
	if len(known) == 0 {
		return
	}
	line("standins:")
	for _, m := range known {
		line("  %s: %s", text(m.Name), text(m.Family+" "+m.DType))
	}
}

// text is a text in YAML, which takes JSON's.
func text(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(s) != nil {
		return strconv.Quote(s)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func settingsText(s memtrix.Settings) string {
	var words []string
	for _, k := range slices.Sorted(maps.Keys(s)) {
		words = append(words, k+": "+text(s[k]))
	}
	return strings.Join(words, ", ")
}

func hardwareText(h memtrix.Hardware) string {
	words := []string{"name: " + text(h.Name)}
	add := func(key string, n int64) {
		if n > 0 {
			words = append(words, fmt.Sprintf("%s: %dMiB", key, n>>20))
		}
	}
	add("vram", h.VRAM)
	add("ram", h.RAM)
	if h.Swap != nil && *h.Swap == 0 {
		words = append(words, "swap: 0")
	} else if h.Swap != nil {
		add("swap", *h.Swap)
	}
	return strings.Join(words, ", ")
}
