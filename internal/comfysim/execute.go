package comfysim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// execution is one prompt being run.
type execution struct {
	s      *sim
	item   *queueItem
	client string
	g      *graph
	sigs   map[string]string
	order  *order

	now      map[string]*cached // what ran in this prompt, by node id
	executed []string
	messages []any  // of the history's status
	state    object // node id to its progress, in the order of first running
	outputs  object // of the history
	meta     object
	current  string
}

// outcome is how a prompt ended.
type outcome struct {
	ok       bool
	messages []any
	outputs  object
	meta     object
}

func millis() int64 { return time.Now().UnixMilli() }

// execute runs a prompt to its end. The error is not nil when the server stops.
func (s *sim) execute(ctx context.Context, item *queueItem) (outcome, error) {
	e := &execution{s: s, item: item, client: item.client, g: item.graph, now: map[string]*cached{},
		outputs: object{}, meta: object{}, messages: []any{}}
	s.interrupt.Store(false)
	s.hub.setRunning(e.client)
	e.sigs = s.cache.signatures(e.g)
	e.message("execution_start", object{{"prompt_id", item.id}}, false)
	if err := s.clock.wait(ctx, 2*time.Millisecond); err != nil {
		return outcome{}, err
	}
	e.message("execution_cached", object{{"nodes", e.cachedNodes()}, {"prompt_id", item.id}}, false)
	err := e.run(ctx)
	if ctx.Err() != nil {
		return outcome{}, ctx.Err()
	}
	e.cleanUp()
	if err == nil {
		e.message("execution_success", object{{"prompt_id", item.id}}, false)
	}
	return outcome{ok: err == nil, messages: e.messages, outputs: e.outputs, meta: e.meta}, nil
}

// cleanUp frees what the node cache does not keep.
func (e *execution) cleanUp() {
	dropped := e.s.cache.after(e.sigs)
	for _, entry := range e.now {
		dropped = append(dropped, entry.outputs...)
	}
	e.s.drop(dropped)
}

func (e *execution) cachedNodes() []string {
	ids := []string{}
	for _, id := range e.g.ids {
		if e.lookup(id) != nil {
			ids = append(ids, id)
		}
	}
	return ids
}

func (e *execution) lookup(id string) *cached { return e.s.cache.entries[e.sigs[id]] }

// message adds to the history's messages and tells the client.
func (e *execution) message(event string, data object, broadcast bool) {
	data = append(data, pair{"timestamp", millis()})
	e.messages = append(e.messages, []any{event, data})
	if e.client != "" || broadcast {
		e.s.hub.send(event, data, e.client)
	}
}

func (e *execution) run(ctx context.Context) error {
	isOutput := func(class string) bool { return e.s.nodes[class].output }
	e.order = newOrder(e.g, isOutput, func(id string) bool { return e.lookup(id) != nil })
	for _, id := range e.item.outputs {
		e.order.add(id)
	}
	for len(e.order.pending) > 0 {
		id, ok := e.order.next()
		if !ok {
			return e.failed(e.order.pending[0], &pyError{typ: "comfy_execution.graph.DependencyCycleError",
				message: "Dependency cycle detected", stage: "any.execute"})
		}
		if err := e.node(ctx, id); err != nil {
			return err
		}
		e.order.done(id)
	}
	return nil
}

// node runs one node, or takes its outputs from the cache.
func (e *execution) node(ctx context.Context, id string) error {
	n := e.g.nodes[id]
	if hit := e.lookup(id); hit != nil {
		e.fromCache(id, hit)
		return nil
	}
	e.current = id
	e.progressState(id, json.Number("0.0"), json.Number("1.0"), "running")
	e.tell("executing", object{{"node", id}, {"display_node", id}, {"prompt_id", e.item.id}})
	e.s.hub.setNode(id)
	if e.s.interrupt.Load() {
		return e.interrupted(n)
	}
	outputs, ui, err := e.call(ctx, n)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, errInterrupted):
		return e.interrupted(n)
	case err != nil:
		return e.failed(id, err)
	}
	e.finish(n, outputs, ui)
	return nil
}

// call runs the node's function. A mistake in it is a Python exception like any
// other: the server stays up.
func (e *execution) call(ctx context.Context, n *graphNode) (outputs []any, ui object, err error) {
	values := map[string]any{}
	for _, p := range n.inputs {
		values[p.key] = p.value
		if l, ok := asLink(p.value); ok {
			values[p.key] = e.valueOf(l)
		}
	}
	c := &call{e: e, s: e.s, n: n, in: values}
	function, own := nodeFunctions[n.class]
	if !own {
		function = packFunction
	}
	outputs, ui, err = function.run(ctx, c)
	return outputs, ui, at(n.class+"."+function.name, err)
}

func (e *execution) valueOf(l link) any {
	hit := e.lookup(l.from)
	if hit == nil {
		hit = e.now[l.from]
	}
	if hit == nil || l.slot >= len(hit.outputs) {
		return nil
	}
	return hit.outputs[l.slot]
}

func (e *execution) finish(n *graphNode, outputs []any, ui object) {
	id := n.id
	entry := &cached{outputs: outputs, ui: ui, used: e.item.serial}
	e.now[id] = entry
	e.executed = append(e.executed, id)
	if e.s.cache.mode != cacheNone {
		e.s.cache.entries[e.sigs[id]] = entry
	}
	if ui != nil {
		e.showOutput(id, ui)
	}
	value, total := any(json.Number("1.0")), any(json.Number("1.0"))
	if old, ok := e.state.get(id); ok {
		if max, _ := old.(object).get("max"); max != json.Number("1.0") {
			value, _ = old.(object).get("max")
			total = max
		}
	}
	e.progressState(id, value, total, "finished")
}

func nodeMeta(id string) object {
	return object{{"node_id", id}, {"display_node", id}, {"parent_node", nil}, {"real_node_id", id}}
}

func (e *execution) showOutput(id string, ui object) {
	e.outputs = e.outputs.with(id, ui)
	e.meta = e.meta.with(id, nodeMeta(id))
	e.tell("executed", object{{"node", id}, {"display_node", id}, {"output", ui}, {"prompt_id", e.item.id}})
}

func (e *execution) fromCache(id string, hit *cached) {
	hit.used = e.item.serial
	if hit.ui != nil {
		e.showOutput(id, hit.ui)
		if e.s.cfg.ver.cachedState {
			e.progressState(id, 1, 1, "finished")
		}
	}
}

// tell sends to the prompt's own client; without one, nobody hears it.
func (e *execution) tell(event string, data object) {
	if e.client != "" {
		e.s.hub.send(event, data, e.client)
	}
}

func (e *execution) progressState(id string, value, total any, state string) {
	e.state = e.state.with(id, object{{"value", value}, {"max", total}, {"state", state}, {"node_id", id},
		{"prompt_id", e.item.id}, {"display_node_id", id}, {"parent_node_id", nil}, {"real_node_id", id}})
	e.s.hub.send("progress_state", object{{"prompt_id", e.item.id}, {"nodes", slices.Clone(e.state)}}, e.client)
}

// progress is what a node's progress bar sends.
func (e *execution) progress(value, total int) {
	e.progressState(e.current, value, total, "running")
	e.s.hub.send("progress", object{{"value", value}, {"max", total}, {"prompt_id", e.item.id}, {"node", e.current}}, e.client)
}

func (e *execution) interrupted(n *graphNode) error {
	e.s.log.info("Processing interrupted")
	e.message("execution_interrupted", object{{"prompt_id", e.item.id}, {"node_id", n.id}, {"node_type", n.class},
		{"executed", e.executedList()}}, true)
	return errInterrupted
}

func (e *execution) executedList() []string { return append([]string{}, e.executed...) }

// failed is what an exception in a node does to log and client.
func (e *execution) failed(id string, err error) error {
	n := e.g.nodes[id]
	ex, ok := errors.AsType[*pyError](err)
	if !ok {
		ex = &pyError{typ: "RuntimeError", message: err.Error(), stage: n.class + ".run"}
	}
	log, frames := e.s.log, ex.frames()
	log.fail("!!! Exception during processing !!! %s", ex.message)
	trace := "Traceback (most recent call last):\n"
	for _, f := range frames {
		trace += f
	}
	log.fail("%s%s: %s\n", trace, ex.typ, ex.message)
	tips := ""
	if ex.oom {
		tips = oomTips
		switch e.s.cfg.ver.summary {
		case 1:
			log.info("Memory summary: %s", ex.table)
		case 2:
			log.info("Memory summary:\n%s", ex.table)
		}
		log.fail("Got an OOM, unloading all loaded models.")
	}
	e.message("execution_error", object{{"prompt_id", e.item.id}, {"node_id", id}, {"node_type", n.class},
		{"executed", e.executedList()}, {"exception_message", fmt.Sprintf("%s\n%s", ex.message, tips)},
		{"exception_type", ex.typ}, {"traceback", frames}, {"current_inputs", e.currentInputs(n)},
		{"current_outputs", e.g.ids}}, false)
	if ex.oom {
		_ = e.s.mem.unloadAll(context.Background()) // the prompt has failed already
	}
	return err
}

func (e *execution) currentInputs(n *graphNode) object {
	out := object{}
	for _, p := range n.inputs {
		value := p.value
		if l, ok := asLink(value); ok {
			value = fmt.Sprint(e.valueOf(l))
		}
		out = append(out, pair{p.key, []any{value}})
	}
	return out
}
