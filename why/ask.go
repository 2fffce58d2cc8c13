package why

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"memtrix"
	"memtrix/diagnosis"
	"memtrix/diagnosis/files"
	"memtrix/versions/installs"
	"memtrix/versions/past"
)

// Question is what a person asks.
type Question struct {
	On installs.Machine
	// What is a log, a folder, "-" for Stdin, or "" for all that is found here.
	What  string
	Stdin io.Reader
	Now   time.Time
}

// errNothing is wrapped by errors of places without any log. They are answers, too.
var errNothing = errors.New("nothing to look at")

// mostLogs are read, the newest first.
const mostLogs = 12

// quiet is for how long a log must not have been written before what it leaves open
// counts as ended.
const quiet = 2 * time.Minute

// candidate is a log that may hold the failure.
type candidate struct {
	log installs.Log
	in  *installs.Install
	// named: a person said that it is the one.
	named bool
}

// Ask reads logs, the newest first, until one has a failure, and what its
// installation was before. An error means that what was asked about cannot be read.
func (q Question) Ask() (Answer, error) {
	candidates, err := q.candidates()
	if errors.Is(err, errNothing) {
		return Answer{Warnings: []string{err.Error()}}, nil
	}
	if err != nil {
		return Answer{}, err
	}
	var reads []Read
	var warnings []string
	found, older := false, 0
	for _, c := range candidates[:min(len(candidates), mostLogs)] {
		r, err := q.read(c)
		if err != nil && c.named {
			return Answer{}, err
		}
		if err != nil {
			warnings = append(warnings, err.Error())
			continue
		}
		reads = append(reads, r)
		// Some older ones tell when it last worked.
		if found = found || slices.ContainsFunc(r.Runs, Run.Failed); found {
			if older++; older > 4 {
				break
			}
		}
	}
	c, ok := Choose(reads)
	if !ok {
		a := None(c)
		a.Warnings = append(a.Warnings, warnings...)
		return a, nil
	}
	var h History
	var scripts []installs.Script
	if in := c.Read.In; in != nil {
		now, _ := past.Now(*in)
		states, told, err := past.Find(*in)
		if err != nil {
			warnings = append(warnings, err.Error())
		}
		h = History{Now: now, States: states, Days: past.Days(*in)}
		warnings = append(warnings, told...)
		scripts = in.Scripts()
		if c.Run.Args == nil && len(scripts) == 0 {
			c.Run.Args = in.Running() // as it was started again
		}
	}
	a := Decide(c, h, scripts)
	if in := c.Read.In; in != nil && len(in.Missing) > 0 {
		a.Warnings = append(a.Warnings, fmt.Sprintf("the code in %s is not whole: %s; ComfyUI does not start without", in.Tree, lacks(in.Missing)))
	}
	a.Warnings = append(a.Warnings, warnings...)
	return a, nil
}

// candidates are the logs to read, the newest first.
func (q Question) candidates() ([]candidate, error) {
	m := q.On
	if q.What == "-" {
		return []candidate{{log: installs.Log{Path: "standard input", Changed: q.Now}, named: true}}, nil
	}
	if q.What == "" {
		all := q.of(m.Find()...)
		if len(all) == 0 {
			return nil, fmt.Errorf("%w: no ComfyUI with a log was found here; name the log, or the folder of the installation", errNothing)
		}
		return all, nil
	}
	path := m.Abs(m.Cwd, q.What)
	info, err := m.Stat(path)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", q.What, err)
	case !info.IsDir():
		return q.file(path, info.Size(), info.ModTime()), nil
	}
	if in, ok := q.at(path); ok {
		if all := q.of(in); len(all) > 0 {
			return all, nil
		}
		return nil, fmt.Errorf("%w: %s keeps no log (ComfyUI writes one with ComfyUI-Manager, in the desktop program, or with \"> log.txt 2>&1\" behind the command that starts it)", errNothing, in)
	}
	var all []candidate
	for _, l := range m.LogsIn(path) {
		all = append(all, candidate{log: l})
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%w: %s is no ComfyUI (main.py, nodes.py and the folder comfy in it, in its ComfyUI or above it), and has no log: looked for are comfyui*.log and log*.txt, output*.log, error*.txt and the like, in it and in its user folder; a log of another name can be named itself", errNothing, path)
	}
	return all, nil
}

// at is the installation that a folder belongs to, or what is left of it.
func (q Question) at(path string) (installs.Install, bool) {
	if in, ok := q.On.At(path); ok {
		return in, true
	}
	return q.On.Remains(path)
}

func lacks(missing []string) string {
	if len(missing) == 1 {
		return missing[0] + " is missing"
	}
	return strings.Join(missing, ", ") + " are missing"
}

// of are the logs of installations, the newest first.
func (q Question) of(ins ...installs.Install) []candidate {
	var all []candidate
	for i := range ins {
		for _, l := range ins[i].Logs() {
			all = append(all, candidate{log: l, in: &ins[i]})
		}
	}
	slices.SortStableFunc(all, func(a, b candidate) int { return b.log.Changed.Compare(a.log.Changed) })
	return all
}

// file is a log that was named, and the older ones of its installation, which tell
// when it last worked.
func (q Question) file(path string, bytes int64, changed time.Time) []candidate {
	m := q.On
	first := candidate{log: installs.Log{Path: path, Bytes: bytes, Changed: changed}, named: true}
	if in, ok := q.at(m.Parent(path)); ok {
		first.in = &in
	} else {
		all := q.of(m.Find()...) // Desktop's lie elsewhere
		if i := slices.IndexFunc(all, func(c candidate) bool { return c.log.Path == path }); i >= 0 {
			first.in = all[i].in
		}
	}
	if first.in == nil {
		return []candidate{first}
	}
	all := []candidate{first}
	for _, c := range q.of(*first.in) {
		if c.log.Path != path && c.log.Changed.Before(changed) {
			c.in = first.in
			all = append(all, c)
		}
	}
	return all
}

// read takes a log apart and judges each of its runs.
func (q Question) read(c candidate) (Read, error) {
	r := Read{Log: c.log, In: c.in}
	lines, note, err := q.lines(c)
	if err != nil {
		return r, fmt.Errorf("%s: %w", c.log.Path, err)
	}
	r.Note = note
	parts := Split(lines)
	for i, part := range parts {
		last := i == len(parts)-1
		g := given{platform: platform(lines, c.in), gone: !last || c.named || c.log.Rotated > 0 || q.Now.Sub(c.log.Changed) > quiet}
		if last && c.in != nil {
			g.exit = q.exit(c)
			now, _ := past.Now(*c.in)
			g.release = now.Release
		}
		r.Runs = append(r.Runs, Look(part, g))
	}
	if r.In == nil {
		r.In = q.told(r.Runs)
	}
	return r, nil
}

func (q Question) lines(c candidate) ([]memtrix.LogLine, string, error) {
	if c.named && q.What == "-" {
		return files.Log(q.Stdin)
	}
	f, err := q.On.Open(c.log.Path)
	if err != nil {
		return nil, "", err
	}
	defer f.Close()
	return files.Log(f)
}

// told is the installation that a log of ComfyUI-Manager names, if it is here.
func (q Question) told(runs []Run) *installs.Install {
	for i := len(runs) - 1; i >= 0; i-- {
		if tree := runs[i].Place.Tree; tree != "" {
			if in, ok := q.On.At(tree); ok {
				return &in
			}
		}
	}
	return nil
}

// platform is the system of a log: what its lines show, else that of an installation
// which is found on this machine.
func platform(lines []memtrix.LogLine, in *installs.Install) string {
	if in != nil && in.Kind == installs.Portable {
		return "windows"
	}
	if p := diagnosis.PlatformOf(lines); p != "" || in == nil {
		return p
	}
	return in.On.OS
}

// ended is what the desktop program writes into its own log (src/main-process/comfyServer.ts).
var ended = regexp.MustCompile(`Python process exited with code (\d+|null) and signal (\w+)`)

// exit is how the desktop program says that the newest start ended, nil where it
// says nothing. It stops a server with SIGTERM by itself.
func (q Question) exit(c candidate) *memtrix.Exit {
	if c.in.Kind != installs.Desktop || c.log.Rotated > 0 {
		return nil
	}
	main := c.in.On.Join(c.in.On.Parent(c.log.Path), "main.log")
	info, err := c.in.On.Stat(main)
	if err != nil || info.ModTime().Before(c.log.Changed.Add(-time.Minute)) {
		return nil
	}
	data, err := c.in.On.Read(main)
	if err != nil {
		return nil
	}
	all := ended.FindAllStringSubmatch(string(data), -1)
	if all == nil {
		return nil
	}
	m := all[len(all)-1]
	if code, err := strconv.ParseUint(m[1], 10, 32); err == nil && code != 0 {
		return &memtrix.Exit{Status: int(code)}
	}
	if name := strings.TrimPrefix(m[2], "SIG"); m[2] != "null" && name != "TERM" && name != "INT" {
		return &memtrix.Exit{Signal: name}
	}
	return nil
}
