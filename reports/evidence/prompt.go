package evidence

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"memtrix"
	"memtrix/internal/pyjson"
	"memtrix/reports/redact"
	"memtrix/workflows"
)

// SentPrompt is one prompt as the server got it.
type SentPrompt struct {
	Number int // 1 for the first
	// Body is that of POST /prompt.
	Body []byte
	// Source says where it is known from.
	Source string
}

// mostPrompts bounds the prompts of a bundle: of more, the last ones are there.
const mostPrompts = 20

const (
	fromHistory  = "the server's history"
	fromFile     = "the prompt that memtrix sent"
	fromWorkflow = "the stored workflow, varied as memtrix did"
)

// sent gives the prompts up to the one that failed.
func sent(r *redact.Redactor, in Input) ([]SentPrompt, error) {
	t := in.Trial
	n := len(t.Prompts)
	if n == 0 && t.Outcome.Kind != memtrix.StartupFailure && t.Outcome.Kind != memtrix.NotApplicable {
		n = 1 // the one that it was about
	}
	told := histories(in.Events)
	base := graphOf(in)
	var list []SentPrompt
	for k := max(1, n-mostPrompts+1); k <= n; k++ {
		p := SentPrompt{Number: k, Source: fromHistory}
		var graph any
		if k <= len(t.Prompts) && told[t.Prompts[k-1].ID] != nil {
			graph = told[t.Prompts[k-1].ID]
		} else if base != nil {
			p.Source = fromWorkflow
			if in.Prompt != nil {
				p.Source = fromFile
			}
			w := t.Cell.Workflow
			w.Graph = base
			graph = workflows.Vary(w, k)
		} else {
			continue
		}
		data, err := json.Marshal(map[string]any{"prompt": graph})
		if err != nil {
			return nil, fmt.Errorf("prompt %d: %w", k, err)
		}
		if p.Body, err = r.JSON(data); err != nil {
			return nil, fmt.Errorf("prompt %d: %w", k, err)
		}
		list = append(list, p)
	}
	return list, nil
}

// histories finds the graphs that the server itself wrote down, by prompt id: the
// third item of "prompt" in its history (ComfyUI, execution.py, PromptQueue).
func histories(events []byte) map[string]json.RawMessage {
	found := map[string]json.RawMessage{}
	for line := range bytes.Lines(events) {
		if !bytes.Contains(line, []byte(`"history": {`)) {
			continue
		}
		var l struct {
			History map[string]struct {
				Prompt []json.RawMessage `json:"prompt"`
			} `json:"history"`
		}
		if json.Unmarshal(pyjson.Standard(line), &l) != nil {
			continue
		}
		for id, h := range l.History {
			if len(h.Prompt) > 2 {
				found[id] = h.Prompt[2]
			}
		}
	}
	return found
}

// graphOf is the workflow as a prompt, nil where it never became one.
func graphOf(in Input) map[string]memtrix.GraphNode {
	w := in.Trial.Cell.Workflow
	if w.UI == nil {
		return w.Graph
	}
	var graph map[string]memtrix.GraphNode
	if in.Prompt == nil || json.Unmarshal(pyjson.Standard(in.Prompt), &graph) != nil {
		return nil
	}
	return graph
}

// original is the workflow's file: in the front end's form where it was so.
func original(r *redact.Redactor, w memtrix.Workflow) ([]byte, error) {
	data := []byte(w.UI)
	if w.UI == nil {
		if len(w.Graph) == 0 {
			return nil, nil
		}
		var err error
		if data, err = json.Marshal(w.Graph); err != nil {
			return nil, fmt.Errorf("workflow %s: %w", w.Name, err)
		}
	}
	out, err := r.JSON(data)
	if err != nil {
		return nil, fmt.Errorf("workflow %s: %w", w.Name, err)
	}
	return out, nil
}

// promptInputs are names of inputs that hold what a person wrote.
var promptInputs = []string{"text", "prompt", "positive", "negative", "text_g", "text_l", "clip_l", "clip_g", "t5xxl", "llama", "string", "wildcard_text",
	"populated_text", "tags", "lyrics", "caption", "system_prompt", "instruction", "user_prompt", "negative_prompt", "positive_prompt", "text_positive", "text_negative", "value"}

// prefixInputs are names of inputs that hold how output files are called: people name
// them for what they work on.
var prefixInputs = []string{"filename_prefix", "file_prefix", "prefix", "filename", "file_name", "output_path", "output_name", "save_path", "subfolder"}

// prefixTexts are an output's name and its last part, which logs have alone. That of
// ComfyUI itself says nothing.
func prefixTexts(name string) []string {
	if strings.TrimSpace(name) == "" || name == "ComfyUI" {
		return nil
	}
	if last := path.Base(slashed(name)); last != name && last != "ComfyUI" {
		return []string{name, last}
	}
	return []string{name}
}

// promptTexts are the texts to hide: in prompts by the names of inputs, in the front
// end's form, which has no names, those of nodes whose class says that they hold text.
func promptTexts(graph map[string]memtrix.GraphNode, w memtrix.Workflow) []string {
	var list []string
	for _, id := range slices.Sorted(maps.Keys(graph)) {
		n := graph[id]
		for _, name := range slices.Sorted(maps.Keys(n.Inputs)) {
			var text string
			if json.Unmarshal(n.Inputs[name], &text) != nil || strings.TrimSpace(text) == "" {
				continue
			}
			if slices.Contains(promptInputs, strings.ToLower(name)) || strings.Contains(text, "\n") {
				list = append(list, text)
			} else if slices.Contains(prefixInputs, strings.ToLower(name)) {
				list = append(list, prefixTexts(text)...)
			}
		}
	}
	for _, c := range w.Changes {
		var text string
		_, input, _ := strings.Cut(c.Path, ".")
		if slices.Contains(prefixInputs, input) && json.Unmarshal(c.Value, &text) == nil {
			list = append(list, prefixTexts(text)...)
			continue
		}
		if json.Unmarshal(c.Value, &text) == nil && strings.Contains(text, " ") {
			list = append(list, text)
		}
	}
	var ui any
	if w.UI != nil && json.Unmarshal(w.UI, &ui) == nil {
		list = append(list, widgetTexts(ui)...)
	}
	return list
}

// widgetTexts finds the values of text widgets anywhere in a workflow, subgraphs
// included.
func widgetTexts(v any) []string {
	var list []string
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			list = append(list, widgetTexts(item)...)
		}
	case map[string]any:
		class, _ := v["type"].(string)
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if k == "widgets_values" && holdsText(class) {
				list = append(list, stringsIn(v[k])...)
				continue
			}
			// The front end's form has no names of inputs: what a node that saves has
			// first is how its files are called.
			if values, ok := v[k].([]any); ok && k == "widgets_values" && len(values) > 0 && strings.Contains(strings.ToLower(class), "save") {
				if text, ok := values[0].(string); ok {
					list = append(list, prefixTexts(text)...)
				}
			}
			if text, ok := v[k].(string); ok && slices.Contains(prefixInputs, k) {
				list = append(list, prefixTexts(text)...)
			}
			list = append(list, widgetTexts(v[k])...)
		}
	}
	return list
}

func holdsText(class string) bool {
	low := strings.ToLower(class)
	return slices.ContainsFunc([]string{"text", "prompt", "string", "note", "wildcard", "caption", "lyrics", "primitive"}, func(w string) bool { return strings.Contains(low, w) })
}

func stringsIn(v any) []string {
	switch v := v.(type) {
	case string:
		// The words of choices are no prompts.
		if slices.Contains([]string{"fixed", "randomize", "increment", "decrement", "none", "disable", "enable", "default", ""}, v) {
			return nil
		}
		return []string{v}
	case []any:
		var list []string
		for _, item := range v {
			list = append(list, stringsIn(item)...)
		}
		return list
	case map[string]any:
		var list []string
		for _, k := range slices.Sorted(maps.Keys(v)) {
			list = append(list, stringsIn(v[k])...)
		}
		return list
	}
	return nil
}

// sizeInputs are numbers on which memory and time depend, in the order in which they
// are shown.
var sizeInputs = []string{"width", "height", "length", "frames", "video_frames", "num_frames", "batch_size", "steps", "tile_size", "seconds"}

// sizes are those of a prompt: "4 EmptyLatentImage: width 1024, height 1024,
// batch_size 1; 5 KSampler: steps 20".
func sizes(r *redact.Redactor, graph map[string]memtrix.GraphNode) string {
	const most = 4
	var list []string
	for _, id := range slices.SortedFunc(maps.Keys(graph), byNumber) {
		n := graph[id]
		var words []string
		for _, name := range sizeInputs {
			var value json.Number
			if json.Unmarshal(n.Inputs[name], &value) == nil && value != "" {
				words = append(words, name+" "+value.String())
			}
		}
		if len(words) > 0 && len(list) < most {
			list = append(list, r.Text(id+" "+n.ClassType)+": "+strings.Join(words, ", "))
		}
	}
	return strings.Join(list, "; ")
}

// byNumber puts "2" before "10".
func byNumber(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b)) }
