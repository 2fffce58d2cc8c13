package results

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"memtrix"
)

// SaveTrial stores a whole trial in one transaction and sets its ID. It changes
// nothing when it fails, but with *RemovedError: then the trial is where that says.
// An error that wraps memtrix.ErrAgain may go away by itself, or by what a person
// does. What has no JSON name is not stored: the version's flags, the
// workflow's warnings.
func (db *DB) SaveTrial(ctx context.Context, t *memtrix.Trial) error {
	if db.lock == nil {
		return ErrReadOnly
	}
	if t.ID != 0 {
		return fmt.Errorf("trial %d is stored already", t.ID)
	}
	tx, err := db.sql.BeginTx(ctx, nil)
	if err != nil {
		return db.failed("begin trial", err)
	}
	defer tx.Rollback() // does nothing after Commit
	id, err := db.saveTrial(ctx, tx, t)
	if err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return db.failed("commit trial", err)
	}
	t.ID = id
	return db.checkPresent(ctx)
}

// saveTrial writes all rows of a trial within a transaction.
func (db *DB) saveTrial(ctx context.Context, tx *sql.Tx, t *memtrix.Trial) (int64, error) {
	w := &writer{ctx: ctx, tx: tx, folder: db.dir}
	var known int
	// The first statement must be a write: a transaction that reads first can be
	// refused the right to write later (https://sqlite.org/isolation.html).
	environment := w.environment(t.Environment)
	w.row(&known, `SELECT count(*) FROM sessions WHERE id = ?`, t.Session)
	if w.err == nil && known == 0 {
		return 0, fmt.Errorf("save trial: session %d: %w", t.Session, ErrNotFound)
	}
	version, workflow := w.version(t.Cell.Version), w.workflow(t.Cell.Workflow)
	w.cell(t.Cell)
	id := w.trial(t, version, workflow, environment)
	w.prompts(id, t.Prompts)
	w.spans(id, t.Spans)
	w.peaks(id, t)
	w.imports(id, t.Imports)
	w.keep(id, t.Keep, t.Marked)
	w.readings(id, t.Readings)
	w.series(id, t.Series, db.codec)
	w.probe(id, t.Probe)
	if w.err != nil {
		return 0, db.failed("save trial", w.err)
	}
	return id, nil
}

// writer writes rows of one transaction and keeps the first error; after it,
// nothing more is written.
type writer struct {
	ctx context.Context
	tx  *sql.Tx
	err error
	// folder is the results folder.
	folder string
}

// exec runs a statement with a value for each of its columns.
func (w *writer) exec(query string, args ...any) {
	if w.err != nil {
		return
	}
	_, w.err = w.tx.ExecContext(w.ctx, query, args...)
}

// row reads one column of one row.
func (w *writer) row(dest any, query string, args ...any) {
	if w.err != nil {
		return
	}
	w.err = w.tx.QueryRowContext(w.ctx, query, args...).Scan(dest)
}

// json is a value as it is stored in a column.
func (w *writer) json(v any) string {
	text, err := toJSON(v)
	if err != nil && w.err == nil {
		w.err = err
	}
	return text
}

// fail keeps an error that is not the database's.
func (w *writer) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

func (w *writer) environment(e memtrix.Environment) sql.NullString {
	if e == nil {
		// Still a write, see saveTrial.
		w.exec(`DELETE FROM environments WHERE hash IS NULL`)
		return sql.NullString{}
	}
	hash := e.Hash()
	w.exec(`INSERT OR IGNORE INTO environments (hash, facts) VALUES (?, ?)`, hash, w.json(e))
	return sql.NullString{String: hash, Valid: true}
}

func (w *writer) version(v memtrix.Version) (id int64) {
	content := w.content(v)
	w.exec(`INSERT OR IGNORE INTO versions
		(content, identity, name, target, dir, python, release, "commit", dirty, packages, attached, packs)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		content, versionIdentity(v), v.Name, v.Target, v.Dir, v.Python, v.Release, v.Commit, w.json(v.Dirty), w.json(v.Packages), w.attached(v.Attached), w.json(v.Packs))
	w.row(&id, `SELECT id FROM versions WHERE content = ?`, content)
	return id
}

func (w *writer) attached(a *memtrix.Attached) sql.NullString {
	if a == nil {
		return sql.NullString{}
	}
	return sql.NullString{String: w.json(a), Valid: true}
}

// versionIdentity stands for what a version is, without its name and place.
func versionIdentity(v memtrix.Version) string {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %q", v.Target, v.Commit, v.Dirty)
	for _, name := range slices.Sorted(maps.Keys(v.Packages)) {
		fmt.Fprintf(h, " %q %q", name, v.Packages[name])
	}
	for _, p := range v.Packs {
		fmt.Fprintf(h, " pack %q %q", p.Name, p.Hash)
	}
	if a := v.Attached; a != nil {
		fmt.Fprintf(h, " %q %q", a.URL, a.Argv)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

func (w *writer) workflow(f memtrix.Workflow) (id int64) {
	content := w.content(f)
	var ui sql.NullString
	if len(f.UI) > 0 {
		ui = sql.NullString{String: w.json(frontEnd{f.UI, f.Changes, f.VaryPaths}), Valid: true}
	}
	w.exec(`INSERT OR IGNORE INTO workflows (content, hash, name, source, graph, vary, stand_ins, ui) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
		content, f.Hash, f.Name, f.Source, w.json(f.Graph), w.json(f.Vary), w.json(f.StandIns), ui)
	w.row(&id, `SELECT id FROM workflows WHERE content = ?`, content)
	return id
}

func (w *writer) cell(c memtrix.Cell) {
	w.exec(`INSERT OR IGNORE INTO cells (id, series, version, workflow, settings, hardware, vram, ram, swap, probe) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		c.ID(), c.Series(), versionIdentity(c.Version), c.Workflow.Hash, w.json(c.Settings), c.Hardware.Name, c.Hardware.VRAM, c.Hardware.RAM, c.Hardware.Swap, c.Probe)
}

// trialColumns are in the order of trial() and of scanTrial.
const trialColumns = `session, cell, version, workflow, environment, repeat, simulated, started, seconds, own_seconds,
	argv, dir, expect, outcome, memory, how, phase, node_id, node_display, node_class, node_title,
	requested_bytes, free_bytes, hidden_retries, message, evidence, advice,
	exit_asked, exit_status, exit_signal, exit_by_signal, warnings, shared, exit_unknown, findings, control, confirms`

func (w *writer) trial(t *memtrix.Trial, version, workflow int64, environment sql.NullString) (id int64) {
	o := t.Outcome
	node := nodeColumns(o.Node)
	args := []any{t.Session, t.Cell.ID(), version, workflow, environment, t.Repeat, t.Simulated, nanos(t.Started), t.Seconds, t.OwnSeconds,
		w.json(t.Argv), within(w.folder, t.Dir), t.Expect, o.Kind, text(o.Memory), text(o.How), text(o.Phase), node[0], node[1], node[2], node[3],
		o.Requested, o.Free, o.HiddenRetries, o.Message, w.json(o.Evidence), w.json(o.Advice),
		t.Exit.Asked, t.Exit.Status, t.Exit.Signal, t.Exit.BySignal, w.json(t.Warnings), t.Shared, t.Exit.Unknown, w.json(findingsOf(o)), t.Control, t.Confirms}
	w.row(&id, `INSERT INTO trials (`+trialColumns+`) VALUES (?`+strings.Repeat(", ?", len(args)-1)+`) RETURNING id`, args...)
	return id
}

func (w *writer) prompts(trial int64, prompts []memtrix.PromptResult) {
	for seq, p := range prompts {
		w.exec(`INSERT INTO prompts (trial, seq, idx, prompt_id, seconds, outcome, executed, cached) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
			trial, seq, p.Index, p.ID, p.Seconds, p.Outcome, w.json(p.Executed), w.json(p.Cached))
	}
}

func (w *writer) spans(trial int64, spans []memtrix.Span) {
	for seq, s := range spans {
		node := nodeColumns(s.Node)
		w.exec(`INSERT INTO spans (trial, seq, kind, prompt, node_id, node_display, node_class, node_title, start_ns, end_ns)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			trial, seq, s.Kind, s.Prompt, node[0], node[1], node[2], node[3], s.Start, s.End)
		for k, p := range s.Peaks {
			w.exec(`INSERT INTO peaks (trial, span, seq, meter, value, how, at_ns) VALUES (?, ?, ?, ?, ?, ?, ?)`,
				trial, seq, k, p.Meter, p.Value, p.How, p.At)
		}
	}
}

func (w *writer) imports(trial int64, imports []memtrix.PackImport) {
	for seq, p := range imports {
		w.exec(`INSERT INTO imports (trial, seq, pack, seconds, prestart_seconds, failed, reason, ram, ram_why, begin_ns, end_ns)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			trial, seq, p.Pack, p.Seconds, p.PrestartSeconds, p.Failed, p.Reason, p.RAM, p.RAMWhy, p.Begin, p.End)
	}
}

func (w *writer) readings(trial int64, readings []memtrix.Reading) {
	for seq, r := range readings {
		w.exec(`INSERT INTO readings (trial, seq, kind, at_ns, note) VALUES (?, ?, ?, ?, ?)`, trial, seq, r.Kind, r.At, r.Note)
		for _, meter := range slices.Sorted(maps.Keys(r.Values)) {
			w.exec(`INSERT INTO reading_values (trial, reading, meter, value) VALUES (?, ?, ?, ?)`, trial, seq, meter, r.Values[meter])
		}
	}
}

func (w *writer) series(trial int64, series []memtrix.Series, c *codec) {
	if len(series) == 0 {
		return
	}
	times := make([][]time.Duration, len(series))
	for i, s := range series {
		times[i] = s.T
	}
	all := ticks(times)
	w.exec(`INSERT INTO ticks (trial, data) VALUES (?, ?)`, trial, c.encode(all))
	for seq, s := range series {
		if len(s.T) != len(s.V) {
			w.fail(fmt.Errorf("series %s: %d moments and %d values", s.Meter.Name, len(s.T), len(s.V)))
			return
		}
		pos, err := positions(s.T, all)
		if err != nil {
			w.fail(fmt.Errorf("series %s: %w", s.Meter.Name, err))
			return
		}
		w.exec(`INSERT INTO series (trial, seq, meter, changes, data) VALUES (?, ?, ?, ?, ?)`,
			trial, seq, w.meter(s.Meter), len(s.V), c.encode(pos, s.V))
	}
}

func (w *writer) meter(m memtrix.Meter) (id int64) {
	w.exec(`INSERT OR IGNORE INTO meters (name, unit, source, counter, simulated) VALUES (?, ?, ?, ?, ?)`,
		m.Name, m.Unit, m.Source, m.Counter, m.Simulated)
	w.row(&id, `SELECT id FROM meters WHERE name = ? AND unit = ? AND source = ? AND counter = ? AND simulated = ?`,
		m.Name, m.Unit, m.Source, m.Counter, m.Simulated)
	return id
}

// content is a hash of everything that JSON shows of v.
func (w *writer) content(v any) string {
	sum := sha256.Sum256([]byte(w.json(v)))
	return hex.EncodeToString(sum[:16])
}

// nodeColumns are id, display id, class and title; all NULL for no node.
func nodeColumns(n *memtrix.Node) [4]sql.NullString {
	if n == nil {
		return [4]sql.NullString{}
	}
	return [4]sql.NullString{
		{String: n.ID, Valid: true}, {String: n.DisplayID, Valid: true},
		{String: n.ClassType, Valid: true}, {String: n.Title, Valid: true},
	}
}

// text stores an empty word as NULL: not told.
func text[T ~string](s T) sql.NullString {
	return sql.NullString{String: string(s), Valid: s != ""}
}

// toJSON is compact JSON that leaves <, > and & as they are, so that a workflow
// comes back byte for byte.
func toJSON(v any) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "", fmt.Errorf("as JSON: %w", err)
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}
