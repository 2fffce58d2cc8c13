package convert

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Texts that the front end changes when a prompt is queued.

// savePrefixed are the classes whose filename_prefix may hold %...%
// (extensions/core/saveImageExtraOutput.ts).
var savePrefixed = []string{
	"SaveImage", "SaveImageAdvanced", "SaveSVGNode", "SaveVideo", "SaveAnimatedWEBP", "SaveWEBM", "SaveAudio",
	"SaveAudioMP3", "SaveAudioOpus", "SaveAudioAdvanced", "SaveGLB", "Save3DAdvanced", "SaveGaussianSplat",
	"SavePointCloud", "SaveAnimatedPNG", "CLIPSave", "VAESave", "ModelSave", "LoraSave", "SaveLatent",
}

var comments = regexp.MustCompile(`(?s)/\*.*?\*/|//[^\n\r\x{2028}\x{2029}]*`)

// dynamicPrompt removes comments and replaces {a|b} by one of its choices
// (formatUtil.ts, processDynamicPrompt). choose gives a number below n.
func dynamicPrompt(s string, choose func(n int) int) string {
	return dynamicPart(s, choose, 0)
}

// maxBraces bounds how deep choices nest.
const maxBraces = 200

func dynamicPart(s string, choose func(n int) int, depth int) string {
	if depth > maxBraces {
		return s
	}
	s = comments.ReplaceAllString(s, "")
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			out.WriteString(escaped(s, i))
			i++
		case '{':
			var choices []string
			choices, i = choicesAt(s, i+1)
			out.WriteString(dynamicPart(choices[choose(len(choices))], choose, depth+1))
		default:
			out.WriteByte(s[i])
		}
	}
	return unescaped.ReplaceAllString(out.String(), "$1")
}

var unescaped = regexp.MustCompile(`\\([{}|])`)

// escaped is a backslash with what follows. The front end takes the end of a
// text for a letter of that name.
func escaped(s string, i int) string {
	if i+1 == len(s) {
		return `\undefined`
	}
	return s[i : i+2]
}

// choicesAt reads a|b up to the brace that closes it, and gives its place.
func choicesAt(s string, from int) (choices []string, end int) {
	var one strings.Builder
	depth := 0
	i := from
	for ; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\':
			one.WriteString(escaped(s, i))
			i++
			continue
		case c == '{':
			depth++
		case c == '}' && depth == 0:
			return append(choices, one.String()), i
		case c == '}':
			depth--
		case c == '|' && depth == 0:
			choices = append(choices, one.String())
			one.Reset()
			continue
		}
		one.WriteByte(s[i])
	}
	return append(choices, one.String()), i
}

var (
	replaced  = regexp.MustCompile(`%([^%]+)%`)
	unfit     = regexp.MustCompile(`[/?<>\\:*|"\x00-\x1F\x7F]`)
	dateParts = regexp.MustCompile(`dd?|MM?|hh?|mm?|ss?|yyy?y?`)
)

// replace puts dates and widgets' values in the place of %...%
// (searchAndReplace.ts).
func replace(s string, nodes []*node, now time.Time) string {
	return replaced.ReplaceAllStringFunc(s, func(all string) string {
		inner := all[1 : len(all)-1]
		parts := strings.Split(inner, ".")
		if len(parts) != 2 {
			if format, ok := strings.CutPrefix(parts[0], "date:"); ok {
				return date(format, now)
			}
			return all
		}
		n := namedNode(nodes, parts[0])
		if n == nil {
			return all
		}
		for _, w := range append(n.widgets[:len(n.widgets):len(n.widgets)], n.promoted()...) {
			if w.name == parts[1] {
				return unfit.ReplaceAllString(asText(w.value), "_")
			}
		}
		return all
	})
}

// namedNode finds a node by its name for this purpose, else by its title.
func namedNode(nodes []*node, name string) *node {
	for _, n := range nodes {
		if n.searchName() == name {
			return n
		}
	}
	for _, n := range nodes {
		if n.title == name {
			return n
		}
	}
	return nil
}

// searchName is the property "Node name for S&R", by default the type.
func (n *node) searchName() string {
	const property = "Node name for S&R"
	if s, ok := n.props[property].(string); ok {
		return s
	}
	if _, there := n.props[property]; there || n.class == nil {
		return ""
	}
	for _, save := range savePrefixed {
		if n.typ == save {
			return ""
		}
	}
	return n.typ
}

func asText(v any) string {
	switch v := v.(type) {
	case nil, absent:
		return ""
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	case float64:
		return number(v)
	case []any:
		parts := make([]string, len(v))
		for i, item := range v {
			parts[i] = asText(item)
		}
		return strings.Join(parts, ",")
	}
	return "[object Object]"
}

func date(format string, now time.Time) string {
	return dateParts.ReplaceAllStringFunc(format, func(part string) string {
		n := 0
		switch part[0] {
		case 'd':
			n = now.Day()
		case 'M':
			n = int(now.Month())
		case 'h':
			n = now.Hour()
		case 'm':
			n = now.Minute()
		case 's':
			n = now.Second()
		default:
			switch year := strconv.Itoa(now.Year()); part {
			case "yy":
				return year[min(2, len(year)):]
			case "yyyy":
				return year
			}
			return part
		}
		s := strconv.Itoa(n)
		if len(s) < len(part) {
			s = "0" + s
		}
		return s
	})
}
