package diagnosis

import (
	"regexp"
	"strconv"
	"strings"

	"memtrix"
)

var (
	// Containers, ComfyUI Desktop, supervisors.
	exitedWith = regexp.MustCompile(`(?i)\b(?:exited with|exit|return(?:ed)?) code:? \(?(-?\d+|0x[0-9a-f]{8})\b`)
	// bash, zsh, fish, and a line that holds nothing else.
	shellSays = regexp.MustCompile(`^Killed$|\b\d+ Killed\s+\S|^\[\d+\]\+?\s+(?:\d+ )?[Kk]illed\b|^(?:zsh|bash|sh|ash|dash): (?:line \d+: )?(?:\d+ )?[Kk]illed\b|\bKilled\b.*\bpython|\bpython\S*\b.*\bKilled$|terminated by signal SIGKILL`)
	// The batch files of the portable build wait for a key when the server has ended.
	batchWaits = regexp.MustCompile(`^[A-Za-z]:\\.*> ?pause\s*$`)
	// systemd.
	unitSays = regexp.MustCompile(`code=(?:killed|dumped), status=\d+/([A-Z]+)`)
	// Python's faulthandler, and what a C library or a shell prints.
	fatal = []struct {
		text *regexp.Regexp
		exit memtrix.Exit
	}{
		{regexp.MustCompile(`Windows fatal exception: access violation`), memtrix.Exit{Status: 0xC0000005}},
		{regexp.MustCompile(`Windows fatal exception: stack overflow`), memtrix.Exit{Status: 0xC00000FD}},
		{regexp.MustCompile(`Fatal Python error: Segmentation fault|^Segmentation fault|\bSegmentation fault\s+\(core dumped\)|terminated by signal SIGSEGV`), memtrix.Exit{Signal: "SEGV"}},
		{regexp.MustCompile(`Fatal Python error: Bus error|^Bus error|\bBus error\s+\(core dumped\)`), memtrix.Exit{Signal: "BUS"}},
		{regexp.MustCompile(`Fatal Python error: Aborted|^Aborted|\bAborted\s+\(core dumped\)`), memtrix.Exit{Signal: "ABRT"}},
		{regexp.MustCompile(`Fatal Python error: Illegal instruction|^Illegal instruction|\bIllegal instruction\s+\(core dumped\)`), memtrix.Exit{Signal: "ILL"}},
	}
	fatalCode = regexp.MustCompile(`Windows fatal exception: code (0x[0-9a-fA-F]{8})`)
)

// exitInLog is the end of the process where whoever started it, or its own last
// words, wrote it into the same log; shell is the line where a shell said "Killed".
// Of several the shell's counts: a container that ends as its shell does says less.
// What a server answered later was another process's end.
func exitInLog(lines []line) (exit memtrix.Exit, shell string, ok bool) {
	// Behind it come at most the words of those who watched, and a traceback of
	// every thread, which faulthandler prints.
	const far = 1000
	for i := len(lines) - 1; i >= max(0, len(lines)-far); i-- {
		text := lines[i].text
		if lives(text) {
			break
		}
		if text == "Stopped server" {
			return memtrix.Exit{}, "", false // by Ctrl-C
		}
		if strings.Contains(text, "illed") || strings.Contains(text, "SIGKILL") {
			if shellSays.MatchString(text) {
				return memtrix.Exit{Signal: "KILL"}, strings.TrimSpace(text), true
			}
		}
		if ok {
			continue
		}
		exit, ok = exitIn(text)
	}
	return exit, "", ok
}

func exitIn(text string) (memtrix.Exit, bool) {
	if strings.Contains(text, "code") {
		if exit, ok := exitCode(text); ok {
			return exit, true
		}
	}
	if strings.Contains(text, "pause") && batchWaits.MatchString(text) {
		return memtrix.Exit{Unknown: true}, true
	}
	if strings.Contains(text, "code=") {
		if m := unitSays.FindStringSubmatch(text); m != nil {
			return memtrix.Exit{Signal: m[1]}, true
		}
	}
	for _, word := range []string{"atal ", "fault", "error", "bort", "llegal", "SIG"} {
		if !strings.Contains(text, word) {
			continue
		}
		for _, f := range fatal {
			if f.text.MatchString(text) {
				return f.exit, true
			}
		}
		break
	}
	return memtrix.Exit{}, false
}

// lives is a line that only a server prints which works.
func lives(text string) bool {
	return text == "got prompt" || strings.HasPrefix(text, "To see the GUI go to: ") || strings.HasPrefix(text, "Prompt executed in ")
}

func exitCode(text string) (memtrix.Exit, bool) {
	m := exitedWith.FindStringSubmatch(text)
	if m == nil {
		m = fatalCode.FindStringSubmatch(text)
	}
	if m == nil {
		return memtrix.Exit{}, false
	}
	status, err := strconv.ParseInt(m[1], 0, 64)
	if err != nil || status == 0 || status != int64(int32(status)) && status != int64(uint32(status)) {
		return memtrix.Exit{}, false
	}
	return memtrix.Exit{Status: int(status)}, true
}
