package installs

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Log is a file that a server of an installation wrote.
type Log struct {
	Path string
	// Changed is when it was last written; Bytes is its size.
	Changed time.Time
	Bytes   int64
	// Why says what it is, for people.
	Why string
	// Rotated is how many starts it is back: 0 for the newest of its family.
	Rotated int
}

// logForm is a family of names.
type logForm struct {
	name    *regexp.Regexp
	rotated int
	why     string
}

var logForms = []logForm{
	// ComfyUI-Manager (prestartup_script.py), and comfy-cli with the port
	// (comfy_cli/command/launch.py). Each start moves the last one to .prev, that to
	// .prev2.
	{regexp.MustCompile(`^comfyui(?:_\d+)?\.log$`), 0, "ComfyUI-Manager's or comfy-cli's log"},
	{regexp.MustCompile(`^comfyui(?:_\d+)?\.prev\.log$`), 1, "ComfyUI-Manager's log of the start before"},
	{regexp.MustCompile(`^comfyui(?:_\d+)?\.prev2\.log$`), 2, "ComfyUI-Manager's log of two starts before"},
	// The desktop programs (src/utils.ts, rotateLogFiles).
	{regexp.MustCompile(`^comfyui\.log_\d{4}-\d\d-\d\dT[\d-]+Z\.log$`), 1, "the desktop program's log of an earlier start"},
	// ComfyUI's own, since 0.30 (app/logger.py); starts follow one another in it.
	{regexp.MustCompile(`^comfyui_detail\.log$`), 0, "ComfyUI's detailed log"},
	// What people write with "> log.txt".
	{regexp.MustCompile(`(?i)^(?:log|logs|output|comfy|comfyui|console|run|error|server|nohup)[-_ .\w]*\.(?:txt|log|out)$`), 0, "a log that was written by hand"},
}

// Logs are the logs of an installation, the one that was written last first. Empty
// ones are left out.
func (in Install) Logs() []Log {
	m := in.On
	dirs := []string{in.User(), m.Join(in.User(), "__manager"), m.Join(in.User(), "default", "ComfyUI-Manager"), in.Tree, in.Base, in.Dir}
	switch in.Kind {
	case Desktop:
		dirs = append(dirs, m.electronLogs("ComfyUI"))
	case Desktop2:
		dirs = append(dirs, m.Join(in.Dir, "logs"), m.Join(in.Dir, ".launcher", "logs"), m.electronLogs("comfyui-desktop-2"))
	case Pinokio:
		dirs = append(dirs, m.Join(in.Config, "logs"))
	}
	var all []Log
	slices.Sort(dirs)
	for _, dir := range slices.Compact(dirs) {
		if dir != "" {
			all = append(all, m.LogsIn(dir)...)
		}
	}
	return newestFirst(all)
}

// LogsIn are the logs in a folder, by their names.
func (m Machine) LogsIn(dir string) []Log {
	var all []Log
	for _, e := range m.List(dir) {
		i := slices.IndexFunc(logForms, func(f logForm) bool { return f.name.MatchString(e.Name()) })
		if i < 0 || strings.Contains(e.Name(), "requirements") {
			continue
		}
		info, err := m.Stat(m.Join(dir, e.Name()))
		if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
			continue
		}
		all = append(all, Log{Path: m.Join(dir, e.Name()), Changed: info.ModTime(), Bytes: info.Size(), Why: logForms[i].why, Rotated: logForms[i].rotated})
	}
	return newestFirst(all)
}

// newestFirst orders logs by when they were last written, and by how far back their
// name says they are where that is equal.
func newestFirst(all []Log) []Log {
	slices.SortStableFunc(all, func(a, b Log) int {
		if d := b.Changed.Compare(a.Changed); d != 0 {
			return d
		}
		return cmp.Or(cmp.Compare(a.Rotated, b.Rotated), cmp.Compare(a.Path, b.Path))
	})
	return all
}
