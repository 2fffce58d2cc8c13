package comfyui

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"memtrix"
)

// watch begins to watch a server. Log lines and events are kept.
func (s *somebodys) watch() (*Watching, func() ([]memtrix.Event, []memtrix.LogLine)) {
	s.t.Helper()
	target := &WatchTarget{}
	v, err := target.Look(s.t.Context(), AttachRequest{URL: s.front, PID: s.cmd.Process.Pid})
	if err != nil {
		s.t.Fatal(err)
	}
	started, heard := s.begin(target, v, memtrix.Watched("now"))
	return started.(*Watching), heard
}

// cheap makes questions cost nothing, so that a test need not wait between them.
func (w *Watching) cheap() {
	w.spare.mu.Lock()
	defer w.spare.mu.Unlock()
	w.spare.busy = func() (time.Duration, bool) { return 0, true }
}

// TestWatch ensures that prompts of the server's user are followed, from what everybody
// is told, and that nothing is asked but for the running prompt and the newest history.
func TestWatch(t *testing.T) {
	t.Parallel()
	s := startSomebodys(t)
	w, seen := s.watch()
	w.cheap()
	id := s.post(sd15(t, 3).Graph)
	result, err := w.Do(t.Context(), 1)
	if err != nil || result.Outcome != memtrix.Pass || result.Index != 1 {
		t.Fatalf("%+v, %v", result, err)
	}
	events, lines := seen()
	var kinds []memtrix.EventKind
	for _, e := range events {
		if !slices.Contains(kinds, e.Kind) {
			kinds = append(kinds, e.Kind)
		}
	}
	for _, want := range []memtrix.EventKind{memtrix.EventReady, memtrix.EventPromptStart, memtrix.EventProgress, memtrix.EventPromptEnd} {
		if !slices.Contains(kinds, want) {
			t.Errorf("no event %s among %v", want, kinds)
		}
	}
	if !slices.ContainsFunc(lines, func(l memtrix.LogLine) bool { return strings.Contains(l.Text, executedLine) }) {
		t.Error("the log lacks the end of the prompt")
	}
	if g := w.Graph(1); g["5"].ClassType != "KSampler" || result.ID != id {
		t.Errorf("prompt %s, want %s, with the graph %v", result.ID, id, g)
	}
	data, err := os.ReadFile(filepath.Join(w.job.Dir, WatchedFile(1)))
	var graph map[string]memtrix.GraphNode
	if err != nil || json.Unmarshal(data, &graph) != nil || len(graph) != len(w.Graph(1)) {
		t.Errorf("the kept prompt: %v", err)
	}
	w.Stop(t.Context())
	want := []string{"GET /history", "GET /internal/logs/raw", "GET /queue", "GET /system_stats", "GET /ws", "PATCH /internal/logs/subscribe"}
	for _, asked := range s.requests() {
		if !slices.Contains(want, asked) {
			t.Errorf("asked for %s", asked)
		}
	}
	if !s.alive() {
		t.Error("the server is gone")
	}
}

// TestWatchFails ensures that a failure is told with its node, though its events go to
// the user alone; and by the log where the server is to be spared.
func TestWatchFails(t *testing.T) {
	t.Parallel()
	s := startSomebodys(t, "--sim-fault", "error-in-sample")
	w, seen := s.watch()
	w.cheap()
	s.post(sd15(t, 3).Graph)
	result, err := w.Do(t.Context(), 1)
	if err != nil || result.Outcome != memtrix.Error {
		t.Fatalf("%+v, %v", result, err)
	}
	events, _ := seen()
	i := slices.IndexFunc(events, func(e memtrix.Event) bool { return e.Kind == memtrix.EventError })
	if i < 0 || events[i].Node == nil || events[i].Node.ClassType != "KSampler" {
		t.Errorf("events: %+v", events)
	}

	w.spare.mu.Lock()
	w.spare.ready = 1 << 62 // for ever
	w.spare.mu.Unlock()
	s.post(sd15(t, 3).Graph)
	result, err = w.Do(t.Context(), 2)
	if err != nil || result.Outcome != memtrix.Error || len(w.Graph(2)) > 0 {
		t.Errorf("by the log: %+v, %v", result, err)
	}
	if r := strings.Join(w.Remarks(), "\n"); !strings.Contains(r, "of 1 prompts only the log tells") {
		t.Errorf("remarks: %s", r)
	}
}

// TestWatchSeveral ensures that prompts that wait behind one another are told apart, and
// that one that is taken out of the queue is not taken for the end of the one that runs.
func TestWatchSeveral(t *testing.T) {
	t.Parallel()
	s := startSomebodys(t)
	w, seen := s.watch()
	w.cheap()
	s.post(sd15(t, 4).Graph)
	s.post(sd15(t, 5).Graph)
	out := s.post(sd15(t, 6).Graph)
	c := newClient(s.base)
	defer c.close()
	if err := c.dequeue(t.Context(), out); err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= 2; n++ {
		if result, err := w.Do(t.Context(), n); err != nil || result.Outcome != memtrix.Pass {
			t.Fatalf("prompt %d: %+v, %v", n, result, err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if result, err := w.Do(ctx, 3); err == nil || result.Index != 0 {
		t.Errorf("a third one: %+v, %v", result, err)
	}
	events, _ := seen()
	var steps []int
	for _, e := range events {
		if e.Kind == memtrix.EventProgress && !slices.Contains(steps, e.Max) {
			steps = append(steps, e.Max)
		}
	}
	if !slices.Equal(steps, []int{4, 5}) {
		t.Errorf("steps %v", steps)
	}
}

// TestWatchKilled ensures that the end of the server is told, with its signal.
func TestWatchKilled(t *testing.T) {
	t.Parallel()
	s := startSomebodys(t, "--sim-fault", "kill-in-sample")
	w, _ := s.watch()
	s.post(sd15(t, 3).Graph)
	result, err := w.Do(t.Context(), 1)
	if err == nil || result.Index != 1 || !strings.Contains(err.Error(), "has ended") {
		t.Errorf("%+v, %v", result, err)
	}
	if exit := w.Stop(t.Context()); exit.Signal != "KILL" && !exit.Unknown || exit.Asked {
		t.Errorf("exit %+v", exit)
	}
}

// TestSparing ensures that questions take less than a thousandth of the time.
func TestSparing(t *testing.T) {
	t.Parallel()
	var now, cpu time.Duration
	seen := true
	s := &sparing{now: func() time.Duration { return now }, busy: func() (time.Duration, bool) { return cpu, seen }}
	question := func(wall, spent time.Duration) func() error {
		return func() error { now += wall; cpu += spent; return nil }
	}
	if asked, _ := s.ask(question(500*time.Millisecond, 2*time.Millisecond)); !asked || s.wait() != 2*time.Second {
		t.Errorf("asked %v, wait %v, want 2s: what the thread took counts, not what the server did beside", asked, s.wait())
	}
	now += 1999 * time.Millisecond
	if asked, _ := s.ask(question(0, 0)); asked {
		t.Error("asked too early")
	}
	now += time.Millisecond
	seen = false
	if asked, _ := s.ask(question(3*time.Millisecond, 0)); !asked || s.wait() != 3*time.Second {
		t.Errorf("asked %v, wait %v, want 3s: where the thread is not seen the answer's time counts", asked, s.wait())
	}
	if n, spent := s.total(); n != 2 || spent != 5*time.Millisecond {
		t.Errorf("%d questions, %v", n, spent)
	}
}

// TestFollowerHears ensures that bars and nodes are read as servers write them.
func TestFollowerHears(t *testing.T) {
	t.Parallel()
	f := newFollower()
	f.text(1, "\r 25%|##5       | 1/4 [00:39<01:58, 39.65s/it]\r 50%|#####     | 2/4 [01:19<01:19, 39.65s/it]")
	f.text(2, "  0%|          | 0/20 [00:00<?, ?it/s]")
	f.text(3, "loaded 3/4 of it [not a bar]")
	f.line(memtrix.LogLine{At: 4, Text: "\x1b[32m[INFO]\x1b[0m \x1b[32mPrompt executed in 3.10 seconds\x1b[0m"})
	f.line(memtrix.LogLine{At: 5, Text: "\x1b[1m\x1b[31m[ERROR]\x1b[0m !!! Exception during processing !!! Allocation on device"})
	f.frame(6, []byte(`{"type":"progress_state","data":{"prompt_id":"a","nodes":{"1":{"state":"finished"},"5":{"state":"running"}}}}`))
	f.frame(7, []byte(`{"type":"progress_state","data":{"prompt_id":"a","nodes":{"1":{"state":"finished"}}}}`))
	f.frame(8, []byte(`{"type":"crystools.monitor","data":{"nodes":7}}`))
	f.frame(9, []byte(`{"type":"progress","data":{"value":3,"max":4,"prompt_id":"a","node":"5"}}`))
	want := []note{
		{at: 1, kind: noteBar, value: 2, max: 4}, {at: 2, kind: noteBar, max: 20}, {at: 4, kind: noteExecuted}, {at: 5, kind: noteFailed},
		{at: 6, kind: noteNode, prompt: "a", node: "5"}, {at: 9, kind: noteBar, value: 3, max: 4, prompt: "a"},
	}
	var got []note
	for n, ok := f.next(); ok; n, ok = f.next() {
		got = append(got, n)
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	var nobody *follower
	nobody.text(1, "1/4 [00:39<")
	nobody.queue(1, 2)
}

// TestListensAt finds the port of a process.
func TestListensAt(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	got, err := ListensAt(os.Getpid())
	want := netip.MustParseAddrPort(l.Addr().String())
	if err != nil || !slices.Contains(got, want) {
		t.Errorf("%v, %v, want %v among them", got, err, want)
	}
	if _, err := ListensAt(1 << 30); err == nil || !strings.Contains(err.Error(), fmt.Sprint(1<<30)) {
		t.Errorf("no process: %v", err)
	}
}
