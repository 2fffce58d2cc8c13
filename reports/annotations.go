package reports

import (
	"fmt"
	"io"
	"strings"

	"memtrix"
	"memtrix/history"
)

// mostAnnotations is how many GitHub shows of one kind and step
// (https://docs.github.com/en/actions/reference/limits).
const mostAnnotations = 10

// Annotations writes workflow commands that GitHub shows beside a run
// (https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands):
// an error for each alarm and for each trial that ended unexpectedly, a notice for what
// was fixed.
func Annotations(w io.Writer, trials []*memtrix.Trial, r Review) error {
	var b strings.Builder
	n := 0
	add := func(level, title, text string) {
		if n++; n <= mostAnnotations {
			fmt.Fprintf(&b, "::%s title=%s::%s\n", level, property(title), message(text))
		}
	}
	for _, a := range r.Opened {
		add("error", fmt.Sprintf("memtrix alarm %d", a.ID), a.Title)
	}
	for _, t := range trials {
		if !t.AsExpected() {
			text := outcomeText(t)
			if t.Outcome.Message != "" {
				text += ": " + t.Outcome.Message
			}
			c := t.Cell
			add("error", fmt.Sprintf("%s, %s on %s", c.Workflow.Name, c.Settings, c.Version.Name), text)
		}
	}
	for _, a := range r.Fixed {
		add("notice", fmt.Sprintf("memtrix alarm %d is fixed", a.ID), a.Title)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// ChangeAnnotations writes an error for each change that makes a command fail.
func ChangeAnnotations(w io.Writer, changes []history.Change) error {
	var b strings.Builder
	for i, c := range changes {
		if i == mostAnnotations {
			break
		}
		fmt.Fprintf(&b, "::error title=%s::%s\n", property("memtrix: "+c.Where()), message(c.What()+" ("+c.From+" -> "+c.To+")"))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// message and property escape as GitHub's own toolkit does (actions/toolkit,
// packages/core/src/command.ts).
func message(text string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(Lines(text))
}

func property(text string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(message(OneLine(text)))
}
