package diagnosis

import (
	"strings"
)

// found is a recognised cause of a start that failed, with its line.
type found struct {
	message, line, rule string
	advice              []string
	last                bool // nothing was printed behind it
}

// startCause looks for the reason at the end of the log, the last line first.
func startCause(lines []line) (found, bool) {
	const far = 40
	quiet := true
	for i := len(lines) - 1; i >= 0 && i >= len(lines)-far; i-- {
		l := lines[i]
		if l.text == "" || l.bar {
			continue
		}
		if r := l.rule(MeansStartup); r != nil && !survived(lines[i+1:]) {
			f := found{message: r.words(r.Says, l.text), line: strings.TrimSpace(l.text), rule: r.ID, last: quiet}
			for _, a := range r.Advice {
				f.advice = append(f.advice, r.words(a, l.text))
			}
			return f, true
		}
		quiet = false
	}
	return found{}, false
}

// startFailed says that the log, by itself, shows a start that failed.
func (c *cased) startFailed() bool {
	_, known := startCause(c.lines)
	return known && !c.ready
}

// survived says that the program went on without what could not be imported.
func survived(rest []line) bool {
	for _, l := range rest {
		for _, sign := range []string{"Cannot import", "IMPORT FAILED", "Starting server", "To see the GUI", "got prompt", "Import times for custom nodes"} {
			if strings.Contains(l.text, sign) {
				return true
			}
		}
	}
	return false
}

func (l line) rule(means Meaning) *Rule {
	if !l.telling {
		return nil
	}
	return ruleFor(means, l.text, noLines)
}
