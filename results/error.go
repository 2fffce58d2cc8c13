package results

import (
	"database/sql"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/mattn/go-sqlite3"

	"memtrix"
)

// ErrNotFound is in the chain of errors about something that is not there: a
// database, a session, a trial.
var ErrNotFound = errors.New("not found")

// ErrReadOnly is returned by writing methods of a database that was opened for
// reading.
var ErrReadOnly = errors.New("results were opened for reading only")

// InUseError says that another process writes to a results folder.
type InUseError struct {
	Dir   string
	PID   int       // 0 when the holder did not say
	Since time.Time // zero when the holder did not say
}

func (e *InUseError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("results folder %s is in use by another run", e.Dir)
	}
	return fmt.Sprintf("results folder %s is in use by PID %d since %s",
		e.Dir, e.PID, e.Since.Local().Format("2006-01-02 15:04:05"))
}

// again is an error that may be over after a while.
type again struct{ error }

func (e again) Unwrap() error { return e.error }

func (e again) Is(target error) bool { return target == memtrix.ErrAgain }

// failed wraps an error of SQLite with what was being done, and adds what a
// person can do about it where that is known.
func (db *DB) failed(doing string, err error) error {
	var e sqlite3.Error
	if errors.As(err, &e) {
		switch e.Code {
		case sqlite3.ErrNotADB, sqlite3.ErrCorrupt:
			return db.damaged(e.Error())
		case sqlite3.ErrBusy, sqlite3.ErrLocked:
			return again{fmt.Errorf("%s: %s: another program has held the database for %v: %w", db.path, doing, busyTimeout, err)}
		case sqlite3.ErrReadonly, sqlite3.ErrPerm, sqlite3.ErrCantOpen:
			return fmt.Errorf("%s: %s: not allowed to write to the file or its folder: %w", db.path, doing, err)
		case sqlite3.ErrFull:
			return again{fmt.Errorf("%s: %s: the disk is full: %w", db.path, doing, err)}
		case sqlite3.ErrIoErr:
			if errors.Is(err, syscall.ENOSPC) || e.SystemErrno == syscall.ENOSPC {
				return again{fmt.Errorf("%s: %s: the disk is full: %w", db.path, doing, err)}
			}
		}
	}
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrNotFound
	}
	return fmt.Errorf("%s: %s: %w", db.path, doing, err)
}

func (db *DB) damaged(why string) error {
	return fmt.Errorf("%s is damaged (%s); nothing was changed or deleted: put back a copy, or move it away to start a new one", db.path, why)
}

// isReadOnlyFolder says that SQLite could not make its files beside the
// database.
func isReadOnlyFolder(err error) bool {
	var e sqlite3.Error
	return errors.As(err, &e) && (e.Code == sqlite3.ErrCantOpen || e.Code == sqlite3.ErrReadonly)
}
