package evidence

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"memtrix"
	"memtrix/reports/redact"
	"memtrix/workflows"
	"memtrix/workflows/standin"
)

// Model is a model file that the workflow loads.
type Model struct {
	Folder, Name string
	// Stand is what it was in this trial, nil for a real model.
	Stand *memtrix.StandIn
	// Family and DType are what stands in for it, "" where none is known to fit; Why
	// says by what that was told.
	Family, DType, Why string
	// Bytes is the size of the stand-in's file.
	Bytes int64
	image *standin.Image
}

// models lists what the workflow needs, with a stand-in for each where one fits; with
// images, also that as data.
func models(r *redact.Redactor, w memtrix.Workflow, graph map[string]memtrix.GraphNode, images bool) ([]Model, error) {
	w.Graph = graph
	var list []Model
	for _, f := range workflows.Needed(w) {
		m := Model{Folder: f.Folder, Name: fileName(r.Text(f.Name))}
		i := slices.IndexFunc(w.StandIns, func(s memtrix.StandIn) bool { return s.Name == f.Name })
		if i >= 0 {
			s := w.StandIns[i]
			m.Stand = &s
			m.Family, m.DType, m.Why = s.Family, s.DType, "it was one in this trial"
		}
		if m.Family == "" {
			choice, err := standin.Recognise(standin.File{Folder: f.Folder, Name: f.Name, Class: f.Class, Input: f.Input, Type: typeOf(graph, f)}, "")
			if err == nil {
				m.Family, m.DType, m.Why = choice.Family.Name, choice.DType, "told by "+r.Text(choice.Why)
			}
		}
		if images && m.Family != "" && safe(m.Name) {
			family, err := standin.Find(m.Family)
			if err == nil {
				image, err := family.Image(m.DType)
				if err != nil {
					return nil, fmt.Errorf("stand-in for %s: %w", m.Name, err)
				}
				m.image, m.Bytes = &image, image.Size
			}
		}
		list = append(list, m)
	}
	return list, nil
}

// fileName is a redacted name as a file can have it: not everywhere may a name have
// angle brackets.
func fileName(name string) string { return strings.NewReplacer("<", "", ">", "").Replace(name) }

// rename gives a document with the names that files have, instead of the redacted ones
// that they cannot have.
func rename(r *redact.Redactor, w memtrix.Workflow, doc []byte) []byte {
	for _, f := range workflows.Needed(w) {
		for _, name := range []string{f.Name, strings.ReplaceAll(f.Name, "/", `\`)} {
			if shown := r.Text(name); strings.Contains(shown, "<") {
				doc = bytes.ReplaceAll(doc, []byte(text(shown)), []byte(text(fileName(shown))))
			}
		}
	}
	return doc
}

// safe reports whether a name stays in its folder.
func safe(name string) bool {
	clean := path.Clean("/" + name)
	return clean == "/"+name && !strings.ContainsAny(name, "\\:\x00\n")
}

// typeOf is the input "type" of the node that loads a file, "" where there is none.
func typeOf(graph map[string]memtrix.GraphNode, f workflows.ModelFile) string {
	var kind string
	if json.Unmarshal(graph[f.Node].Inputs["type"], &kind) != nil {
		return ""
	}
	return kind
}

// standIns says whether it happens without real weights: yes, no, or not tried.
func standIns(t *memtrix.Trial, others []*memtrix.Trial, needed []Model) string {
	stood := 0
	for _, m := range needed {
		if m.Stand != nil {
			stood++
		}
	}
	failed := t.Outcome.Kind != memtrix.Pass
	what := map[bool]string{true: "yes", false: "nothing failed"}[failed]
	switch {
	case t.Outcome.Kind == memtrix.StartupFailure:
		return "yes: it ends before any model is loaded"
	case len(needed) == 0:
		return what + ": the workflow needs no model file"
	case stood == len(needed):
		return what + ": this trial ran with stand-ins for all its models (real names, shapes and types of tensors, no real weights)"
	case stood > 0:
		return fmt.Sprintf("%s, with stand-ins for %d of %d models", what, stood, len(needed))
	}
	var yes, no []int64
	for _, o := range others {
		if o.ID == t.ID || o.Simulated != t.Simulated || o.Cell.ID() != t.Cell.ID() || len(o.Cell.Workflow.StandIns) < len(needed) {
			continue
		}
		if o.Outcome.Kind == t.Outcome.Kind {
			yes = append(yes, o.ID)
		} else if o.Outcome.Kind == memtrix.Pass {
			no = append(no, o.ID)
		}
	}
	switch {
	case len(yes) > 0:
		return "yes: " + trialNumbers(yes) + " of the same cell ran with stand-ins and ended so, too"
	case len(no) > 0:
		return "no: " + trialNumbers(no) + " of the same cell ran with stand-ins and passed"
	}
	return "not tried: this trial ran with real models"
}

// standable reports whether every model has a stand-in in the bundle.
func (c *Case) standable() bool {
	return !slices.ContainsFunc(c.Models, func(m Model) bool { return m.image == nil })
}

// stoodIn reports whether it is known how it ends with stand-ins, and that is as in
// this trial.
func (c *Case) stoodIn() bool {
	return !strings.HasPrefix(c.StandIns, "not tried") && !strings.HasPrefix(c.StandIns, "no:")
}
