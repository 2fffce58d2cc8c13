package comfysim

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// verdict is what validate_prompt answers.
type verdict struct {
	err        object // nil: at least one output can run
	good       []string
	nodeErrors object
}

// validator checks one prompt as execution.validate_prompt does.
type validator struct {
	sim     *sim
	g       *graph
	results object // node id to nodeResult, in the order in which they were found
}

type nodeResult struct {
	ok      bool
	reasons []object
}

func problem(typ, message, details string, extra object) object {
	if extra == nil {
		extra = object{}
	}
	return object{{"type", typ}, {"message", message}, {"details", details}, {"extra_info", extra}}
}

// validate checks a prompt and prints what is wrong with it, as the server does.
func (s *sim) validate(g *graph) verdict {
	v := &validator{sim: s, g: g}
	var outputs []string
	for _, id := range g.ids {
		n := g.nodes[id]
		info := s.nodes[n.class]
		if info == nil {
			return verdict{err: s.missingClass(n), nodeErrors: object{}}
		}
		if info.output {
			outputs = append(outputs, id)
		}
	}
	if len(outputs) == 0 {
		return verdict{err: problem("prompt_no_outputs", "Prompt has no outputs", "", nil), nodeErrors: object{}}
	}
	out := verdict{nodeErrors: object{}}
	var details []string
	for _, id := range outputs {
		result := v.output(id)
		if result.ok {
			out.good = append(out.good, id)
			continue
		}
		for _, r := range result.reasons {
			details = append(details, reasonLine(r))
		}
		out.nodeErrors = v.report(id, result, out.nodeErrors)
	}
	if len(out.good) == 0 {
		out.err = problem("prompt_outputs_failed_validation", "Prompt outputs failed validation",
			strings.Join(details, "\n"), nil)
	}
	return out
}

func (s *sim) missingClass(n *graphNode) object {
	details := fmt.Sprintf("Node ID '#%s'", n.id)
	title := n.title
	if title == "" {
		title = n.class
	}
	if n.class == "" {
		return problem(s.cfg.ver.missingType, fmt.Sprintf("Node '%s' has no class_type. The workflow may be corrupted or a custom node is missing.",
			"ID #"+n.id), details, object{{"node_id", n.id}, {"class_type", nil}, {"node_title", nil}})
	}
	if s.cfg.ver.missingType == "invalid_prompt" {
		return problem("invalid_prompt", fmt.Sprintf("Cannot execute because node %s does not exist.", n.class), details, nil)
	}
	return problem("missing_node_type", fmt.Sprintf("Node '%s' not found. The custom node may not be installed.", title),
		details, object{{"node_id", n.id}, {"class_type", n.class}, {"node_title", title}})
}

func reasonLine(r object) string {
	message, _ := r.get("message")
	details, _ := r.get("details")
	return fmt.Sprintf("%v: %v", message, details)
}

// report prints what is wrong below an output and adds it to the answer.
func (v *validator) report(output string, result nodeResult, errors object) object {
	log := v.sim.log
	log.fail("Failed to validate prompt for output %s:", output)
	if len(result.reasons) > 0 {
		log.fail("* (prompt):")
		for _, r := range result.reasons {
			log.fail("  - %s", reasonLine(r))
		}
	}
	for _, p := range v.results {
		res := p.value.(nodeResult)
		if res.ok || len(res.reasons) == 0 {
			continue
		}
		entry, known := errors.get(p.key)
		if !known {
			class := v.g.nodes[p.key].class
			log.fail("* %s %s:", class, p.key)
			for _, r := range res.reasons {
				log.fail("  - %s", reasonLine(r))
			}
			entry = object{{"errors", res.reasons}, {"dependent_outputs", []string{}}, {"class_type", class}}
		}
		dependent, _ := entry.(object).get("dependent_outputs")
		errors = errors.with(p.key, entry.(object).with("dependent_outputs", append(dependent.([]string), output)))
	}
	log.fail("Output will be ignored")
	return errors
}

// keyError is Python's KeyError for a node that is not in the prompt.
type keyError struct{ id string }

func (e keyError) Error() string { return pyRepr(e.id) }

func (v *validator) output(id string) nodeResult {
	result, err := v.node(id, nil)
	if err == nil {
		return result
	}
	result = nodeResult{reasons: []object{problem("exception_during_validation", "Exception when validating node", err.Error(),
		object{{"exception_type", "KeyError"}, {"traceback", validationFrames()}})}}
	v.results = v.results.with(id, result)
	return result
}

func validationFrames() []string {
	return []string{"  File \"/opt/ComfyUI/execution.py\", line 1100, in validate_prompt\n",
		"  File \"/opt/ComfyUI/execution.py\", line 870, in validate_inputs\n"}
}

// node checks one node and what it depends on. The error is a keyError. path
// holds the nodes above it, so that a circle ends.
func (v *validator) node(id string, path []string) (nodeResult, error) {
	if r, ok := v.results.get(id); ok {
		return r.(nodeResult), nil
	}
	n := v.g.nodes[id]
	info := v.sim.nodes[n.class].withFiles(&v.sim.cfg.folders)
	result := nodeResult{ok: true}
	for _, in := range info.inputs {
		reason, below, err := v.input(n, in, append(path, id))
		if err != nil {
			return result, err
		}
		if reason != nil {
			result.reasons = append(result.reasons, reason)
		}
		result.ok = result.ok && below && reason == nil
	}
	v.results = v.results.with(id, result)
	return result, nil
}

// input checks one input. below is false when something further up is wrong.
func (v *validator) input(n *graphNode, in inputInfo, path []string) (reason object, below bool, err error) {
	value, there := n.inputs.get(in.name)
	if !there {
		if in.required {
			return problem("required_input_missing", "Required input is missing", in.name,
				object{{"input_name", in.name}}), true, nil
		}
		return nil, true, nil
	}
	about := object{{"input_name", in.name}, {"input_config", in.raw}, {"received_value", value}}
	if list, ok := value.([]any); ok {
		if len(list) != 2 {
			return problem("bad_linked_input", "Bad linked input, must be a length-2 list of [node_id, slot_index]",
				in.name, about), true, nil
		}
		return v.linked(n, in, list, path)
	}
	if wrapped, ok := value.(object); ok {
		if inner, ok := wrapped.get("__value__"); ok {
			value = inner
		}
	}
	if n.class == "LoadImage" && in.name == "image" { // it checks by itself
		return in.imageFile(value, about), true, nil
	}
	return in.literal(value, about), true, nil
}

func (in inputInfo) imageFile(value any, about object) object {
	if slices.Contains(in.choices, pyStr(value)) {
		return nil
	}
	return problem("custom_validation_failed", "Custom validation failed for node",
		fmt.Sprintf("%s - Invalid image file: %s", in.name, pyStr(value)), about)
}

// linked checks an input that comes from another node.
func (v *validator) linked(n *graphNode, in inputInfo, list []any, path []string) (object, bool, error) {
	from := pyStr(list[0])
	l, ok := asLink(list)
	source := v.g.nodes[from]
	if !ok || source == nil {
		return nil, false, keyError{from}
	}
	outputs := v.sim.nodes[source.class].outputs
	if l.slot < 0 || l.slot >= len(outputs) {
		return nil, false, keyError{strconv.Itoa(l.slot)}
	}
	if got, want := outputs[l.slot], in.wanted(); got != want && want != "*" {
		details := fmt.Sprintf("%s, received_type(%s) mismatch input_type(%s)", in.name, got, want)
		return problem("return_type_mismatch", "Return type mismatch between linked nodes", details,
			object{{"input_name", in.name}, {"input_config", in.raw}, {"received_type", got}, {"linked_node", list}}), true, nil
	}
	if slices.Contains(path, from) {
		return problem("dependency_cycle", "Dependency cycle detected", in.name, object{{"input_name", in.name}}), true, nil
	}
	result, err := v.node(from, path)
	if err != nil {
		inner := problem("exception_during_inner_validation", "Exception when validating inner node", err.Error(), object{
			{"input_name", in.name}, {"input_config", in.raw}, {"exception_message", err.Error()},
			{"exception_type", "KeyError"}, {"traceback", validationFrames()}, {"linked_node", list}})
		v.results = v.results.with(from, nodeResult{reasons: []object{inner}})
		return nil, false, nil
	}
	return nil, result.ok, nil
}

func (in inputInfo) wanted() string {
	if in.typ == "" {
		return "COMBO"
	}
	return in.typ
}

// literal checks a value that stands in the prompt itself.
func (in inputInfo) literal(value any, about object) object {
	switch in.typ {
	case "INT", "FLOAT":
		return in.number(value, about)
	case "":
		return in.choice(value, about)
	}
	return nil
}

func (in inputInfo) number(value any, about object) object {
	f, err := pyNumber(value, in.typ)
	if err != nil {
		return problem("invalid_input_type", fmt.Sprintf("Failed to convert an input value to a %s value", in.typ),
			fmt.Sprintf("%s, %s, %s", in.name, pyStr(value), err), about.with("exception_message", err.Error()))
	}
	for _, bound := range []struct {
		key, typ, word string
		sign           int
	}{{"min", "value_smaller_than_min", "smaller than min", -1}, {"max", "value_bigger_than_max", "bigger than max", 1}} {
		limit, ok := in.opts.get(bound.key)
		if !ok {
			continue
		}
		lim, _, err := big.ParseFloat(fmt.Sprint(limit), 10, 128, big.ToNearestEven)
		if err == nil && f.Cmp(lim) == bound.sign {
			return problem(bound.typ, fmt.Sprintf("Value %s %s of %v", pyStr(value), bound.word, limit), in.name, about)
		}
	}
	return nil
}

// pyNumber is int(value) or float(value). Seeds need more bits than a float has.
func pyNumber(value any, typ string) (*big.Float, error) {
	switch v := value.(type) {
	case json.Number:
		f, _, err := big.ParseFloat(v.String(), 10, 128, big.ToNearestEven)
		return f, err
	case bool:
		if v {
			return big.NewFloat(1), nil
		}
		return big.NewFloat(0), nil
	case string:
		text := strings.TrimSpace(v)
		if typ == "INT" {
			if i, ok := new(big.Int).SetString(text, 10); ok {
				return new(big.Float).SetPrec(128).SetInt(i), nil
			}
			return nil, fmt.Errorf("invalid literal for int() with base 10: %s", pyRepr(v))
		}
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(f) {
			return nil, fmt.Errorf("could not convert string to float: %s", pyRepr(v))
		}
		return big.NewFloat(f), nil
	}
	kind := "dict"
	if value == nil {
		kind = "NoneType"
	}
	if typ == "INT" {
		return nil, fmt.Errorf("int() argument must be a string, a bytes-like object or a real number, not '%s'", kind)
	}
	return nil, fmt.Errorf("float() argument must be a string or a real number, not '%s'", kind)
}

func (in inputInfo) choice(value any, about object) object {
	if s, ok := value.(string); ok && slices.Contains(in.choices, s) {
		return nil
	}
	list := fmt.Sprintf("(list of length %d)", len(in.choices))
	if len(in.choices) <= 20 {
		list = pyRepr(in.raw[0])
	} else {
		about = about.with("input_config", nil)
	}
	return problem("value_not_in_list", "Value not in list", fmt.Sprintf("%s: '%s' not in %s", in.name, pyStr(value), list), about)
}
