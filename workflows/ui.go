package workflows

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"memtrix"
	"memtrix/workflows/convert"
)

// decodeUI reads a workflow in UI format as far as it can be read without a
// server: its nodes, and what identifies it.
func decodeUI(name, source string, ui []byte) (memtrix.Workflow, error) {
	graph, err := convert.Sketch(ui)
	if err != nil {
		return memtrix.Workflow{}, fmt.Errorf("%s: %w", source, err)
	}
	if len(graph) == 0 {
		return memtrix.Workflow{}, fmt.Errorf("%s holds no nodes that a server would run", source)
	}
	hash, err := convert.Hash(ui)
	if err != nil {
		return memtrix.Workflow{}, fmt.Errorf("%s: %w", source, err)
	}
	return memtrix.Workflow{Name: name, Source: source, Graph: graph, Hash: hash, UI: ui}, nil
}

// later keeps a person's changes to a workflow in UI format until its inputs are
// known. That the nodes are there is known already.
func later(w memtrix.Workflow, r Request) (memtrix.Workflow, error) {
	var errs []error
	hash := sha256.New()
	fmt.Fprintf(hash, "%s", w.Hash)
	for _, v := range r.Set {
		if !json.Valid(v.Value) {
			errs = append(errs, &InputError{v.Path, fmt.Sprintf("%s: %s is not a JSON value", v.Path, v.Value)})
			continue
		}
		errs = append(errs, nodeThere(w, v.Path))
		if in, err := Find(w, v.Path); err == nil { // a model's name is known already
			w.Graph = withInput(w.Graph, in, slices.Clone(v.Value))
		}
		w.Changes = append(w.Changes, memtrix.Change{Path: v.Path, Value: slices.Clone(v.Value)})
		var canonical bytes.Buffer
		writeRaw(&canonical, v.Value)
		fmt.Fprintf(hash, "%q %q", v.Path, canonical.String())
	}
	for _, path := range r.Vary {
		errs = append(errs, nodeThere(w, path))
	}
	w.VaryPaths = slices.Clone(r.Vary)
	if len(r.Set) > 0 {
		w.Hash = "ui" + hex.EncodeToString(hash.Sum(nil)[:8])
	}
	return w, errors.Join(errs...)
}

// nodeThere checks the node of a path; the input can be told with a server only.
func nodeThere(w memtrix.Workflow, path string) error {
	for i := range path {
		if path[i] != '.' {
			continue
		}
		switch ids := nodesCalled(w.Graph, path[:i]); {
		case len(ids) == 1:
			return nil
		case len(ids) > 1:
			return &InputError{path, fmt.Sprintf("%s: nodes %s are all of class %s; name one by its id, as in %q", path, strings.Join(shorten(ids), ", "), path[:i], ids[0]+path[i:])}
		}
	}
	// The message with all that there is.
	_, err := Find(w, path)
	return err
}

// Fit makes a workflow ready for a server by its answer to GET /object_info: one
// in UI format becomes the prompt that the server's front end would send, with
// the person's changes in it; then the prompt is held against the server's node
// classes. The Hash stays that of the file.
func Fit(w memtrix.Workflow, objectInfo []byte) memtrix.Fitted {
	fail := func(kind string, err error) memtrix.Fitted {
		return memtrix.Fitted{Workflow: w, Wrong: []memtrix.Failure{{Type: kind, Message: err.Error(), Refused: true}}}
	}
	defs, err := convert.ParseDefs(objectInfo)
	if err != nil {
		return fail("object-info", err)
	}
	var f memtrix.Fitted
	var packs map[string]string
	if w.UI != nil {
		packs = convert.Packs(w.UI)
		made, err := convert.Convert(w.UI, defs, convert.Options{})
		if refusal := (*convert.Refusal)(nil); errors.As(err, &refusal) {
			f.Workflow = w
			for _, p := range refusal.Problems {
				f.Wrong = append(f.Wrong, failure("conversion", p, p.String()))
			}
			return f
		}
		if err != nil {
			return fail("conversion", err)
		}
		f.Notes = made.Notes
		if w, err = complete(w, made); err != nil {
			return fail("conversion", err)
		}
	}
	native, notes := convert.Native(w.Graph, defs)
	w.Graph, f.Notes = native, append(f.Notes, notes...)
	f.Workflow = w
	for _, found := range convert.Check(w.Graph, defs, packs) {
		one := failure(found.Kind, found.Problem, found.String())
		if found.Certain {
			f.Wrong = append(f.Wrong, one)
		} else {
			f.Doubts = append(f.Doubts, one)
		}
	}
	return f
}

func failure(kind string, p convert.Problem, message string) memtrix.Failure {
	return memtrix.Failure{Type: kind, Message: message, Refused: true,
		Node: &memtrix.Node{ID: p.Node, ClassType: p.Type, Title: p.Title}}
}

// complete puts a prompt into a workflow, with what a person wants otherwise.
func complete(w memtrix.Workflow, made convert.Result) (memtrix.Workflow, error) {
	hash := w.Hash
	w.Graph, w.UI = made.Prompt, nil
	if err := checkGraph(w.Source, w.Graph); err != nil {
		return w, err
	}
	var errs []error
	for _, c := range w.Changes {
		var err error
		if w, err = Set(w, c.Path, c.Value); err != nil {
			errs = append(errs, err)
		}
	}
	if len(w.VaryPaths) > 0 {
		var err error
		if w, err = UseVary(w, w.VaryPaths); err != nil {
			errs = append(errs, err)
		}
	} else {
		w.Vary, w.Warnings = findVary(w, made.Varied)
	}
	w.Hash = hash
	return w, errors.Join(errs...)
}
