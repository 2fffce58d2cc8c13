package comfyui

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"memtrix"
)

// queueItem is a prompt in GET /queue: number, id, graph, extra data, outputs.
type queueItem struct {
	id, client string
	classes    []string // of its nodes, each once
	nodes      int
}

func (q *queueItem) UnmarshalJSON(data []byte) error {
	var parts []json.RawMessage
	if err := json.Unmarshal(data, &parts); err != nil {
		return err
	}
	if len(parts) < 4 {
		return fmt.Errorf("an item of the queue has %d parts", len(parts))
	}
	var graph map[string]memtrix.GraphNode
	var extra struct {
		Client string `json:"client_id"`
	}
	// What others queued may have any form; only the id must be there.
	_ = json.Unmarshal(parts[2], &graph)
	_ = json.Unmarshal(parts[3], &extra)
	q.client, q.nodes = extra.Client, len(graph)
	classes := map[string]bool{}
	for _, node := range graph {
		classes[node.ClassType] = true
	}
	q.classes = slices.Sorted(maps.Keys(classes))
	return json.Unmarshal(parts[1], &q.id)
}

// String is the prompt as a person knows it.
func (q queueItem) String() string {
	who := "a prompt"
	switch {
	case strings.HasPrefix(q.client, clientPrefix):
		who = "a prompt of memtrix"
	case q.client != "":
		who = "a prompt of client " + cut(q.client, 40)
	}
	classes := q.classes
	if len(classes) > 4 {
		classes = append(slices.Clone(classes[:4]), "...")
	}
	return fmt.Sprintf("%s (%s; %d nodes: %s)", who, cut(q.id, 40), q.nodes, strings.Join(classes, ", "))
}

// queueView is GET /queue.
type queueView struct {
	Running []queueItem `json:"queue_running"`
	Pending []queueItem `json:"queue_pending"`
}

func (c *client) queueItems(ctx context.Context) (queueView, error) {
	var v queueView
	err := c.get(ctx, "/queue", &v)
	return v, err
}

// dequeue takes a prompt out that waits. One that runs, or that is not there, is
// left as it is.
func (c *client) dequeue(ctx context.Context, id string) error {
	_, err := c.do(ctx, http.MethodPost, "/queue", map[string]any{"delete": []string{id}})
	return err
}

// interruptOne ends one prompt, if it runs. Releases before targetedSince end
// whatever runs.
func (c *client) interruptOne(ctx context.Context, id string) error {
	_, err := c.do(ctx, http.MethodPost, "/interrupt", map[string]any{"prompt_id": id})
	return err
}

// targetedSince is the first release whose POST /interrupt takes a prompt's id
// (server.py, 2025-09-02).
var targetedSince = [3]int{0, 3, 57}

// subscribeLogs asks for what the server prints, as frames of type "logs" for one
// client: since 2024-11-09 (api_server/routes/internal/internal_routes.py). The
// route is the front end's own; where it is not, or differs, the log is not to be
// had.
func (c *client) subscribeLogs(ctx context.Context, clientID string, on bool) error {
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	_, err := c.do(ctx, http.MethodPatch, "/internal/logs/subscribe", map[string]any{"clientId": clientID, "enabled": on})
	return err
}

// logEntry is one write to the server's output.
type logEntry struct {
	Text string `json:"m"`
}

// recentLogs are the last writes to the server's output, up to 300, as one text.
func (c *client) recentLogs(ctx context.Context) (string, error) {
	var answer struct {
		Entries []logEntry `json:"entries"`
	}
	if err := c.get(ctx, "/internal/logs/raw", &answer); err != nil {
		return "", err
	}
	var b strings.Builder
	for _, e := range answer.Entries {
		b.WriteString(e.Text)
	}
	return b.String(), nil
}
