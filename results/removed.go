package results

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// RemovedError says that somebody removed or replaced the database while it was
// open. What is written then goes into a file that nobody can open again; so it
// is copied into one that can.
type RemovedError struct {
	Path    string // of the database
	Rescued string // of the copy, "" where none could be made
	Err     error  // why there is no copy
}

func (e *RemovedError) Error() string {
	msg := fmt.Sprintf("%s was removed or replaced while memtrix wrote to it", e.Path)
	if e.Rescued == "" {
		return fmt.Sprintf("%s; what was measured could not be copied: %v", msg, e.Err)
	}
	return fmt.Sprintf("%s; everything that was in it is in %s: rename that to %s, or open a folder that holds it under that name",
		msg, e.Rescued, DatabaseFile)
}

func (e *RemovedError) Unwrap() error { return e.Err }

// checkPresent compares the file of the database's name with the one that was
// opened, and saves what can be saved when they differ.
func (db *DB) checkPresent(ctx context.Context) error {
	now, err := os.Stat(db.path)
	if err == nil && os.SameFile(now, db.file) && now.Size() >= db.file.Size() {
		return nil // it only grows
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil // it cannot be looked at; it may be there all the same
	}
	removed := &RemovedError{Path: db.path}
	removed.Rescued, removed.Err = db.rescue(ctx)
	return removed
}

// rescue copies the database, by its open connection, into a new file beside the
// place where it was.
func (db *DB) rescue(ctx context.Context) (string, error) {
	name := "memtrix-rescued-" + db.now().UTC().Format("20060102-150405") + ".db"
	path := filepath.Join(filepath.Dir(db.path), name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	if _, err := db.sql.ExecContext(ctx, `VACUUM INTO ?`, path); err != nil {
		return "", err
	}
	return path, nil
}
