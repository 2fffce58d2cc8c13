package results

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"memtrix"
)

// Trials are the trials of a session in the order in which they were stored,
// whole but for the points of their series: those have their meter only.
func (db *DB) Trials(ctx context.Context, session int64) ([]*memtrix.Trial, error) {
	return db.trials(ctx, `t.session = ?`, session, false)
}

// Trial is one trial with its series. The error is ErrNotFound where there is
// none.
func (db *DB) Trial(ctx context.Context, id int64) (*memtrix.Trial, error) {
	found, err := db.trials(ctx, `t.id = ?`, id, true)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("trial %d in %s: %w", id, db.dir, ErrNotFound)
	}
	return found[0], nil
}

// trials loads what the condition on trials t selects. All of it comes from one
// moment: a writer may go on meanwhile.
func (db *DB) trials(ctx context.Context, where string, arg any, series bool) ([]*memtrix.Trial, error) {
	tx, err := db.sql.BeginTx(ctx, nil)
	if err != nil {
		return nil, db.failed("read trials", err)
	}
	defer tx.Rollback()
	r := &reader{ctx: ctx, tx: tx, where: where, arg: arg, byID: map[int64]*memtrix.Trial{}, runs: map[int64][]*memtrix.Trial{}, codec: db.codec}
	steps := []func() error{r.rows, r.workflows, r.prompts, r.spans, r.imports, r.peaks, r.keeps, r.readings, r.values, r.probes}
	if series {
		steps = append(steps, r.series)
	} else {
		steps = append(steps, r.meters)
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, db.failed("read trials", err)
		}
	}
	for _, t := range r.found {
		t.Dir = db.found(t.Dir)
	}
	return r.found, nil
}

// reader loads a set of trials table by table.
type reader struct {
	ctx   context.Context
	tx    *sql.Tx
	where string
	arg   any
	codec *codec
	found []*memtrix.Trial
	byID  map[int64]*memtrix.Trial
	runs  map[int64][]*memtrix.Trial // by workflow
}

// each runs a query that ends in a condition on trials t, and gives its rows.
func (r *reader) each(query, order string, scan func(*sql.Rows) error) error {
	return eachRow(r.ctx, r.tx, query+` WHERE `+r.where+` ORDER BY `+order, scan, r.arg)
}

// eachRow runs a query and gives its rows.
func eachRow(ctx context.Context, tx *sql.Tx, query string, scan func(*sql.Rows) error, args ...any) error {
	rows, err := tx.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

const trialQuery = `SELECT t.id, t.session, t.repeat, t.simulated, t.started, t.seconds, t.own_seconds,
	t.argv, t.dir, t.expect, t.outcome, t.memory, t.how, t.phase, t.node_id, t.node_display, t.node_class, t.node_title,
	t.requested_bytes, t.free_bytes, t.hidden_retries, t.message, t.evidence, t.advice,
	t.exit_asked, t.exit_status, t.exit_signal, t.exit_by_signal, t.warnings, t.shared, t.exit_unknown, t.findings, t.control, t.confirms,
	c.settings, c.hardware, c.vram, c.ram, c.swap, c.probe,
	v.name, v.target, v.dir, v.python, v.release, v."commit", v.dirty, v.packages, v.attached, v.packs,
	t.workflow,
	e.facts
	FROM trials t
	JOIN cells c ON c.id = t.cell
	JOIN versions v ON v.id = t.version
	LEFT JOIN environments e ON e.hash = t.environment`

func (r *reader) rows() error {
	return r.each(trialQuery, `t.id`, func(rows *sql.Rows) error {
		var workflow int64
		t, err := scanTrial(rows, &workflow)
		if err != nil {
			return err
		}
		r.runs[workflow] = append(r.runs[workflow], t)
		r.found = append(r.found, t)
		r.byID[t.ID] = t
		return nil
	})
}

func scanTrial(row scanner, workflow *int64) (*memtrix.Trial, error) {
	t := &memtrix.Trial{}
	o, v := &t.Outcome, &t.Cell.Version
	var started sql.NullInt64
	var memory, how, phase sql.NullString
	var node [4]sql.NullString
	var more findings
	err := row.Scan(&t.ID, &t.Session, &t.Repeat, &t.Simulated, &started, &t.Seconds, &t.OwnSeconds,
		fromJSON(&t.Argv), &t.Dir, &t.Expect, &o.Kind, &memory, &how, &phase, &node[0], &node[1], &node[2], &node[3],
		&o.Requested, &o.Free, &o.HiddenRetries, &o.Message, fromJSON(&o.Evidence), fromJSON(&o.Advice),
		&t.Exit.Asked, &t.Exit.Status, &t.Exit.Signal, &t.Exit.BySignal, fromJSON(&t.Warnings), &t.Shared, &t.Exit.Unknown, fromJSON(&more), &t.Control, &t.Confirms,
		fromJSON(&t.Cell.Settings), &t.Cell.Hardware.Name, &t.Cell.Hardware.VRAM, &t.Cell.Hardware.RAM, &t.Cell.Hardware.Swap, &t.Cell.Probe,
		&v.Name, &v.Target, &v.Dir, &v.Python, &v.Release, &v.Commit, fromJSON(&v.Dirty), fromJSON(&v.Packages), fromJSON(&v.Attached), fromJSON(&v.Packs),
		workflow, fromJSON(&t.Environment))
	if err != nil {
		return nil, fmt.Errorf("trial: %w", err)
	}
	if len(t.Cell.Settings) == 0 {
		t.Cell.Settings = nil // none and an empty set are one cell
	}
	t.Started = timeOf(started)
	more.into(o)
	o.Memory, o.How, o.Phase = memtrix.Memory(memory.String), memtrix.How(how.String), memtrix.Phase(phase.String)
	o.Node = nodeOf(node)
	return t, nil
}

func (r *reader) prompts() error {
	const query = `SELECT p.trial, p.idx, p.prompt_id, p.seconds, p.outcome, p.executed, p.cached
		FROM prompts p JOIN trials t ON t.id = p.trial`
	return r.each(query, `p.trial, p.seq`, func(rows *sql.Rows) error {
		var id int64
		var p memtrix.PromptResult
		err := rows.Scan(&id, &p.Index, &p.ID, &p.Seconds, &p.Outcome, fromJSON(&p.Executed), fromJSON(&p.Cached))
		if err != nil {
			return fmt.Errorf("prompt of trial %d: %w", id, err)
		}
		r.byID[id].Prompts = append(r.byID[id].Prompts, p)
		return nil
	})
}

func (r *reader) spans() error {
	const query = `SELECT s.trial, s.kind, s.prompt, s.node_id, s.node_display, s.node_class, s.node_title, s.start_ns, s.end_ns
		FROM spans s JOIN trials t ON t.id = s.trial`
	return r.each(query, `s.trial, s.seq`, func(rows *sql.Rows) error {
		var id int64
		var s memtrix.Span
		var node [4]sql.NullString
		err := rows.Scan(&id, &s.Kind, &s.Prompt, &node[0], &node[1], &node[2], &node[3], &s.Start, &s.End)
		if err != nil {
			return fmt.Errorf("span of trial %d: %w", id, err)
		}
		s.Node = nodeOf(node)
		r.byID[id].Spans = append(r.byID[id].Spans, s)
		return nil
	})
}

func (r *reader) imports() error {
	const query = `SELECT i.trial, i.pack, i.seconds, i.prestart_seconds, i.failed, i.reason, i.ram, i.ram_why, i.begin_ns, i.end_ns
		FROM imports i JOIN trials t ON t.id = i.trial`
	return r.each(query, `i.trial, i.seq`, func(rows *sql.Rows) error {
		var id int64
		var p memtrix.PackImport
		err := rows.Scan(&id, &p.Pack, &p.Seconds, &p.PrestartSeconds, &p.Failed, &p.Reason, &p.RAM, &p.RAMWhy, &p.Begin, &p.End)
		if err != nil {
			return fmt.Errorf("import of a pack in trial %d: %w", id, err)
		}
		r.byID[id].Imports = append(r.byID[id].Imports, p)
		return nil
	})
}

func (r *reader) peaks() error {
	const query = `SELECT p.trial, p.span, p.meter, p.value, p.how, p.at_ns FROM peaks p JOIN trials t ON t.id = p.trial`
	return r.each(query, `p.trial, p.span, p.seq`, func(rows *sql.Rows) error {
		var id int64
		var span int
		var p memtrix.Peak
		if err := rows.Scan(&id, &span, &p.Meter, &p.Value, &p.How, &p.At); err != nil {
			return fmt.Errorf("peak of trial %d: %w", id, err)
		}
		spans := r.byID[id].Spans
		if span < 0 || span >= len(spans) {
			return fmt.Errorf("peak of trial %d: span %d: %w", id, span, ErrNotFound)
		}
		spans[span].Peaks = append(spans[span].Peaks, p)
		return nil
	})
}

func (r *reader) readings() error {
	const query = `SELECT d.trial, d.kind, d.at_ns, d.note FROM readings d JOIN trials t ON t.id = d.trial`
	return r.each(query, `d.trial, d.seq`, func(rows *sql.Rows) error {
		var id int64
		var d memtrix.Reading
		if err := rows.Scan(&id, &d.Kind, &d.At, &d.Note); err != nil {
			return fmt.Errorf("reading of trial %d: %w", id, err)
		}
		r.byID[id].Readings = append(r.byID[id].Readings, d)
		return nil
	})
}

func (r *reader) values() error {
	const query = `SELECT d.trial, d.reading, d.meter, d.value FROM reading_values d JOIN trials t ON t.id = d.trial`
	return r.each(query, `d.trial, d.reading`, func(rows *sql.Rows) error {
		var id, value int64
		var reading int
		var meter string
		if err := rows.Scan(&id, &reading, &meter, &value); err != nil {
			return fmt.Errorf("reading of trial %d: %w", id, err)
		}
		readings := r.byID[id].Readings
		if reading < 0 || reading >= len(readings) {
			return fmt.Errorf("value of trial %d: reading %d: %w", id, reading, ErrNotFound)
		}
		d := &readings[reading]
		if d.Values == nil {
			d.Values = map[string]int64{}
		}
		d.Values[meter] = value
		return nil
	})
}

// meters tells what was measured and from which source, without its points.
func (r *reader) meters() error {
	const query = `SELECT s.trial, m.name, m.unit, m.source, m.counter, m.simulated
		FROM series s JOIN trials t ON t.id = s.trial JOIN meters m ON m.id = s.meter`
	return r.each(query, `s.trial, s.seq`, func(rows *sql.Rows) error {
		var id int64
		var m memtrix.Meter
		if err := rows.Scan(&id, &m.Name, &m.Unit, &m.Source, &m.Counter, &m.Simulated); err != nil {
			return fmt.Errorf("meter of trial %d: %w", id, err)
		}
		r.byID[id].Series = append(r.byID[id].Series, memtrix.Series{Meter: m})
		return nil
	})
}

func (r *reader) series() error {
	const query = `SELECT s.trial, k.data, s.changes, s.data, m.name, m.unit, m.source, m.counter, m.simulated
		FROM series s JOIN trials t ON t.id = s.trial JOIN ticks k ON k.trial = s.trial JOIN meters m ON m.id = s.meter`
	moments := map[int64][]int64{}
	return r.each(query, `s.trial, s.seq`, func(rows *sql.Rows) error {
		var id int64
		var n int
		var tickBlob, blob sql.RawBytes
		var s memtrix.Series
		m := &s.Meter
		if err := rows.Scan(&id, &tickBlob, &n, &blob, &m.Name, &m.Unit, &m.Source, &m.Counter, &m.Simulated); err != nil {
			return fmt.Errorf("series of trial %d: %w", id, err)
		}
		if _, ok := moments[id]; !ok {
			columns, err := r.codec.decode(tickBlob, 1)
			if err != nil {
				return fmt.Errorf("moments of trial %d: %w", id, err)
			}
			moments[id] = columns[0]
		}
		var err error
		if s.T, s.V, err = unpack(r.codec, blob, n, moments[id]); err != nil {
			return fmt.Errorf("series %s of trial %d: %w", m.Name, id, err)
		}
		r.byID[id].Series = append(r.byID[id].Series, s)
		return nil
	})
}

// unpack decodes the blob of one series of n changes.
func unpack(c *codec, blob []byte, n int, ticks []int64) ([]time.Duration, []int64, error) {
	columns, err := c.decode(blob, 2)
	if err != nil {
		return nil, nil, err
	}
	pos, v := columns[0], columns[1]
	if len(pos) != n || len(v) != n {
		return nil, nil, fmt.Errorf("%w: %d moments and %d values instead of %d", errSeriesCorrupt, len(pos), len(v), n)
	}
	t, err := moments(pos, ticks)
	return t, v, err
}

func nodeOf(c [4]sql.NullString) *memtrix.Node {
	if !c[0].Valid {
		return nil
	}
	return &memtrix.Node{ID: c[0].String, DisplayID: c[1].String, ClassType: c[2].String, Title: c[3].String}
}

// jsonColumn scans a column of JSON; NULL leaves the value as it is.
type jsonColumn struct{ dest any }

func fromJSON(dest any) jsonColumn { return jsonColumn{dest} }

// Scan implements sql.Scanner.
func (c jsonColumn) Scan(src any) error {
	switch src := src.(type) {
	case nil:
		return nil
	case string:
		return json.Unmarshal([]byte(src), c.dest)
	case []byte:
		return json.Unmarshal(src, c.dest)
	}
	return errors.New("column is not JSON text")
}
