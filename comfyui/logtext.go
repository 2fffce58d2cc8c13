package comfyui

import (
	"regexp"
	"strings"
)

// LogToken is one piece of a server's output as a person reads it: without
// colours, without the tags that other versions do not print.
type LogToken struct {
	// Text is the message. Progress bars keep their form ("50%|### | 1/2 [...]").
	Text string
	// Level is "INFO", "WARNING" and so on where the line carries it: releases
	// since 0.23.0, on the first line of a message only.
	Level string
	// Stamp is the time that ComfyUI-Manager puts before lines, as printed.
	Stamp string
	// Redrawn is set for pieces that a carriage return drew over.
	Redrawn bool
}

var (
	// Colours and all other control sequences (ECMA-48), and window titles.
	ansiSequence = regexp.MustCompile("\x1b(?:\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\)?|[@-Z\\\\^_])")
	stampTag     = regexp.MustCompile(`^\[(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d+)?)\] ?`)
	// The desktop program's log (electron-log) has a tag of its own in front, filled up
	// with blanks.
	desktopTag = regexp.MustCompile(`^\[(?:(?:debug|error|verbose|silly)\] ?|(?:info|warn)\] {0,2})`)
	levelTag   = regexp.MustCompile(`^\[(DEBUG|DETAIL|INFO|WARNING|ERROR|CRITICAL)\] ?`)
)

// Clean takes a line of a server's output apart: at newlines and at the carriage
// returns of progress bars, colours removed, tags taken off. Empty pieces are
// left out.
func Clean(line string) []LogToken {
	var tokens []LogToken
	for _, row := range strings.Split(line, "\n") {
		pieces := strings.Split(strings.TrimSuffix(row, "\r"), "\r")
		for i, piece := range pieces {
			token := cleanPiece(piece)
			if token.Text == "" {
				continue
			}
			token.Redrawn = i < len(pieces)-1
			tokens = append(tokens, token)
		}
	}
	return tokens
}

func cleanPiece(piece string) LogToken {
	text := ansiSequence.ReplaceAllString(piece, "")
	var token LogToken
	// Either tag may come first, each once.
	for i := range 2 {
		if i == 1 {
			text = desktopTag.ReplaceAllString(text, "")
		}
		if m := stampTag.FindStringSubmatch(text); m != nil && token.Stamp == "" {
			token.Stamp, text = m[1], text[len(m[0]):]
		}
		if m := levelTag.FindStringSubmatch(text); m != nil && token.Level == "" {
			token.Level, text = m[1], text[len(m[0]):]
		}
	}
	token.Text = strings.TrimRight(text, " \t")
	return token
}
