package comfyui

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"

	"memtrix"
)

// PromptFile is the file in a trial's folder with the prompt that a workflow in
// UI format became.
const PromptFile = "prompt.json"

// Fit makes a workflow ready for a server by the server's answer to GET
// /object_info: it makes the prompt of one in UI format, and holds the prompt
// against the node classes.
type Fit func(w memtrix.Workflow, objectInfo []byte) memtrix.Fitted

// fitting makes a trial's workflow ready for its server, once, before the first
// prompt.
type fitting struct {
	fit    Fit
	dir    string // for PromptFile
	fitted *memtrix.Fitted
}

// do sends the n-th prompt as vary makes it, unless the server cannot run the
// workflow. What the server has against it is then reported all at once: what it
// says itself, and what its node classes tell beside.
func (f *fitting) do(ctx context.Context, t *talk, w memtrix.Workflow, n int, vary func(memtrix.Workflow) map[string]memtrix.GraphNode) (memtrix.PromptResult, error) {
	if err := f.prepare(ctx, t, w); err != nil {
		return memtrix.PromptResult{Index: n}, t.because(ctx, fmt.Errorf("make the workflow ready: %w", err))
	}
	if len(f.fitted.Wrong) > 0 {
		start := t.now()
		for _, fail := range slices.Concat(f.fitted.Wrong, f.fitted.Doubts) {
			t.emit(memtrix.Event{At: t.now(), Kind: memtrix.EventError, Prompt: n, Node: fail.Node, Failure: &fail})
		}
		t.record.write(start, "not_sent", messages(slices.Concat(f.fitted.Wrong, f.fitted.Doubts)))
		return memtrix.PromptResult{Index: n, Outcome: memtrix.InvalidWorkflow}, nil
	}
	told := map[string]bool{}
	emit := t.emit
	t.emit = func(e memtrix.Event) {
		if e.Failure != nil && e.Node != nil {
			told[e.Node.ID] = true
		}
		emit(e)
	}
	result, err := t.do(ctx, n, vary(f.fitted.Workflow))
	t.emit = emit
	if err == nil && result.Outcome == memtrix.InvalidWorkflow {
		f.tellDoubts(t, n, told)
	}
	return result, err
}

// tellDoubts reports what the server did not get to: it names what it finds on
// its way from the outputs, and at a missing class it stops.
func (f *fitting) tellDoubts(t *talk, n int, told map[string]bool) {
	for _, fail := range f.fitted.Doubts {
		if fail.Node == nil || !told[fail.Node.ID] {
			t.emit(memtrix.Event{At: t.now(), Kind: memtrix.EventError, Prompt: n, Node: fail.Node, Failure: &fail})
		}
	}
}

func messages(failures []memtrix.Failure) []string {
	all := make([]string, len(failures))
	for i, f := range failures {
		all[i] = f.Message
	}
	return all
}

func (f *fitting) prepare(ctx context.Context, t *talk, w memtrix.Workflow) error {
	if f.fitted != nil {
		return nil
	}
	if f.fit == nil {
		f.fitted = &memtrix.Fitted{Workflow: w}
		return nil
	}
	info, err := t.client.objectInfo(ctx, w)
	if err != nil {
		return err
	}
	fitted := f.fit(w, info)
	if w.UI != nil && len(fitted.Wrong) == 0 {
		if err := f.keep(fitted.Workflow.Graph); err != nil {
			return err
		}
	}
	if len(fitted.Notes) > 0 {
		t.record.write(t.now(), "conversion", fitted.Notes)
	}
	f.fitted = &fitted
	return nil
}

// keep writes the prompt, so that a person can send it, too.
func (f *fitting) keep(graph map[string]memtrix.GraphNode) error {
	if f.dir == "" {
		return nil
	}
	data, err := json.MarshalIndent(graph, "", "  ")
	if err == nil {
		err = os.WriteFile(filepath.Join(f.dir, PromptFile), append(data, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("keep the prompt: %w", err)
	}
	return nil
}

// objectInfo asks for the node classes: of all for a workflow in UI format, as
// the front end does, which may need those of nodes that are not sent; else of
// those that the prompt has, which takes a server a few milliseconds.
func (c *client) objectInfo(ctx context.Context, w memtrix.Workflow) ([]byte, error) {
	if w.UI != nil {
		return c.do(ctx, http.MethodGet, "/object_info", nil)
	}
	all := map[string]json.RawMessage{}
	for _, n := range w.Graph {
		if _, known := all[n.ClassType]; known {
			continue
		}
		data, err := c.do(ctx, http.MethodGet, "/object_info/"+url.PathEscape(n.ClassType), nil)
		var status *StatusError
		if errors.As(err, &status) {
			// Names with a slash have no address of their own.
			return c.do(ctx, http.MethodGet, "/object_info", nil)
		}
		if err != nil {
			return nil, err
		}
		var one map[string]json.RawMessage
		if err := json.Unmarshal(data, &one); err != nil {
			return nil, fmt.Errorf("GET /object_info/%s: %w", n.ClassType, err)
		}
		for name, class := range one {
			all[name] = class
		}
	}
	return json.Marshal(all)
}
