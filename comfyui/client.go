package comfyui

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"memtrix"
)

// Sizes of answers that are read. A history entry holds outputs and, of failed
// prompts, inputs as text.
const (
	maxAnswer = 64 << 20
	maxError  = 1 << 20
)

// client speaks HTTP to one server.
type client struct {
	base string // "http://127.0.0.1:8188"
	http *http.Client
}

func newClient(base string) *client {
	// No proxy: servers are on this machine or near, whatever HTTP_PROXY says.
	transport := &http.Transport{Proxy: nil, MaxIdleConnsPerHost: 2}
	// No other address than the one that was named: of a redirected POST nothing
	// would arrive.
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &client{base: base, http: &http.Client{Transport: transport, CheckRedirect: stay}}
}

func (c *client) close() { c.http.CloseIdleConnections() }

// StatusError is an answer that is no success.
type StatusError struct {
	Method, Path string
	Status       int
	Body         []byte // up to 1 MiB
}

func (e *StatusError) Error() string {
	msg := fmt.Sprintf("%s %s: HTTP %d", e.Method, e.Path, e.Status)
	if text := strings.TrimSpace(string(e.Body)); text != "" {
		msg += ": " + cut(text, 300)
	}
	return msg
}

// do sends a request and gives the whole answer of a 200.
func (c *client) do(ctx context.Context, method, path string, body any) ([]byte, error) {
	var payload io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", method, path, err)
		}
		payload = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, payload)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		// The text of err names method and URL already.
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, maxError))
		return nil, &StatusError{Method: method, Path: path, Status: resp.StatusCode, Body: text}
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	if len(data) > maxAnswer {
		return nil, fmt.Errorf("%s %s: the answer is larger than %d MiB", method, path, maxAnswer>>20)
	}
	return standardJSON(data), nil
}

// answerLimit bounds questions that a living server answers at once, also between
// the steps of its work: one that stands still must not stop its trial from ending.
const answerLimit = 30 * time.Second

func (c *client) get(ctx context.Context, path string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	data, err := c.do(ctx, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("GET %s: %w", path, err)
	}
	return nil
}

// probe asks whether the server answers. GET /prompt touches no GPU.
func (c *client) probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	_, err := c.do(ctx, http.MethodGet, "/prompt", nil)
	return err
}

// accepted is the answer to POST /prompt.
type accepted struct {
	PromptID   string          `json:"prompt_id"`
	NodeErrors json.RawMessage `json:"node_errors"`
}

// submit posts a graph. raw is the answer, or the refusal's body. A refusal is a
// *StatusError.
func (c *client) submit(ctx context.Context, graph map[string]memtrix.GraphNode, clientID string) (a accepted, raw json.RawMessage, err error) {
	body := map[string]any{"prompt": sendable(graph), "client_id": clientID}
	data, err := c.do(ctx, http.MethodPost, "/prompt", body)
	if err != nil {
		return a, nil, err
	}
	if err := json.Unmarshal(data, &a); err != nil {
		return a, nil, fmt.Errorf("POST /prompt: %w", err)
	}
	if a.PromptID == "" {
		return a, nil, fmt.Errorf("POST /prompt: no prompt_id in the answer %s", cut(string(data), 200))
	}
	return a, data, nil
}

// sendable gives every node the inputs object that the server expects.
func sendable(graph map[string]memtrix.GraphNode) map[string]memtrix.GraphNode {
	out := make(map[string]memtrix.GraphNode, len(graph))
	for id, node := range graph {
		if node.Inputs == nil {
			node.Inputs = map[string]json.RawMessage{}
		}
		out[id] = node
	}
	return out
}

// history gives what the server wrote down about a prompt, nil while it has not
// ended.
func (c *client) history(ctx context.Context, id string) (*entry, json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	data, err := c.do(ctx, http.MethodGet, "/history/"+url.PathEscape(id), nil)
	if err != nil {
		return nil, nil, err
	}
	var all map[string]*entry
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, nil, fmt.Errorf("GET /history: %w", err)
	}
	return all[id], data, nil
}

// free asks for models and caches to be dropped; the server only notes it.
func (c *client) free(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	_, err := c.do(ctx, http.MethodPost, "/free", map[string]bool{"unload_models": true, "free_memory": true})
	var status *StatusError
	if errors.As(err, &status) && (status.Status == http.StatusNotFound || status.Status == http.StatusMethodNotAllowed) {
		return fmt.Errorf("POST /free: %w", memtrix.ErrUnsupported)
	}
	return err
}

// interrupt ends the running prompt at its next step.
func (c *client) interrupt(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	_, err := c.do(ctx, http.MethodPost, "/interrupt", map[string]any{})
	return err
}

// Stats are the parts of GET /system_stats that memtrix reads. Bytes.
type Stats struct {
	System struct {
		Release  string   `json:"comfyui_version"`
		Torch    string   `json:"pytorch_version"`
		Argv     []string `json:"argv"`
		RAMTotal int64    `json:"ram_total"`
		RAMFree  int64    `json:"ram_free"`
		OS       string   `json:"os"`
		Python   string   `json:"python_version"`
		Packages []struct {
			Name      string `json:"name"`
			Installed string `json:"installed"` // null where it is not
		} `json:"comfy_package_versions"`
	} `json:"system"`
	Devices []struct {
		Name           string `json:"name"`
		Type           string `json:"type"`
		Index          *int   `json:"index"` // nil for the CPU
		VRAMTotal      int64  `json:"vram_total"`
		VRAMFree       int64  `json:"vram_free"`
		TorchVRAMTotal int64  `json:"torch_vram_total"`
		TorchVRAMFree  int64  `json:"torch_vram_free"`
	} `json:"devices"`
}

func (c *client) systemStats(ctx context.Context) (Stats, error) {
	var s Stats
	err := c.get(ctx, "/system_stats", &s)
	return s, err
}

// queue gives how many prompts run and wait.
func (c *client) queue(ctx context.Context) (running, pending int, err error) {
	var q struct {
		Running []json.RawMessage `json:"queue_running"`
		Pending []json.RawMessage `json:"queue_pending"`
	}
	err = c.get(ctx, "/queue", &q)
	return len(q.Running), len(q.Pending), err
}

// cut shortens text for messages, at a rune.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n] + "..."
}
