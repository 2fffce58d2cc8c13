package results

import (
	"context"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
)

// inspect looks at what the file holds before anything is changed: nothing, a
// database that this memtrix can use (existed), or an error that says whose it
// is. It writes nothing.
func (db *DB) inspect(ctx context.Context, migrations fs.FS) (existed bool, err error) {
	var tables, id int64
	const count = `SELECT count(*) FROM sqlite_schema`
	if err := db.sql.QueryRowContext(ctx, count).Scan(&tables); err != nil {
		return false, db.failed("open", err)
	}
	if tables == 0 {
		return false, nil
	}
	if err := db.sql.QueryRowContext(ctx, `PRAGMA application_id`).Scan(&id); err != nil {
		return false, db.failed("open", err)
	}
	version, err := db.schemaVersion(ctx)
	if err != nil {
		return false, err
	}
	// A first start that was killed leaves goose's own table and no id yet.
	if id != applicationID && !(id == 0 && version == 0) {
		return false, fmt.Errorf("%s is a database of another program; nothing was changed: choose another results folder", db.path)
	}
	newest, err := db.newest(migrations)
	if err != nil {
		return false, err
	}
	if version > newest {
		return false, fmt.Errorf("%s was written by a newer memtrix (schema %d, this one knows up to %d); nothing was changed: use that memtrix, or another results folder",
			db.path, version, newest)
	}
	return true, nil
}

// schemaVersion is the newest migration that the database has had, 0 for none,
// -1 where it has never seen memtrix.
func (db *DB) schemaVersion(ctx context.Context) (int64, error) {
	var n, version int64
	const find = `SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = ?`
	if err := db.sql.QueryRowContext(ctx, find, goose.DefaultTablename).Scan(&n); err != nil {
		return 0, db.failed("read the schema version", err)
	}
	if n == 0 {
		return -1, nil
	}
	const newest = `SELECT coalesce(max(version_id), 0) FROM ` + goose.DefaultTablename + ` WHERE is_applied`
	if err := db.sql.QueryRowContext(ctx, newest).Scan(&version); err != nil {
		return 0, db.failed("read the schema version", err)
	}
	return version, nil
}

// newest is the schema that this memtrix writes.
func (db *DB) newest(migrations fs.FS) (int64, error) {
	provider, err := db.provider(migrations)
	if err != nil {
		return 0, err
	}
	sources := provider.ListSources()
	return sources[len(sources)-1].Version, nil
}

// upToDate says what to do about a schema that is older than this memtrix.
func (db *DB) upToDate(ctx context.Context, migrations fs.FS) error {
	version, err := db.schemaVersion(ctx)
	if err != nil {
		return err
	}
	newest, err := db.newest(migrations)
	if err != nil {
		return err
	}
	if version < newest {
		return &OlderError{Path: db.path, Has: version, Reads: newest}
	}
	return nil
}

// OlderError is of a database that an older memtrix wrote and no newer one has yet
// opened for writing, which brings it up to date.
type OlderError struct {
	Path       string
	Has, Reads int64 // schema versions
}

func (e *OlderError) Error() string {
	return fmt.Sprintf("%s has schema %d of an older memtrix, this one reads %d: `memtrix run` with this results folder brings it up to date",
		e.Path, e.Has, e.Reads)
}

// check reads the whole file once. It is done when the last writer did not end
// by itself.
func (db *DB) check(ctx context.Context) error {
	var answer string
	if err := db.sql.QueryRowContext(ctx, `PRAGMA quick_check(1)`).Scan(&answer); err != nil {
		return db.failed("check", err)
	}
	if answer != "ok" {
		return db.damaged(answer)
	}
	return nil
}

// ping runs one statement that has to read the file.
func (db *DB) ping(ctx context.Context) error {
	var n int64
	return db.sql.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_schema`).Scan(&n)
}
