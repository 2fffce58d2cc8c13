package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"memtrix/internal/files"
)

// output writes a document to standard output, or with a path into that file, which
// is there whole or not at all. What is there and is no plain file (a link, a pipe,
// /dev/null) is written to, and stays what it is.
func output(a *app, path string, write func(io.Writer) error) error {
	if path == "" {
		w := bufio.NewWriter(a.stdout)
		return unlessUnread(errors.Join(write(w), w.Flush()))
	}
	f, done, err := create(path)
	if err != nil {
		return unwritable(path, err)
	}
	w := bufio.NewWriter(f)
	if err := write(w); err != nil {
		_ = done(false)
		if file := (*os.PathError)(nil); errors.As(err, &file) && file.Path == f.Name() {
			return unwritable(path, err) // a full disk
		}
		return cannot{fmt.Errorf("write %s: %w", path, err)}
	}
	if err := errors.Join(w.Flush(), done(true)); err != nil {
		return unwritable(path, err)
	}
	return nil
}

// create opens a file beside the one that is meant; done gives it the name, or throws it
// away.
func create(path string) (f *os.File, done func(keep bool) error, err error) {
	info, err := os.Lstat(path)
	switch {
	case err == nil && info.IsDir():
		return nil, nil, syscall.EISDIR
	case err == nil && !info.Mode().IsRegular():
		f, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
		return f, func(bool) error { return f.Close() }, err
	}
	if f, err = os.CreateTemp(filepath.Dir(path), ".memtrix-*"); err != nil {
		return nil, nil, err
	}
	return f, func(keep bool) error {
		defer os.Remove(f.Name()) // it is gone where all went well
		err := errors.Join(f.Chmod(0o644), f.Close())
		if err == nil && keep {
			err = os.Rename(f.Name(), path)
		}
		return err
	}, nil
}

// unwritable names the file that a person named, and not the one that was to become it.
func unwritable(path string, err error) error {
	return cannot{fmt.Errorf("write %s: %w", path, files.Cause(err))}
}
