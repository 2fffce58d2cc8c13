package comfysim

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// What may differ between a recording and the simulation, and why. Everything
// else must be equal: frames and answers as JSON with their keys in order and
// their values, log lines as text with tags and colours.
var allowedDifferences = []struct{ what, reason string }{
	{"numbers in texts and log lines become N; times, byte counts and file counters in JSON become 0",
		"another machine, another moment"},
	{"prompt ids, the client's id, paths of a trial", "made for each run"},
	{"the device's name: NVIDIA H200 against Simulated GPU (comfysim), cpu against cpu : simulated (comfysim)",
		"nothing that comfysim makes may be taken for a measurement"},
	{"the order of executed and current_outputs", "Python sets: it is random in the recordings"},
	{"the texts of objects in current_inputs", "reprs of tensors; that they are lists of one string is compared"},
	{"progress frames of the middle steps, and the drawings of a bar but its first and last",
		"a step that comes less than 0.1 s after the last is left out: the speed of the machine decides"},
	{"log lines before `Total VRAM`", "the order of kitchen's backends is random, alembic's plugins are its own"},
	{"lines of level DEBUG and aimdo's DEBUG lines, in 029-8gib-verbose-debug",
		"comfysim prints who holds the card, not which files Python imports"},
	{"units and padding in the rows of the memory summary", "they follow the numbers"},
	{"history_at_end", "a race in the recordings: sometimes it is empty, sometimes not"},
	{"the server stands still in 029-ram-capped-5gib-thrash by --sim-fault hang-in-load",
		"without the recording's cgroup the simulated load ends"},
	{"argv[0] of /system_stats", "the path of a checkout against main.py"},
}

var (
	numberPattern = regexp.MustCompile(`\d+(\.\d+)?(e[+-]?\d+)?`)
	hexPattern    = regexp.MustCompile(`0x[0-9a-f]+`)
	uuidPattern   = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{32}`)
	tablePattern  = regexp.MustCompile(` +N (B|[KMG]iB)? +`)
	barPattern    = regexp.MustCompile(`\r *\d+%\|[^|]*\| (\d+)/(\d+) \[[^\]]*?(,[^,\]]*(Initial)[a-z]* [a-z.]+[!.] +)?\] *`)
)

func normalText(s string) string {
	s = strings.ReplaceAll(s, "NVIDIA H200", gpuName)
	s = uuidPattern.ReplaceAllString(s, "ID")
	s = hexPattern.ReplaceAllString(s, "HEX")
	return numberPattern.ReplaceAllString(s, "N")
}

// zeroed are keys whose values belong to one run or one machine.
var zeroed = []string{"timestamp", "create_time", "vram_total", "vram_free", "torch_vram_total", "torch_vram_free",
	"ram_total", "ram_free"}

var sets = []string{"executed", "current_outputs"}

// texts are keys whose strings are compared after normalising.
var normalTexts = []string{"exception_message", "filename", "sid", "prompt_id", "client_id", "name", "body"}

// normal brings a JSON value to the form in which both sides are compared.
func normal(key string, v any) any {
	if slices.Contains(zeroed, key) {
		if _, ok := v.(json.Number); ok {
			return json.Number("0")
		}
	}
	switch v := v.(type) {
	case object:
		out := object{}
		for _, p := range v {
			name := p.key
			if uuidPattern.MatchString(name) {
				name = "ID"
			}
			if key == "current_inputs" {
				out = append(out, pair{name, normalInput(p.value)})
				continue
			}
			out = append(out, pair{name, normal(p.key, p.value)})
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = normal(key, v[i])
		}
		if slices.Contains(sets, key) {
			slices.SortFunc(out, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		}
		return out
	case string:
		if slices.Contains(normalTexts, key) {
			return normalText(v)
		}
		return uuidPattern.ReplaceAllString(v, "ID")
	}
	return v
}

// normalInput keeps literals and the form of the rest.
func normalInput(v any) any {
	list, ok := v.([]any)
	if !ok || len(list) != 1 {
		return v
	}
	s, ok := list[0].(string)
	if ok && (strings.HasPrefix(s, "<") || strings.Contains(s, "tensor")) {
		return []any{"an object"}
	}
	return v
}

// normalEvents makes one line an event. Progress of middle steps is left out
// where only one side has it.
func normalEvents(events []event, keep func(node string, value string) bool) []string {
	var out []string
	for _, e := range events {
		if e.kind == "history_at_end" || e.kind == "frame" && dropped(e.data.(object), keep) {
			continue
		}
		value := normal("", e.data)
		if o, ok := value.(object); ok && e.kind == "post_prompt" {
			if b, ok := o.get("body"); ok { // JSON in a string
				if inner, err := decodeJSON([]byte(b.(string))); err == nil {
					value = o.with("body", normal("", inner))
				}
			}
		}
		text, err := json.Marshal(value)
		if err != nil {
			panic(err) // it came from JSON
		}
		out = append(out, e.kind+" "+strings.ReplaceAll(string(text), `"cpu : simulated (comfysim)"`, `"cpu"`))
	}
	return out
}

// steps are the values of progress frames, each with its prompt's number.
func steps(events []event) map[string]bool {
	out := map[string]bool{}
	prompt := 0
	for _, e := range events {
		if e.kind == "post_prompt" {
			prompt++
		}
		if node, value, ok := progressOf(e); ok {
			out[itoa(prompt)+" "+node+" "+value] = true
		}
	}
	return out
}

func progressOf(e event) (node, value string, ok bool) {
	if e.kind != "frame" {
		return "", "", false
	}
	o := e.data.(object)
	if typ, _ := o.get("type"); typ != "progress" {
		return "", "", false
	}
	data, _ := o.get("data")
	n, _ := data.(object).get("node")
	v, _ := data.(object).get("value")
	return fmt.Sprint(n), fmt.Sprint(v), true
}

// dropped reports whether a frame tells of a step that only one side told of.
func dropped(frame object, keep func(node, value string) bool) bool {
	typ, _ := frame.get("type")
	d, _ := frame.get("data")
	data, _ := d.(object)
	switch typ {
	case "progress":
		node, _ := data.get("node")
		value, _ := data.get("value")
		return !keep(fmt.Sprint(node), fmt.Sprint(value))
	case "progress_state":
		nodes, _ := data.get("nodes")
		for _, p := range nodes.(object) {
			state := p.value.(object)
			running, _ := state.get("state")
			value, _ := state.get("value")
			total, _ := state.get("max")
			if running == "running" && fmt.Sprint(total) != "1.0" && !keep(p.key, fmt.Sprint(value)) {
				return true
			}
		}
	}
	return false
}

// normalLog are the lines from `Total VRAM` on.
func normalLog(log string) []string {
	if i := strings.Index(log, "Total VRAM"); i >= 0 {
		start := strings.LastIndexByte(log[:i], '\n') + 1
		log = log[start:]
	}
	log = normalBars(log)
	log = strings.ReplaceAll(log, "Device: cpu : simulated (comfysim)", "Device: cpu")
	var out []string
	for line := range strings.SplitSeq(strings.TrimSuffix(log, "\n"), "\n") {
		if strings.Contains(line, "[DEBUG]") || strings.HasPrefix(line, "aimdo: ") && strings.Contains(line, ":DEBUG:") &&
			!strings.Contains(line, "hooks successfully installed") {
			continue
		}
		line = normalText(line)
		if strings.HasPrefix(line, "| ") {
			line = tablePattern.ReplaceAllString(line, " N U ")
		}
		out = append(out, line)
	}
	return out
}

// normalBars leaves the first and the last drawing of a bar and what is special
// about it.
func normalBars(log string) string {
	last := ""
	log = barPattern.ReplaceAllStringFunc(log, func(s string) string {
		m := barPattern.FindStringSubmatch(s)
		mark := "first"
		switch {
		case m[4] != "":
			mark = "initializing"
		case m[1] == m[2]:
			mark = "all"
		case m[1] != "0":
			mark = "middle"
		}
		if mark == last && mark != "first" || mark == "middle" {
			return ""
		}
		last = mark
		return "<bar of " + m[2] + ": " + mark + ">"
	})
	// A bar's drawings can end up on several lines when others print meanwhile.
	return regexp.MustCompile(`\n?(<bar of \d+: (initializing|all)>)\n?`).ReplaceAllString(log, "$1\n")
}
