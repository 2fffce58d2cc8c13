package comfyui

import (
	"encoding/json"
	"slices"

	"memtrix"
)

// entry is one prompt of GET /history.
type entry struct {
	// Prompt is the queue item: number, id, graph, extra data, outputs to run.
	Prompt []json.RawMessage `json:"prompt"`
	Status *struct {
		Text     string              `json:"status_str"`
		Messages [][]json.RawMessage `json:"messages"`
	} `json:"status"`
}

// verdict is what the history says about a prompt. It holds no opinion on why.
type verdict struct {
	outcome memtrix.OutcomeKind
	cached  []string
	end     *frame // the error or interruption, as the socket would have brought it
}

// judge reads an entry. Entries of before 2024-01 have no status: what is in the
// history then has run.
func (e *entry) judge() verdict {
	v := verdict{outcome: memtrix.Pass}
	if e.Status == nil {
		return v
	}
	if e.Status.Text != "success" {
		v.outcome = memtrix.Error
	}
	for _, message := range e.Status.Messages {
		if len(message) != 2 {
			continue
		}
		var f frame
		if json.Unmarshal(message[0], &f.Type) != nil || json.Unmarshal(message[1], &f.Data) != nil {
			continue
		}
		switch f.Type {
		case "execution_cached":
			v.cached = append(v.cached, f.Data.Nodes.list...)
		case "execution_error":
			v.outcome, v.end = memtrix.Error, &f
		case "execution_interrupted":
			v.outcome, v.end = memtrix.Interrupted, &f
		}
	}
	return v
}

// outputs are the ids of the nodes that the server was to produce.
func (e *entry) outputs() []string {
	if len(e.Prompt) < 5 {
		return nil
	}
	var ids []string
	if json.Unmarshal(e.Prompt[4], &ids) != nil {
		return nil
	}
	return ids
}

// upstream are the nodes that the given ones depend on, themselves included, in a
// fixed order.
func upstream(graph map[string]memtrix.GraphNode, from []string) []string {
	seen := map[string]bool{}
	for todo := slices.Clone(from); len(todo) > 0; {
		id := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		node, ok := graph[id]
		if !ok || seen[id] {
			continue
		}
		seen[id] = true
		for _, raw := range node.Inputs {
			if source, ok := linkSource(raw); ok {
				todo = append(todo, source)
			}
		}
	}
	ids := make([]string, 0, len(seen))
	for id := range seen {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// linkSource reads a link: ["node id", output number].
func linkSource(raw json.RawMessage) (string, bool) {
	var link []json.RawMessage
	if json.Unmarshal(raw, &link) != nil || len(link) != 2 {
		return "", false
	}
	var source string
	var output int
	if json.Unmarshal(link[0], &source) != nil || json.Unmarshal(link[1], &output) != nil {
		return "", false
	}
	return source, true
}
