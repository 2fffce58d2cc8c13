package workflows

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"memtrix"
)

// FindVary finds what to change between prompts so that each does its work
// again. That is every seed: a literal whole number whose name is that of a seed
// (seed, noise_seed, seed_2, variation seed ...), or the number behind a link to
// such an input. Loaders and text encoders stay in the node cache, as they do for a person who presses Run
// again.
//
// An output that depends on no seed would be served from the cache as a whole.
// For it, the colour of an EmptyImage is varied, else a prompt text. Where
// there is neither, a warning says so; if nothing at all can be varied, both
// results are empty.
func FindVary(w memtrix.Workflow) ([]memtrix.Input, []string) {
	return findVary(w, nil)
}

// findVary also takes inputs that the workflow itself lets change from prompt to
// prompt, where they are whole numbers.
func findVary(w memtrix.Workflow, more []memtrix.Input) ([]memtrix.Input, []string) {
	vary := seeds(w.Graph)
	for _, in := range more {
		if _, ok := integer(w.Graph[in.Node].Inputs[in.Name]); ok && !slices.Contains(vary, in) {
			vary = append(vary, in)
		}
	}
	var warnings []string
	for _, out := range OutputNodes(w) {
		reach := ancestors(w.Graph, out)
		if slices.ContainsFunc(vary, func(in memtrix.Input) bool { return reach[in.Node] }) {
			continue
		}
		if in, ok := fallback(w.Graph, reach); ok {
			vary = append(vary, in)
			continue
		}
		warnings = append(warnings, fmt.Sprintf("nothing that %s depends on can be varied: from the second prompt on it is served from the cache", label(out, w.Graph[out])))
	}
	if len(vary) == 0 {
		return nil, nil
	}
	return vary, warnings
}

func seeds(graph map[string]memtrix.GraphNode) []memtrix.Input {
	var found []memtrix.Input
	add := func(in memtrix.Input) {
		if !slices.Contains(found, in) {
			found = append(found, in)
		}
	}
	for _, id := range sortedIDs(graph) {
		n := graph[id]
		for _, name := range slices.Sorted(maps.Keys(n.Inputs)) {
			if !isSeed(name) {
				continue
			}
			if _, ok := integer(n.Inputs[name]); ok {
				add(memtrix.Input{Node: id, Name: name})
			} else if from, ok := link(n.Inputs[name]); ok {
				if in, ok := onlyInteger(from, graph[from]); ok {
					add(in)
				}
			}
		}
	}
	return found
}

// isSeed tells a seed by its name, of which "seed" is the last word, or the one
// before a number or a word for one.
func isSeed(name string) bool {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r < 'a' || r > 'z' })
	if len(words) == 0 {
		return false
	}
	last := len(words) - 1
	if last > 0 && slices.Contains([]string{"num", "number", "value"}, words[last]) {
		last--
	}
	return words[last] == "seed" || words[last] == "noiseseed" || words[last] == "randseed"
}

// onlyInteger finds the number of a node that exists to hold one, such as
// PrimitiveInt.
func onlyInteger(id string, n memtrix.GraphNode) (memtrix.Input, bool) {
	var found []memtrix.Input
	for name, value := range n.Inputs {
		if _, ok := integer(value); ok {
			found = append(found, memtrix.Input{Node: id, Name: name})
		}
	}
	if len(found) != 1 {
		return memtrix.Input{}, false
	}
	return found[0], true
}

// fallback finds something harmless to vary among nodes: it must not change
// how much memory the work needs.
func fallback(graph map[string]memtrix.GraphNode, among map[string]bool) (memtrix.Input, bool) {
	ids := sortedIDs(among)
	for _, id := range ids {
		if graph[id].ClassType != "EmptyImage" {
			continue
		}
		if _, ok := integer(graph[id].Inputs["color"]); ok {
			return memtrix.Input{Node: id, Name: "color"}, true
		}
	}
	for _, id := range ids {
		for _, name := range []string{"text", "prompt", "clip_l", "text_g"} {
			_, isText := text(graph[id].Inputs[name])
			if isText && strings.Contains(graph[id].ClassType, "TextEncode") {
				return memtrix.Input{Node: id, Name: name}, true
			}
		}
	}
	return memtrix.Input{}, false
}

// UseVary replaces what FindVary found by inputs that a person named. They must
// be whole numbers or texts. All wrong ones are reported, each as *InputError.
func UseVary(w memtrix.Workflow, paths []string) (memtrix.Workflow, error) {
	var vary []memtrix.Input
	var errs []error
	for _, path := range paths {
		in, err := Find(w, path)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		value := w.Graph[in.Node].Inputs[in.Name]
		if Varied(value, 2) == nil {
			errs = append(errs, &InputError{path, fmt.Sprintf("%s is %s; only a whole number or a text can be varied", path, brief(value))})
			continue
		}
		if !slices.Contains(vary, in) {
			vary = append(vary, in)
		}
	}
	w.Vary, w.Warnings = vary, nil
	return w, errors.Join(errs...)
}

func brief(value json.RawMessage) string {
	if from, ok := link(value); ok {
		return "a link to node " + strconv.Quote(from)
	}
	if runes := []rune(string(value)); len(runes) > 40 {
		return string(runes[:40]) + "..."
	}
	return string(value)
}

// Vary gives the graph of the n-th prompt, 1 for the first, which is the file's
// own. Numbers count up, texts get " 2", " 3" at their end. The result shares
// what is unchanged with w and must not be written to.
func Vary(w memtrix.Workflow, n int) map[string]memtrix.GraphNode {
	graph := w.Graph
	if n < 2 {
		return graph
	}
	for _, in := range w.Vary {
		if value := Varied(graph[in.Node].Inputs[in.Name], n); value != nil {
			graph = withInput(graph, in, value)
		}
	}
	return graph
}

// Varied is an input's value in the n-th prompt, or nil for a kind of value
// that cannot be varied.
func Varied(value json.RawMessage, n int) json.RawMessage {
	if base, ok := integer(value); ok {
		if n < 2 {
			return value
		}
		return json.RawMessage(count(base, n-1).String())
	}
	if s, ok := text(value); ok {
		if n < 2 {
			return value
		}
		return quote(s + " " + strconv.Itoa(n))
	}
	return nil
}

// bounds are largest values of seeds and colours: 16, 24, 31, 32, 63 and 64
// bits occur in /object_info of ComfyUI 0.29.0, and 53 bits is where whole
// numbers of a browser end.
var bounds = func() []*big.Int {
	var all []*big.Int
	for _, bits := range []uint{16, 24, 31, 32, 53, 63, 64} {
		b := new(big.Int).Lsh(big.NewInt(1), bits)
		all = append(all, b.Sub(b, big.NewInt(1)))
	}
	return all
}()

// count adds k. What passes the smallest bound that base keeps starts again at
// 0: whatever the input's true bound is, the result keeps it.
func count(base *big.Int, k int) *big.Int {
	v := new(big.Int).Add(base, big.NewInt(int64(k)))
	for _, bound := range bounds {
		if base.Cmp(bound) > 0 {
			continue
		}
		if v.Cmp(bound) > 0 {
			v.Sub(v, bound).Sub(v, big.NewInt(1))
		}
		return v
	}
	return v
}

// integer reads a literal whole number, also written as 5.0.
func integer(value json.RawMessage) (*big.Int, bool) {
	s := string(bytes.TrimSpace(value))
	if s == "" || s[0] != '-' && (s[0] < '0' || s[0] > '9') || len(s) > 40 || strings.ContainsAny(s, "eE") {
		return nil, false
	}
	if whole, fraction, ok := strings.Cut(s, "."); ok && strings.Trim(fraction, "0") == "" {
		s = whole
	}
	return new(big.Int).SetString(s, 10)
}

func text(value json.RawMessage) (string, bool) {
	value = bytes.TrimSpace(value)
	if len(value) == 0 || value[0] != '"' {
		return "", false
	}
	var s string
	err := json.Unmarshal(value, &s)
	return s, err == nil
}

func quote(s string) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	// A string always encodes, and into a buffer always writes.
	if err := enc.Encode(s); err != nil {
		panic(err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
