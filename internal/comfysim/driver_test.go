package comfysim

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/coder/websocket"
)

func itoa(n int) string { return strconv.Itoa(n) }

// client drives a server as the recordings' client did.
type client struct {
	t      *testing.T
	c      *child
	id     string
	frames chan any // closed when the socket is
	first  any      // the frame that the server greets with
	events []event
}

func connect(t *testing.T, c *child) *client {
	t.Helper()
	cl := &client{t: t, c: c, id: "0123456789abcdef0123456789abcdef", frames: make(chan any, 1000)}
	ctx, cancel := context.WithCancel(context.Background())
	conn, resp, err := websocket.Dial(ctx, "ws://"+c.addr+"/ws?clientId="+cl.id, nil)
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	if resp.Body != nil {
		resp.Body.Close()
	}
	conn.SetReadLimit(-1)
	done := make(chan struct{})
	t.Cleanup(func() {
		cancel()
		<-done
	})
	go func() {
		defer close(done)
		defer close(cl.frames)
		for {
			_, data, err := conn.Read(ctx)
			if err != nil {
				return
			}
			v, err := decodeJSON(data)
			if err != nil {
				return
			}
			cl.frames <- v
		}
	}()
	cl.first = <-cl.frames
	return cl
}

// post sends a graph and notes the answer as the recordings do.
func (cl *client) post(graph any) (accepted bool) {
	cl.t.Helper()
	body, err := json.Marshal(object{{"prompt", graph}, {"client_id", cl.id}})
	if err != nil {
		cl.t.Fatal(err)
	}
	status, data := cl.request("POST", "/prompt", body)
	if status != http.StatusOK {
		cl.add("post_prompt", object{{"http", json.Number(itoa(status))}, {"body", string(data)}})
		return false
	}
	cl.add("post_prompt", parse(cl.t, string(data)))
	return true
}

func (cl *client) request(method, path string, body []byte) (int, []byte) {
	cl.t.Helper()
	req, err := http.NewRequest(method, "http://"+cl.c.addr+path, bytes.NewReader(body))
	if err != nil {
		cl.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		cl.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		cl.t.Fatal(err)
	}
	return resp.StatusCode, data
}

func (cl *client) get(path string) any {
	cl.t.Helper()
	status, data := cl.request("GET", path, nil)
	if status != http.StatusOK {
		cl.t.Fatalf("GET %s: %d %s", path, status, data)
	}
	return parse(cl.t, string(data))
}

func (cl *client) add(kind string, data any) { cl.events = append(cl.events, event{kind, data}) }

// frame notes the next frame, or that the socket was closed.
func (cl *client) frame() (typ string, data object) {
	cl.t.Helper()
	if v := cl.first; v != nil {
		cl.first = nil
		return cl.note(v)
	}
	select {
	case v, ok := <-cl.frames:
		if !ok {
			cl.add("closed", true)
			return "closed", nil
		}
		return cl.note(v)
	case <-time.After(20 * time.Second):
		cl.t.Fatalf("no frame came; log:\n%s", cl.c.logText())
	}
	return "", nil
}

func (cl *client) note(v any) (typ string, data object) {
	cl.add("frame", v)
	t, _ := v.(object).get("type")
	d, _ := v.(object).get("data")
	return t.(string), d.(object)
}

// follow reads frames until the prompt has ended, the socket is closed, or stop
// says so.
func (cl *client) follow(stop func(typ string, data object) bool) {
	cl.t.Helper()
	for {
		typ, data := cl.frame()
		if typ == "closed" || stop != nil && stop(typ, data) {
			return
		}
		if node, ok := data.get("node"); typ == "executing" && ok && node == nil {
			return
		}
	}
}

// promptID is that of the last prompt that was accepted.
func (cl *client) promptID() string {
	for i := len(cl.events) - 1; i >= 0; i-- {
		if cl.events[i].kind == "post_prompt" {
			id, _ := cl.events[i].data.(object).get("prompt_id")
			return id.(string)
		}
	}
	return ""
}

// drive does what the recording's client did.
func (cl *client) drive(tr *transcript) {
	cl.t.Helper()
	for _, graph := range tr.posted(cl.t) {
		if !cl.post(graph) {
			continue
		}
		switch tr.name {
		case "029-cpu-interrupted":
			cl.follow(func(typ string, data object) bool {
				node, _ := data.get("node")
				return typ == "executing" && node == "5"
			})
			cl.c.waitLog("0/6 [")
			cl.request("POST", "/interrupt", nil)
			cl.follow(nil)
		case "029-cpu-killed-in-sample":
			cl.follow(func(typ string, data object) bool {
				value, _ := data.get("value")
				return typ == "progress" && value == json.Number("5")
			})
			_ = cl.c.cmd.Process.Kill()
			cl.follow(nil)
			return
		case "029-ram-capped-5gib-thrash":
			cl.follow(func(typ string, _ object) bool { return typ == "executing" })
			cl.c.waitLog("model_type EPS")
			return
		default:
			cl.follow(nil)
		}
		cl.add("history", cl.get("/history/"+cl.promptID()))
	}
	for _, e := range tr.events {
		switch e.kind {
		case "freed":
			cl.request("POST", "/free", []byte(`{"unload_models": true, "free_memory": true}`))
			cl.c.waitLogTimes("Using RAM pressure cache.", 2)
			cl.addDevices("freed")
		case "rested":
			cl.addDevices("rested")
		}
	}
}

func (cl *client) addDevices(kind string) {
	devices, _ := cl.get("/system_stats").(object).get("devices")
	cl.add(kind, devices)
}
