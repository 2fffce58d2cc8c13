package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"memtrix"
	"memtrix/internal/files"
)

// A folder that was made for nothing goes again; one that was there, and one with a
// session, stay.
func TestOpenToWrite(t *testing.T) {
	for name, c := range map[string]struct{ before, session, stays bool }{
		"nothing was run": {},
		"a session":       {session: true, stays: true},
		"it was there":    {before: true, stays: true},
	} {
		dir := filepath.Join(t.TempDir(), "r")
		if c.before {
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		db, done, err := openToWrite(&app{ctx: context.Background()}, dir)
		if err != nil {
			t.Fatal(err)
		}
		if c.session {
			if _, err := db.StartSession(context.Background(), memtrix.WatchSpec, ""); err != nil {
				t.Fatal(err)
			}
		}
		done()
		if got := files.Exist(dir); got != c.stays {
			t.Errorf("%s: there afterwards: want %v, got %v", name, c.stays, got)
		}
		if got := files.Exist(filepath.Join(dir, "memtrix.db")); got != c.stays {
			t.Errorf("%s: its database afterwards: want %v, got %v", name, c.stays, got)
		}
	}
}

func TestNotDrawn(t *testing.T) {
	denied := func(name string) error {
		return fmt.Errorf("write report: %w", &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission})
	}
	other := errors.New("no such trial")
	for name, c := range map[string]struct {
		err     error
		warning string
		rest    bool
	}{
		"nothing":  {},
		"one":      {denied("a.png"), "a picture is not written: write report: open a.png: permission denied", false},
		"several":  {errors.Join(denied("a.png"), denied("b.png")), "2 pictures are not written: write report: open a.png: permission denied", false},
		"both":     {errors.Join(denied("a.png"), other), "a picture is not written: write report: open a.png: permission denied", true},
		"an error": {other, "", true},
	} {
		warning, rest := notDrawn(c.err)
		if warning != c.warning || (rest != nil) != c.rest || c.rest && !errors.Is(rest, other) {
			t.Errorf("%s: want %q, %v, got %q, %v", name, c.warning, c.rest, warning, rest)
		}
	}
}
