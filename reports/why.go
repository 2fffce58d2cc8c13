package reports

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"memtrix/why"
)

// WhyText writes an answer for a person: what, why, what to change and where, what
// changed, and the way back.
func WhyText(w io.Writer, a why.Answer) error {
	b := bufio.NewWriter(w)
	if !a.Found {
		head := "Nothing failed in what was read."
		if len(a.Read) == 0 {
			head = "No log was read."
		}
		fmt.Fprintln(b, head)
		for _, r := range a.Read {
			fmt.Fprintln(b, "  "+OneLine(r))
		}
		whyNotes(b, a.Warnings)
		return b.Flush()
	}
	said := strings.ToUpper(a.What[:1]) + a.What[1:] + "."
	if a.Repeats > 0 {
		said += fmt.Sprintf(" (So did %s before.)", plural(a.Repeats, "start", "starts"))
	}
	fmt.Fprintln(b, OneLine(said))
	whyRow(b, "why", a.Cause)
	for i, s := range a.Steps {
		if i == mostSteps {
			break
		}
		whyStep(b, i, s)
	}
	if len(a.Steps) == 0 {
		whyRow(b, "change", "no setting is known to help; the lines that tell are below")
		if a.Outcome != nil {
			for _, e := range a.Outcome.Evidence {
				fmt.Fprintln(b, "            | "+OneLine(e))
			}
		}
	}
	whySince(b, a.Since)
	for i, line := range a.Back {
		name := ""
		if i == 0 {
			name = "back"
		}
		whyRow(b, name, line)
	}
	whyRow(b, "read", fmt.Sprintf("%s, %s", a.Log, whyTime(a.Ended)))
	if a.Install != "" {
		whyRow(b, "of", a.Install)
	}
	if a.WellAfter > 0 {
		whyRow(b, "", plural(a.WellAfter, "prompt", "prompts")+" went well after that, in the same start")
	}
	for _, r := range a.Read {
		whyRow(b, "", "newer: "+r)
	}
	whyNotes(b, a.Warnings)
	return b.Flush()
}

// mostSteps are shown; --json has all.
const mostSteps = 3

func whyRow(w io.Writer, name, text string) {
	if text != "" {
		fmt.Fprintf(w, "  %-8s  %s\n", name, OneLine(text))
	}
}

func whyStep(w io.Writer, i int, s why.Step) {
	name := "change"
	if i > 0 {
		name = "or" // without a name it would read as if it went on with what stands above
	}
	text := s.Text
	if len(s.Flags) > 0 {
		text = strings.Join(s.Flags, " ") + ": " + text
	}
	if s.Amount != "" {
		text += " (" + s.Amount + ")"
	}
	whyRow(w, name, text)
	switch p := s.Where; {
	case p == nil:
	case p.File != "":
		whyRow(w, "where", fmt.Sprintf("line %d of %s becomes", p.Line, p.File))
		fmt.Fprintf(w, "%14s%s\n", "", OneLine(p.New)) // set in: it is typed as it stands
		if len(p.Others) > 0 {
			whyRow(w, "", "the same in "+strings.Join(p.Others, ", ")+", if you start with that")
		}
	default:
		whyRow(w, "where", p.Words)
	}
}

func whySince(w io.Writer, s *why.Since) {
	if s == nil {
		return
	}
	var words []string
	const most = 8
	for i, c := range s.Changes {
		if i == most {
			words = append(words, fmt.Sprintf("and %d more", len(s.Changes)-most))
			break
		}
		words = append(words, c.String())
	}
	words = append(words, s.Packages...)
	if s.Source != "" && len(words) > 0 {
		words[len(words)-1] += ", told by " + s.Source
	}
	text := strings.Join(words, "; ")
	switch {
	case s.WellBefore > 0 && text != "":
		text = s.Note + "; the last update: " + text
	case s.Note != "":
		text = strings.TrimPrefix(text+"; "+s.Note, "; ")
	case text == "":
		text = "nothing is known of what it was before: no reflog, no snapshot, no earlier log"
	case s.Worked != "":
		text = "since it worked on " + whyTime(s.Worked) + ": " + text
	}
	whyRow(w, "changed", text)
}

func whyNotes(w io.Writer, all []string) {
	for _, t := range all {
		whyRow(w, "note", t)
	}
}

// whyTime writes a time of a document for people.
func whyTime(text string) string {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return text
	}
	return t.Local().Format("2006-01-02 15:04")
}

// WhyJSON writes an answer as one document.
func WhyJSON(w io.Writer, a why.Answer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(a)
}
