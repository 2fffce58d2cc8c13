package evidence

import (
	"strings"

	"memtrix/comfyui"
)

// readable is a log as a person reads it: without colours, and of progress bars what
// was drawn last. Indents and levels stay.
func readable(raw string) []string {
	var lines []string
	for line := range strings.Lines(raw) {
		line = strings.ToValidUTF8(strings.TrimSuffix(line, "\n"), "\uFFFD")
		kept := false
		for _, token := range comfyui.Clean(line) {
			if token.Redrawn {
				continue
			}
			text := token.Text
			if token.Level != "" {
				text = "[" + token.Level + "] " + text
			}
			if token.Stamp != "" {
				text = "[" + token.Stamp + "] " + text
			}
			lines, kept = append(lines, text), true
		}
		if !kept && strings.Trim(line, "\r \t") == "" {
			lines = append(lines, "")
		}
	}
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

const (
	// A comment on GitHub takes 65536 characters; the report leaves room for the rest.
	mostLog = 36000
	// longestLine is how much of a line the report shows.
	longestLine = 400
	// startPart is the part of the room that the start-up gets: it names versions and
	// devices.
	startPart = 0.4
)

// excerpt is the log for the report: all of it where it fits, else its start and its
// end, which is where the failure is; log.txt has the rest.
func excerpt(lines []string) (text string, left int) {
	short := make([]string, len(lines))
	total := 0
	for i, line := range lines {
		if runes := []rune(line); len(runes) > longestLine {
			line = string(runes[:longestLine]) + " ... (more in log.txt)"
		}
		// A fence in the text would end the one around it.
		short[i] = strings.ReplaceAll(line, "```", "'''")
		total += len(short[i]) + 1
	}
	if total <= mostLog {
		return strings.Join(short, "\n"), 0
	}
	head, tail := 0, len(short)
	for room := int(startPart * mostLog); head < tail && room > 0; head++ {
		room -= len(short[head]) + 1
	}
	for room := int((1 - startPart) * mostLog); tail > head && room > 0; tail-- {
		room -= len(short[tail-1]) + 1
	}
	left = tail - head
	middle := "[...]"
	return strings.Join(short[:head], "\n") + "\n" + middle + "\n" + strings.Join(short[tail:], "\n"), left
}
