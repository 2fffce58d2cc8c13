package results

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"memtrix"
)

func (w *writer) keep(trial int64, k memtrix.Keep, marked bool) {
	if k != "" {
		w.exec(`INSERT INTO keeps (trial, keep, marked, thinned) VALUES (?, ?, ?, ?)`, trial, k, marked, k == memtrix.KeepEnvelope)
	}
}

// Marked is what became of a mark.
type Marked struct {
	// Thinned is set where only an envelope of the trial's series is left: the mark
	// came too late for more.
	Thinned bool
}

// Mark marks a trial as kept, so that its series stay whole, or takes the mark away.
// The error is ErrNotFound where there is no such trial.
func (db *DB) Mark(ctx context.Context, trial int64, kept bool) (Marked, error) {
	if db.lock == nil {
		return Marked{}, ErrReadOnly
	}
	const query = `INSERT INTO keeps (trial, keep, marked) SELECT id, 'auto', ?2 FROM trials WHERE id = ?1
		ON CONFLICT (trial) DO UPDATE SET marked = ?2 RETURNING thinned`
	var m Marked
	err := db.sql.QueryRowContext(ctx, query, trial, kept).Scan(&m.Thinned)
	if errors.Is(err, sql.ErrNoRows) {
		return m, fmt.Errorf("trial %d in %s: %w", trial, db.dir, ErrNotFound)
	}
	if err != nil {
		return m, db.failed(fmt.Sprintf("mark trial %d", trial), err)
	}
	return m, nil
}

// Thin leaves an envelope of the series of trials that passed as expected, were not
// marked, and belong to a session before the given one. thin makes one series
// smaller. It gives how many trials it thinned; each is one transaction, so that it
// may be broken off at any time.
func (db *DB) Thin(ctx context.Context, before int64, thin func(memtrix.Series) memtrix.Series) (int, error) {
	if db.lock == nil {
		return 0, ErrReadOnly
	}
	ids, err := db.whole(ctx, before)
	if err != nil {
		return 0, db.failed("look for series to thin", err)
	}
	for n, id := range ids {
		if err := db.thin(ctx, id, thin); err != nil {
			return n, db.failed(fmt.Sprintf("thin the series of trial %d", id), err)
		}
	}
	return len(ids), nil
}

// whole are the trials that are to be thinned.
func (db *DB) whole(ctx context.Context, before int64) ([]int64, error) {
	rows, err := db.sql.QueryContext(ctx, `SELECT t.id FROM trials t JOIN keeps k ON k.trial = t.id
		WHERE t.session < ? AND k.keep = 'auto' AND k.marked = 0 AND k.thinned = 0
			AND t.outcome = 'pass' AND t.expect IN ('', 'pass') ORDER BY t.id`, before)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var ids []int64
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

func (db *DB) thin(ctx context.Context, id int64, thin func(memtrix.Series) memtrix.Series) error {
	t, err := db.Trial(ctx, id)
	if err != nil {
		return err
	}
	tx, err := db.sql.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	w := &writer{ctx: ctx, tx: tx}
	w.exec(`UPDATE keeps SET thinned = 1 WHERE trial = ?`, id)
	w.exec(`DELETE FROM series WHERE trial = ?`, id)
	w.exec(`DELETE FROM ticks WHERE trial = ?`, id)
	series := make([]memtrix.Series, len(t.Series))
	for i, s := range t.Series {
		series[i] = thin(s)
	}
	w.series(id, series, db.codec)
	if w.err != nil {
		return w.err
	}
	return tx.Commit()
}

// keeps loads how finely trials are kept.
func (r *reader) keeps() error {
	const query = `SELECT k.trial, k.keep, k.marked FROM keeps k JOIN trials t ON t.id = k.trial`
	return r.each(query, `k.trial`, func(rows *sql.Rows) error {
		var id int64
		var keep memtrix.Keep
		var marked bool
		if err := rows.Scan(&id, &keep, &marked); err != nil {
			return fmt.Errorf("mark of trial %d: %w", id, err)
		}
		r.byID[id].Keep, r.byID[id].Marked = keep, marked
		return nil
	})
}
