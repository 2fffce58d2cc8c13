package installs

import (
	"io"
	"io/fs"
	"os"
	"path"
	"runtime"
	"strings"
)

// Machine is where installations are looked for.
type Machine struct {
	// OS is "windows", "darwin" or "linux", as in runtime.GOOS: it decides what
	// paths look like and where programs keep their files.
	OS string
	// FS holds all files: "/home/me" as "home/me", `C:\Users\me` as "C/Users/me".
	FS fs.FS
	// Home and Cwd are folders, as the machine writes them; "" is unknown.
	Home, Cwd string
	// Env gives environment variables.
	Env func(string) string
	// Drives are the letters of a Windows machine, "C" first.
	Drives []string
}

// Here is the machine that memtrix runs on.
func Here() Machine {
	home, _ := os.UserHomeDir()
	cwd, _ := os.Getwd()
	return Machine{OS: runtime.GOOS, FS: localFS(), Home: home, Cwd: cwd, Env: os.Getenv, Drives: localDrives()}
}

// Windows says that paths are written with backslashes.
func (m Machine) Windows() bool { return m.OS == "windows" }

// Join puts a path together as the machine writes it.
func (m Machine) Join(dir string, parts ...string) string {
	sep := "/"
	if m.Windows() {
		sep = `\`
	}
	for _, p := range parts {
		p = m.native(p)
		switch {
		case p == "" || p == ".":
		case dir == "":
			dir = p
		default:
			dir = strings.TrimRight(dir, sep) + sep + p
		}
	}
	return dir
}

// native writes separators as the machine does.
func (m Machine) native(p string) string {
	if m.Windows() {
		return strings.ReplaceAll(p, "/", `\`)
	}
	return p
}

// Parent is the folder that holds a path, the path itself at the top.
func (m Machine) Parent(p string) string {
	name := m.name(p)
	if name == "." || path.Dir(name) == "." && m.Windows() {
		return p
	}
	return m.path(path.Dir(name))
}

// Base is the last part of a path.
func (m Machine) Base(p string) string { return path.Base(m.name(p)) }

// Abs makes a path absolute that is told relative to a folder, and clean.
func (m Machine) Abs(dir, p string) string {
	p = strings.Trim(strings.TrimSpace(p), `"`)
	if p == "~" || strings.HasPrefix(p, "~/") {
		p = m.Join(m.Home, strings.TrimPrefix(p[1:], "/"))
	}
	if !m.absolute(p) {
		p = m.Join(dir, p)
	}
	return m.path(m.name(p))
}

func (m Machine) absolute(p string) bool {
	if m.Windows() {
		return len(p) >= 3 && letter(p[0]) && p[1] == ':' && (p[2] == '\\' || p[2] == '/')
	}
	return strings.HasPrefix(p, "/")
}

func letter(b byte) bool { return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' }

// name is what FS calls an absolute path.
func (m Machine) name(p string) string {
	if m.Windows() {
		p = strings.ReplaceAll(strings.TrimPrefix(p, `\\?\`), `\`, "/")
		if len(p) >= 2 && p[1] == ':' {
			p = strings.ToUpper(p[:1]) + p[2:]
		}
	}
	p = strings.Trim(path.Clean("/"+p), "/")
	if p == "" {
		return "."
	}
	return p
}

// path is the reverse of name.
func (m Machine) path(name string) string {
	if name == "." {
		name = ""
	}
	if !m.Windows() {
		return "/" + name
	}
	drive, rest, _ := strings.Cut(name, "/")
	return drive + `:\` + strings.ReplaceAll(rest, "/", `\`)
}

// Stat tells about a file or folder.
func (m Machine) Stat(p string) (fs.FileInfo, error) { return fs.Stat(m.FS, m.name(p)) }

// IsDir reports whether a path is a folder.
func (m Machine) IsDir(p string) bool {
	info, err := m.Stat(p)
	return err == nil && info.IsDir()
}

// IsFile reports whether a path is an ordinary file.
func (m Machine) IsFile(p string) bool {
	info, err := m.Stat(p)
	return err == nil && info.Mode().IsRegular()
}

// mostText bounds what is read of settings, scripts and snapshots, bytes.
const mostText = 16 << 20

// Read gives a file's content, at most 16 MiB of it.
func (m Machine) Read(p string) ([]byte, error) {
	f, err := m.FS.Open(m.name(p))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, mostText))
}

// Open opens a file.
func (m Machine) Open(p string) (fs.File, error) { return m.FS.Open(m.name(p)) }

// List gives the names in a folder, sorted; none where it cannot be read.
func (m Machine) List(p string) []fs.DirEntry {
	entries, err := fs.ReadDir(m.FS, m.name(p))
	if err != nil {
		return nil
	}
	return entries
}

// env is an environment variable, "" where there is none.
func (m Machine) env(name string) string {
	if m.Env == nil {
		return ""
	}
	return m.Env(name)
}
