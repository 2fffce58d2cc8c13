package reports

import (
	"io"
	"slices"
	"strings"

	"memtrix"
)

// GitHub takes comments of up to 65,536 characters
// (https://docs.github.com/en/rest/issues/comments, "body is too long"). The table
// may have so many bytes, and each list of remarks.
const (
	mostTable   = 40_000
	mostDetails = 10_000
	mostLine    = 2_000
)

// Markdown writes a short summary of a session as GitHub-flavoured Markdown, for
// the step summary of a CI job or a comment on a pull request: how many ended how,
// then the table with the worst on top, sources and reasons. What would make it longer
// than a comment may be is left out from the end, and said. Its errors are those of w.
func Markdown(w io.Writer, s Session) error {
	sh := newSheet(s)
	var b strings.Builder
	b.WriteString("## memtrix " + escapeMarkdown(sh.title) + "\n\n")
	b.WriteString(headline(s) + "\n\n")
	if len(sh.rows) > 0 {
		writeMarkdownTable(&b, sh)
	}
	writeDetails(&b, "Sources of the numbers", sh.sources)
	writeDetails(&b, "Reasons and remarks", sh.notes)
	_, err := io.WriteString(w, b.String())
	return err
}

// headline is headlineText with what a person must not miss in bold.
func headline(s Session) string {
	before, failed, ok := strings.Cut(headlineText(s), "; ")
	if !ok || Failed(s.Trials) == 0 {
		return headlineText(s)
	}
	return before + "; **" + strings.TrimSuffix(failed, ".") + "**."
}

// headlineText counts outcomes: "6 pass, 1 oom; 2 trials not as expected."
func headlineText(s Session) string {
	counts := map[memtrix.OutcomeKind]int{}
	var kinds []memtrix.OutcomeKind
	for _, e := range s.entries() {
		if e.trial == nil {
			continue
		}
		if counts[e.trial.Outcome.Kind]++; counts[e.trial.Outcome.Kind] == 1 {
			kinds = append(kinds, e.trial.Outcome.Kind)
		}
	}
	slices.SortStableFunc(kinds, func(a, b memtrix.OutcomeKind) int { return counts[b] - counts[a] })
	var words []string
	for _, k := range kinds {
		words = append(words, plural(counts[k], string(k), string(k)))
	}
	switch failed := Failed(s.Trials); {
	case len(s.Trials) == 0:
		return "No trials."
	case failed > 0:
		return strings.Join(words, ", ") + "; " + plural(failed, "trial", "trials") + " not as expected."
	}
	return strings.Join(words, ", ") + "; all as expected."
}

func writeMarkdownTable(b *strings.Builder, sh sheet) {
	head, rule := "|", "|"
	for _, c := range sh.columns {
		head += " " + strings.Join(headerLines(c), " ") + " |"
		if c.right {
			rule += " ---: |"
		} else {
			rule += " --- |"
		}
	}
	b.WriteString(head + "\n" + rule + "\n")
	start := b.Len()
	for n, r := range sh.rows {
		line := "|"
		for i, c := range r {
			line += " " + markdownCell(sh.columns[i], c) + " |"
		}
		if b.Len()-start+len(line) > mostTable {
			b.WriteString("\n" + plural(len(sh.rows)-n, "row", "rows") + " more, none of them worse: `memtrix report` shows all.\n")
			break
		}
		b.WriteString(line + "\n")
	}
	b.WriteString("\n")
}

func markdownCell(col column, c cell) string {
	text, mark := escapeMarkdown(c.text), escapeMarkdown(c.mark)
	if c.tone == bad {
		text = "**" + text + "**"
	}
	switch {
	case mark == "":
		return text
	case col.right:
		return "_" + mark + "_ " + text
	}
	return text + " (_" + mark + "_)"
}

func writeDetails(b *strings.Builder, title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	b.WriteString("<details><summary>" + title + "</summary>\n\n")
	start := b.Len()
	for n, line := range lines {
		if len(line) > mostLine {
			line = strings.ToValidUTF8(line[:mostLine], "") + " …"
		}
		text := "- " + escapeMarkdown(line) + "\n"
		if b.Len()-start+len(text) > mostDetails {
			b.WriteString("- " + plural(len(lines)-n, "line", "lines") + " more: `memtrix report` shows all.\n")
			break
		}
		b.WriteString(text)
	}
	b.WriteString("\n</details>\n")
}

// markdownEscaper keeps text from ending a table cell or turning into markup:
// server messages and names of settings have pipes, underscores and brackets.
var markdownEscaper = strings.NewReplacer(
	`\`, `\\`, "|", `\|`, "*", `\*`, "_", `\_`, "`", "\\`", "<", "&lt;", ">", "&gt;", "&", "&amp;",
	"[", `\[`, "]", `\]`, "#", `\#`, "@", "&#64;", "~", `\~`,
)

func escapeMarkdown(text string) string {
	return markdownEscaper.Replace(OneLine(text))
}
