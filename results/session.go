package results

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"memtrix"
)

// Names that `--session` takes for something else.
const (
	sessionLast = "last"
	sessionNew  = "new"
)

const sessionColumns = `id, name, spec, started, ended`

// StartSession begins a new session of a spec. Without a name it gets one from
// the spec's name and the time. It fails when the name is taken.
func (db *DB) StartSession(ctx context.Context, spec, name string) (memtrix.Session, error) {
	if db.lock == nil {
		return memtrix.Session{}, ErrReadOnly
	}
	started := db.now().UTC()
	given := name != ""
	switch strings.TrimSpace(name) {
	case "":
		name = autoName(spec, started)
	case sessionLast, sessionNew:
		return memtrix.Session{}, fmt.Errorf("a session cannot be called %q", name)
	}
	const insert = `INSERT INTO sessions (name, spec, started) VALUES (?, ?, ?) ON CONFLICT (name) DO NOTHING RETURNING id`
	s := memtrix.Session{Name: name, Spec: spec, Started: started}
	for n := 2; ; n++ {
		err := db.sql.QueryRowContext(ctx, insert, s.Name, spec, started.UnixNano()).Scan(&s.ID)
		switch {
		case err == nil:
			return s, nil
		case !errors.Is(err, sql.ErrNoRows):
			return memtrix.Session{}, db.failed("start session "+s.Name, err)
		case given:
			return memtrix.Session{}, fmt.Errorf("there is a session called %q in %s already", s.Name, db.dir)
		}
		s.Name = fmt.Sprintf("%s-%d", name, n) // two in one second
	}
}

func autoName(spec string, at time.Time) string {
	stamp := at.Format("20060102-150405")
	if spec == "" {
		return stamp
	}
	return spec + "-" + stamp
}

// EndSession says that a session is complete. One that was never ended counts
// as interrupted and can be gone on with.
func (db *DB) EndSession(ctx context.Context, id int64) error {
	if db.lock == nil {
		return ErrReadOnly
	}
	done, err := db.sql.ExecContext(ctx, `UPDATE sessions SET ended = ? WHERE id = ?`, db.now().UnixNano(), id)
	if err != nil {
		return db.failed("end session", err)
	}
	if n, err := done.RowsAffected(); err != nil || n == 0 {
		return fmt.Errorf("end session %d: %w", id, ErrNotFound)
	}
	return nil
}

// LastSession is the newest session of a spec, ended or not. The error is
// ErrNotFound where there is none.
func (db *DB) LastSession(ctx context.Context, spec string) (memtrix.Session, error) {
	const find = `SELECT ` + sessionColumns + ` FROM sessions WHERE spec = ? ORDER BY id DESC LIMIT 1`
	s, err := scanSession(db.sql.QueryRowContext(ctx, find, spec))
	if err != nil {
		return s, db.failed(fmt.Sprintf("last session of spec %q", spec), err)
	}
	return s, nil
}

// FindSession finds a session by name; "last" is the newest of any spec. An
// unknown name gives ErrNotFound and a message with the names that there are.
func (db *DB) FindSession(ctx context.Context, name string) (memtrix.Session, error) {
	find, args := `SELECT `+sessionColumns+` FROM sessions WHERE name = ?`, []any{name}
	if name == sessionLast {
		find, args = `SELECT `+sessionColumns+` FROM sessions ORDER BY id DESC LIMIT 1`, nil
	}
	s, err := scanSession(db.sql.QueryRowContext(ctx, find, args...))
	if errors.Is(err, sql.ErrNoRows) {
		return s, db.noSession(ctx, name)
	}
	if err != nil {
		return s, db.failed(fmt.Sprintf("session %q", name), err)
	}
	return s, nil
}

// noSession names the sessions that there are.
func (db *DB) noSession(ctx context.Context, name string) error {
	const shown = 8
	all, err := db.Sessions(ctx)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return fmt.Errorf("no session in %s yet: %w", db.dir, ErrNotFound)
	}
	names := make([]string, 0, shown)
	for i := len(all) - 1; i >= 0 && len(names) < shown; i-- {
		names = append(names, all[i].Name)
	}
	return fmt.Errorf("no session %q in %s: %w; newest: %s", name, db.dir, ErrNotFound, strings.Join(names, ", "))
}

// Sessions are all sessions, the oldest first.
func (db *DB) Sessions(ctx context.Context) ([]memtrix.Session, error) {
	rows, err := db.sql.QueryContext(ctx, `SELECT `+sessionColumns+` FROM sessions ORDER BY id`)
	if err != nil {
		return nil, db.failed("list sessions", err)
	}
	defer rows.Close()
	var all []memtrix.Session
	for rows.Next() {
		s, err := scanSession(rows)
		if err != nil {
			return nil, db.failed("list sessions", err)
		}
		all = append(all, s)
	}
	if err := rows.Err(); err != nil {
		return nil, db.failed("list sessions", err)
	}
	return all, nil
}

// scanner is a row of a query, alone or one of many.
type scanner interface{ Scan(dest ...any) error }

func scanSession(row scanner) (memtrix.Session, error) {
	var s memtrix.Session
	var started, ended sql.NullInt64
	if err := row.Scan(&s.ID, &s.Name, &s.Spec, &started, &ended); err != nil {
		return memtrix.Session{}, err
	}
	s.Started, s.Ended = timeOf(started), timeOf(ended)
	return s, nil
}

// timeOf and nanos turn a time into its column and back; the zero time is NULL.
func timeOf(ns sql.NullInt64) time.Time {
	if !ns.Valid {
		return time.Time{}
	}
	return time.Unix(0, ns.Int64).UTC()
}

func nanos(t time.Time) sql.NullInt64 {
	return sql.NullInt64{Int64: t.UnixNano(), Valid: !t.IsZero()}
}
