package results

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"memtrix"
)

// A database that goes while it is written to is noticed with the next trial, and
// all of it, that trial included, is in a file that can be opened.
func TestRemoved(t *testing.T) {
	check := func(name string, harm func(dir string) error) {
		t.Helper()
		dir := filepath.Join(t.TempDir(), "results")
		db := mustOpen(t, dir)
		defer db.Close()
		s := mustStart(t, db, "nightly", "")
		mustSave(t, db, fullTrial(s.ID))
		if err := harm(dir); err != nil {
			t.Fatal(err)
		}
		err := db.SaveTrial(t.Context(), fullTrial(s.ID))
		var removed *RemovedError
		if !errors.As(err, &removed) || removed.Rescued == "" {
			t.Fatalf("%s: want *RemovedError with a copy, got %v", name, err)
		}
		says(t, err, removed.Rescued, DatabaseFile)

		copied := filepath.Join(t.TempDir(), "copy")
		if err := errors.Join(os.Mkdir(copied, 0o755), os.Rename(removed.Rescued, filepath.Join(copied, DatabaseFile))); err != nil {
			t.Fatal(err)
		}
		again := mustOpen(t, copied)
		defer again.Close()
		trials, err := again.Trials(t.Context(), s.ID)
		if err != nil || len(trials) != 2 {
			t.Errorf("%s: want 2 trials in the copy, got %d (%v)", name, len(trials), err)
		}
	}
	check("the file", func(dir string) error { return os.Remove(filepath.Join(dir, DatabaseFile)) })
	check("the folder", os.RemoveAll)
	check("moved", func(dir string) error { return os.Rename(dir, dir+".old") })
	check("replaced", func(dir string) error {
		path := filepath.Join(dir, DatabaseFile)
		return errors.Join(os.Remove(path), os.WriteFile(path, nil, 0o644))
	})
}

func TestRoom(t *testing.T) {
	db := mustOpen(t, t.TempDir())
	defer mustClose(t, db)
	if err := db.CheckRoom(); err != nil {
		t.Errorf("this disk has room: %v", err)
	}
	if err := tooLittle(db.dir, leastRoom-1); err == nil {
		t.Error("want an error for a full disk")
	} else {
		says(t, err, db.dir, "32.0 MiB left", "free some space")
	}
}

// What may go away by itself says so.
func TestAgain(t *testing.T) {
	dir := t.TempDir()
	db := mustOpen(t, dir)
	defer db.Close()
	s := mustStart(t, db, "nightly", "")
	db.sql.SetMaxOpenConns(1)
	if _, err := db.sql.Exec(`PRAGMA max_page_count = 10`); err != nil { // means: no more than there are
		t.Fatal(err)
	}
	var trial *memtrix.Trial
	var err error
	for n := 0; err == nil && n < 500; n++ {
		trial = fullTrial(s.ID)
		err = db.SaveTrial(t.Context(), trial)
	}
	if !errors.Is(err, memtrix.ErrAgain) {
		t.Fatalf("a full disk: want an error that wraps ErrAgain, got %v", err)
	}
	says(t, err, DatabaseFile, "the disk is full")
	if _, err := db.sql.Exec(`PRAGMA max_page_count = 100000`); err != nil {
		t.Fatal(err)
	}
	if err := db.SaveTrial(t.Context(), trial); err != nil {
		t.Errorf("the second try: %v", err)
	}
}
