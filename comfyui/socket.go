package comfyui

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// arrival is something that came over the socket, with the time at which it came.
type arrival struct {
	at    time.Duration
	raw   json.RawMessage // a text frame, nil for the other two
	state connection
}

type connection int

const (
	connected connection = iota
	lost                 // nothing arrives until it is back
	back                 // connected again; what was sent meanwhile is lost
)

// socket keeps a WebSocket to the server, with one client id, for as long as it
// is open: a lost connection is made anew. What arrives is written down and
// queued.
type socket struct {
	url    string
	now    clock
	record *recorder
	client *http.Client
	cancel context.CancelFunc
	closed chan struct{}
	// tap is shown each frame as it comes, and nil for a connection that is lost.
	// What it takes is neither written down nor queued. It may be nil.
	tap func(at time.Duration, frame []byte) (taken bool)
	// longest is the longest pause between two attempts to connect again.
	longest time.Duration

	mu     sync.Mutex
	queue  []arrival
	down   bool          // the connection is lost just now
	losses int           // how often it was lost
	backs  int           // how often it was made anew
	wakeup chan struct{} // holds one token while the queue is not empty
}

// Pauses between attempts to connect again. A connection that lived for less than
// steady does not set them back: something between us and the server may drop each
// one at once, and an attempt takes some milliseconds of the server's time.
const (
	firstPause = 20 * time.Millisecond
	lastPause  = time.Second
	steady     = 10 * time.Second
)

// openSocket connects, and returns once the connection stands: what a prompt
// sends after that is not missed.
func openSocket(ctx context.Context, base, clientID string, now clock, record *recorder) (*socket, error) {
	return openTapped(ctx, newClient(base), clientID, now, record, lastPause, nil)
}

func openTapped(ctx context.Context, c *client, clientID string, now clock, record *recorder, longest time.Duration, tap func(time.Duration, []byte) bool) (*socket, error) {
	base := c.base
	s := &socket{
		client:  c.http,
		tap:     tap,
		longest: longest,
		url:     "ws" + strings.TrimPrefix(base, "http") + "/ws?clientId=" + url.QueryEscape(clientID),
		now:     now,
		record:  record,
		closed:  make(chan struct{}),
		wakeup:  make(chan struct{}, 1),
	}
	conn, err := s.dial(ctx)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", s.url, err)
	}
	live, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	go s.run(live, conn)
	return s, nil
}

func (s *socket) dial(ctx context.Context) (*websocket.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	conn, _, err := websocket.Dial(ctx, s.url, &websocket.DialOptions{HTTPClient: s.client})
	if err != nil {
		return nil, err
	}
	// Previews and the inputs of failed nodes can be of any size.
	conn.SetReadLimit(-1)
	return conn, nil
}

// run reads until the socket is closed by us.
func (s *socket) run(ctx context.Context, conn *websocket.Conn) {
	defer close(s.closed)
	for pause := firstPause; ; {
		since := s.now()
		s.readAll(ctx, conn)
		conn.CloseNow()
		if ctx.Err() != nil {
			return
		}
		at := s.now()
		s.record.write(at, "closed", true)
		if s.tap != nil {
			s.tap(at, nil)
		}
		s.push(arrival{at: at, state: lost})
		if at-since >= steady {
			pause = firstPause
		}
		if conn = s.redial(ctx, &pause); conn == nil {
			return
		}
		s.push(arrival{at: s.now(), state: back})
	}
}

// redial connects again. It makes the pause longer with each attempt.
func (s *socket) redial(ctx context.Context, pause *time.Duration) *websocket.Conn {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(*pause):
		}
		*pause = min(2**pause, s.longest)
		if conn, err := s.dial(ctx); err == nil {
			return conn
		}
	}
}

func (s *socket) readAll(ctx context.Context, conn *websocket.Conn) {
	for {
		kind, data, err := conn.Read(ctx)
		if err != nil {
			return
		}
		at := s.now()
		if kind != websocket.MessageText {
			s.record.write(at, "binary", len(data))
			continue
		}
		if data = standardJSON(data); !json.Valid(data) {
			continue // no frame of the protocol
		}
		if s.tap != nil && s.tap(at, data) {
			continue
		}
		s.record.write(at, "frame", json.RawMessage(data))
		s.push(arrival{at: at, raw: data})
	}
}

func (s *socket) push(a arrival) {
	s.mu.Lock()
	s.queue = append(s.queue, a)
	s.down = a.state == lost
	switch a.state {
	case lost:
		s.losses++
	case back:
		s.backs++
	}
	s.mu.Unlock()
	select {
	case s.wakeup <- struct{}{}:
	default:
	}
}

// take empties the queue.
func (s *socket) take() []arrival {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.queue
	s.queue = nil
	return all
}

func (s *socket) isDown() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.down
}

// breaks is how often the connection was lost, and how often it was made anew.
func (s *socket) breaks() (losses, backs int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.losses, s.backs
}

func (s *socket) close() {
	s.cancel()
	<-s.closed
}
