package comfysim

import "strings"

// usageText is the text that argparse of Python 3.12 prints before an error, on
// a terminal of 80 columns.
func usageText(defs []flagDef) string {
	const prefix, prog, width = "usage: ", "main.py", 78
	indent := strings.Repeat(" ", len(prefix)+len(prog)+1)
	parts := append([]string{prog}, usageParts(usageString(defs))...)
	var lines []string
	var line []string
	length := len(prefix) - 1
	for _, part := range parts {
		if length+1+len(part) > width && len(line) > 0 {
			lines = append(lines, strings.Join(line, " "))
			line, length = nil, len(indent)-1
		}
		line = append(line, part)
		length += len(part) + 1
	}
	lines = append(lines, strings.Join(line, " "))
	return prefix + strings.Join(lines, "\n"+indent) + "\n"
}

// usageString is the whole usage on one line: each flag in brackets, exclusive
// ones together.
func usageString(defs []flagDef) string {
	parts := []string{"[-h]"}
	for i := 0; i < len(defs); {
		j := i + 1
		for defs[i].group != "" && j < len(defs) && defs[j].group == defs[i].group {
			j++
		}
		words := make([]string, 0, j-i)
		for _, d := range defs[i:j] {
			words = append(words, d.usage())
		}
		parts = append(parts, "["+strings.Join(words, " | ")+"]")
		i = j
	}
	return strings.Join(parts, " ")
}

func (d flagDef) usage() string {
	meta := d.metavar
	switch {
	case meta != "":
	case len(d.choices) > 0:
		meta = "{" + strings.Join(d.choices, ",") + "}"
	default:
		meta = strings.ToUpper(strings.ReplaceAll(strings.TrimPrefix(d.name, "--"), "-", "_"))
	}
	switch d.nargs {
	case "0":
		return d.name
	case "?":
		return d.name + " [" + meta + "]"
	case "*":
		return d.name + " [" + meta + " ...]"
	case "+":
		return d.name + " " + meta + " [" + meta + " ...]"
	}
	return d.name + " " + meta
}

// usageParts cuts the usage where argparse may break a line. Its regular
// expression takes a bracket up to the first "]" that is followed by a blank,
// whether or not that one closes it.
func usageParts(s string) []string {
	var parts []string
	for s = strings.TrimLeft(s, " "); s != ""; s = strings.TrimLeft(s, " ") {
		end := strings.IndexByte(s, ' ')
		if s[0] == '[' {
			end = strings.Index(s, "] ")
			if end >= 0 {
				end++
			}
		}
		if end < 0 {
			end = len(s)
		}
		parts = append(parts, s[:end])
		s = s[end:]
	}
	return parts
}
