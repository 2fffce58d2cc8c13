package reports

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// OneLine makes one line of text that a server or a person wrote: no line breaks,
// no escape sequences that a terminal would obey, no broken UTF-8.
func OneLine(text string) string {
	return strings.Join(strings.Fields(printable(text)), " ")
}

// Lines is OneLine for text of several lines, such as an error that quotes a log:
// line breaks and indents stay.
func Lines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(printable(line), " ")
	}
	return strings.Join(lines, "\n")
}

// printable replaces what is not text, each by one space. What turns the direction
// of writing is not text either: it shows a line as another one.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == utf8.RuneError || unicode.Is(unicode.Bidi_Control, r) {
			return ' '
		}
		return r
	}, text)
}

// wrap breaks text at spaces into lines of at most width characters. Words that
// are longer are broken after "=", "-", "_", "/" or ".", or where they must. A
// bracket stays with the word before it: "KSampler (5)".
func wrap(text string, width int) []string {
	if width <= 0 || utf8.RuneCountInString(text) <= width {
		return []string{text}
	}
	var lines []string
	line := ""
	for _, word := range words(text, width) {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= width {
			line += " " + word
			continue
		}
		if line != "" {
			lines = append(lines, line)
		}
		pieces := breakWord(word, width)
		lines = append(lines, pieces[:len(pieces)-1]...)
		line = pieces[len(pieces)-1]
	}
	if line == "" && len(lines) > 0 {
		return lines
	}
	return append(lines, line)
}

func words(text string, width int) []string {
	var list []string
	for _, word := range strings.Fields(text) {
		last := len(list) - 1
		if last >= 0 && strings.HasPrefix(word, "(") && utf8.RuneCountInString(list[last]+" "+word) <= width {
			list[last] += " " + word
			continue
		}
		list = append(list, word)
	}
	return list
}

func breakWord(word string, width int) []string {
	var pieces []string
	runes := []rune(word)
	for len(runes) > width {
		at := width
		for i := width; i > width/3; i-- {
			if strings.ContainsRune("=-_/.", runes[i-1]) {
				at = i
				break
			}
		}
		pieces = append(pieces, string(runes[:at]))
		runes = runes[at:]
	}
	return append(pieces, string(runes))
}
