package comfysim

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// printed are the last writes to the server's output, and the clients that are
// sent further ones (app/logger.py and api_server of the releases since 2024-11).
type printed struct {
	mu      sync.Mutex
	entries []any
	open    bool // the last entry has no newline yet
	clients map[string]bool
}

// keptWrites is the capacity of ComfyUI's own buffer.
const keptWrites = 300

// add notes a write and gives the clients to be told, and what.
func (p *printed) add(text string) (entry object, clients []string) {
	entry = object{{"t", time.Now().Format("2006-01-02T15:04:05.000000")}, {"m", text}}
	p.mu.Lock()
	defer p.mu.Unlock()
	if strings.HasPrefix(text, "\r") && p.open && len(p.entries) > 0 {
		p.entries = p.entries[:len(p.entries)-1] // drawn over
	}
	p.entries = append(p.entries, entry)
	if len(p.entries) > keptWrites {
		p.entries = slices.Clone(p.entries[1:])
	}
	p.open = !strings.HasSuffix(text, "\n")
	return entry, slices.Sorted(maps.Keys(p.clients))
}

func (p *printed) last() []any {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.entries)
}

func (p *printed) subscribe(client string, on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.clients == nil {
		p.clients = map[string]bool{}
	}
	if delete(p.clients, client); on {
		p.clients[client] = true
	}
}

func (s *sim) getLogs(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, object{{"entries", append([]any{}, s.printed.last()...)}, {"size", object{{"cols", 80}, {"rows", 24}}}})
}

func (s *sim) patchLogs(w http.ResponseWriter, r *http.Request) {
	o, ok := body(w, r)
	if !ok {
		return
	}
	client, _ := o.get("clientId")
	enabled, _ := o.get("enabled")
	name, _ := client.(string)
	s.printed.subscribe(name, enabled == true)
}

// heard passes on what the server prints.
func (s *sim) heard(text string) {
	entry, clients := s.printed.add(text)
	for _, c := range clients {
		s.hub.send("logs", object{{"entries", []any{entry}}, {"size", nil}}, c)
	}
}
