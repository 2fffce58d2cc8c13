package comfyui

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"memtrix"
)

// noteKind is what a follower heard.
type noteKind int

const (
	noteQueue    noteKind = iota // the length of the queue
	noteExecuted                 // the server said that a prompt is over
	noteFailed                   // it said that one failed
	noteBar                      // a progress bar moved
	noteNode                     // a node runs (told of prompts without a client only)
	noteLost                     // the connection is gone
)

// note is one thing that was heard, with its time.
type note struct {
	at         time.Duration
	kind       noteKind
	left       int // of noteQueue
	value, max int // of noteBar
	prompt     string
	node       nodeID
}

// follower makes notes of what a server tells to everybody who listens: the length of
// its queue, and what it prints. Which node runs is told only to the client that sent
// the prompt, and to all where none is named (server.py, send_sync). A nil follower
// hears nothing.
type follower struct {
	mu     sync.Mutex
	notes  []note
	wakeup chan struct{} // holds one token while there are notes
}

func newFollower() *follower { return &follower{wakeup: make(chan struct{}, 1)} }

func (f *follower) put(n note) {
	f.mu.Lock()
	f.notes = append(f.notes, n)
	f.mu.Unlock()
	select {
	case f.wakeup <- struct{}{}:
	default:
	}
}

// next takes the oldest note.
func (f *follower) next() (note, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.notes) == 0 {
		return note{}, false
	}
	n := f.notes[0]
	f.notes = f.notes[1:]
	return n, true
}

func (f *follower) queue(at time.Duration, left int) {
	if f != nil {
		f.put(note{at: at, kind: noteQueue, left: left})
	}
}

func (f *follower) lost(at time.Duration) {
	if f != nil {
		f.put(note{at: at, kind: noteLost})
	}
}

// barText is a piece of a progress bar: tqdm's "2/20 [00:01<00:09,".
var barText = regexp.MustCompile(`\b(\d{1,6})/(\d{1,6}) \[\d+:\d`)

// text is what the server wrote, also before its line ends.
func (f *follower) text(at time.Duration, text string) {
	if f == nil {
		return
	}
	all := barText.FindAllStringSubmatch(text, -1)
	if len(all) == 0 {
		return
	}
	m := all[len(all)-1]
	value, err1 := strconv.Atoi(m[1])
	most, err2 := strconv.Atoi(m[2])
	if err1 == nil && err2 == nil {
		f.put(note{at: at, kind: noteBar, value: value, max: most})
	}
}

// Lines by which a server says how a prompt went (main.py, execution.py).
const (
	executedLine = "Prompt executed in "
	failedLine   = "!!! Exception during processing"
)

func (f *follower) line(l memtrix.LogLine) {
	for _, token := range Clean(l.Text) {
		switch {
		case strings.HasPrefix(token.Text, executedLine):
			f.put(note{at: l.At, kind: noteExecuted})
		case strings.HasPrefix(token.Text, failedLine):
			f.put(note{at: l.At, kind: noteFailed})
		}
	}
}

// frame is what is told of work that no client is named for.
func (f *follower) frame(at time.Duration, raw []byte) {
	if f == nil {
		return
	}
	var e struct {
		Type string `json:"type"`
		Data struct {
			Prompt string          `json:"prompt_id"`
			Node   *nodeID         `json:"node"`
			Nodes  json.RawMessage `json:"nodes"`
			Value  number          `json:"value"`
			Max    number          `json:"max"`
		} `json:"data"`
	}
	if json.Unmarshal(raw, &e) != nil {
		return
	}
	switch {
	case e.Type == "executing" && e.Data.Node != nil:
		f.put(note{at: at, kind: noteNode, prompt: e.Data.Prompt, node: *e.Data.Node})
	case e.Type == "progress_state":
		if id, ok := runningNode(e.Data.Nodes); ok {
			f.put(note{at: at, kind: noteNode, prompt: e.Data.Prompt, node: id})
		}
	case e.Type == "progress":
		f.put(note{at: at, kind: noteBar, value: int(e.Data.Value), max: int(e.Data.Max), prompt: e.Data.Prompt})
	}
}

// runningNode is the node that a progress_state names as running; of several that of
// the smallest id, so that the answer does not jump.
func runningNode(raw json.RawMessage) (nodeID, bool) {
	var nodes map[string]struct {
		State string `json:"state"`
	}
	if json.Unmarshal(raw, &nodes) != nil {
		return "", false
	}
	var running []string
	for id, n := range nodes {
		if n.State == "running" {
			running = append(running, id)
		}
	}
	if len(running) == 0 {
		return "", false
	}
	return nodeID(slices.Min(running)), true
}
