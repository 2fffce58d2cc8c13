package results

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"memtrix"
)

// finished is what a trial must be to count as measured: a trial that Ctrl-C or
// memtrix itself spoiled is done again.
const finished = `outcome NOT IN ('` + string(memtrix.Interrupted) + `', '` + string(memtrix.HarnessFailure) + `')`

// Done tells what a session has measured already: outcome by cell id and
// repeat. Interrupted trials and harness failures are not in it.
func (db *DB) Done(ctx context.Context, session int64) (map[string]map[int]memtrix.OutcomeKind, error) {
	const query = `SELECT cell, repeat, outcome FROM trials WHERE session = ? AND ` + finished + ` ORDER BY id`
	rows, err := db.sql.QueryContext(ctx, query, session)
	if err != nil {
		return nil, db.failed("read what is done", err)
	}
	defer rows.Close()
	done := map[string]map[int]memtrix.OutcomeKind{}
	for rows.Next() {
		var cell string
		var repeat int
		var kind memtrix.OutcomeKind
		if err := rows.Scan(&cell, &repeat, &kind); err != nil {
			return nil, db.failed("read what is done", err)
		}
		if done[cell] == nil {
			done[cell] = map[int]memtrix.OutcomeKind{}
		}
		done[cell][repeat] = kind
	}
	if err := rows.Err(); err != nil {
		return nil, db.failed("read what is done", err)
	}
	return done, nil
}

// LastOf is the outcome and the wall time, in seconds, of the newest finished
// trial of a cell in any session. ok is false where there is none.
func (db *DB) LastOf(ctx context.Context, cell string) (kind memtrix.OutcomeKind, seconds float64, ok bool, err error) {
	const query = `SELECT outcome, seconds FROM trials WHERE cell = ? AND ` + finished + ` ORDER BY id DESC LIMIT 1`
	err = db.sql.QueryRowContext(ctx, query, cell).Scan(&kind, &seconds)
	if errors.Is(err, sql.ErrNoRows) {
		return "", 0, false, nil
	}
	if err != nil {
		return "", 0, false, db.failed(fmt.Sprintf("last trial of cell %s", cell), err)
	}
	return kind, seconds, true, nil
}

// Known tells, for each of the versions, whether any finished trial of it is
// stored. Names and folders do not matter, only what the version is.
func (db *DB) Known(ctx context.Context, versions []memtrix.Version) ([]bool, error) {
	const query = `SELECT EXISTS (SELECT 1 FROM versions v JOIN trials t ON t.version = v.id WHERE v.identity = ? AND t.` + finished + `)`
	known := make([]bool, len(versions))
	for i, v := range versions {
		if err := db.sql.QueryRowContext(ctx, query, versionIdentity(v)).Scan(&known[i]); err != nil {
			return nil, db.failed("look for version "+v.Name, err)
		}
	}
	return known, nil
}

// OfWorkflow are the trials of a workflow (memtrix.Workflow.Hash) in all sessions, in
// the order in which they were stored; as in Trials without the points of their
// series.
func (db *DB) OfWorkflow(ctx context.Context, hash string) ([]*memtrix.Trial, error) {
	return db.trials(ctx, `t.cell IN (SELECT id FROM cells WHERE workflow = ?)`, hash, false)
}

// TrialIDs are the numbers of the newest trials, the newest first, at most n.
func (db *DB) TrialIDs(ctx context.Context, n int) ([]int64, error) {
	rows, err := db.sql.QueryContext(ctx, `SELECT id FROM trials ORDER BY id DESC LIMIT ?`, n)
	if err != nil {
		return nil, db.failed("list trials", err)
	}
	defer rows.Close()
	var ids []int64
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return nil, db.failed("list trials", err)
		}
		ids = append(ids, id)
	}
	if err := rows.Err(); err != nil {
		return nil, db.failed("list trials", err)
	}
	return ids, nil
}
