package comfyui

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"memtrix"
	"memtrix/workflows"
)

// TestSocketFlaps ensures that a proxy which drops each connection at once is not
// asked for another one many times a second.
func TestSocketFlaps(t *testing.T) {
	t.Parallel()
	var joined atomic.Int32
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		joined.Add(1)
		_ = conn.Write(r.Context(), websocket.MessageText, []byte(`{"type":"status","data":{}}`))
		conn.CloseNow()
	}))
	defer srv.Close()
	record, err := newRecorder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	c := newClient(srv.URL)
	defer c.close()
	s, err := openTapped(t.Context(), c, "me", func() time.Duration { return time.Since(begin) }, record, attachedPause, nil)
	if err != nil {
		t.Fatal(err)
	}
	await(t, "the third connection", func() bool { return joined.Load() >= 3 })
	time.Sleep(time.Second)
	s.close()
	// 20, 40, 80 ... ms: a busy machine makes it fewer.
	if n := joined.Load(); n > 9 {
		t.Errorf("%d connections in %v", n, time.Since(begin))
	}
	if losses, backs := s.breaks(); losses < 3 || backs < 2 {
		t.Errorf("lost %d times, made anew %d times", losses, backs)
	}
}

// TestAttachRejoins ensures that the log is asked for again after the connection was
// lost, and that the trial says so.
func TestAttachRejoins(t *testing.T) {
	t.Parallel()
	s := startSomebodys(t)
	i, seen := s.attach(sd15(t, 2), nil)
	subscribed := func() int { return s.times("PATCH /internal/logs/subscribe") }
	await(t, "the log", func() bool { return subscribed() == 1 })
	s.drop()
	await(t, "the log, again", func() bool { return subscribed() == 2 })
	if err := i.AwaitTurn(t.Context(), time.Minute, func(text string) { t.Errorf("waits: %s", text) }); err != nil {
		t.Fatal(err)
	}
	if result, err := i.Do(t.Context(), 1); err != nil || result.Outcome != memtrix.Pass {
		t.Fatalf("%+v, %v", result, err)
	}
	i.Stop(t.Context())
	if _, lines := seen(); len(lines) == 0 {
		t.Error("no line of the log after the connection was made anew")
	}
	if r := strings.Join(i.Remarks(), "\n"); !strings.Contains(r, "was lost (once)") {
		t.Errorf("remarks: %s", r)
	}
}

// TestAttachUnheard ensures that a queue of which no connection tells is asked for,
// slowly, instead of being called busy.
func TestAttachUnheard(t *testing.T) {
	t.Parallel()
	s := startSomebodys(t, "--sim-fault", "hang-in-sample")
	i, _ := s.attach(sd15(t, 4), nil)
	await(t, "the queue", i.free)
	s.refuse.Store(true)
	s.drop()
	await(t, "the loss", func() bool { _, known := i.crowd.queued(); return !known })
	if text := i.unheard(t.Context()); text != "" {
		t.Errorf("an empty queue: %s", text)
	}
	s.post(sd15(t, 4).Graph)
	if text := i.unheard(t.Context()); !strings.Contains(text, "prompts in its queue: 1") {
		t.Errorf("one prompt: %s", text)
	}
	defer func() {
		i.Stop(t.Context())
		if r := strings.Join(i.Remarks(), "\n"); !strings.Contains(r, "was lost (once)") {
			t.Errorf("remarks: %s", r)
		}
	}()
	err := i.AwaitTurn(t.Context(), 50*time.Millisecond, func(string) {})
	if err == nil || errors.Is(err, memtrix.ErrBusy) || !strings.Contains(err.Error(), "WebSockets") {
		t.Errorf("turn: %v", err)
	}
}

// TestAttachAddresses says what a person can do about an address.
func TestAttachAddresses(t *testing.T) {
	t.Parallel()
	s := startSomebodys(t)
	target := &AttachTarget{Vary: workflows.Vary}
	// As servers with --listen call themselves.
	v, err := target.Look(t.Context(), AttachRequest{URL: strings.Replace(s.base, "127.0.0.1", "0.0.0.0", 1)})
	if err != nil || !v.Attached.Local || v.Attached.PID != s.cmd.Process.Pid {
		t.Errorf("0.0.0.0: %+v, %v, want process %d", v.Attached, err, s.cmd.Process.Pid)
	}
	sends := httptest.NewServer(http.RedirectHandler(s.base+"/system_stats", http.StatusFound))
	defer sends.Close()
	asks := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	defer asks.Close()
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	defer secure.Close()
	for url, want := range map[string]string{
		sends.URL: "it sends on to " + s.base + ": name that address",
		asks.URL:  "it asks who you are (HTTP 401)",
		strings.Replace(s.base, "http", "https", 1): "it does not speak https: write " + s.base,
		secure.URL:         "SSL_CERT_FILE",
		s.base + "/deeper": "another path?",
	} {
		if _, err := target.Look(t.Context(), AttachRequest{URL: url}); !errors.Is(err, ErrNoServer) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", url, err, want)
		}
	}
	late, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	if err := newClient(s.base).explain(late, os.ErrDeadlineExceeded); !strings.Contains(err.Error(), "said nothing within") {
		t.Errorf("too late: %v", err)
	}
}
