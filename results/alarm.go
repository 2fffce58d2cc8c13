package results

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"memtrix"
	"memtrix/history"
)

// KnownChanges are all changes that were found after earlier runs, the oldest first,
// those for the better among them.
func (db *DB) KnownChanges(ctx context.Context) ([]history.Change, error) {
	rows, err := db.sql.QueryContext(ctx, `SELECT data FROM changes ORDER BY id`)
	if err != nil {
		return nil, db.failed("read changes", err)
	}
	defer rows.Close()
	var all []history.Change
	for rows.Next() {
		var c history.Change
		if err := rows.Scan(fromJSON(&c)); err != nil {
			return nil, db.failed("read changes", err)
		}
		all = append(all, c)
	}
	if err := rows.Err(); err != nil {
		return nil, db.failed("read changes", err)
	}
	return all, nil
}

const alarmColumns = `a.id, a.session, s.name, a.state, a.machine, a.title, a.cause, a.cause_key, a.simulated, a.opened, a.changed,
	a.expected_from, a.note, a.confirming, a.confirmed, a.floor`

// Alarms are all alarms with their changes, the oldest first.
func (db *DB) Alarms(ctx context.Context) ([]history.Alarm, error) {
	tx, err := db.sql.BeginTx(ctx, nil)
	if err != nil {
		return nil, db.failed("read alarms", err)
	}
	defer tx.Rollback()
	all, err := alarms(ctx, tx)
	if err != nil {
		return nil, db.failed("read alarms", err)
	}
	return all, nil
}

func alarms(ctx context.Context, tx *sql.Tx) ([]history.Alarm, error) {
	rows, err := tx.QueryContext(ctx, `SELECT `+alarmColumns+` FROM alarms a JOIN sessions s ON s.id = a.session ORDER BY a.id`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []history.Alarm
	index := map[int64]int{}
	for rows.Next() {
		var a history.Alarm
		var opened, changed sql.NullInt64
		var floor string
		err := rows.Scan(&a.ID, &a.Session, &a.Name, &a.State, &a.Machine, &a.Title, &a.Cause, &a.CauseKey, &a.Simulated, &opened, &changed,
			&a.From, &a.Note, &a.Confirming, &a.Confirmed, &floor)
		if err != nil {
			return nil, err
		}
		if floor != "" {
			if err := json.Unmarshal([]byte(floor), &a.Floor); err != nil {
				return nil, fmt.Errorf("floor of alarm %d: %w", a.ID, err)
			}
		}
		a.Opened, a.Changed = timeOf(opened), timeOf(changed)
		index[a.ID] = len(all)
		all = append(all, a)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	changes, err := tx.QueryContext(ctx, `SELECT alarm, data FROM changes WHERE alarm IS NOT NULL ORDER BY id`)
	if err != nil {
		return nil, err
	}
	defer changes.Close()
	for changes.Next() {
		var id int64
		var c history.Change
		if err := changes.Scan(&id, fromJSON(&c)); err != nil {
			return nil, err
		}
		all[index[id]].Changes = append(all[index[id]].Changes, c)
	}
	return all, changes.Err()
}

// SaveReview keeps what a look after a run came to, in one transaction: new alarms, which
// get their ids, changes that belong to alarms that are there, those for the better,
// and alarms of which everything went back. A change that is kept already is not kept
// twice.
func (db *DB) SaveReview(ctx context.Context, r *history.Review) error {
	if db.lock == nil {
		return ErrReadOnly
	}
	tx, err := db.sql.BeginTx(ctx, nil)
	if err != nil {
		return db.failed("save alarms", err)
	}
	defer tx.Rollback()
	w := &writer{ctx: ctx, tx: tx}
	now := db.now().UTC()
	for _, id := range r.Fixed {
		w.exec(`UPDATE alarms SET state = ?, changed = ? WHERE id = ?`, history.Fixed, now.UnixNano(), id)
	}
	for i := range r.Opened {
		a := &r.Opened[i]
		a.Opened, a.Changed = now, now
		w.row(&a.ID, `INSERT INTO alarms (session, state, machine, title, cause, cause_key, simulated, opened, changed, expected_from, note, confirming, confirmed)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id`,
			a.Session, a.State, a.Machine, a.Title, a.Cause, a.CauseKey, a.Simulated, now.UnixNano(), now.UnixNano(), a.From, a.Note, a.Confirming, a.Confirmed)
		w.changes(a.Changes, sql.NullInt64{Int64: a.ID, Valid: true})
	}
	for id, changes := range r.Joined {
		w.changes(changes, sql.NullInt64{Int64: id, Valid: true})
	}
	w.changes(r.Better, sql.NullInt64{})
	if w.err != nil {
		return db.failed("save alarms", w.err)
	}
	if err := tx.Commit(); err != nil {
		return db.failed("save alarms", err)
	}
	return nil
}

func (w *writer) changes(all []history.Change, alarm sql.NullInt64) {
	for _, c := range all {
		w.exec(`INSERT INTO changes (alarm, session, line, meter, kind, version, data) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
			alarm, c.Session, c.Line, c.Meter, c.Kind, c.To+" "+c.ToCommit, w.json(c))
	}
}

// SetAlarm changes the state of an alarm; from and note are kept as they were where they
// are "". The error is ErrNotFound where there is no such alarm.
func (db *DB) SetAlarm(ctx context.Context, id int64, state history.State, from, note string) error {
	if db.lock == nil {
		return ErrReadOnly
	}
	done, err := db.sql.ExecContext(ctx, `UPDATE alarms SET state = ?, changed = ?,
		expected_from = CASE WHEN ?3 = '' THEN expected_from ELSE ?3 END, note = CASE WHEN ?4 = '' THEN note ELSE ?4 END WHERE id = ?5`,
		state, db.now().UnixNano(), from, note, id)
	if err != nil {
		return db.failed(fmt.Sprintf("change alarm %d", id), err)
	}
	if n, err := done.RowsAffected(); err != nil || n == 0 {
		return fmt.Errorf("alarm %d in %s: %w", id, db.dir, ErrNotFound)
	}
	return nil
}

// SetFloor keeps what was told of the floor of an alarm's cell. The error is ErrNotFound where
// there is no such alarm.
func (db *DB) SetFloor(ctx context.Context, id int64, told history.FloorTold) error {
	if db.lock == nil {
		return ErrReadOnly
	}
	text, err := toJSON(told)
	if err != nil {
		return err
	}
	done, err := db.sql.ExecContext(ctx, `UPDATE alarms SET floor = ? WHERE id = ?`, text, id)
	if err != nil {
		return db.failed(fmt.Sprintf("keep the floor of alarm %d", id), err)
	}
	if n, err := done.RowsAffected(); err != nil || n == 0 {
		return fmt.Errorf("alarm %d in %s: %w", id, db.dir, ErrNotFound)
	}
	return nil
}

// SessionsOf are the sessions of a spec, the oldest first.
func (db *DB) SessionsOf(ctx context.Context, spec string) ([]memtrix.Session, error) {
	all, err := db.Sessions(ctx)
	if err != nil {
		return nil, err
	}
	var of []memtrix.Session
	for _, s := range all {
		if s.Spec == spec {
			of = append(of, s)
		}
	}
	return of, nil
}
