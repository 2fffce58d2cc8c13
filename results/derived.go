package results

import (
	"context"
	"database/sql"
	"fmt"

	"memtrix"
)

// SaveValue keeps what several trials gave, in the place of an earlier value of the
// same trial and meter.
func (db *DB) SaveValue(ctx context.Context, v memtrix.Value) error {
	if db.lock == nil {
		return ErrReadOnly
	}
	trials, err := toJSON(v.Trials)
	if err != nil {
		return err
	}
	_, err = db.sql.ExecContext(ctx, `INSERT OR REPLACE INTO derived (trial, meter, unit, value, low, high, trials, note) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
		v.Trial, v.Meter, v.Unit, v.Value, v.Low, v.High, trials, v.Note)
	if err != nil {
		return db.failed(fmt.Sprintf("save %s of trial %d", v.Meter, v.Trial), err)
	}
	return nil
}

// Values are those of a session, in the order of their trials.
func (db *DB) Values(ctx context.Context, session int64) ([]memtrix.ValueAt, error) {
	return db.values(ctx, `t.session = ?`, session)
}

// ValueHistory is one meter's values of a series (memtrix.Cell.Series), the oldest
// first.
func (db *DB) ValueHistory(ctx context.Context, series, meter string) ([]memtrix.ValueAt, error) {
	return db.values(ctx, `c.series = ? AND d.meter = ?`, series, meter)
}

func (db *DB) values(ctx context.Context, where string, args ...any) ([]memtrix.ValueAt, error) {
	rows, err := db.sql.QueryContext(ctx, `SELECT d.trial, d.meter, d.unit, d.value, d.low, d.high, d.trials, d.note,
		t.session, t.cell, v.name, v."commit", t.started, t.simulated
		FROM derived d
		JOIN trials t ON t.id = d.trial
		JOIN cells c ON c.id = t.cell
		JOIN versions v ON v.id = t.version
		WHERE `+where+` ORDER BY t.id, d.meter`, args...)
	if err != nil {
		return nil, db.failed("read values", err)
	}
	defer rows.Close()
	var all []memtrix.ValueAt
	for rows.Next() {
		var v memtrix.ValueAt
		var started sql.NullInt64
		err := rows.Scan(&v.Trial, &v.Meter, &v.Unit, &v.Value.Value, &v.Low, &v.High, fromJSON(&v.Trials), &v.Note,
			&v.Session, &v.Cell, &v.Version, &v.Commit, &started, &v.Simulated)
		if err != nil {
			return nil, db.failed("read values", err)
		}
		v.Started = timeOf(started)
		all = append(all, v)
	}
	if err := rows.Err(); err != nil {
		return nil, db.failed("read values", err)
	}
	return all, nil
}
