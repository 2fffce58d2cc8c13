package matrix

import (
	"fmt"
	"slices"
	"strings"

	"memtrix"
)

// Found is what `memtrix init` found on this machine.
type Found struct {
	// Versions are the ComfyUI trees; none makes a spec with a simulated one.
	Versions []FoundVersion
	// Workflow is an API-format file, or the name of a built-in workflow; ""
	// takes the built-in "sd15".
	Workflow string
	// Set are inputs of the workflow with another value, in order; values are
	// JSON.
	Set []Assignment
	// Device is "gpu" or "cpu" ("" is "gpu"): it decides which settings are
	// worth a look.
	Device string
	// Models are folders with models outside the trees.
	Models []string
}

// FoundVersion is one ComfyUI tree, with absolute paths.
type FoundVersion struct {
	Path   string
	Python string // "" when the tree's own is found without being told
	// Release is what the tree says, for the comment; may be "".
	Release string
}

// Template writes a commented spec of what was found. It parses without an
// error, and every key that a person may want is there, if only as a comment.
func Template(f Found) []byte {
	var b strings.Builder
	b.WriteString(templateHead)
	f.versions(&b)
	f.workflow(&b)
	f.settings(&b)
	b.WriteString(templateRest)
	f.models(&b)
	return []byte(b.String())
}

func (f Found) versions(b *strings.Builder) {
	b.WriteString("versions:                  # what is compared; at least one\n")
	if len(f.Versions) == 0 {
		b.WriteString("  # No ComfyUI was found here. This one is simulated: nothing it shows is a measurement.\n")
		b.WriteString("  # For a real one write   - path: /where/it/is/ComfyUI   (the folder with main.py).\n")
		b.WriteString("  # Or   - latest   which memtrix gets by itself, with its packages.\n")
		b.WriteString("  - sim: 0.29.0\n\n")
		return
	}
	releases := map[string]int{}
	for i, v := range f.Versions {
		releases[v.Release]++
		note := ""
		if v.Release != "" {
			note = "  # ComfyUI " + oneLine(v.Release)
		}
		fmt.Fprintf(b, "  - path: %s%s\n", quoteJSON(v.Path), note)
		if releases[v.Release] > 1 {
			name := oneLine(fmt.Sprintf("%s (%d)", v.Release, i+1))
			fmt.Fprintf(b, "    name: %s  # another tree is this release, too\n", quoteJSON(name))
		}
		if v.Python != "" {
			fmt.Fprintf(b, "    python: %s  # the interpreter that starts it\n", quoteJSON(v.Python))
		} else {
			b.WriteString("    # python: /opt/venv/bin/python   # when the tree's own is not the right one\n")
		}
	}
	b.WriteString("  # - path: ../ComfyUI-new   # a second tree to compare with\n")
	b.WriteString("  #   name: new              # what tables call it; default: its release\n")
	b.WriteString("  # - url: http://127.0.0.1:8188   # one that runs already, as it is\n")
	b.WriteString("  # - latest~1               # one that memtrix gets by itself: a release, commit, branch, pr:N, latest\n\n")
}

func (f Found) workflow(b *strings.Builder) {
	name := f.Workflow
	if name == "" {
		name = "sd15"
	}
	b.WriteString("workflows:                 # what each version runs; at least one\n")
	key := "builtin"
	if looksLikeFile(name) {
		key = "file"
		b.WriteString("  # exported with Workflow > Export (API) in ComfyUI\n")
	} else {
		b.WriteString("  # built-in: sd15, sdxl, image ... (memtrix workflows list). For your own write   - file: my_workflow.json\n")
		b.WriteString("  # (as ComfyUI saves or exports it, or a picture that carries one)\n")
	}
	fmt.Fprintf(b, "  - %s: %s\n", key, quoteJSON(name))
	if len(f.Set) > 0 {
		b.WriteString("    set:                   # inputs with another value: node id (or class) . input\n")
	}
	for _, a := range f.Set {
		fmt.Fprintf(b, "      %s: %s\n", quoteJSON(a.Path), a.Value)
	}
	if len(f.Set) == 0 {
		b.WriteString("    # set: {\"KSampler.steps\": 2}   # inputs with another value: node id (or class) . input\n")
	}
	b.WriteString("    # vary: [\"5.seed\"]      # inputs that change from prompt to prompt; default: the seeds\n\n")
}

func (f Found) settings(b *strings.Builder) {
	s := FirstLookSettings(f.Device)
	b.WriteString("settings:                  # launch settings; each version turns them into its own flags\n")
	if len(s.Base) > 0 {
		fmt.Fprintf(b, "  base: {%s}        # in every cell\n", strings.ReplaceAll(s.Base.String(), "=", ": "))
	} else {
		b.WriteString("  # base: {pinned-memory: off}   # in every cell\n")
	}
	b.WriteString("  mode: one-flip           # the base, then one change at a time; full: every combination\n")
	b.WriteString("  axes:                    # setting: values to try\n")
	named := map[string]bool{}
	for _, a := range s.Axes {
		named[a.Setting] = true
		def, _ := memtrix.Setting(a.Setting)
		fmt.Fprintf(b, "    %s: [%s]%s# %s\n", a.Setting, strings.Join(a.Values, ", "), pad(a), def.Doc)
	}
	for _, def := range memtrix.SettingDefs {
		if _, inBase := s.Base[def.Name]; named[def.Name] || inBase {
			continue
		}
		fmt.Fprintf(b, "    # %s: [...]   # %s (%s)\n", def.Name, def.Doc, strings.Join(values(def), ", "))
	}
	b.WriteString("  # exclude: [{dynamic-vram: off, vram-mode: high}]   # cells not to run\n\n")
}

func values(def memtrix.SettingDef) []string {
	all := slices.Clone(def.Words)
	if def.Number != "" {
		all = append(all, "number: "+def.Number)
	}
	return all
}

func pad(a Axis) string {
	used := len(a.Setting) + len(strings.Join(a.Values, ", "))
	return strings.Repeat(" ", max(1, 30-used))
}

func (f Found) models(b *strings.Builder) {
	if len(f.Models) == 0 {
		b.WriteString("# models: [/data/models]   # model folders besides each tree's own\n")
		return
	}
	b.WriteString("models:                    # model folders besides each tree's own\n")
	for _, dir := range f.Models {
		fmt.Fprintf(b, "  - %s\n", quoteJSON(dir))
	}
}

func oneLine(s string) string {
	return strings.Join(strings.Fields(s), " ")
}

const templateHead = `# A memtrix spec: what to run, under which settings, how often.
# All keys: docs/spec.md. What it would run: memtrix plan THIS. Run it: memtrix run THIS

`

const templateRest = `# source: ../ComfyUI.git   # where versions by name are looked up; default: the official repository
# packages: as-of-date     # their packages: as required (default), or as they were on the commit's day
prompts: 3                 # a trial: the second says more about memory than the first
repeats: 1                 # trials a cell
rest: 11s                  # idle time before memory at rest is read; off: not read
free: on                   # then ask for POST /free and read again
# probe: on                # look from inside: torch's peak and the loaded models of each node
# interval: 1ms            # time between two readings of the card while prompts run
# budget: 8h               # what matters most first; the rest is said to be left out
# control: {}              # a frozen cell that shows when the machine itself moved
# expect:                  # outcomes that count as success
#   - when: {vram-mode: high}
#     outcome: oom
# timeouts: {start: 5m, prompt: 30m, silence: 10m, free: 15s, stop: 30s, card: 2m, queue: 10m}
# hardware: [as-is]        # or {name: card-8g, vram: 8GiB, ram: 16GiB}: act as a smaller machine
# args: ["--verbose", "DEBUG"]        # raw flags for every server
# env: {PYTORCH_CUDA_ALLOC_CONF: ""}  # environment variables for every server
# custom-nodes: [ComfyUI-GGUF]        # node packs that load; default: auto, what the workflow needs
`
