package matrix

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"memtrix"
)

// word reads a scalar that must say something. Numbers come as written.
func (r *reader) word(n ast.Node, what string) (string, bool) {
	text, ok := scalarText(n)
	if !ok {
		r.wrong(n, what+" needs a word")
		return "", false
	}
	if strings.TrimSpace(text) == "" {
		r.fail(position(n), "%s is empty", what)
		return "", false
	}
	if strings.ContainsAny(text, "\n\r") {
		r.fail(position(n), "%s must be one line", what)
		return "", false
	}
	if i := strings.IndexFunc(text, unicode.IsControl); i >= 0 {
		r.fail(position(n), "%s has a control character (%q)", what, []rune(text[i:])[0])
		return "", false
	}
	return text, true
}

// count reads a whole number from 1 to top.
func (r *reader) count(n ast.Node, what string, top int, into *int) {
	text, ok := scalarText(n)
	if !ok {
		r.wrong(n, what+" needs a whole number")
		return
	}
	v, err := strconv.Atoi(text)
	if err != nil || v < 1 || v > top {
		r.fail(position(n), "%s needs a whole number from 1 to %d, not %q", what, top, shorten(text))
		return
	}
	*into = v
}

// onOff reads a switch.
func (r *reader) onOff(n ast.Node, what string, into *bool) {
	text, ok := scalarText(n)
	word := asSwitch(text)
	if !ok || word != "on" && word != "off" {
		r.wrong(n, what+" needs on or off")
		return
	}
	*into = word == "on"
}

// asSwitch turns the words that YAML takes for booleans into on and off, and
// leaves all others as they are.
func asSwitch(text string) string {
	switch strings.ToLower(text) {
	case "on", "yes", "true":
		return "on"
	case "off", "no", "false":
		return "off"
	}
	return text
}

// longest bounds all times of a spec: sums of them must stay far from what a
// time.Duration can hold, which is 292 years.
const longest = 8760 * time.Hour

// duration reads a time with a unit from least to most. Where off is allowed,
// that word and a plain 0 give 0.
func (r *reader) duration(n ast.Node, what string, offAllowed bool, least, most time.Duration, into *time.Duration) {
	text, ok := scalarText(n)
	if !ok {
		r.wrong(n, what+" needs a time such as 30s, 5m or 1h30m")
		return
	}
	if offAllowed && (asSwitch(text) == "off" || text == "0") {
		*into = 0
		return
	}
	d, err := time.ParseDuration(strings.ReplaceAll(text, " ", ""))
	if err != nil {
		if _, numErr := strconv.ParseFloat(text, 64); numErr == nil {
			r.fail(position(n), "%s: %q has no unit; write %ss for seconds", what, text, text)
			return
		}
		r.fail(position(n), "%s needs a time such as 10ms, 30s, 5m or 1h30m, not %q", what, shorten(text))
		return
	}
	if d < least {
		r.fail(position(n), "%s needs a time of %v or more, not %s", what, least, text)
		return
	}
	if d > most {
		r.fail(position(n), "%s needs a time of %s or less, not %s", what, brief(most.Seconds()), text)
		return
	}
	*into = d
}

// Sizes of memory are binary here, as ComfyUI's and NVML's are.
var sizePattern = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?) *([KMGT]iB)$`)
var decimalSizePattern = regexp.MustCompile(`(?i)^([0-9]+(?:\.[0-9]+)?) *([KMGT])B?$`)

var sizeUnits = map[string]float64{"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}

// parseSize reads the size of a card, "8GiB" or "8192MiB", as bytes.
func parseSize(text string) (int64, error) {
	m := sizePattern.FindStringSubmatch(text)
	if m == nil {
		if d := decimalSizePattern.FindStringSubmatch(text); d != nil {
			return 0, fmt.Errorf("write it as %s%siB", d[1], strings.ToUpper(d[2]))
		}
		return 0, fmt.Errorf("write it as 8GiB or 8192MiB")
	}
	number, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		return 0, err
	}
	bytes := number * sizeUnits[m[2]]
	if bytes < 1<<20 || bytes > 1<<50 {
		return 0, fmt.Errorf("that is no size of a card")
	}
	return int64(bytes), nil
}

// settings reads setting: value pairs. What is wrong is reported and left out.
func (r *reader) settings(n ast.Node, what string) memtrix.Settings {
	out := memtrix.Settings{}
	fields, _ := r.mapping(n, what)
	for _, f := range fields {
		r.setting(f, out)
	}
	return out
}

func (r *reader) setting(f field, into memtrix.Settings) {
	def, ok := r.settingName(f.key, f.at)
	if !ok {
		return
	}
	if value, ok := r.settingValue(def, f.value); ok {
		into[def.Name] = value
	}
}

func (r *reader) settingName(name string, at pos) (memtrix.SettingDef, bool) {
	def, ok := memtrix.Setting(name)
	if !ok {
		names := make([]string, len(memtrix.SettingDefs))
		for i, d := range memtrix.SettingDefs {
			names[i] = d.Name
		}
		r.fail(at, "unknown setting %q%s", name, suggest(name, names))
	}
	return def, ok
}

// settingValue reads a value in the form in which equal values are equal texts.
func (r *reader) settingValue(def memtrix.SettingDef, n ast.Node) (string, bool) {
	text, ok := scalarText(n)
	if !ok {
		r.wrong(n, fmt.Sprintf("setting %q needs one value", def.Name))
		return "", false
	}
	value, err := canonical(def, text)
	if err != nil {
		r.fail(position(n), "%v", err)
		return "", false
	}
	return value, true
}

func canonical(def memtrix.SettingDef, text string) (string, error) {
	// The word itself first: vram-mode has a value "no", which YAML 1.1 takes
	// for a boolean.
	if slices.Contains(def.Words, text) {
		return text, nil
	}
	if s := asSwitch(text); s != text && def.Check(s) == nil {
		return s, nil
	}
	if err := def.Check(text); err != nil {
		return "", err
	}
	number, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(number, 0) || number > 1e9 {
		return "", fmt.Errorf("setting %q: %s is no number (%s)", def.Name, shorten(text), def.Number)
	}
	if whole := def.Number == "streams" || def.Number == "entries"; whole && number != math.Trunc(number) {
		return "", fmt.Errorf("setting %q needs a whole number (%s), not %s", def.Name, def.Number, text)
	}
	return strconv.FormatFloat(number, 'f', -1, 64), nil
}

// jsonValue turns a YAML value into the JSON that a workflow's input gets.
// Numbers keep their digits: a seed may have 64 bits.
func (r *reader) jsonValue(n ast.Node, what string) (json.RawMessage, bool) {
	switch n := n.(type) {
	case *ast.NullNode:
		r.fail(position(n), "%s has no value", what)
		return nil, false
	case *ast.BoolNode:
		return json.RawMessage(strconv.FormatBool(n.Value)), true
	case *ast.IntegerNode, *ast.FloatNode:
		return r.jsonNumber(n, what)
	case *ast.StringNode:
		// The YAML parser takes 1e3 and numbers above 64 bits for text.
		if n.GetToken().Type == token.StringType && numberPattern.MatchString(n.Value) {
			return json.RawMessage(n.Value), true
		}
		return quoteJSON(n.Value), true
	case *ast.LiteralNode:
		return quoteJSON(n.Value.Value), true
	case *ast.SequenceNode:
		items := make([]json.RawMessage, len(n.Values))
		for i, v := range n.Values {
			item, ok := r.jsonValue(v, what)
			if !ok {
				return nil, false
			}
			items[i] = item
		}
		data, err := json.Marshal(items)
		return data, err == nil
	}
	r.wrong(n, what+" needs a number, a text, on/off as true/false, or a list")
	return nil, false
}

var numberPattern = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

func (r *reader) jsonNumber(n ast.Node, what string) (json.RawMessage, bool) {
	text := strings.ReplaceAll(n.GetToken().Value, "_", "")
	if json.Valid([]byte(text)) {
		return json.RawMessage(text), true
	}
	if v, ok := new(big.Int).SetString(text, 0); ok {
		return json.RawMessage(v.String()), true
	}
	if v, err := strconv.ParseFloat(text, 64); err == nil && !math.IsInf(v, 0) && !math.IsNaN(v) {
		data, err := json.Marshal(v)
		return data, err == nil
	}
	r.fail(position(n), "%s: %s is not a number that JSON can hold", what, shorten(text))
	return nil, false
}

func quoteJSON(s string) json.RawMessage {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	// A string always encodes, and into a builder always writes.
	if err := enc.Encode(s); err != nil {
		panic(err)
	}
	return json.RawMessage(strings.TrimSuffix(b.String(), "\n"))
}
