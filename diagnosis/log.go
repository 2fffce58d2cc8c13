package diagnosis

import (
	"regexp"
	"slices"
	"strings"

	"memtrix"
)

// failure is an exception or a refusal, from an event or from the log.
type failure struct {
	typ, message string
	node         *memtrix.Node
	traceback    string
	refused      bool
	// index is the line where the log tells it, -1 where it does not.
	index int
	// stepped: the node had reported a step.
	stepped bool
}

// whole is what rules look at.
func (f *failure) whole() string {
	if f.typ == "" || strings.HasPrefix(f.message, f.typ) {
		return f.message
	}
	return f.typ + ": " + f.message
}

// headline is the first line that says something, with the type.
func (f *failure) headline() string {
	first, _, _ := strings.Cut(strings.TrimSpace(f.message), "\n")
	first = strings.TrimSpace(first)
	switch {
	case first == "":
		return f.typ
	case f.typ == "" || strings.HasPrefix(first, f.typ):
		return first
	}
	return f.typ + ": " + first
}

var (
	// "Exception during processing!!!" from 2024-04-19 to 2024-08-15.
	duringProcessing = regexp.MustCompile(`!!! Exception during processing ?!!! ?(.*)`)
	// The last line of a traceback, and the form in which it is quoted.
	exceptionLine = regexp.MustCompile(`^([A-Za-z_][\w.]*(?:Error|Exception|Interrupt|Exit))(?:: (.*))?$`)
	// The report that ComfyUI's frontend writes, perhaps without the Markdown.
	executing  = regexp.MustCompile(`^Error occurred when executing ([\w.+ -]+?):\s*(.*)$`)
	dialogLine = regexp.MustCompile(`^([\w.]+(?:Error|Exception)) (\d[\d.:]*) (\w+) ([\w.]+(?:Error|Exception) .*)$`)
	reportLine = regexp.MustCompile(`^(?:- )?\*{0,2}(Node ID|Node Type|Exception Type|Exception Message):\*{0,2}\s*(.*)$`)
)

// Lines of a message and of a traceback that are read.
const (
	mostOfMessage   = 200
	mostOfTraceback = 4000
)

const tracebackHead = "Traceback (most recent call last):"

// exceptions are the failures of nodes that the log tells, in order.
func exceptions(lines []line) []failure {
	var found []failure
	for i := 0; i < len(lines); i++ {
		if !strings.Contains(lines[i].text, "!!! Exception") {
			continue
		}
		m := duringProcessing.FindStringSubmatch(lines[i].text)
		if m == nil {
			continue
		}
		f := failure{index: i, message: m[1]}
		j := i + 1
		for ; j < len(lines) && j < i+mostOfMessage && continues(lines[j]); j++ {
			f.message += "\n" + lines[j].text
		}
		if j < len(lines) && lines[j].text == tracebackHead {
			f.traceback, f.typ = readTraceback(lines[j+1 : min(len(lines), j+1+mostOfTraceback)])
		}
		found = append(found, f)
	}
	return found
}

// continues says that a line belongs to the message above it: it has no level,
// and is no other thing that is known to follow.
func continues(l line) bool {
	return l.level == "" && !l.bar && !strings.Contains(l.text, "!!! Exception") && l.text != tracebackHead && l.text != "" && !exceptionLine.MatchString(l.text) &&
		!strings.HasPrefix(l.text, "Prompt executed in ") && !strings.HasPrefix(l.text, "Got an OOM") && l.text != "got prompt"
}

// readTraceback gives the frames and the type of the exception. Of exceptions
// that came one after another the last is the one that was not caught.
func readTraceback(lines []line) (frames, typ string) {
	var b strings.Builder
	for _, l := range lines {
		if l.level != "" || l.bar {
			break
		}
		if m := exceptionLine.FindStringSubmatch(l.text); m != nil {
			typ = m[1]
			continue
		}
		if strings.HasPrefix(l.text, "  ") {
			b.WriteString(l.text)
			b.WriteByte('\n')
		}
		if strings.HasPrefix(l.text, "Prompt executed in ") || l.text == "got prompt" {
			break
		}
	}
	return b.String(), typ
}

// report reads the fields of an error report, nil where there is none.
func report(lines []line) *failure {
	var f failure
	var node memtrix.Node
	for i, l := range lines {
		if strings.HasPrefix(l.text, "Error occurred when executing ") {
			if m := executing.FindStringSubmatch(l.text); m != nil {
				return &failure{index: i, node: &memtrix.Node{ClassType: m[1]}, message: m[2] + "\n" + textAfter(lines, i)}
			}
		}
		if !strings.Contains(l.text, "Error ") && !strings.Contains(l.text, "Exception ") && !strings.Contains(l.text, "Node ") {
			continue
		}
		if m := dialogLine.FindStringSubmatch(l.text); m != nil {
			return &failure{index: i, typ: m[1], node: &memtrix.Node{ID: m[2], ClassType: m[3]}, message: m[4]}
		}
		if !strings.Contains(l.text, "Node ") && !strings.Contains(l.text, "Exception ") {
			continue
		}
		m := reportLine.FindStringSubmatch(l.text)
		if m == nil {
			continue
		}
		value := strings.TrimSpace(m[2])
		switch m[1] {
		case "Node ID":
			node.ID = value
		case "Node Type":
			node.ClassType = value
		case "Exception Type":
			f.typ = value
		case "Exception Message":
			f.message, f.index = value, i
		}
	}
	if f.typ == "" && f.message == "" {
		return nil
	}
	if node != (memtrix.Node{}) {
		f.node = &node
	}
	return &f
}

// textAfter is what an old front end wrote under its heading: the message, up to
// the traceback.
func textAfter(lines []line, i int) string {
	const most = 12
	var b strings.Builder
	for _, l := range lines[i+1 : min(len(lines), i+1+most)] {
		if strings.HasPrefix(l.text, "  ") || strings.HasPrefix(l.text, "File \"") || l.text == tracebackHead {
			break
		}
		b.WriteString(l.text)
		b.WriteByte('\n')
	}
	return strings.TrimSpace(b.String())
}

// loose finds a text of the rules that stands for itself: a traceback that nobody
// announced, a line of the kernel, or one quoted line. Of several the rule that
// says most decides, then the first. Nothing before the end of the last prompt
// counts: ComfyUI announces what fails one, and what a start-up survived is no
// failure.
func loose(lines []line) *failure {
	start := afterLastPrompt(lines)
	var found *failure
	var priority int
	for i := start; i < len(lines); i++ {
		l := lines[i]
		if !l.telling {
			continue
		}
		f := looseAt(lines, i)
		if ruleFor(MeansRetry, l.text, noLines) != nil || ruleFor(MeansFallBack, l.text, noLines) != nil {
			continue
		}
		rule := ruleFor(MeansFailure, f.whole(), func() string { return before(lines, i) })
		if rule == nil || found != nil && rule.Priority <= priority {
			continue
		}
		found, priority = f, rule.Priority
	}
	return found
}

func looseAt(lines []line, i int) *failure {
	l := lines[i]
	f := &failure{index: i, message: l.text}
	if m := exceptionLine.FindStringSubmatch(l.text); m != nil {
		f.typ, f.message = m[1], m[2]
		if i > 0 {
			f.traceback = framesBefore(lines[:i])
		}
	}
	for j := i + 1; j < len(lines) && j < i+8 && detail(lines[j].text); j++ {
		f.message += "\n" + lines[j].text
	}
	return f
}

// unannounced is the last exception of an excerpt: a log that shows neither a
// start-up nor a prompt was quoted for what it ends with. In a whole log other
// exceptions may have been handled.
func unannounced(lines []line) *failure {
	if whole(lines) {
		return nil
	}
	for i := len(lines) - 1; i >= 0; i-- {
		if m := exceptionLine.FindStringSubmatch(lines[i].text); m != nil {
			return &failure{index: i, typ: m[1], message: m[2], traceback: framesBefore(lines[:i])}
		}
	}
	return nil
}

// whole says that a log is no excerpt: it shows a start-up or a prompt.
func whole(lines []line) bool {
	return slices.ContainsFunc(lines, func(l line) bool {
		return lives(l.text) || strings.HasPrefix(l.text, "Starting server") || strings.Contains(l.text, "IMPORT FAILED") || strings.Contains(l.text, "Cannot import")
	})
}

// afterLastPrompt is where to look for what was not announced. In a log that
// shows no prompt's start, which is an excerpt, that is everywhere.
func afterLastPrompt(lines []line) int {
	start, whole := 0, false
	for i, l := range lines {
		switch {
		case l.text == "got prompt":
			whole = true
		case whole && strings.HasPrefix(l.text, "Prompt executed in "), strings.HasPrefix(l.text, "To see the GUI go to: "):
			start = i + 1
		}
	}
	return start
}

// detail is a line of cudaMallocAsync's table.
func detail(text string) bool {
	return strings.HasPrefix(text, "Currently allocated") || strings.HasPrefix(text, "Requested ") ||
		strings.HasPrefix(text, "Device limit") || strings.HasPrefix(text, "Free (according to CUDA)")
}

// framesBefore are the frames right above the last line of a traceback.
func framesBefore(lines []line) string {
	i := len(lines)
	for i > 0 && len(lines)-i < mostOfMessage && strings.HasPrefix(lines[i-1].text, "  ") {
		i--
	}
	var b strings.Builder
	for _, l := range lines[i:] {
		b.WriteString(l.text)
		b.WriteByte('\n')
	}
	return b.String()
}

// before is the text around a line that may explain it: mostly in front of it.
func before(lines []line, i int) string {
	const far = 20
	var b strings.Builder
	for _, l := range lines[max(0, i-far):min(i+2, len(lines))] {
		b.WriteString(l.text)
		b.WriteByte('\n')
	}
	return b.String()
}

// hidden are lines of what did not fail a prompt: memory that ran out and was got
// round, or a slower way that was taken.
func hidden(lines []line, means Meaning) []string {
	const most = 1000
	var found []string
	for _, l := range lines {
		if !l.telling || ruleFor(means, l.text, noLines) == nil {
			continue
		}
		if found = append(found, l.text); len(found) == most {
			break
		}
	}
	return found
}

// kernelLine is the word of the kernel, or of whoever watches over it, that a
// process was ended for memory.
func kernelLine(lines []line) (string, bool) {
	const itsWord = 90
	for _, l := range lines {
		if !l.telling {
			continue
		}
		if r := ruleFor(MeansFailure, l.text, noLines); r != nil && r.How == memtrix.HowSignal && r.Priority >= itsWord {
			return strings.TrimSpace(l.text), true
		}
	}
	return "", false
}

// openInLog says that the log ends in the middle of a prompt.
func openInLog(lines []line) bool {
	open := false
	for _, l := range lines {
		switch {
		case l.text == "got prompt":
			open = true
		case strings.HasPrefix(l.text, "Prompt executed in "):
			open = false
		}
	}
	return open
}

// readyInLog says that the server answered: it has said where, or took a prompt
// or, in an excerpt, worked on one.
func readyInLog(lines []line) bool {
	for _, l := range lines {
		for _, sign := range []string{"To see the GUI go to: ", "got prompt", "Requested to load ", "loaded completely", "loaded partially", "Prompt executed in "} {
			if strings.HasPrefix(l.text, sign) {
				return true
			}
		}
	}
	return false
}

var (
	invalidNode  = regexp.MustCompile(`^\* ([^:]+) (\S+):$`)
	invalidInput = regexp.MustCompile(`^\s+- (.+)$`)
	missingNode  = regexp.MustCompile(`'node_id': '([^']*)', 'class_type': '([^']*)'`)
	messageField = regexp.MustCompile(`'message': (?:'([^']*)'|"([^"]*)")`)
)

// refusedInLog is the first refusal of a workflow that the log tells.
func refusedInLog(lines []line) *failure {
	for i, l := range lines {
		switch {
		case strings.HasPrefix(l.text, "Failed to validate prompt for output"):
			if f := failedValidation(lines, i); f != nil {
				return f
			}
		case strings.HasPrefix(l.text, "invalid prompt: {"):
			f := failure{index: i, refused: true, message: l.text}
			if m := messageField.FindStringSubmatch(l.text); m != nil {
				f.message = m[1] + m[2]
			}
			if m := missingNode.FindStringSubmatch(l.text); m != nil {
				f.node = &memtrix.Node{ID: m[1], ClassType: m[2]}
			}
			return &f
		}
	}
	return nil
}

// failedValidation reads "* CLASS ID:" and the "  - why" under it.
func failedValidation(lines []line, at int) *failure {
	var node *memtrix.Node
	for i := at + 1; i < len(lines) && i < at+40; i++ {
		text := lines[i].text
		if m := invalidNode.FindStringSubmatch(text); m != nil {
			node = &memtrix.Node{ID: m[2], ClassType: m[1]}
		} else if m := invalidInput.FindStringSubmatch(text); m != nil {
			return &failure{index: i, refused: true, node: node, message: m[1]}
		} else if text == "Output will be ignored" {
			break
		}
	}
	return nil
}
