package diagnosis

import (
	"fmt"
	"slices"
	"strings"

	"memtrix"
)

// Bounds of what a LogKeeper holds: nothing is left out of a log below wholeBytes,
// which those of ordinary trials are far below.
const (
	wholeBytes   = 8 << 20 // of text, from the start
	tailBytes    = 2 << 20 // the newest
	middleBytes  = 8 << 20 // between them, what may mean something
	longestText  = 64 << 10
	oftenEnough  = 20   // lines of one shape are kept
	mostShapes   = 4096 // that are told apart
	shapeBytes   = 120  // of a line make its shape
	contextLines = 40   // in front of a line that means something, and behind it
)

// LogKeeper takes a server's log line by line and keeps, in bounded memory, what
// a verdict can depend on: the start, the end, each line that speaks of failure or
// memory or of a prompt, with those around it, and the first of each kind of line.
// What it leaves out is in the trial's log file.
type LogKeeper struct {
	whole, middle, tail []memtrix.LogLine
	full                bool // whole takes no more
	// Bytes of their texts.
	size, inMiddle, inTail int
	after                  int // lines that still belong to the last telling one
	shapes                 map[string]int
	left                   int // lines left out
}

// telling are words of lines that this package reads besides those that the rules
// look for (Interesting), in lower case.
var telling = []string{
	"exception", "traceback", "error", "kill", "prompt", "requested to load", "loaded", "warning", "signal", "fatal", "exited", "total vram", "pinned", "to see the gui",
}

// Add takes the next line.
func (k *LogKeeper) Add(l memtrix.LogLine) {
	l.Text = shortened(l.Text)
	if k.full = k.full || k.size+len(l.Text) > wholeBytes; !k.full {
		k.whole = append(k.whole, l)
		k.size += len(l.Text) + 1
		return
	}
	means := k.means(l.Text)
	k.tail = append(k.tail, l)
	k.inTail += len(l.Text) + 1
	switch {
	case means:
		// It takes those in front of it along.
		from := max(len(k.tail)-1-contextLines, 0)
		k.leave(k.tail[:from])
		k.save(k.tail[from:])
		k.tail, k.inTail = k.tail[:0], 0
		k.after = contextLines
	case k.after > 0:
		k.after--
		k.save(k.tail)
		k.tail, k.inTail = k.tail[:0], 0
	}
	n := 0
	for k.inTail > tailBytes {
		k.inTail -= len(k.tail[n].Text) + 1
		n++
	}
	k.leave(k.tail[:n])
	k.tail = k.tail[n:]
}

// leave counts what is left out.
func (k *LogKeeper) leave(lines []memtrix.LogLine) { k.left += len(lines) }

// save keeps lines of the middle; when there are too many, the oldest half goes.
func (k *LogKeeper) save(lines []memtrix.LogLine) {
	for _, l := range lines {
		k.middle = append(k.middle, l)
		k.inMiddle += len(l.Text) + 1
	}
	if k.inMiddle <= middleBytes {
		return
	}
	n := 0
	for k.inMiddle > middleBytes/2 {
		k.inMiddle -= len(k.middle[n].Text) + 1
		n++
	}
	k.leave(k.middle[:n])
	k.middle = slices.Clone(k.middle[n:])
}

// means reports whether a line may mean something: by its words, or because few
// like it were there.
func (k *LogKeeper) means(text string) bool {
	if k.shapes == nil {
		k.shapes = map[string]int{}
	}
	var space [shapeBytes]byte
	shape := shapeOf(space[:0], text)
	n, known := k.shapes[string(shape)]
	if n >= 10*oftenEnough {
		return false // whatever it says, it was said
	}
	tells := Interesting(text) || speaks(strings.ToLower(text))
	if !known && len(k.shapes) >= mostShapes {
		return tells
	}
	k.shapes[string(shape)] = n + 1
	return n < oftenEnough || tells
}

func speaks(lower string) bool {
	return slices.ContainsFunc(telling, func(w string) bool { return strings.Contains(lower, w) })
}

// shapeOf is what is left of the start of a text without its numbers: lines of one
// shape are said to be alike.
func shapeOf(shape []byte, text string) []byte {
	for i := range min(len(text), shapeBytes) {
		if b := text[i]; b < '0' || b > '9' {
			shape = append(shape, b)
		}
	}
	return shape
}

// shortened cuts the middle out of a text that is longer than any that is read.
func shortened(text string) string {
	if len(text) <= longestText {
		return text
	}
	return text[:longestText/2] + "\r" + text[len(text)-longestText/2:]
}

// Lines gives what was kept, in order.
func (k *LogKeeper) Lines() []memtrix.LogLine {
	return slices.Concat(k.whole, k.middle, k.tail)
}

// Note says what was left out, "" for nothing.
func (k *LogKeeper) Note() string {
	if k.left == 0 {
		return ""
	}
	return fmt.Sprintf("%d lines of the server's log were not kept in memory for the verdict: they repeat others; log.txt has all", k.left)
}
