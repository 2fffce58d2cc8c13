package matrix

import (
	"path/filepath"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"memtrix"
)

var workflowKeys = []string{"builtin", "file", "name", "resolution", "frames", "batch", "steps", "set", "vary"}

func (r *specReader) workflows(n ast.Node) {
	seen := map[string]pos{}
	for _, item := range r.sequence(n, "workflows") {
		w, ok := r.workflow(item)
		if !ok {
			continue
		}
		if first, again := seen[w.Name]; again {
			r.fail(w.pos, "two workflows are called %q; the first is in line %d, so give one a name:", w.Name, first.line)
		}
		seen[w.Name] = w.pos
		r.spec.Workflows = append(r.spec.Workflows, w)
	}
}

func (r *specReader) workflow(n ast.Node) (WorkflowEntry, bool) {
	w := WorkflowEntry{pos: position(n)}
	if _, scalar := scalarText(n); scalar {
		text, ok := r.word(n, "a workflow")
		if looksLikeFile(text) {
			r.fail(w.pos, "a workflow by its name alone is a built-in one; write \"file: %s\" for a file", shorten(text))
			return w, false
		}
		w.BuiltIn, w.Name = text, text
		return w, ok
	}
	before := len(r.errs)
	ok := r.keys(n, "a workflow", workflowKeys, func(f field) { r.workflowField(f, &w) })
	if !ok || len(r.errs) > before {
		return w, false
	}
	switch {
	case w.BuiltIn == "" && w.File == "":
		r.fail(w.pos, "a workflow needs file: (a path) or builtin: (a name)")
		return w, false
	case w.BuiltIn != "" && w.File != "":
		r.fail(w.pos, "a workflow has file: or builtin:, not both")
		return w, false
	case w.File != "" && w.Params != (Params{}):
		r.fail(w.pos, "resolution, frames, batch and steps are of built-in workflows; a file's inputs are set by set:, for example {KSampler.steps: 8}")
		return w, false
	case w.Name == "" && w.BuiltIn != "":
		w.Name = w.BuiltIn
	case w.Name == "":
		w.Name = fileName(w.File)
	}
	return w, true
}

func looksLikeFile(text string) bool {
	return strings.ContainsAny(text, `/\`) || filepath.Ext(text) != ""
}

// fileName is a file's name without its folder and ending, and without the
// ".api" that people put before it.
func fileName(path string) string {
	base := filepath.Base(path)
	base = strings.TrimSuffix(base, filepath.Ext(base))
	if short := strings.TrimSuffix(base, ".api"); short != "" {
		return short
	}
	return base
}

func (r *specReader) workflowField(f field, w *WorkflowEntry) {
	switch f.key {
	case "builtin":
		if text, ok := r.word(f.value, "builtin"); ok {
			w.BuiltIn = text
		}
	case "file":
		if text, ok := r.word(f.value, "file"); ok {
			w.File = r.path(text)
		}
	case "name":
		r.name(f.value, &w.Name)
	case "resolution":
		r.resolution(f.value, &w.Params)
	case "frames":
		r.count(f.value, "frames", 100000, &w.Params.Frames)
	case "batch":
		r.count(f.value, "batch", 4096, &w.Params.Batch)
	case "steps":
		r.count(f.value, "steps", 10000, &w.Params.Steps)
	case "set":
		fields, ok := r.mapping(f.value, "set")
		if ok && len(fields) == 0 {
			r.fail(f.at, "set is empty; leave it out or put something in")
		}
		for _, a := range fields {
			r.inputPath(a.key, a.at)
			if value, ok := r.jsonValue(a.value, "set "+a.key); ok {
				w.Set = append(w.Set, Assignment{Path: a.key, Value: value, pos: a.at})
			}
		}
	case "vary":
		for _, item := range r.sequence(f.value, "vary") {
			if text, ok := r.word(item, "an item of vary"); ok {
				r.inputPath(text, position(item))
				w.Vary = append(w.Vary, text)
				w.varyPos = append(w.varyPos, position(item))
			}
		}
	}
}

// resolution reads "1024x768", or "1024" for a square.
func (r *specReader) resolution(n ast.Node, p *Params) {
	text, ok := r.word(n, "resolution")
	if !ok {
		return
	}
	wide, high, both := strings.Cut(strings.ReplaceAll(text, "×", "x"), "x")
	if !both {
		high = wide
	}
	width, err1 := strconv.Atoi(strings.TrimSpace(wide))
	height, err2 := strconv.Atoi(strings.TrimSpace(high))
	const largest = 16384 // MAX_RESOLUTION in ComfyUI's nodes.py
	if err1 != nil || err2 != nil || min(width, height) < 1 || max(width, height) > largest {
		r.fail(position(n), "resolution needs pixels, for example 1024x768, at most %d, not %q", largest, shorten(text))
		return
	}
	p.Width, p.Height = width, height
}

func (r *specReader) inputPath(path string, at pos) {
	i := strings.IndexByte(path, '.')
	if i <= 0 || i == len(path)-1 {
		r.fail(at, "%q is no input; write node.input, for example \"5.steps\" or \"KSampler.steps\"", shorten(path))
	}
}

// outcomes are the words that expect: takes. A trial that was interrupted or
// not measured is never what somebody expects.
var outcomes = []memtrix.OutcomeKind{
	memtrix.Pass, memtrix.OOM, memtrix.Error, memtrix.Killed, memtrix.Hang,
	memtrix.StartupFailure, memtrix.InvalidWorkflow, memtrix.NotInForce,
}

func (r *specReader) expect(n ast.Node) {
	for _, item := range r.sequence(n, "expect") {
		before := len(r.errs)
		e := Expectation{pos: position(item)}
		ok := r.keys(item, "expect", []string{"when", "outcome"}, func(f field) {
			if f.key == "when" {
				r.when(f.value, &e)
			} else {
				r.outcome(f.value, &e.Outcome)
			}
		})
		if !ok || len(r.errs) > before {
			continue
		}
		if e.Outcome == "" {
			r.fail(e.pos, "expect needs an outcome:, for example oom")
		}
		r.spec.Expect = append(r.spec.Expect, e)
	}
}

// when reads the cells that an expectation is about; without it, all are.
func (r *specReader) when(n ast.Node, e *Expectation) {
	e.Settings = memtrix.Settings{}
	fields, _ := r.mapping(n, "when")
	for _, f := range fields {
		switch f.key {
		case "version":
			e.Version, _ = r.word(f.value, "version")
			e.versionPos = position(f.value)
		case "workflow":
			e.Workflow, _ = r.word(f.value, "workflow")
			e.workflowPos = position(f.value)
		case "hardware":
			e.Hardware, _ = r.word(f.value, "hardware")
			e.hardwarePos = position(f.value)
		default:
			r.setting(f, e.Settings)
		}
	}
}

func (r *specReader) outcome(n ast.Node, into *memtrix.OutcomeKind) {
	text, ok := r.word(n, "outcome")
	if !ok {
		return
	}
	words := make([]string, len(outcomes))
	for i, o := range outcomes {
		words[i] = string(o)
		if words[i] == text {
			*into = o
			return
		}
	}
	r.fail(position(n), "unknown outcome %q%s", shorten(text), suggest(text, words))
}
