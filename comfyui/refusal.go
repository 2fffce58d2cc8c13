package comfyui

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"memtrix"
)

// refusal is the body of a POST /prompt that was not accepted.
type refusal struct {
	Error struct {
		Type    string          `json:"type"`
		Message string          `json:"message"`
		Details string          `json:"details"`
		Extra   json.RawMessage `json:"extra_info"`
	} `json:"error"`
	NodeErrors json.RawMessage `json:"node_errors"`
}

// nodeError is what validation says about one node.
type nodeError struct {
	ClassType string `json:"class_type"`
	Errors    []struct {
		Type    string          `json:"type"`
		Message string          `json:"message"`
		Details string          `json:"details"`
		Extra   json.RawMessage `json:"extra_info"`
	} `json:"errors"`
}

// extra is the part of extra_info that helps a person.
type extra struct {
	Input     string            `json:"input_name"`
	Config    []json.RawMessage `json:"input_config"`
	Received  any               `json:"received_value"`
	NodeID    nodeID            `json:"node_id"`
	ClassType string            `json:"class_type"`
}

// parseNodeErrors is lenient: releases have sent [] and null for none.
func parseNodeErrors(raw json.RawMessage) map[string]nodeError {
	var errs map[string]nodeError
	if json.Unmarshal(raw, &errs) != nil {
		return nil
	}
	return errs
}

func parseExtra(raw json.RawMessage) extra {
	var x extra
	// Fields of unexpected form stay empty; the texts say the same.
	_ = json.Unmarshal(raw, &x)
	return x
}

// options finds what an input of a class allows, where validation left that out
// (lists of more than 20). It may ask the server.
type options func(class, input string) []string

// refusals turns the node errors of an answer into failures, one for each input
// that is wrong, in the order of node ids.
func refusals(raw json.RawMessage, graph map[string]memtrix.GraphNode, ask options) []memtrix.Failure {
	errs := parseNodeErrors(raw)
	var found []memtrix.Failure
	for _, id := range slices.Sorted(maps.Keys(errs)) {
		ne := errs[id]
		for _, e := range ne.Errors {
			x := parseExtra(e.Extra)
			message := fmt.Sprintf("node %s%s (%s)", id, ownTitle(graph[id]), ne.ClassType)
			if x.Input != "" {
				message += fmt.Sprintf(", input %q", x.Input)
			}
			message += ": " + e.Message
			if e.Details != "" {
				message += ": " + cut(e.Details, 600)
			}
			message += allowed(e.Type, e.Details, ne.ClassType, x, ask)
			found = append(found, memtrix.Failure{Type: e.Type, Message: message, Refused: true, Node: nodeOf(graph, id, "", ne.ClassType)})
		}
	}
	return found
}

// ownTitle is a person's name for a node, with a space before it.
func ownTitle(n memtrix.GraphNode) string {
	if n.Meta == nil || n.Meta.Title == "" || n.Meta.Title == n.ClassType {
		return ""
	}
	return fmt.Sprintf(" %q", n.Meta.Title)
}

// allowed names what an input takes, where the text does not say it already.
func allowed(kind, details, class string, x extra, ask options) string {
	switch kind {
	case "value_not_in_list":
		choices := comboOptions(x.Config)
		if strings.Contains(details, "not in [") && len(choices) > 0 {
			return ""
		}
		if len(choices) == 0 && ask != nil {
			choices = ask(class, x.Input)
		}
		if len(choices) == 0 {
			return ""
		}
		near := nearest(fmt.Sprint(x.Received), choices, 5)
		return fmt.Sprintf("; allowed are %d values, the most alike: %s", len(choices), strings.Join(near, ", "))
	case "value_smaller_than_min", "value_bigger_than_max":
		var limits struct{ Min, Max json.RawMessage }
		if len(x.Config) > 1 && json.Unmarshal(x.Config[1], &limits) == nil && limits.Min != nil && limits.Max != nil {
			return fmt.Sprintf("; allowed is %s to %s", limits.Min, limits.Max)
		}
	}
	return ""
}

// comboOptions reads the allowed values of an input's definition: a list in its
// first place, or "COMBO" there and a list of options behind.
func comboOptions(config []json.RawMessage) []string {
	if len(config) == 0 {
		return nil
	}
	var list []any
	if json.Unmarshal(config[0], &list) != nil {
		var more struct {
			Options []any `json:"options"`
		}
		if len(config) < 2 || json.Unmarshal(config[1], &more) != nil {
			return nil
		}
		list = more.Options
	}
	texts := make([]string, len(list))
	for i, item := range list {
		texts[i] = fmt.Sprint(item)
	}
	return texts
}

// wholeRefusal turns an answer that is no 200 into failures.
func wholeRefusal(e *StatusError, graph map[string]memtrix.GraphNode, ask options) []memtrix.Failure {
	var r refusal
	if json.Unmarshal(e.Body, &r) != nil || r.Error.Type == "" {
		return []memtrix.Failure{{Type: fmt.Sprintf("http-%d", e.Status), Message: e.Error(), Refused: true}}
	}
	if found := refusals(r.NodeErrors, graph, ask); len(found) > 0 {
		return found
	}
	x := parseExtra(r.Error.Extra)
	message := r.Error.Message
	if x.NodeID != "" && !strings.Contains(r.Error.Details, string(x.NodeID)) {
		message = fmt.Sprintf("node %s (%s): %s", x.NodeID, x.ClassType, message)
	}
	if details := strings.TrimSpace(r.Error.Details); details != "" {
		message += " (" + cut(details, 600) + ")"
	}
	return []memtrix.Failure{{Type: r.Error.Type, Message: message, Refused: true, Node: nodeOf(graph, string(x.NodeID), "", x.ClassType)}}
}

// optionsOf asks the server for the values that an input takes.
func (c *client) optionsOf(ctx context.Context) options {
	return func(class, input string) []string {
		var info map[string]struct {
			Input map[string]map[string][]json.RawMessage `json:"input"`
		}
		data, err := c.do(ctx, http.MethodGet, "/object_info/"+url.PathEscape(class), nil)
		if err != nil {
			return nil
		}
		// Hidden inputs have another form; what is readable before them counts.
		_ = json.Unmarshal(data, &info)
		for _, group := range []string{"required", "optional"} {
			if config, ok := info[class].Input[group][input]; ok {
				return comboOptions(config)
			}
		}
		return nil
	}
}

// nearest gives the n choices that differ least from the word.
func nearest(word string, choices []string, n int) []string {
	sorted := slices.Clone(choices)
	slices.SortStableFunc(sorted, func(a, b string) int {
		return distance(word, a) - distance(word, b)
	})
	return sorted[:min(n, len(sorted))]
}

// distance is the number of letters to insert, drop or change, case aside.
func distance(a, b string) int {
	a, b = strings.ToLower(a), strings.ToLower(b)
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
