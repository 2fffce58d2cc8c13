package diagnosis

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"memtrix"
)

// line is one line of a log as a person reads it: no colours, no level tag, no
// time stamp, and one state of a progress bar.
type line struct {
	at   time.Duration
	text string
	// level is the tag, e.g. "ERROR"; "" for lines without one, which are plain
	// output or belong to the line above.
	level string
	// bar is set for a progress bar; step of steps.
	bar         bool
	step, steps string
	// telling: a rule may know the text.
	telling bool
}

var (
	// CSI sequences (ECMA-48 5.4), and the shorter escapes.
	ansi = regexp.MustCompile(`\x1b\[[0-?]*[ -/]*[@-~]|\x1b[@-Z\\-_]`)
	// Since 0.23.0 ComfyUI tags lines with the level.
	levelTag = regexp.MustCompile(`^\[(DEBUG|DETAIL|INFO|WARNING|ERROR|CRITICAL)\]\s?`)
	// The desktop program's log (electron-log) has a tag of its own in front, filled up
	// with blanks.
	desktopTag = regexp.MustCompile(`^\[(?:(debug|warning|error|verbose|silly)\] ?|(info|warn)\] {0,2})`)
	// ComfyUI-Manager's prestartup script adds a time stamp.
	stampTag = regexp.MustCompile(`^\[\d{4}-\d\d-\d\d[ T][\d:.,]+\]\s?`)
	// tqdm draws `description: 17%|██  | 1/6 [00:03<00:17, 3.55s/it]`.
	progress = regexp.MustCompile(`^[^|]{0,60}?\d{1,3}%\|[^|]*\|\s*(\d+)/(\d+) \[[^\]]*\]?`)
)

// clean splits a log into lines. A progress bar overwrites itself with carriage
// returns and is often followed by other text without a new line.
func clean(log []memtrix.LogLine) []line {
	lines := make([]line, 0, len(log))
	for _, l := range log {
		text := l.Text
		if strings.Contains(text, "\x1b") {
			text = ansi.ReplaceAllString(text, "")
		}
		for piece := range strings.FieldsFuncSeq(text, isBreak) {
			lines = append(lines, split(l.At, piece)...)
		}
	}
	return lines
}

func isBreak(r rune) bool { return r == '\r' || r == '\n' }

// split parts a progress bar from what was printed behind it.
func split(at time.Duration, piece string) []line {
	if !strings.Contains(piece, "%|") {
		return []line{plain(at, piece)}
	}
	if m := progress.FindStringSubmatchIndex(piece); m != nil {
		bar := line{at: at, text: strings.TrimSpace(piece[:m[1]]), bar: true, step: piece[m[2]:m[3]], steps: piece[m[4]:m[5]]}
		rest := strings.TrimSpace(piece[m[1]:])
		if rest == "" {
			return []line{bar}
		}
		return append([]line{bar}, plain(at, rest))
	}
	return []line{plain(at, piece)}
}

func plain(at time.Duration, text string) line {
	l := line{at: at}
	if !strings.HasPrefix(text, "[") {
		l.text = strings.TrimRight(text, " \t")
		l.telling = Interesting(l.text)
		return l
	}
	text = stampTag.ReplaceAllString(text, "")
	if m := desktopTag.FindStringSubmatch(text); m != nil {
		l.level = strings.ToUpper(m[1] + m[2])
		text = text[len(m[0]):]
	}
	if m := levelTag.FindStringSubmatch(text); m != nil {
		l.level = strings.ToUpper(m[1])
		text = text[len(m[0]):]
	}
	text = stampTag.ReplaceAllString(text, "")
	l.text = strings.TrimRight(text, " \t")
	l.telling = Interesting(l.text)
	return l
}

// lastTexts are the last n lines that say anything, oldest first. Bars and
// argparse's usage, which is indented far, are left out.
func lastTexts(lines []line, n int) []string {
	var found []string
	for i := len(lines) - 1; i >= 0 && len(found) < n; i-- {
		if l := lines[i]; !l.bar && l.text != "" && !strings.HasPrefix(l.text, "          ") {
			found = append(found, l.text)
		}
	}
	slices.Reverse(found)
	return found
}
