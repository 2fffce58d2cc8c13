package comfyui

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"memtrix/internal/files"
)

// owner is the process of a server that runs on this machine, as /proc shows it
// (proc(5)). What may not be seen is empty.
type owner struct {
	pid     int
	start   string // tells it from a later process with the same number
	cmdline []string
	cwd     string
	exe     string
	environ []string
}

func readOwner(proc string, pid int) (owner, error) {
	dir := filepath.Join(proc, strconv.Itoa(pid))
	start, err := startOf(filepath.Join(dir, "stat"))
	if err != nil {
		return owner{}, fmt.Errorf("process %d: %w", pid, err)
	}
	o := owner{pid: pid, start: start, cmdline: words(filepath.Join(dir, "cmdline")), environ: words(filepath.Join(dir, "environ"))}
	// Of another user's process neither can be read.
	o.cwd, _ = os.Readlink(filepath.Join(dir, "cwd"))
	o.exe, _ = os.Readlink(filepath.Join(dir, "exe"))
	return o, nil
}

// words are the strings of a file that ends each with a NUL.
func words(file string) []string {
	data, err := os.ReadFile(file)
	if err != nil || len(data) == 0 {
		return nil
	}
	return strings.Split(string(bytes.TrimSuffix(data, []byte{0})), "\x00")
}

// runs reports whether the process was started with a server's own argv
// (sys.argv): what its command line ends in, for the real one. A tunnel and a
// container's proxy listen on ports, too, and hold the memory of nobody.
func (o owner) runs(argv []string) bool {
	if len(argv) == 0 {
		return false
	}
	script := slices.ContainsFunc(o.cmdline, func(w string) bool { return filepath.Base(w) == filepath.Base(argv[0]) })
	rest := argv[1:]
	if !script && len(rest) == 0 {
		return false
	}
	for _, word := range o.cmdline {
		if len(rest) > 0 && word == rest[0] {
			rest = rest[1:]
		}
	}
	return len(rest) == 0
}

// name is what people know the process by.
func (o owner) name() string {
	if len(o.cmdline) == 0 {
		return "a process"
	}
	return filepath.Base(o.cmdline[0])
}

// findOwner finds the process behind a port of this machine that runs with argv.
// The error says what a person can do.
func findOwner(proc string, addrs []netip.Addr, port uint16, argv []string) (owner, error) {
	pids, err := listeners(proc, addrs, port)
	if err != nil {
		return owner{}, err
	}
	var others []string
	for _, pid := range pids { // a parent has the smaller number, as a rule
		o, err := readOwner(proc, pid)
		switch {
		case err != nil:
		case o.runs(argv):
			return o, nil
		default:
			others = append(others, fmt.Sprintf("%s (%d)", o.name(), pid))
		}
	}
	if len(others) > 0 {
		return owner{}, fmt.Errorf("who listens on port %d is no ComfyUI but passes on to one: %s; name its process with 'pid: N'", port, strings.Join(others, ", "))
	}
	return owner{}, errors.New("its process belongs to another user: run memtrix as that user or as root, or name the process with 'pid: N'")
}

// variable is one of the process's environment.
func (o owner) variable(name string) string {
	for _, kv := range o.environ {
		if value, ok := strings.CutPrefix(kv, name+"="); ok {
			return value
		}
	}
	return ""
}

// tree is the folder of the script that the process runs, "" where it is none
// that holds a main.py here.
func (o owner) tree(argv []string) string {
	if len(argv) == 0 {
		return ""
	}
	script := argv[0]
	if !filepath.IsAbs(script) {
		if o.cwd == "" {
			return ""
		}
		script = filepath.Join(o.cwd, script)
	}
	if filepath.Base(script) != "main.py" || !files.Exist(script) {
		return ""
	}
	return filepath.Dir(script)
}

// python is the interpreter as it was called: a virtual environment's is a link,
// and following it would lead out of the environment.
func (o owner) python() string {
	if len(o.cmdline) == 0 {
		return ""
	}
	called := o.cmdline[0]
	var tries []string
	switch {
	case filepath.IsAbs(called):
		tries = []string{called}
	case strings.ContainsRune(called, filepath.Separator):
		tries = []string{filepath.Join(o.cwd, called)}
	default:
		if venv := o.variable("VIRTUAL_ENV"); venv != "" {
			tries = append(tries, filepath.Join(venv, "bin", called))
		}
		for _, dir := range filepath.SplitList(o.variable("PATH")) {
			tries = append(tries, filepath.Join(dir, called))
		}
	}
	for _, path := range append(tries, o.exe) {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
	}
	return ""
}
