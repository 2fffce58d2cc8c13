package files

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"memtrix"
)

// Events are what a client saw.
type Events struct {
	Events []memtrix.Event
	// Nodes are the classes of the workflow's nodes by id, Graph the workflow, as
	// far as an answer or the history held it.
	Nodes map[string]string
	Graph map[string]memtrix.GraphNode
	// Closed is set when the server closed the socket.
	Closed bool
}

// ReadEvents reads one JSON object a line: {"t_s": 1.5, "frame": {...}}; besides
// frame post_prompt, history and closed are read, other words pass by.
func ReadEvents(r io.Reader) (Events, error) {
	e := eventReader{Events: Events{Nodes: map[string]string{}}}
	if err := eachLine(r, e.line); err != nil {
		return Events{}, fmt.Errorf("events: %w", err)
	}
	// The history, which has the workflow, comes last.
	for i := range e.Events.Events {
		fill(e.Events.Events[i].Node, e.Nodes)
		if f := e.Events.Events[i].Failure; f != nil {
			fill(f.Node, e.Nodes)
		}
	}
	return e.Events, nil
}

func fill(n *memtrix.Node, classes map[string]string) {
	if n != nil && n.ClassType == "" {
		n.ClassType = cmp.Or(classes[n.ID], classes[n.DisplayID])
	}
}

type eventReader struct {
	Events
	prompt int
	open   bool
}

// record is a line: times are seconds.
type record struct {
	At      *float64        `json:"t_s"`
	Post    json.RawMessage `json:"post_prompt"`
	Frame   json.RawMessage `json:"frame"`
	History json.RawMessage `json:"history"`
	AtEnd   json.RawMessage `json:"history_at_end"`
	Closed  bool            `json:"closed"`
}

func (e *eventReader) line(_ int, data []byte) error {
	var r record
	if err := json.Unmarshal(data, &r); err != nil {
		return err
	}
	if r.At == nil {
		return fmt.Errorf("no time (t_s)")
	}
	at, err := seconds(*r.At)
	if err != nil {
		return err
	}
	if r.Post != nil {
		e.post(at, r.Post)
	}
	if r.Frame != nil {
		e.frame(at, r.Frame)
	}
	for _, h := range []json.RawMessage{r.History, r.AtEnd} {
		e.history(h)
	}
	e.Closed = e.Closed || r.Closed
	return nil
}

func (e *eventReader) add(ev memtrix.Event) {
	ev.Prompt = e.prompt
	e.Events.Events = append(e.Events.Events, ev)
}

// nodeError is what a server has against a node.
type nodeError struct {
	ClassType string `json:"class_type"`
	Errors    []struct {
		Type    string `json:"type"`
		Message string `json:"message"`
		Details string `json:"details"`
	} `json:"errors"`
}

// post reads the answer to a prompt: node errors stand in the body of an answer
// 400, and beside the prompt's id in one of 200, of which the rest still runs.
func (e *eventReader) post(at time.Duration, data json.RawMessage) {
	var answer struct {
		ID         string          `json:"prompt_id"`
		HTTP       int             `json:"http"`
		Status     int             `json:"status"`
		Body       json.RawMessage `json:"body"`
		NodeErrors json.RawMessage `json:"node_errors"`
	}
	if json.Unmarshal(data, &answer) != nil {
		return
	}
	e.prompt++
	for _, f := range refusals(answer.Body, answer.NodeErrors) {
		e.add(memtrix.Event{At: at, Kind: memtrix.EventError, Node: f.Node, Failure: &f})
	}
	if status := cmp.Or(answer.HTTP, answer.Status, 200); status == 200 {
		e.add(memtrix.Event{At: at, Kind: memtrix.EventPromptStart})
		e.open = true
	}
}

func refusals(body, nodeErrors json.RawMessage) []memtrix.Failure {
	var text string
	if json.Unmarshal(body, &text) == nil {
		body = json.RawMessage(text)
	}
	var answer struct {
		Error struct {
			Type    string `json:"type"`
			Message string `json:"message"`
			Details string `json:"details"`
			Extra   struct {
				NodeID    string `json:"node_id"`
				ClassType string `json:"class_type"`
			} `json:"extra_info"`
		} `json:"error"`
		NodeErrors json.RawMessage `json:"node_errors"`
	}
	// A body that is no JSON, and lists in place of objects, tell nothing.
	if json.Unmarshal(body, &answer) == nil && answer.NodeErrors != nil {
		nodeErrors = answer.NodeErrors
	}
	var errs map[string]nodeError
	_ = json.Unmarshal(nodeErrors, &errs)
	var found []memtrix.Failure
	for _, id := range slices.Sorted(maps.Keys(errs)) {
		for _, e := range errs[id].Errors {
			found = append(found, memtrix.Failure{
				Type: e.Type, Message: strings.TrimSuffix(e.Message+": "+e.Details, ": "), Refused: true,
				Node: &memtrix.Node{ID: id, ClassType: errs[id].ClassType},
			})
		}
	}
	if x := answer.Error; len(found) == 0 && x.Message != "" {
		f := memtrix.Failure{Type: x.Type, Message: x.Message, Refused: true}
		if x.Extra.NodeID != "" {
			f.Node = &memtrix.Node{ID: x.Extra.NodeID, ClassType: x.Extra.ClassType}
		}
		found = append(found, f)
	}
	return found
}

// frame reads a text frame of the socket; unknown types and forms pass by.
func (e *eventReader) frame(at time.Duration, data json.RawMessage) {
	var head struct {
		Type string          `json:"type"`
		Data json.RawMessage `json:"data"`
	}
	if json.Unmarshal(data, &head) != nil {
		return
	}
	var d struct {
		Node      *json.RawMessage `json:"node"`
		Display   json.RawMessage  `json:"display_node"`
		Value     float64          `json:"value"`
		Max       float64          `json:"max"`
		NodeID    json.RawMessage  `json:"node_id"`
		NodeType  string           `json:"node_type"`
		Message   string           `json:"exception_message"`
		Type      string           `json:"exception_type"`
		Traceback []string         `json:"traceback"`
	}
	switch head.Type {
	case "executing", "progress", "execution_error", "execution_interrupted":
		if json.Unmarshal(head.Data, &d) != nil {
			return
		}
	case "execution_cached":
		var cached struct {
			Nodes []string `json:"nodes"`
		}
		if json.Unmarshal(head.Data, &cached) == nil {
			e.add(memtrix.Event{At: at, Kind: memtrix.EventCached, Nodes: cached.Nodes})
		}
		return
	default:
		return
	}
	failed := &memtrix.Node{ID: id(d.NodeID), ClassType: d.NodeType}
	switch head.Type {
	case "executing":
		if d.Node == nil || id(*d.Node) == "" {
			if e.open {
				e.add(memtrix.Event{At: at, Kind: memtrix.EventPromptEnd})
			}
			e.open = false
			return
		}
		e.add(memtrix.Event{At: at, Kind: memtrix.EventNodeStart, Node: &memtrix.Node{ID: id(*d.Node), DisplayID: id(d.Display)}})
	case "progress":
		e.add(memtrix.Event{At: at, Kind: memtrix.EventProgress, Value: int(d.Value), Max: int(d.Max)})
	case "execution_error":
		e.add(memtrix.Event{At: at, Kind: memtrix.EventError, Node: failed, Failure: &memtrix.Failure{
			Type: d.Type, Message: strings.TrimRight(d.Message, "\n"), Node: failed, Traceback: strings.Join(d.Traceback, ""),
		}})
	case "execution_interrupted":
		e.add(memtrix.Event{At: at, Kind: memtrix.EventInterrupted, Node: failed})
	}
}

// id is a string; packs have been seen to send numbers.
func id(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	if t := string(bytes.TrimSpace(raw)); t != "null" {
		return t
	}
	return ""
}

// history holds the workflow of each prompt: {id: {"prompt": [number, id, graph, ...]}}.
func (e *eventReader) history(data json.RawMessage) {
	if data == nil {
		return
	}
	var prompts map[string]struct {
		Prompt []json.RawMessage `json:"prompt"`
	}
	if json.Unmarshal(data, &prompts) != nil {
		return
	}
	for _, p := range prompts {
		var graph map[string]memtrix.GraphNode
		if len(p.Prompt) < 3 || json.Unmarshal(p.Prompt[2], &graph) != nil {
			continue
		}
		e.Graph = graph
		for id, n := range graph {
			e.Nodes[id] = n.ClassType
		}
	}
}
