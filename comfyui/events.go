package comfyui

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"memtrix"
)

// frame is a text frame of the server's WebSocket. Of the many fields only those
// are read that say something about the work; unknown types pass by.
type frame struct {
	Type string    `json:"type"`
	Data frameData `json:"data"`
}

type frameData struct {
	PromptID    string  `json:"prompt_id"`
	Node        *nodeID `json:"node"`
	DisplayNode nodeID  `json:"display_node"`
	Value       number  `json:"value"`
	Max         number  `json:"max"`
	Nodes       nodeIDs `json:"nodes"`

	NodeID           nodeID     `json:"node_id"`
	NodeType         string     `json:"node_type"`
	Executed         nodeIDs    `json:"executed"`
	ExceptionType    string     `json:"exception_type"`
	ExceptionMessage string     `json:"exception_message"`
	Traceback        stringList `json:"traceback"`
}

// nodeID is a string; packs have been seen to send numbers.
type nodeID string

func (id *nodeID) UnmarshalJSON(data []byte) error {
	var s string
	if json.Unmarshal(data, &s) == nil {
		*id = nodeID(s)
		return nil
	}
	*id = nodeID(strings.Trim(string(data), `"`))
	return nil
}

// number takes any JSON number, and anything else as 0.
type number float64

func (n *number) UnmarshalJSON(data []byte) error {
	f, err := strconv.ParseFloat(string(data), 64)
	if err == nil {
		*n = number(f)
	}
	return nil
}

// nodeIDs is a list in execution_cached and an object in progress_state, which is
// not read.
type nodeIDs struct{ list []string }

func (n *nodeIDs) UnmarshalJSON(data []byte) error {
	var ids []nodeID
	if json.Unmarshal(data, &ids) != nil {
		return nil
	}
	n.list = make([]string, len(ids))
	for i, id := range ids {
		n.list[i] = string(id)
	}
	return nil
}

// stringList is a list of strings, or one string.
type stringList []string

func (l *stringList) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*l = stringList{one}
		return nil
	}
	var many []string
	if json.Unmarshal(data, &many) == nil {
		*l = many
	}
	return nil
}

// parseFrame reads a text frame; false for what is no frame of the protocol.
func parseFrame(text []byte) (frame, bool) {
	var f frame
	if err := json.Unmarshal(text, &f); err != nil || f.Type == "" {
		return frame{}, false
	}
	return f, true
}

// mark says what a frame means for the end of a prompt.
type mark int

const (
	goesOn mark = iota
	// outcomeKnown: success, error or interruption. The history may lack it yet.
	outcomeKnown
	// promptDone: the server is through with it, and the history has it.
	promptDone
)

func (f frame) mark() mark {
	switch f.Type {
	case "execution_success", "execution_error", "execution_interrupted":
		return outcomeKnown
	case "executing":
		if f.Data.Node == nil {
			return promptDone
		}
	}
	return goesOn
}

// event translates a frame; false where it reports nothing. graph gives nodes
// their class and title.
func (f frame) event(at time.Duration, prompt int, graph map[string]memtrix.GraphNode, raw json.RawMessage) (memtrix.Event, bool) {
	e := memtrix.Event{At: at, Prompt: prompt, Raw: raw}
	d := f.Data
	switch f.Type {
	case "execution_cached":
		e.Kind, e.Nodes = memtrix.EventCached, d.Nodes.list
	case "executing":
		if d.Node == nil {
			return e, false
		}
		e.Kind, e.Node = memtrix.EventNodeStart, nodeOf(graph, string(*d.Node), string(d.DisplayNode), "")
	case "progress":
		e.Kind, e.Value, e.Max = memtrix.EventProgress, int(d.Value), int(d.Max)
		if d.Node != nil {
			e.Node = nodeOf(graph, string(*d.Node), "", "")
		}
	case "execution_error":
		e.Kind, e.Failure = memtrix.EventError, f.failure(graph)
		e.Node = e.Failure.Node
	case "execution_interrupted":
		e.Kind, e.Node = memtrix.EventInterrupted, nodeOf(graph, string(d.NodeID), "", d.NodeType)
	default:
		return e, false
	}
	return e, true
}

func (f frame) failure(graph map[string]memtrix.GraphNode) *memtrix.Failure {
	d := f.Data
	return &memtrix.Failure{
		Type:      d.ExceptionType,
		Message:   strings.TrimRight(d.ExceptionMessage, "\n"),
		Node:      nodeOf(graph, string(d.NodeID), "", d.NodeType),
		Traceback: strings.Join(d.Traceback, ""),
	}
}

// nodeOf names a node. The server tells the class only of nodes that failed; that
// of a node made by expansion is taken to be its display node's.
func nodeOf(graph map[string]memtrix.GraphNode, id, display, class string) *memtrix.Node {
	if id == "" {
		return nil
	}
	n := &memtrix.Node{ID: id, DisplayID: display, ClassType: class}
	known, ok := graph[id]
	if !ok {
		known, ok = graph[display]
	}
	if !ok {
		return n
	}
	if n.ClassType == "" {
		n.ClassType = known.ClassType
	}
	if known.Meta != nil {
		n.Title = known.Meta.Title
	}
	return n
}
