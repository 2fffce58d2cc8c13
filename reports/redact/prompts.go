package redact

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// hidden is a prompt that must not be shown.
type hidden struct {
	text string
	word string         // as it is counted
	mark string         // as it is shown
	re   *regexp.Regexp // nil for one that is too short to be looked for in texts
}

// shortestLine is the least length of a prompt, or a line of one, that is looked for
// in running text: "bad" is a word of many sentences.
const shortestLine = 12

// hide makes a prompt be taken out. Its length stays: memory depends on it.
func (r *Redactor) hide(text string) {
	trimmed := strings.TrimSpace(text)
	if trimmed == "" || slices.ContainsFunc(r.prompts, func(h hidden) bool { return h.text == text }) {
		return
	}
	word := r.mark(Prompt, trimmed)
	mark := fmt.Sprintf("%s: %d characters>", strings.TrimSuffix(word, ">"), utf8.RuneCountInString(text))
	add := func(text string) {
		h := hidden{text: text, word: word, mark: mark}
		if utf8.RuneCountInString(text) >= shortestLine {
			h.re = anyForm(text)
		}
		r.prompts = append(r.prompts, h)
	}
	add(text)
	for line := range strings.Lines(trimmed) {
		if line = strings.TrimSpace(line); line != trimmed && utf8.RuneCountInString(line) >= shortestLine {
			add(line)
		}
	}
	slices.SortStableFunc(r.prompts, func(a, b hidden) int { return cmp.Compare(len(b.text), len(a.text)) })
}

// anyForm matches a text as it is, as JSON and as Python write it.
func anyForm(text string) *regexp.Regexp {
	forms := []string{text}
	if quoted, err := json.Marshal(text); err == nil {
		once := string(quoted[1 : len(quoted)-1])
		forms = append(forms, once, strings.ReplaceAll(once, `\`, `\\`))
	}
	var b strings.Builder
	if e := json.NewEncoder(&b); true {
		e.SetEscapeHTML(false)
		if e.Encode(text) == nil {
			forms = append(forms, strings.TrimSuffix(strings.TrimSpace(b.String())[1:], `"`))
		}
	}
	forms = append(forms, strings.NewReplacer("\n", `\n`, "'", `\'`).Replace(text))
	slices.SortStableFunc(forms, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	for i, f := range forms {
		forms[i] = regexp.QuoteMeta(f)
	}
	return regexp.MustCompile(strings.Join(slices.Compact(forms), "|"))
}

// hidePrompts takes prompts out of running text.
func (r *Redactor) hidePrompts(s string) string {
	for _, h := range r.prompts {
		switch {
		case s == h.text:
			r.used[h.word] = true
			return h.mark
		case h.re != nil && h.re.MatchString(s):
			r.used[h.word] = true
			s = h.re.ReplaceAllLiteralString(s, h.mark)
		}
	}
	return s
}
