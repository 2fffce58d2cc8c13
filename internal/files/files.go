// Package files answers what many rooms ask of files: whether one is there, and why one could
// not be had. It reads and writes none.
package files

import (
	"errors"
	"io/fs"
	"os"
)

// Exist reports whether a path leads to something.
func Exist(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Cause is an error about a file without the file's name: where the name is one of ours,
// or stands before it already, it says nothing to anybody.
func Cause(err error) error {
	var file *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &file):
		return file.Err
	case errors.As(err, &link):
		return link.Err
	}
	return err
}
