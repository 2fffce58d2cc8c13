package comfysim

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// cached is what the node cache keeps of a node that has run.
type cached struct {
	outputs []any
	ui      object // what "executed" showed, nil for none
	used    int    // number of the last prompt that used it
}

// nodeCache keeps outputs across prompts by what they depend on.
type nodeCache struct {
	mode    cacheMode
	lru     int
	entries map[string]*cached // by signature
	input   string             // folder of LoadImage
}

func newNodeCache(cfg *config) *nodeCache {
	return &nodeCache{mode: cfg.cache, lru: cfg.lru, entries: map[string]*cached{}, input: cfg.folders.input}
}

// signatures gives each node of a graph a hash of its class, its inputs and all
// that those depend on. Nodes of a circle have none.
func (c *nodeCache) signatures(g *graph) map[string]string {
	out := map[string]string{}
	for _, id := range g.ids {
		c.sign(g, id, out, nil)
	}
	return out
}

func (c *nodeCache) sign(g *graph, id string, out map[string]string, path []string) string {
	if s, ok := out[id]; ok {
		return s
	}
	n := g.nodes[id]
	if n == nil || slices.Contains(path, id) {
		return ""
	}
	words := []string{n.class}
	for _, p := range n.inputs {
		text, _ := json.Marshal(p.value) // it came from JSON
		if l, ok := asLink(p.value); ok {
			text = fmt.Appendf(nil, "%s[%d]", c.sign(g, l.from, out, append(path, id)), l.slot)
		}
		words = append(words, p.key+"="+string(text))
	}
	slices.Sort(words[1:])
	if n.class == "LoadImage" {
		words = append(words, c.imageVersion(n))
	}
	out[id] = fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(words, "\x00"))))
	return out[id]
}

// imageVersion changes when the file does (IS_CHANGED).
func (c *nodeCache) imageVersion(n *graphNode) string {
	name, _ := n.inputs.get("image")
	info, err := os.Stat(filepath.Join(c.input, pyStr(name)))
	if err != nil {
		return ""
	}
	return fmt.Sprint(info.ModTime().UnixNano(), info.Size())
}

// after drops what the mode does not keep once a prompt has ended, and returns
// the values that were dropped.
func (c *nodeCache) after(inPrompt map[string]string) []any {
	signatures := slices.Collect(maps.Values(inPrompt))
	keep := func(sig string, _ *cached) bool { return slices.Contains(signatures, sig) }
	switch c.mode {
	case cacheNone:
		keep = func(string, *cached) bool { return false }
	case cacheLRU:
		keep = c.recent()
	}
	var dropped []any
	for sig, e := range c.entries {
		if !keep(sig, e) {
			delete(c.entries, sig)
			dropped = append(dropped, e.outputs...)
		}
	}
	return dropped
}

// recent keeps the entries that were used last.
func (c *nodeCache) recent() func(string, *cached) bool {
	all := slices.Collect(maps.Values(c.entries))
	slices.SortFunc(all, func(a, b *cached) int { return b.used - a.used })
	all = all[:min(c.lru, len(all))]
	return func(_ string, e *cached) bool { return slices.Contains(all, e) }
}

// clear empties the cache, as POST /free with free_memory does.
func (c *nodeCache) clear() []any {
	var dropped []any
	for _, e := range c.entries {
		dropped = append(dropped, e.outputs...)
	}
	c.entries = map[string]*cached{}
	return dropped
}

// holds reports whether an entry has the value among its outputs.
func (c *nodeCache) holds(value any) bool {
	for _, e := range c.entries {
		if slices.ContainsFunc(e.outputs, func(v any) bool { return sameValue(v, value) }) {
			return true
		}
	}
	return false
}

// sameValue reports whether two outputs hold the same memory.
func sameValue(a, b any) bool {
	p, ok := a.(*patcher)
	q, ok2 := b.(*patcher)
	if ok && ok2 {
		return p != nil && q != nil && p.w == q.w
	}
	return a == b
}
