package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// output writes a document to standard output, or with a path into that file, which
// is there whole or not at all.
func output(a *app, path string, write func(io.Writer) error) error {
	if path == "" {
		w := bufio.NewWriter(a.stdout)
		return unlessUnread(errors.Join(write(w), w.Flush()))
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".memtrix-*")
	if err != nil {
		return usage{fmt.Errorf("write %s: %w", path, err)}
	}
	defer os.Remove(f.Name()) // it is gone where all went well
	w := bufio.NewWriter(f)
	err = errors.Join(write(w), w.Flush(), f.Chmod(0o644), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
