package comfyui

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"memtrix"
)

// speak connects a talk to a fake server and gives the events that it reports.
func speak(t *testing.T, f *fake) (*talk, func() []memtrix.Event, chan struct{}) {
	t.Helper()
	srv := httptest.NewServer(f)
	t.Cleanup(srv.Close)
	epoch := time.Now()
	now := func() time.Duration { return time.Since(epoch) }
	record, err := newRecorder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s, err := openSocket(context.Background(), srv.URL, "me", now, record)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.close)
	var mu sync.Mutex
	var events []memtrix.Event
	gone := make(chan struct{})
	tk := &talk{client: newClient(srv.URL), socket: s, clientID: "me", now: now, record: record, gone: gone,
		how:  func() string { return "killed by signal KILL" },
		emit: func(e memtrix.Event) { mu.Lock(); defer mu.Unlock(); events = append(events, e) }}
	return tk, func() []memtrix.Event { mu.Lock(); defer mu.Unlock(); return slices.Clone(events) }, gone
}

// short writes events without times: "node-start 5 KSampler".
func short(events []memtrix.Event) []string {
	var lines []string
	for _, e := range events {
		line := string(e.Kind)
		if e.Node != nil {
			line += " " + e.Node.ID + " " + e.Node.ClassType
		}
		if e.Kind == memtrix.EventProgress {
			line += fmt.Sprintf(" %d/%d", e.Value, e.Max)
		}
		if len(e.Nodes) > 0 {
			line += " " + strings.Join(e.Nodes, ",")
		}
		if e.Failure != nil {
			line += " " + e.Failure.Type
		}
		lines = append(lines, line)
	}
	return lines
}

var sdxlNodes = []string{
	"prompt-start", "cached", "node-start 1 CheckpointLoaderSimple", "node-start 4 EmptyLatentImage",
	"node-start 3 CLIPTextEncode", "node-start 2 CLIPTextEncode", "node-start 5 KSampler",
}

func TestDo(t *testing.T) {
	one := func(parts ...[]string) []string { return slices.Concat(parts...) }
	for _, c := range []struct {
		recording string
		outcomes  []memtrix.OutcomeKind
		executed  []string // of the last prompt
		cached    []string
		want      []string
	}{
		{"029-cpu-sd15", []memtrix.OutcomeKind{memtrix.Pass}, []string{"1", "4", "3", "2", "5", "6", "7"}, nil,
			one(sdxlNodes, []string{"progress 5 KSampler 1/2", "progress 5 KSampler 2/2", "node-start 6 VAEDecode", "node-start 7 SaveImage", "prompt-end"})},
		{"0364-8gib-default", []memtrix.OutcomeKind{memtrix.Pass, memtrix.Pass}, []string{"5", "6", "7"}, []string{"1", "2", "3", "4"}, nil},
		{"029-8gib-default", []memtrix.OutcomeKind{memtrix.Pass, memtrix.Pass}, []string{"5", "6", "7"}, []string{"1", "2", "3", "4"}, nil},
		{"029-3gib-dynamic-oom-in-compute", []memtrix.OutcomeKind{memtrix.Error}, []string{"1", "4", "3", "2", "5"}, nil,
			one(sdxlNodes, []string{"error 5 KSampler torch.OutOfMemoryError", "prompt-end"})},
		{"029-cpu-interrupted", []memtrix.OutcomeKind{memtrix.Interrupted}, []string{"1", "4", "3", "2", "5"}, nil,
			one(sdxlNodes, []string{"interrupted 5 KSampler", "prompt-end"})},
		{"029-cpu-second-prompt-cached", []memtrix.OutcomeKind{memtrix.Pass, memtrix.Pass}, nil, []string{"1", "2", "3"},
			[]string{"prompt-start", "cached", "node-start 1 EmptyImage", "node-start 2 ImageScale", "node-start 3 SaveImage", "prompt-end",
				"prompt-start", "cached 1,2,3", "prompt-end"}},
		{"029-cpu-missing-model", []memtrix.OutcomeKind{memtrix.InvalidWorkflow}, nil, nil, []string{"error 1 CheckpointLoaderSimple value_not_in_list"}},
		{"029-cpu-missing-node-type", []memtrix.OutcomeKind{memtrix.InvalidWorkflow}, nil, nil, []string{"error 2 NoSuchNode missing_node_type"}},
		{"029-cpu-one-output-invalid", []memtrix.OutcomeKind{memtrix.InvalidWorkflow}, []string{"1", "2", "3"}, nil,
			[]string{"prompt-start", "error 9 ImageScale value_not_in_list", "cached", "node-start 1 EmptyImage", "node-start 2 ImageScale", "node-start 3 SaveImage", "prompt-end"}},
	} {
		t.Run(c.recording, func(t *testing.T) {
			rec := loadRecording(t, c.recording)
			tk, events, _ := speak(t, newFake(rec))
			var last memtrix.PromptResult
			for n, want := range c.outcomes {
				r, err := tk.do(context.Background(), n+1, rec.graph(t))
				if err != nil {
					t.Fatal(err)
				}
				if r.Outcome != want || r.Index != n+1 || r.Seconds <= 0 {
					t.Errorf("prompt %d: got %+v, want outcome %s", n+1, r, want)
				}
				last = r
			}
			if !slices.Equal(last.Executed, c.executed) || !slices.Equal(last.Cached, c.cached) {
				t.Errorf("executed %v cached %v, want %v and %v", last.Executed, last.Cached, c.executed, c.cached)
			}
			if got := short(events()); c.want != nil && !slices.Equal(got, c.want) {
				t.Errorf("events\ngot  %q\nwant %q", got, c.want)
			}
			if !slices.IsSortedFunc(events(), func(a, b memtrix.Event) int { return int(a.At - b.At) }) {
				t.Error("events are not in the order of their times")
			}
		})
	}
}

func TestDoFailures(t *testing.T) {
	for _, c := range []struct {
		recording string
		refused   bool
		want      []string
	}{
		{"029-3gib-dynamic-oom-in-compute", false, []string{"Allocation on device 0 would exceed", "Requested               : 960.00 MiB"}},
		{"029-cpu-missing-model", true, []string{`node 1 (CheckpointLoaderSimple), input "ckpt_name"`, "'not-here.safetensors' not in ['sd15.safetensors']"}},
		{"029-cpu-missing-node-type", true, []string{"'NoSuchNode' not found", "#2"}},
		{"029-cpu-one-output-invalid", true, []string{`node 9 (ImageScale), input "upscale_method"`, "'bilinear'"}},
	} {
		t.Run(c.recording, func(t *testing.T) {
			rec := loadRecording(t, c.recording)
			tk, events, _ := speak(t, newFake(rec))
			if _, err := tk.do(context.Background(), 1, rec.graph(t)); err != nil {
				t.Fatal(err)
			}
			at := slices.IndexFunc(events(), func(e memtrix.Event) bool { return e.Kind == memtrix.EventError })
			if at < 0 {
				t.Fatal("no error event")
			}
			f := events()[at].Failure
			if f.Refused != c.refused || (f.Traceback == "") != c.refused {
				t.Errorf("refused %v, traceback %q", f.Refused, f.Traceback)
			}
			for _, want := range c.want {
				if !strings.Contains(f.Message, want) {
					t.Errorf("message %q, want %q in it", f.Message, want)
				}
			}
		})
	}
}

// A connection that drops in the middle loses frames, but neither the outcome nor
// which nodes ran.
func TestDoReconnects(t *testing.T) {
	for _, dropAt := range []int{1, 12, 30, 46} {
		for _, name := range []string{"029-cpu-sd15", "029-3gib-dynamic-oom-in-compute"} {
			rec := loadRecording(t, name)
			f := newFake(rec)
			f.dropAt = dropAt
			tk, events, _ := speak(t, f)
			r, err := tk.do(context.Background(), 1, rec.graph(t))
			if err != nil {
				t.Fatal(err)
			}
			kinds := map[memtrix.EventKind]int{}
			for _, e := range events() {
				kinds[e.Kind]++
			}
			executed := slices.Sorted(slices.Values(r.Executed))
			wantNodes, wantOutcome, wantErrors := []string{"1", "2", "3", "4", "5", "6", "7"}, memtrix.Pass, 0
			if name != "029-cpu-sd15" {
				wantNodes, wantOutcome, wantErrors = []string{"1", "2", "3", "4", "5"}, memtrix.Error, 1
			}
			if r.Outcome != wantOutcome || kinds[memtrix.EventError] != wantErrors || kinds[memtrix.EventPromptEnd] != 1 {
				t.Errorf("%s, drop at %d: outcome %s, events %v", name, dropAt, r.Outcome, kinds)
			}
			if !slices.Equal(executed, wantNodes) && !slices.Equal(append(executed, "5"), wantNodes) {
				t.Errorf("%s, drop at %d: executed %v, want %v", name, dropAt, executed, wantNodes)
			}
		}
	}
}

// Without any frame the history alone tells.
func TestDoSilentSocket(t *testing.T) {
	rec := loadRecording(t, "029-cpu-sd15")
	f := newFake(rec)
	f.mute = true
	tk, _, _ := speak(t, f)
	tk.socket.mu.Lock()
	tk.socket.down = true // as if the connection could not be made again
	tk.socket.mu.Unlock()
	r, err := tk.do(context.Background(), 1, rec.graph(t))
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"1", "2", "3", "4", "5", "6", "7"}; r.Outcome != memtrix.Pass || !slices.Equal(r.Executed, want) {
		t.Errorf("got %+v, want a pass of %v", r, want)
	}
}

func TestDoServerDies(t *testing.T) {
	rec := loadRecording(t, "029-cpu-killed-in-sample")
	f := newFake(rec)
	tk, events, gone := speak(t, f)
	f.die = func() { f.conn.CloseNow(); close(gone) }
	r, err := tk.do(context.Background(), 1, sd15Graph(t))
	if !errors.Is(err, errEnded) || !strings.Contains(err.Error(), "killed by signal KILL") {
		t.Errorf("err = %v, want the end of the server", err)
	}
	if got, want := r.Executed, []string{"1", "4", "3", "2", "5"}; !slices.Equal(got, want) {
		t.Errorf("executed %v, want %v", got, want)
	}
	got := short(events())
	if want := "progress 5 KSampler 5/6"; len(got) == 0 || got[len(got)-1] != want {
		t.Errorf("last event %q, want %q", got, want)
	}
}

func TestDoCancelled(t *testing.T) {
	rec := loadRecording(t, "029-cpu-sd15")
	f := newFake(rec)
	f.mute, f.stall = true, true
	tk, _, _ := speak(t, f)
	ctx, cancel := context.WithCancelCause(context.Background())
	enough := errors.New("enough")
	// Cut short as soon as the server has taken the prompt.
	tk.emit = func(memtrix.Event) { cancel(enough) }
	r, err := tk.do(ctx, 1, rec.graph(t))
	if !errors.Is(err, enough) || r.ID == "" {
		t.Errorf("got %+v, %v, want the end of ctx", r, err)
	}
	if !slices.Contains(f.requests(), "POST /interrupt") {
		t.Errorf("asked %v, want an interrupt", f.requests())
	}
}

func TestDoBadAnswers(t *testing.T) {
	graph := map[string]memtrix.GraphNode{"1": {ClassType: "X"}}
	for _, c := range []struct {
		name, post string
		outcome    memtrix.OutcomeKind
		err        string
		want       string
	}{
		{"crash", `{"http": 500, "body": "500 Internal Server Error"}`, memtrix.Error, "", "http-500"},
		{"old node errors", `{"http": 400, "body": "{\"error\": {\"type\": \"prompt_no_outputs\", \"message\": \"Prompt has no outputs\", \"details\": \"\", \"extra_info\": {}}, \"node_errors\": []}"}`, memtrix.InvalidWorkflow, "", "prompt_no_outputs"},
		{"no json", `{"http": 400, "body": "<html>"}`, memtrix.InvalidWorkflow, "", "http-400"},
		{"no id", `{"number": 1}`, "", "no prompt_id", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFake(recording{{Post: []byte(c.post)}})
			tk, events, _ := speak(t, f)
			r, err := tk.do(context.Background(), 1, graph)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Fatalf("err = %v, want %q", err, c.err)
				}
				return
			}
			if err != nil || r.Outcome != c.outcome {
				t.Fatalf("got %+v, %v, want %s", r, err, c.outcome)
			}
			if e := events(); len(e) != 1 || e[0].Failure.Type != c.want || !e[0].Failure.Refused {
				t.Errorf("events %+v, want one refusal %s", e, c.want)
			}
			if want := `"inputs":{}`; !strings.Contains(string(f.lastBody), want) {
				t.Errorf("sent %s, want %s in it", f.lastBody, want)
			}
		})
	}
}
