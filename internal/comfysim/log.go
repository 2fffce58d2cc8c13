package comfysim

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
)

type level int

const (
	levelDebug level = iota
	levelInfo
	levelWarning
	levelError
)

var levelNames = []string{"DEBUG", "INFO", "WARNING", "ERROR"}

// Colours as ComfyUI writes them since 0.23.0, also into a pipe.
var levelTags = []string{
	"\x1b[36m[DEBUG]\x1b[0m ",
	"\x1b[32m[INFO]\x1b[0m ",
	"\x1b[1m\x1b[33m[WARNING]\x1b[0m ",
	"\x1b[1m\x1b[31m[ERROR]\x1b[0m ",
}

// logger writes what ComfyUI prints. Everything goes to stderr; --log-stdout
// sends records below ERROR to stdout.
type logger struct {
	mu     sync.Mutex
	out    io.Writer // below ERROR
	err    io.Writer
	tags   bool
	lowest level
	// heard is told each write; nil until the server is made.
	heard func(text string)
}

func newLogger(stdout, stderr io.Writer, v simVersion, opts options) *logger {
	l := &logger{out: stderr, err: stderr, tags: v.tags, lowest: levelInfo}
	if opts.has("--log-stdout") {
		l.out = stdout
	}
	if i := slices.Index(levelNames, opts.str("--verbose", "INFO")); i >= 0 {
		l.lowest = level(i)
	} else if opts.has("--verbose") {
		l.lowest = levelError // CRITICAL
	}
	return l
}

// log writes one record. Only the first line of a record has the tag.
func (l *logger) log(at level, format string, args ...any) {
	if at < l.lowest {
		return
	}
	text := format
	if len(args) > 0 {
		text = fmt.Sprintf(format, args...)
	}
	if l.tags {
		text = levelTags[at] + text
	}
	w := l.out
	if at >= levelError {
		w = l.err
	}
	l.write(w, text+"\n")
}

func (l *logger) info(format string, args ...any) { l.log(levelInfo, format, args...) }
func (l *logger) warn(format string, args ...any) { l.log(levelWarning, format, args...) }
func (l *logger) fail(format string, args ...any) { l.log(levelError, format, args...) }

// raw writes to stderr what does not come through Python's logging: progress
// bars, lines of C code.
func (l *logger) raw(text string) { l.write(l.err, text) }

func (l *logger) write(w io.Writer, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	// A log that nobody reads any more must not stop the server.
	_, _ = io.WriteString(w, text)
	if l.heard != nil {
		l.heard(text)
	}
}

// promptExecuted is the last line of every prompt, green since 0.23.0.
func (l *logger) promptExecuted(seconds float64) {
	text := fmt.Sprintf("Prompt executed in %.2f seconds", seconds)
	if seconds > 600 {
		s := int(seconds)
		text = fmt.Sprintf("Prompt executed in %02d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	if l.tags {
		text = "\x1b[32m" + text + "\x1b[0m"
	}
	l.info("%s", text)
}

// debugAimdo prints a line of aimdo's C code, which only shows at DEBUG.
func (l *logger) debugAimdo(format string, args ...any) {
	if l.lowest <= levelDebug {
		l.raw("aimdo: /project/src/" + strings.TrimSuffix(fmt.Sprintf(format, args...), "\n") + "\n")
	}
}
