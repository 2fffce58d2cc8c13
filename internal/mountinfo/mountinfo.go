// Package mountinfo reads the lines of /proc/PID/mountinfo: what is mounted where. It reads
// text and no files, and what is not such a line is passed over.
package mountinfo

import (
	"iter"
	"strings"
)

// Mount is one line
// (https://man7.org/linux/man-pages/man5/proc_pid_mountinfo.5.html):
//
//	36 35 98:0 /root /point rw,noatime master:1 - ext4 /dev/sda1 rw,errors=continue
type Mount struct {
	Device  string // of the numbers major:minor
	Root    string // the folder of the file system that is mounted
	Point   string // where
	Kind    string // of the file system
	Source  string
	Options string // of the file system itself: of a control group, its controllers
}

// Mounts are the lines of a text, in its order: later ones cover earlier ones.
func Mounts(text string) iter.Seq[Mount] {
	return func(yield func(Mount) bool) {
		for line := range strings.Lines(text) {
			left, right, ok := strings.Cut(strings.TrimSpace(line), " - ")
			l, r := strings.Fields(left), strings.Fields(right)
			if !ok || len(l) < 5 || len(r) < 2 {
				continue
			}
			m := Mount{Device: l[2], Root: unescape(l[3]), Point: unescape(l[4]), Kind: r[0], Source: unescape(r[1])}
			if len(r) > 2 {
				m.Options = r[2]
			}
			if !yield(m) {
				return
			}
		}
	}
}

var escapes = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

// unescape undoes the octal escapes of what would end a field.
func unescape(s string) string { return escapes.Replace(s) }

// HasOption reports whether a word is among the file system's options.
func (m Mount) HasOption(word string) bool {
	return strings.Contains(","+m.Options+",", ","+word+",")
}
