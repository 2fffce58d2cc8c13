package results

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"time"

	_ "github.com/mattn/go-sqlite3" // the driver "sqlite3"
	"github.com/pressly/goose/v3"

	"memtrix/internal/files"
)

const (
	// DatabaseFile and LockFile are the files of a results folder.
	DatabaseFile = "memtrix.db"
	LockFile     = "memtrix.lock"

	// applicationID is what migration 1 writes: "mtrx".
	applicationID = 0x6d747278
	// busyTimeout is how long a statement waits for another program that holds
	// the database. Readers never hold it (WAL), so it is rarely used up.
	busyTimeout = 5 * time.Second
	// maxConns is enough for one writer and some readers in one process.
	maxConns = 4
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// DB is the results of one folder. It is safe for use by several goroutines.
type DB struct {
	dir   string
	path  string
	sql   *sql.DB
	lock  *lock       // nil when opened read-only
	file  fs.FileInfo // of the database when it was opened for writing
	codec *codec
	now   func() time.Time
}

// Open opens the results folder dir for writing, creates it and its database
// where there is none, and brings an older schema up to date.
//
// It fails with *InUseError when another process writes to the folder, and
// otherwise with a message that names the folder or the file and what is wrong
// with it. What cannot be opened is left as it was.
func Open(ctx context.Context, dir string) (*DB, error) {
	migrations, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		return nil, fmt.Errorf("migrations: %w", err)
	}
	return open(ctx, dir, migrations)
}

// open is Open with migrations of the caller's choice.
func open(ctx context.Context, dir string, migrations fs.FS) (_ *DB, err error) {
	if err := makeFolder(dir); err != nil {
		return nil, err
	}
	held, err := acquire(dir)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			held.release()
		}
	}()
	if err := examine(ctx, dir, migrations, held.unclean); err != nil {
		return nil, err
	}
	db, err := connect(dir, writeDSN)
	if err != nil {
		return nil, err
	}
	db.lock = held
	defer func() {
		if err != nil {
			db.disconnect()
		}
	}()
	if err := db.migrate(ctx, migrations); err != nil {
		return nil, err
	}
	if db.file, err = os.Stat(db.path); err != nil {
		return nil, fmt.Errorf("results folder %s: %w", dir, err)
	}
	return db, nil
}

// examine looks at an existing database through a connection that cannot write:
// the writing one switches the file to WAL with its first statement, and a file
// that is not ours must stay as it is. After an unclean end it is read whole.
func examine(ctx context.Context, dir string, migrations fs.FS, unclean bool) (err error) {
	info, err := os.Stat(filepath.Join(dir, DatabaseFile))
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode().IsRegular() && info.Size() == 0 {
		return nil // a new one
	}
	db, err := connect(dir, readDSN)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.disconnect()) }()
	existed, err := db.inspect(ctx, migrations)
	if err != nil {
		return err
	}
	if existed && unclean {
		return db.check(ctx)
	}
	return nil
}

// OpenReadOnly opens the results folder dir for reading. It works beside a
// writer and in folders that this user may not write to, and never changes
// anything. Without a database the error is ErrNotFound; an older schema is an
// *OlderError.
func OpenReadOnly(ctx context.Context, dir string) (_ *DB, err error) {
	migrations, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		return nil, fmt.Errorf("migrations: %w", err)
	}
	if _, err := os.Stat(filepath.Join(dir, DatabaseFile)); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("no %s in results folder %s: %w", DatabaseFile, dir, ErrNotFound)
		}
		return nil, fmt.Errorf("results folder %s: %w", dir, err)
	}
	db, err := connect(dir, readDSN)
	if err != nil {
		return nil, err
	}
	if err := db.ping(ctx); isReadOnlyFolder(err) && !files.Exist(db.path+"-wal") {
		// A WAL database needs files beside it even for reading, and this folder
		// takes none. Nobody can be writing to it either (no -wal), so it is safe
		// to say that it does not change.
		db.disconnect()
		if db, err = connect(dir, immutableDSN); err != nil {
			return nil, err
		}
	}
	defer func() {
		if err != nil {
			db.disconnect()
		}
	}()
	existed, err := db.inspect(ctx, migrations)
	if err != nil {
		return nil, err
	}
	if !existed {
		return nil, fmt.Errorf("%s is empty: %w", db.path, ErrNotFound)
	}
	if err := db.upToDate(ctx, migrations); err != nil {
		return nil, err
	}
	return db, nil
}

// OpenToRead is OpenReadOnly for a person who only looks: the database of an older
// memtrix is brought up to date first, which told is told of, where this user may
// write to the folder and nobody else does. Where that cannot be done the error says
// so beside the OlderError, and nothing was changed.
func OpenToRead(ctx context.Context, dir string, told func(*OlderError)) (*DB, error) {
	db, err := OpenReadOnly(ctx, dir)
	older := (*OlderError)(nil)
	if !errors.As(err, &older) {
		return db, err
	}
	writer, failed := Open(ctx, dir)
	if failed == nil {
		failed = writer.Close()
	}
	if failed != nil {
		return nil, fmt.Errorf("%w; it could not be done now: %w", err, failed)
	}
	told(older)
	return OpenReadOnly(ctx, dir)
}

// Close closes the database and lets other processes write to the folder.
func (db *DB) Close() error {
	err := db.disconnect()
	if db.lock != nil {
		err = errors.Join(err, db.lock.release())
		db.lock = nil
	}
	if err != nil {
		return fmt.Errorf("close %s: %w", db.path, err)
	}
	return nil
}

// Dir is the results folder.
func (db *DB) Dir() string { return db.dir }

func (db *DB) disconnect() error {
	db.codec.close()
	return db.sql.Close()
}

// makeFolder makes dir, and says what is in the way when it cannot.
func makeFolder(dir string) error {
	if dir == "" {
		return errors.New("results folder: no name given")
	}
	info, err := os.Stat(dir)
	if err == nil {
		if !info.IsDir() {
			return fmt.Errorf("results folder %s is a file, not a folder", dir)
		}
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("results folder %s cannot be made: %w", dir, err)
	}
	return nil
}

// writeDSN, readDSN and immutableDSN say how SQLite opens the file.
//
//   - WAL: readers go on beside a writer, and a killed writer leaves the state
//     before its transaction (https://sqlite.org/wal.html).
//   - synchronous FULL: a trial takes minutes and one fsync; it is worth it.
//   - foreign_keys: SQLite does not check them unless it is told to.
func writeDSN(path string) string {
	return fileURI(path, url.Values{
		"_journal_mode": {"WAL"},
		"_synchronous":  {"FULL"},
		"_foreign_keys": {"on"},
		"_busy_timeout": {busyMillis()},
	})
}

func readDSN(path string) string {
	return fileURI(path, url.Values{"mode": {"ro"}, "_query_only": {"on"}, "_busy_timeout": {busyMillis()}})
}

func immutableDSN(path string) string {
	return fileURI(path, url.Values{"mode": {"ro"}, "immutable": {"1"}})
}

func busyMillis() string { return fmt.Sprint(busyTimeout.Milliseconds()) }

// fileURI escapes what would end the path early (https://sqlite.org/uri.html).
func fileURI(path string, params url.Values) string {
	return "file:" + (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath() + "?" + params.Encode()
}

// connect makes the handle. SQLite opens the file with the first statement.
func connect(dir string, dsn func(path string) string) (*DB, error) {
	path, err := filepath.Abs(filepath.Join(dir, DatabaseFile))
	if err != nil {
		return nil, fmt.Errorf("results folder %s: %w", dir, err)
	}
	if err := checkHeader(path); err != nil {
		return nil, err
	}
	handle, err := sql.Open("sqlite3", dsn(path))
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	handle.SetMaxOpenConns(maxConns)
	c, err := newCodec()
	if err != nil {
		handle.Close()
		return nil, err
	}
	return &DB{dir: dir, path: path, sql: handle, codec: c, now: time.Now}, nil
}

// checkHeader looks at the file before SQLite does, because opening it for WAL
// writes to it.
func checkHeader(path string) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	defer f.Close()
	// https://sqlite.org/fileformat.html#the_database_header
	const magic = "SQLite format 3\x00"
	head := make([]byte, len(magic))
	n, err := f.Read(head)
	if n == 0 {
		if info, statErr := f.Stat(); statErr == nil && info.IsDir() {
			return fmt.Errorf("%s is a folder, not a database; nothing was changed", path)
		}
		return nil // empty: SQLite makes a database of it
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	if string(head[:n]) != magic {
		return fmt.Errorf("%s is not a database; nothing was changed: move it away or choose another results folder", path)
	}
	return nil
}

// migrate brings the schema up to date.
func (db *DB) migrate(ctx context.Context, migrations fs.FS) error {
	provider, err := db.provider(migrations)
	if err != nil {
		return err
	}
	if _, err := provider.Up(ctx); err != nil {
		return db.failed("bring the schema up to date", err)
	}
	return nil
}

func (db *DB) provider(migrations fs.FS) (*goose.Provider, error) {
	provider, err := goose.NewProvider(goose.DialectSQLite3, db.sql, migrations,
		goose.WithDisableGlobalRegistry(true),
		goose.WithLogger(goose.NopLogger()))
	if err != nil {
		return nil, fmt.Errorf("migrations: %w", err)
	}
	return provider, nil
}
