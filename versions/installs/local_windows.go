package installs

import (
	"io/fs"
	"os"
	"strings"
)

// drives is the file system of a Windows machine, a folder a drive.
type drives struct{}

func localFS() fs.FS { return drives{} }

// Open opens "C/Users" as C:\Users.
func (drives) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	drive, rest, _ := strings.Cut(name, "/")
	if len(drive) != 1 {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	if rest == "" {
		rest = "."
	}
	return os.DirFS(drive + `:\`).Open(rest)
}

func localDrives() []string {
	var found []string
	for _, letter := range "CDEFGHIJKLMNOPQRSTUVWXYZ" {
		if _, err := os.Stat(string(letter) + `:\`); err == nil {
			found = append(found, string(letter))
		}
	}
	return found
}
