package convert

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"memtrix"
)

// Finding is something about a prompt that a server will most likely refuse.
type Finding struct {
	Problem
	Input string // "" where it is about the node
	// Kind is missing-node, missing-model, missing-file, not-in-list,
	// out-of-range, wrong-type or missing-input.
	Kind string
	// Certain: no server of these classes takes it. The others hold for all
	// classes without checks of their own, which /object_info does not tell.
	Certain bool
}

func (f Finding) String() string {
	if f.Input == "" {
		return f.Problem.String()
	}
	p := f.Problem
	p.Reason = fmt.Sprintf("input %q: %s", f.Input, p.Reason)
	return p.String()
}

// Check holds a prompt against the classes of a server, and finds all at once:
// classes, models and files that the server does not have, values that are in no
// list, out of range or of another type, and inputs that are not there. packs
// are those that the workflow names, by node type.
func Check(prompt map[string]memtrix.GraphNode, defs *Defs, packs map[string]string) []Finding {
	var all []Finding
	ids := make([]string, 0, len(prompt))
	for id := range prompt {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, compareIDs)
	for _, id := range ids {
		n := prompt[id]
		c := &checker{id: id, node: n}
		class := defs.class(n.ClassType)
		if class == nil {
			reason := "the server has no node class of this name"
			if pack := packs[n.ClassType]; pack != "" {
				reason += "; the workflow says it is of the pack " + pack
			}
			c.add("", "missing-node", true, "%s", reason)
		} else {
			c.inputs(class.defined, "", 0)
		}
		all = append(all, c.found...)
	}
	return all
}

type checker struct {
	id    string
	node  memtrix.GraphNode
	found []Finding
}

func (c *checker) add(input, kind string, certain bool, format string, args ...any) {
	f := Finding{Input: input, Kind: kind, Certain: certain}
	f.Node, f.Type, f.Reason = c.id, c.node.ClassType, fmt.Sprintf(format, args...)
	if c.node.Meta != nil {
		f.Title = c.node.Meta.Title
	}
	c.found = append(c.found, f)
}

func (c *checker) inputs(specs []*spec, prefix string, depth int) {
	for _, s := range specs {
		name := prefix + s.name
		raw, there := c.node.Inputs[name]
		switch {
		case s.typ == "COMFY_AUTOGROW_V3" || frontEndOnly[s.typ]:
		case !there && s.optional:
		case !there:
			c.add(name, "missing-input", false, "it is required and is not there")
		default:
			var v any
			if json.Unmarshal(raw, &v) != nil || isLink(v) {
				continue
			}
			c.value(s, name, v, depth)
		}
	}
}

// frontEndOnly are types that no definition of a server has.
var frontEndOnly = map[string]bool{"IMAGEUPLOAD": true, "AUDIOUPLOAD": true, "AUDIO_UI": true, "PREVIEW_3D": true}

func isLink(v any) bool {
	l, ok := v.([]any)
	if !ok || len(l) != 2 {
		return false
	}
	_, id := l[0].(string)
	_, slot := l[1].(float64)
	return id && slot
}

func (c *checker) value(s *spec, name string, v any, depth int) {
	switch s.typ {
	case "COMBO":
		c.choice(s, name, v)
	case "COMFY_DYNAMICCOMBO_V3":
		c.dynamic(s, name, v, depth)
	case "INT", "FLOAT":
		c.number(s, name, v)
	}
}

func (c *checker) choice(s *spec, name string, v any) {
	if s.is("multiselect") || s.is("multi_select") || dict(s.opts["remote"]) != nil || slices.ContainsFunc(s.values, func(o any) bool { return same(o, v) }) {
		return
	}
	value := asText(v)
	upload := slices.ContainsFunc([]string{"image_upload", "video_upload", "audio_upload", "file_upload", "animated_image_upload"}, s.is)
	switch {
	case upload:
		c.add(name, "missing-file", false, "the server has no input file %q", short(value))
	case len(s.values) == 0 && value == "":
		c.add(name, "not-in-list", false, "nothing is chosen, and the server has nothing to choose from")
	case isModelName(value):
		c.add(name, "missing-model", false, "the server has no model %q there%s", short(value), alike3(s.values, value))
	default:
		c.add(name, "not-in-list", false, "%q is none of the %d values that it takes%s", short(value), len(s.values), alike3(s.values, value))
	}
}

func same(a, b any) bool {
	switch a := a.(type) {
	case string, bool, float64:
		return a == b
	}
	return false
}

var modelEndings = []string{".safetensors", ".sft", ".ckpt", ".pt", ".pt2", ".pth", ".bin", ".gguf", ".pkl", ".onnx"}

func isModelName(name string) bool {
	return slices.Contains(modelEndings, strings.ToLower(path.Ext(strings.ReplaceAll(name, `\`, "/"))))
}

// alike3 names up to three values that share most of the name's words.
func alike3(values []any, name string) string {
	if len(values) == 0 {
		return " (it has none)"
	}
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return strings.ContainsRune(`_-./\ `, r) })
	type near struct {
		name  string
		count int
	}
	var best []near
	for _, v := range values {
		s, ok := v.(string)
		if !ok {
			continue
		}
		n := near{name: s}
		for _, w := range words {
			if strings.Contains(strings.ToLower(s), w) {
				n.count++
			}
		}
		best = append(best, n)
	}
	slices.SortStableFunc(best, func(a, b near) int { return b.count - a.count })
	var names []string
	for _, n := range best[:min(3, len(best))] {
		names = append(names, n.name)
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("; of %d, the most alike: %s", len(values), strings.Join(names, ", "))
}

func (c *checker) dynamic(s *spec, name string, v any, depth int) {
	var choices []choice
	_ = json.Unmarshal(s.raw["options"], &choices)
	var keys []any
	for _, ch := range choices {
		keys = append(keys, ch.Key)
		if ch.Key == v && depth < maxDepth {
			c.inputs(append(parseSpecs(ch.Inputs["required"], false), parseSpecs(ch.Inputs["optional"], true)...), name+".", depth+1)
			return
		}
	}
	c.add(name, "not-in-list", false, "%q is none of the %d values that it takes%s", short(asText(v)), len(keys), alike3(keys, asText(v)))
}

// number checks as execution.py does: what Python's int and float read is good.
func (c *checker) number(s *spec, name string, v any) {
	var f float64
	switch v := v.(type) {
	case float64:
		f = v
	case bool:
		if v {
			f = 1
		}
	case string:
		var err error
		if f, err = strconv.ParseFloat(strings.TrimSpace(v), 64); err != nil {
			c.add(name, "wrong-type", false, "%q is no number (%s)", short(v), s.typ)
			return
		}
	default:
		c.add(name, "wrong-type", false, "%s is no number (%s)", short(string(Canonical(v))), s.typ)
		return
	}
	low, hasLow := s.opts["min"].(float64)
	high, hasHigh := s.opts["max"].(float64)
	// Both ends went through float64, in which 2^64-1 is 2^64.
	if hasLow && f < low || hasHigh && f > high {
		c.add(name, "out-of-range", false, "%s is not within %s and %s", number(f), bound(s, "min"), bound(s, "max"))
	} else if hasHigh && f == high && f >= 1<<53 && overflows(c.node.Inputs[name], s.raw["max"]) {
		c.add(name, "out-of-range", false, "%s is above %s: a browser rounds such numbers, and this one up", c.node.Inputs[name], s.raw["max"])
	}
}

// short keeps a value readable in a message.
func short(value string) string {
	const most = 200 // characters; longer than names of files
	if runes := []rune(value); len(runes) > most {
		return string(runes[:most]) + "..."
	}
	return value
}

// overflows compares two whole numbers above 2^53 by their digits.
func overflows(value, limit json.RawMessage) bool {
	a, b := string(value), string(limit)
	return len(a) > len(b) || len(a) == len(b) && a > b
}

func bound(s *spec, name string) string {
	if raw := s.raw[name]; len(raw) > 0 {
		return string(raw)
	}
	return "no limit"
}
