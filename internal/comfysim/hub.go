package comfysim

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"

	"github.com/coder/websocket"
	"github.com/google/uuid"
)

// hub knows the sockets and who is to hear what.
type hub struct {
	mu      sync.Mutex
	sockets map[string]*socket // by client id
	client  string             // of the prompt that runs or ran last
	node    string             // that runs
}

// socket is one client. Frames wait in it until they are written, so a slow
// client holds up nobody.
type socket struct {
	mu     sync.Mutex
	frames [][]byte
	ready  chan struct{}
	cancel context.CancelFunc
}

func newHub() *hub { return &hub{sockets: map[string]*socket{}} }

func (s *socket) put(frame []byte) {
	s.mu.Lock()
	s.frames = append(s.frames, frame)
	s.mu.Unlock()
	select {
	case s.ready <- struct{}{}:
	default:
	}
}

func (s *socket) take() [][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	frames := s.frames
	s.frames = nil
	return frames
}

// send tells one client, or all of them when client is "".
func (h *hub) send(event string, data object, client string) {
	frame, err := json.Marshal(object{{"type", event}, {"data", data}})
	if err != nil {
		return // everything that is sent is made of plain values
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for id, s := range h.sockets {
		if client == "" || client == id {
			s.put(frame)
		}
	}
}

func (h *hub) setRunning(client string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.client, h.node = client, ""
}

func (h *hub) setNode(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.node = id
}

func (h *hub) closeAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.sockets {
		s.cancel()
	}
}

// join adds a client. One that comes again replaces its old socket, and is told
// which node runs.
func (h *hub) join(id string, s *socket, remaining int, again bool) {
	hello, _ := json.Marshal(object{{"type", "status"}, {"data", statusData(remaining).with("sid", id)}})
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sockets[id] = s
	s.put(hello)
	if again && h.client == id && h.node != "" {
		frame, _ := json.Marshal(object{{"type", "executing"}, {"data", object{{"node", h.node}}}})
		s.put(frame)
	}
}

func (h *hub) leave(id string, s *socket) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.sockets[id] == s {
		delete(h.sockets, id)
	}
}

// serve is GET /ws.
func (s *sim) serveSocket(w http.ResponseWriter, r *http.Request) {
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		return // Accept has answered
	}
	defer conn.CloseNow()
	conn.SetReadLimit(100 << 20)
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	id := r.URL.Query().Get("clientId")
	again := id != ""
	if !again {
		id = strings.ReplaceAll(uuid.NewString(), "-", "")
	}
	sock := &socket{ready: make(chan struct{}, 1), cancel: cancel}
	s.hub.join(id, sock, s.queue.count(), again)
	defer s.hub.leave(id, sock)
	go s.readSocket(ctx, cancel, conn, sock)
	for {
		for _, frame := range sock.take() {
			if conn.Write(ctx, websocket.MessageText, frame) != nil {
				return
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-sock.ready:
		}
	}
}

// readSocket answers feature flags when they are the first message, and notices
// when the client goes.
func (s *sim) readSocket(ctx context.Context, cancel context.CancelFunc, conn *websocket.Conn, sock *socket) {
	defer cancel()
	for first := true; ; first = false {
		_, data, err := conn.Read(ctx)
		if err != nil {
			return
		}
		var msg struct {
			Type string `json:"type"`
		}
		if first && json.Unmarshal(data, &msg) == nil && msg.Type == "feature_flags" {
			frame, _ := json.Marshal(object{{"type", "feature_flags"}, {"data", serverFeatures(s.cfg)}})
			sock.put(frame)
		}
	}
}
