package evidence

import (
	"path"
	"slices"
	"strings"

	"memtrix"
	"memtrix/reports/redact"
)

// Launch is how the server was started.
type Launch struct {
	// Plain are the flags with which anybody starts it so, without folders and ports.
	Plain []string
	// Whole is the command line as it was, nil where it was not kept.
	Whole []string
	// Extra are raw flags of the spec: those that are neither memtrix's nor a setting's.
	Extra []string
	// Gone are flags of a person's that name files of that machine.
	Gone []string
	// Attached is set for a server that ran before.
	Attached bool
	// PacksOff is set when all custom nodes were off.
	PacksOff bool
}

// withValue are flags by which memtrix gives a trial its own folders and port, each
// with a word after it; alone are those without.
var (
	withValue = []string{"--base-directory", "--user-directory", "--output-directory", "--temp-directory", "--input-directory",
		"--database-url", "--front-end-root", "--extra-model-paths-config", "--listen", "--port", "--sim-card-file"}
	alone = []string{"--disable-auto-launch", "--auto-launch"}
)

func launch(r *redact.Redactor, t *memtrix.Trial, command []string) Launch {
	v := t.Cell.Version
	l := Launch{Attached: v.Attached != nil}
	switch {
	case v.Attached != nil:
		l.Plain, l.Gone = plain(r.Args(v.Attached.Argv))
		l.PacksOff = slices.Contains(v.Attached.Argv, "--disable-all-custom-nodes")
		return l
	case command == nil:
		l.Plain = r.Args(t.Argv)
		if len(v.Packs) == 0 {
			l.Plain, l.PacksOff = append([]string{"--disable-all-custom-nodes"}, l.Plain...), true
		}
		return l
	}
	words := r.Args(ownCommand(command))
	l.Whole = words
	l.PacksOff = len(v.Packs) == 0
	main := slices.IndexFunc(words, func(w string) bool { return path.Base(strings.ReplaceAll(w, `\`, "/")) == "main.py" })
	flags := words[min(main+1, len(words)):]
	if main < 0 { // a simulated one
		flags = flags[min(max(slices.IndexFunc(flags, func(w string) bool { return strings.HasPrefix(w, "--") }), 0), len(flags)):]
	}
	l.Plain, l.Gone = plain(flags)
	l.Extra, _ = plain(extra(flags, r.Args(t.Argv)))
	return l
}

// ownCommand is a command without the program of memtrix before it that enters the
// trial's memory group: where that lies is nobody's matter, and the size of the group is
// a fact of its own.
func ownCommand(words []string) []string {
	if len(words) > 3 && words[1] == "enter-group" {
		return words[3:]
	}
	return words
}

// plain takes memtrix's own flags out, and those with a file or a folder of that
// machine, of which it gives the names.
func plain(flags []string) (out, gone []string) {
	for i := 0; i < len(flags); i++ {
		name, value, joined := strings.Cut(flags[i], "=")
		words := i + 1
		for !joined && strings.HasPrefix(name, "--") && words < len(flags) && !strings.HasPrefix(flags[words], "-") {
			words++
		}
		values := flags[i+1 : words]
		switch {
		case slices.Contains(alone, name):
		case slices.Contains(withValue, name):
			i = words - 1
		case joined && placed(value), slices.ContainsFunc(values, placed):
			gone = append(gone, name)
			i = words - 1
		default:
			out = append(out, flags[i])
		}
	}
	return out, gone
}

// placed reports whether a redacted word is a path from a root, or one of a folder that
// has a name.
func placed(word string) bool {
	mark, rest, ok := strings.Cut(word, ">")
	return redact.Absolute(word) || ok && strings.HasPrefix(mark, "<") && rest != "" && strings.ContainsAny(rest[:1], `/\`)
}

// extra is what follows the settings' flags, which follow the port (comfyui.Target
// puts a command line together).
func extra(flags, settings []string) []string {
	i := slices.Index(flags, "--port")
	if i < 0 || i+2 > len(flags) {
		return nil
	}
	rest := flags[i+2:]
	if len(rest) < len(settings) || !slices.Equal(rest[:len(settings)], settings) {
		return nil
	}
	return rest[len(settings):]
}
