package reports

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Bisection is a search for the first bad one of an ordered list.
type Bisection struct {
	Candidates []BisectionCandidate // those that were run or may be it, in order
	All        int                  // candidates in the list
	Words      []string             // the end: one paragraph each
}

// BisectionCandidate is one candidate of the path.
type BisectionCandidate struct {
	Index     int // from 0
	Name      string
	Runs      string  // "3 fail, 1 pass", "10.2, 10.4"
	Posterior float64 // to be the first bad one
	Found     bool    // in the interval
}

const (
	posteriorWidth = 20
	nameWidth      = 40
)

// BisectionTable writes the path: each candidate with what its runs told and how likely
// it is to be the first bad one.
func BisectionTable(w io.Writer, r Bisection) error {
	var b strings.Builder
	wide, wideRuns := 0, 0
	short := func(s string, width int) string {
		s = OneLine(s)
		if utf8.RuneCountInString(s) > width {
			s = string([]rune(s)[:width-1]) + "…"
		}
		return s
	}
	for _, c := range r.Candidates {
		wide = max(wide, utf8.RuneCountInString(short(c.Name, nameWidth)))
		wideRuns = max(wideRuns, utf8.RuneCountInString(short(c.Runs, nameWidth)))
	}
	digits := len(fmt.Sprint(r.All))
	last := -1
	for _, c := range r.Candidates {
		if gap := c.Index - last - 1; gap > 0 {
			fmt.Fprintf(&b, "  %*s  ... %d more\n", digits, "", gap)
		}
		last = c.Index
		mark := " "
		if c.Found {
			mark = ">"
		}
		line := fmt.Sprintf("%s %*d  %-*s  %-*s", mark, digits, c.Index+1, wide, short(c.Name, nameWidth), wideRuns, short(c.Runs, nameWidth))
		if c.Posterior >= 0.005 {
			line += fmt.Sprintf("  %3.0f %% %s", 100*c.Posterior, strings.Repeat("#", max(1, int(c.Posterior*posteriorWidth+0.5))))
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	if gap := r.All - last - 1; gap > 0 {
		fmt.Fprintf(&b, "  %*s  ... %d more\n", digits, "", gap)
	}
	for _, p := range r.Words {
		b.WriteString("\n" + OneLine(p) + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
