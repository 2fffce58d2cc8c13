package reports

import (
	"strconv"
	"strings"
	"testing"

	"memtrix"
)

func markdownText(t *testing.T, s Session) string {
	t.Helper()
	var b strings.Builder
	if err := Markdown(&b, s); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestMarkdown(t *testing.T) {
	golden(t, "summary.md", markdownText(t, nightly()))
}

// Text of servers and specs must not break the table or become markup.
func TestMarkdownEscapes(t *testing.T) {
	s := Session{Name: "a|b", Trials: []*memtrix.Trial{
		fails(point(1, "pr:1 <b>|*x*\n|", on("a_b_c", "d|e"), 1, 1, 1), memtrix.Outcome{Kind: memtrix.Error, Message: "one\ntwo\x1b[31m | `three`"}),
	}}
	text := markdownText(t, s)
	for line := range strings.SplitSeq(text, "\n") {
		if !strings.HasPrefix(line, "|") {
			continue
		}
		if got, want := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|"), 9; got != want {
			t.Errorf("want %d cell borders, got %d: %s", want, got, line)
		}
	}
	if strings.Contains(text, "<b>") || strings.Contains(text, "\x1b") {
		t.Errorf("markup came through: %s", text)
	}
}

func TestMarkdownHeadline(t *testing.T) {
	check := func(s Session, want string) {
		t.Helper()
		if got := headline(s); got != want {
			t.Errorf("want %q, got %q", want, got)
		}
	}
	check(Session{}, "No trials.")
	check(Session{Trials: []*memtrix.Trial{point(1, "a", nil, 1, 1, 1)}}, "1 pass; all as expected.")
	check(nightly(), "5 pass, 2 oom, 1 startup-failure; **2 trials not as expected**.")
}

// TestMarkdownBound holds GitHub's limit for the body of a comment.
func TestMarkdownBound(t *testing.T) {
	var s Session
	for i := range int64(900) {
		tr := point(i+1, "0.29.0", on("reserve-vram", strconv.FormatInt(i, 10)), 100, 100, 100)
		tr.Warnings = []string{strconv.FormatInt(i, 10) + strings.Repeat(" a warning of many words & <signs>", 100)}
		s.Trials = append(s.Trials, tr)
	}
	fails(s.Trials[899], memtrix.Outcome{Kind: memtrix.OOM, Memory: memtrix.MemoryVRAM, Message: "the only one"})
	var b strings.Builder
	if err := Markdown(&b, s); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	if got, most := len(text), 65_536; got >= most {
		t.Errorf("want less than %d bytes, got %d", most, got)
	}
	for _, want := range []string{"| 900 |", "1 trial not as expected", "more, none of them worse", "more: `memtrix report` shows all", "the only one"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in the summary", want)
		}
	}
	if open, shut := strings.Count(text, "<details>"), strings.Count(text, "</details>"); open != shut {
		t.Errorf("%d details are opened and %d closed", open, shut)
	}
}
