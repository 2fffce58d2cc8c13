package results

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"memtrix"
)

func mustOpen(tb testing.TB, dir string) *DB {
	tb.Helper()
	db, err := Open(context.Background(), dir)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { db.Close() })
	return db
}

func mustClose(tb testing.TB, db *DB) {
	tb.Helper()
	if err := db.Close(); err != nil {
		tb.Fatal(err)
	}
}

func mustStart(tb testing.TB, db *DB, spec, name string) memtrix.Session {
	tb.Helper()
	s, err := db.StartSession(context.Background(), spec, name)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func mustSave(tb testing.TB, db *DB, t *memtrix.Trial) {
	tb.Helper()
	if err := db.SaveTrial(context.Background(), t); err != nil {
		tb.Fatal(err)
	}
}

// says checks that an error tells all of the words.
func says(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want one with %q", words)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("want %q in the error, got: %v", w, err)
		}
	}
}

// Ensure that a folder with any name, also one that must be escaped in a URI,
// is made, and can be opened again.
func TestOpenMakesFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a b?c#d%41e'f", "é;&=")
	db := mustOpen(t, dir)
	session := mustStart(t, db, "nightly", "one")
	mustClose(t, db)
	if _, err := os.Stat(filepath.Join(dir, DatabaseFile)); err != nil {
		t.Error(err)
	}
	db = mustOpen(t, dir)
	if got, err := db.FindSession(context.Background(), "one"); err != nil || got.ID != session.ID {
		t.Errorf("want session %d, got %d, %v", session.ID, got.ID, err)
	}
}

func TestOpenPragmas(t *testing.T) {
	db := mustOpen(t, t.TempDir())
	for pragma, want := range map[string]string{"journal_mode": "wal", "foreign_keys": "1", "busy_timeout": "5000", "synchronous": "2", "application_id": "1836348024"} {
		var got string
		if err := db.sql.QueryRow("PRAGMA " + pragma).Scan(&got); err != nil || got != want {
			t.Errorf("%s: want %s, got %s, %v", pragma, want, got, err)
		}
	}
}

// Ensure that a folder that cannot be used is named, with the reason.
func TestOpenBadFolder(t *testing.T) {
	ctx := context.Background()
	base := t.TempDir()
	file := filepath.Join(base, "file")
	if err := os.WriteFile(file, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := Open(ctx, file)
	says(t, err, file, "is a file, not a folder")
	_, err = Open(ctx, filepath.Join(file, "below"))
	says(t, err, filepath.Join(file, "below"))
	_, err = Open(ctx, "")
	says(t, err, "no name")
	if got, _ := os.ReadFile(file); string(got) != "mine" {
		t.Errorf("the file was changed to %q", got)
	}

	// A folder in the place of the lock or of the database cannot be written
	// either, whoever asks.
	taken := filepath.Join(base, "taken")
	if err := os.MkdirAll(filepath.Join(taken, LockFile), 0o755); err != nil {
		t.Fatal(err)
	}
	_, err = Open(ctx, taken)
	says(t, err, taken, "is not writable")
	other := filepath.Join(base, "other")
	if err := os.MkdirAll(filepath.Join(other, DatabaseFile), 0o755); err != nil {
		t.Fatal(err)
	}
	_, err = Open(ctx, other)
	says(t, err, filepath.Join(other, DatabaseFile), "folder")
}

func TestOpenNotWritable(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may write everywhere")
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(dir, 0o755)
	_, err := Open(context.Background(), dir)
	says(t, err, dir, "is not writable")
}

// Ensure that files of others are refused and keep every byte.
func TestOpenNotOurs(t *testing.T) {
	ctx := context.Background()
	for name, c := range map[string]struct {
		make func(t *testing.T, path string)
		says []string
	}{
		"text":      {func(t *testing.T, path string) { write(t, path, "hello, this is not a database") }, []string{"is not a database", "nothing was changed"}},
		"short":     {func(t *testing.T, path string) { write(t, path, "x") }, []string{"is not a database"}},
		"other app": {makeForeign, []string{"another program", "nothing was changed"}},
		"header only": {func(t *testing.T, path string) {
			write(t, path, "SQLite format 3\x00"+strings.Repeat("\xff", 4096))
		}, []string{"is damaged", "nothing was changed or deleted"}},
		"garbage inside": {makeDamaged, []string{"is damaged", "nothing was changed or deleted"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, DatabaseFile)
			c.make(t, path)
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			_, err = Open(ctx, dir)
			says(t, err, append(c.says, path)...)
			_, err = OpenReadOnly(ctx, dir)
			says(t, err, append(c.says, path)...)
			if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
				t.Errorf("the file was changed (%d to %d bytes, %v)", len(before), len(after), err)
			}
		})
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func makeForeign(t *testing.T, path string) {
	t.Helper()
	db, err := sql.Open("sqlite3", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(`CREATE TABLE bookmarks (url TEXT); INSERT INTO bookmarks VALUES ('x')`); err != nil {
		t.Fatal(err)
	}
}

// makeDamaged overwrites the schema's own page of a good database.
func makeDamaged(t *testing.T, path string) {
	t.Helper()
	db := mustOpen(t, filepath.Dir(path))
	mustStart(t, db, "nightly", "one")
	mustClose(t, db)
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte(strings.Repeat("\xa5", 3900)), 100); err != nil {
		t.Fatal(err)
	}
}

// Ensure that damage which the schema does not show is found after a writer
// that did not end by itself.
func TestOpenChecksAfterUncleanEnd(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	db := mustOpen(t, dir)
	session := mustStart(t, db, "nightly", "one")
	for i := range 20 {
		trial := fullTrial(session.ID)
		trial.Repeat = i
		mustSave(t, db, trial)
	}
	mustClose(t, db)
	path := filepath.Join(dir, DatabaseFile)
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	// The last pages hold rows, not the schema.
	if _, err := f.WriteAt([]byte(strings.Repeat("\xa5", 8192)), info.Size()-8192); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, LockFile), formatHolder(1, time.Now()))
	_, err = Open(ctx, dir)
	says(t, err, path, "is damaged", "nothing was changed or deleted")
}

// migrationsUpTo are the real migrations with the given ones behind them.
func migrationsWith(t *testing.T, more map[string]string) fs.FS {
	t.Helper()
	all := fstest.MapFS{}
	entries, err := fs.ReadDir(migrationFiles, "migrations")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		data, err := fs.ReadFile(migrationFiles, "migrations/"+e.Name())
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name()] = &fstest.MapFile{Data: data}
	}
	for name, text := range more {
		all[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return all
}

// Ensure that a database of version 1 comes up to a later version with its
// trials, that a failing migration leaves it at the version before, and that
// this memtrix then refuses what a newer one wrote.
func TestMigrateFromVersion1(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	db := mustOpen(t, dir)
	session := mustStart(t, db, "nightly", "one")
	trial := fullTrial(session.ID)
	mustSave(t, db, trial)
	mustClose(t, db)

	bad := migrationsWith(t, map[string]string{"99998_bad.sql": "-- +goose Up\nALTER TABLE trials ADD COLUMN x TEXT;\nALTER TABLE nosuch ADD COLUMN y TEXT;\n"})
	if _, err := open(ctx, dir, bad); err == nil {
		t.Fatal("a failing migration gives no error")
	}
	db = mustOpen(t, dir) // still opens with the real ones: version 1
	mustClose(t, db)

	later := migrationsWith(t, map[string]string{"99999_later.sql": "-- +goose Up\nALTER TABLE trials ADD COLUMN note TEXT;\n"})
	db, err := open(ctx, dir, later)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := db.Trial(ctx, trial.ID); err != nil {
		t.Error(err)
	} else {
		same(t, trial, got)
	}
	mustClose(t, db)

	before, err := os.ReadFile(filepath.Join(dir, DatabaseFile))
	if err != nil {
		t.Fatal(err)
	}
	_, err = Open(ctx, dir)
	says(t, err, "newer memtrix", "99999", "nothing was changed")
	_, err = OpenReadOnly(ctx, dir)
	says(t, err, "newer memtrix")
	if after, _ := os.ReadFile(filepath.Join(dir, DatabaseFile)); string(after) != string(before) {
		t.Error("the newer database was changed")
	}
}

// Ensure that a reader says what to do about an older schema, and changes
// nothing.
func TestReadOnlyOlderSchema(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	mustClose(t, mustOpen(t, dir))
	db, err := connect(dir, readDSN)
	if err != nil {
		t.Fatal(err)
	}
	defer db.disconnect()
	later := migrationsWith(t, map[string]string{"99999_later.sql": "-- +goose Up\nCREATE TABLE x (y);\n"})
	says(t, db.upToDate(ctx, later), "older memtrix", "memtrix run")
}

// Ensure that who only looks at results of an older memtrix sees them, and is told
// that they were brought up to date; not while another process writes.
func TestOpenToRead(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	const first = "00001_first.sql"
	data, err := migrationFiles.ReadFile("migrations/" + first)
	if err != nil {
		t.Fatal(err)
	}
	db, err := open(ctx, dir, fstest.MapFS{first: &fstest.MapFile{Data: data}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = OpenToRead(ctx, dir, func(*OlderError) { t.Error("told while another writes") })
	says(t, err, "older memtrix", "in use")
	mustClose(t, db)
	told := int64(0)
	db, err = OpenToRead(ctx, dir, func(e *OlderError) { told = e.Has })
	if err != nil || told != 1 {
		t.Fatalf("want it brought up to date from 1, got %d, %v", told, err)
	}
	mustClose(t, db)
	if db, err = OpenToRead(ctx, dir, func(*OlderError) { t.Error("told again") }); err != nil {
		t.Fatal(err)
	}
	mustClose(t, db)
}

func TestReadOnly(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	if _, err := OpenReadOnly(ctx, dir); !errors.Is(err, ErrNotFound) {
		t.Errorf("no database: got %v", err)
	}
	if _, err := OpenReadOnly(ctx, filepath.Join(dir, "nosuch")); !errors.Is(err, ErrNotFound) {
		t.Errorf("no folder: got %v", err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 0 {
		t.Errorf("reading made %v", entries)
	}
	write(t, filepath.Join(dir, DatabaseFile), "")
	if _, err := OpenReadOnly(ctx, dir); !errors.Is(err, ErrNotFound) {
		t.Errorf("empty database: got %v", err)
	}
	mustClose(t, mustOpen(t, dir))
	db, err := OpenReadOnly(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.StartSession(ctx, "nightly", ""); !errors.Is(err, ErrReadOnly) {
		t.Errorf("StartSession: got %v", err)
	}
	if err := db.SaveTrial(ctx, fullTrial(1)); !errors.Is(err, ErrReadOnly) {
		t.Errorf("SaveTrial: got %v", err)
	}
	if err := db.EndSession(ctx, 1); !errors.Is(err, ErrReadOnly) {
		t.Errorf("EndSession: got %v", err)
	}
}

// Ensure that another program's lock on the file itself is told as such.
func TestHeldByOtherProgram(t *testing.T) {
	dir := t.TempDir()
	db := mustOpen(t, dir)
	other, err := sql.Open("sqlite3", "file:"+filepath.Join(dir, DatabaseFile)+"?_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	tx, err := other.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	ctx := context.Background()
	// Wait less than the real time out.
	if _, err := db.sql.ExecContext(ctx, `PRAGMA busy_timeout = 20`); err != nil {
		t.Fatal(err)
	}
	db.sql.SetMaxOpenConns(1)
	_, err = db.StartSession(ctx, "nightly", "")
	says(t, err, DatabaseFile, "another program has held the database")
}
