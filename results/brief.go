package results

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"slices"
	"strings"

	"memtrix"
)

// peaks stores what a history reads of a trial's spans and probe.
func (w *writer) peaks(trial int64, t *memtrix.Trial) {
	const insert = `INSERT INTO trial_peaks (trial, meter, value, how) VALUES (?, ?, ?, ?)`
	seen := map[string]bool{}
	for _, s := range t.Spans {
		for _, p := range s.Peaks {
			if seen[p.Meter] {
				continue
			}
			seen[p.Meter] = true
			if best, ok := t.Peak(p.Meter); ok {
				w.exec(insert, trial, best.Meter, best.Value, best.How)
			}
		}
	}
	idle := memtrix.Trial{}
	for _, s := range t.Spans {
		if s.Kind == memtrix.SpanIdle {
			idle.Spans = append(idle.Spans, s)
		}
	}
	for _, m := range memtrix.IdleMeters {
		if best, ok := idle.Peak(m); ok {
			w.exec(insert, trial, memtrix.IdlePrefix+m, best.Value, best.How)
		}
	}
	if t.Probe == nil || seen[memtrix.VRAMNonEvictable] {
		return
	}
	var most *int64
	for _, p := range t.Probe.Prompts {
		if v := p.NonEvictable; v != nil && (most == nil || *v > *most) {
			most = v
		}
	}
	if most != nil {
		w.exec(insert, trial, memtrix.VRAMNonEvictable, *most, memtrix.PeakProbe)
	}
}

// Which chooses trials for Briefs. Conditions that are set must all hold.
type Which struct {
	Sessions []int64
	Trials   []int64
	Series   []string // series keys
	// Meters are the numbers that are read, as Brief names them; none for all. Times and
	// values are read always.
	Meters []string
	// From is the first session that counts, 0 for all: years need not be read to
	// see what last night brought. Before is the first that does not, 0 for none.
	From, Before int64
}

func (q Which) where() (string, []any) {
	var parts []string
	var args []any
	in := func(column string, n int, arg func(i int) any) {
		if n == 0 {
			return
		}
		parts = append(parts, column+` IN (?`+strings.Repeat(`, ?`, n-1)+`)`)
		for i := range n {
			args = append(args, arg(i))
		}
	}
	in(`t.session`, len(q.Sessions), func(i int) any { return q.Sessions[i] })
	in(`t.id`, len(q.Trials), func(i int) any { return q.Trials[i] })
	in(`c.series`, len(q.Series), func(i int) any { return q.Series[i] })
	if q.From > 0 {
		parts, args = append(parts, `t.session >= ?`), append(args, q.From)
	}
	if q.Before > 0 {
		parts, args = append(parts, `t.session < ?`), append(args, q.Before)
	}
	if len(parts) == 0 {
		return `1`, nil
	}
	return strings.Join(parts, ` AND `), args
}

// Briefs are trials in short, in the order in which they were stored, whatever their
// outcome. Facts of environments, versions and workflows are shared between them and
// must not be changed.
func (db *DB) Briefs(ctx context.Context, q Which) ([]*memtrix.Brief, error) {
	tx, err := db.sql.BeginTx(ctx, nil)
	if err != nil {
		return nil, db.failed("read trials", err)
	}
	defer tx.Rollback()
	r := &briefReader{ctx: ctx, tx: tx, byID: map[int64]*memtrix.Brief{}, names: map[string]string{}}
	r.where, r.args = q.where()
	r.meters = q.Meters
	for _, step := range []func() error{r.shared, r.units, r.trials, r.peaks, r.readings, r.prompts, r.derived} {
		if err := step(); err != nil {
			return nil, db.failed("read trials in short", err)
		}
	}
	return r.found, nil
}

// briefReader reads what many trials share once.
type briefReader struct {
	ctx          context.Context
	tx           *sql.Tx
	where        string
	args         []any
	meters       []string
	sessions     map[int64]memtrix.Session
	versions     map[int64]memtrix.Version
	identities   map[int64]string
	workflows    map[int64]memtrix.Workflow
	environments map[string]memtrix.Environment
	unit         map[string]memtrix.Unit
	names        map[string]string // rested and freed meters are many times the same
	found        []*memtrix.Brief
	byID         map[int64]*memtrix.Brief
}

func (r *briefReader) each(query string, scan func(*sql.Rows) error, args ...any) error {
	return eachRow(r.ctx, r.tx, query, scan, args...)
}

// shared reads sessions, versions, workflows and environments.
func (r *briefReader) shared() error {
	r.sessions = map[int64]memtrix.Session{}
	err := r.each(`SELECT `+sessionColumns+` FROM sessions`, func(rows *sql.Rows) error {
		s, err := scanSession(rows)
		r.sessions[s.ID] = s
		return err
	})
	if err != nil {
		return err
	}
	r.versions, r.identities = map[int64]memtrix.Version{}, map[int64]string{}
	err = r.each(`SELECT id, identity, name, target, dir, python, release, "commit", dirty, packages, attached, packs FROM versions`, func(rows *sql.Rows) error {
		var id int64
		var identity string
		var v memtrix.Version
		err := rows.Scan(&id, &identity, &v.Name, &v.Target, &v.Dir, &v.Python, &v.Release, &v.Commit, fromJSON(&v.Dirty), fromJSON(&v.Packages), fromJSON(&v.Attached), fromJSON(&v.Packs))
		r.versions[id], r.identities[id] = v, identity
		return err
	})
	if err != nil {
		return err
	}
	r.workflows = map[int64]memtrix.Workflow{}
	err = r.each(`SELECT id, name, source, hash FROM workflows`, func(rows *sql.Rows) error {
		var id int64
		var f memtrix.Workflow
		err := rows.Scan(&id, &f.Name, &f.Source, &f.Hash)
		r.workflows[id] = f
		return err
	})
	if err != nil {
		return err
	}
	r.environments = map[string]memtrix.Environment{}
	return r.each(`SELECT hash, facts FROM environments`, func(rows *sql.Rows) error {
		var hash string
		var e memtrix.Environment
		err := rows.Scan(&hash, fromJSON(&e))
		r.environments[hash] = e
		return err
	})
}

func (r *briefReader) units() error {
	r.unit = map[string]memtrix.Unit{memtrix.VRAMNonEvictable: memtrix.UnitBytes}
	for _, m := range memtrix.ProbeMeters { // some are peaks only, without a series
		r.unit[m.Name] = m.Unit
	}
	return r.each(`SELECT name, unit FROM meters`, func(rows *sql.Rows) error {
		var name string
		var unit memtrix.Unit
		err := rows.Scan(&name, &unit)
		r.unit[name] = unit
		return err
	})
}

func (r *briefReader) trials() error {
	return r.each(`SELECT t.id, t.session, t.cell, c.series, t.version, t.workflow, t.environment, t.repeat, t.simulated, t.shared,
		t.control, t.confirms, t.started, t.seconds, t.argv, t.dir, t.expect, t.outcome, t.memory, t.how, t.phase, t.message,
		t.node_id, t.node_display, t.node_class, t.node_title,
		t.hidden_retries, c.settings, c.hardware, c.vram, c.ram, c.swap, c.probe
		FROM trials t JOIN cells c ON c.id = t.cell WHERE `+r.where+` ORDER BY t.id`, func(rows *sql.Rows) error {
		t := &memtrix.Trial{}
		b := &memtrix.Brief{Trial: t, Numbers: map[string]memtrix.Number{}}
		var version, workflow int64
		var environment, memory, how, phase sql.NullString
		var node [4]sql.NullString
		var started sql.NullInt64
		h := &t.Cell.Hardware
		err := rows.Scan(&t.ID, &t.Session, &b.Cell, &b.Series, &version, &workflow, &environment, &t.Repeat, &t.Simulated, &t.Shared,
			&t.Control, &t.Confirms, &started, &t.Seconds, fromJSON(&t.Argv), &t.Dir, &t.Expect, &t.Outcome.Kind, &memory, &how, &phase, &t.Outcome.Message,
			&node[0], &node[1], &node[2], &node[3],
			&t.Outcome.HiddenRetries, fromJSON(&t.Cell.Settings), &h.Name, &h.VRAM, &h.RAM, &h.Swap, &t.Cell.Probe)
		if err != nil {
			return fmt.Errorf("trial: %w", err)
		}
		if len(t.Cell.Settings) == 0 {
			t.Cell.Settings = nil
		}
		o := &t.Outcome
		o.Memory, o.How, o.Phase = memtrix.Memory(memory.String), memtrix.How(how.String), memtrix.Phase(phase.String)
		o.Node = nodeOf(node)
		t.Started = timeOf(started)
		t.Cell.Version, t.Cell.Workflow = r.versions[version], r.workflows[workflow]
		t.Environment = r.environments[environment.String]
		b.VersionID, b.Session = r.identities[version], r.sessions[t.Session]
		r.found = append(r.found, b)
		r.byID[t.ID] = b
		return nil
	}, r.args...)
}

// wanted is a condition on meters of one kind of numbers, those with the prefix.
func (r *briefReader) wanted(condition, prefix string) (string, []any) {
	if len(r.meters) == 0 {
		return "", nil
	}
	args := []any{}
	for _, m := range r.meters {
		if name, ok := strings.CutPrefix(m, prefix); ok {
			args = append(args, name)
		}
	}
	if len(args) == 0 {
		return " AND 0", nil
	}
	return ` AND ` + condition + ` (?` + strings.Repeat(`, ?`, len(args)-1) + `)`, args
}

const ofTrials = ` JOIN trials t ON t.id = d.trial JOIN cells c ON c.id = t.cell WHERE `

func (r *briefReader) peaks() error {
	and, meters := r.wanted(`d.meter IN`, "")
	return r.each(`SELECT d.trial, d.meter, d.value, d.how FROM trial_peaks d`+ofTrials+r.where+and, func(rows *sql.Rows) error {
		var id int64
		var meter string
		var n memtrix.Number
		if err := rows.Scan(&id, &meter, &n.Value, &n.How); err != nil {
			return fmt.Errorf("peak: %w", err)
		}
		n.Unit = r.unit[strings.TrimPrefix(meter, memtrix.IdlePrefix)]
		r.byID[id].Numbers[meter] = n
		return nil
	}, append(slices.Clone(r.args), meters...)...)
}

func (r *briefReader) readings() error {
	for kind, prefix := range map[memtrix.ReadingKind]string{memtrix.Rested: memtrix.RestedPrefix, memtrix.Freed: memtrix.FreedPrefix} {
		if err := r.atRest(kind, prefix); err != nil {
			return err
		}
	}
	return nil
}

func (r *briefReader) atRest(kind memtrix.ReadingKind, prefix string) error {
	const query = `SELECT d.trial, d.meter, d.value FROM reading_values d
		JOIN readings g ON g.trial = d.trial AND g.seq = d.reading`
	and, meters := r.wanted(`d.meter IN`, prefix)
	args := append(append(slices.Clone(r.args), kind), meters...)
	return r.each(query+ofTrials+r.where+` AND g.kind = ?`+and, func(rows *sql.Rows) error {
		var id int64
		var meter string
		var n memtrix.Number
		if err := rows.Scan(&id, &meter, &n.Value); err != nil {
			return fmt.Errorf("reading: %w", err)
		}
		n.Unit = r.unit[meter]
		name := prefix + meter
		if known, ok := r.names[name]; ok {
			name = known
		} else {
			r.names[name] = name
		}
		r.byID[id].Numbers[name] = n
		return nil
	}, args...)
}

func (r *briefReader) prompts() error {
	const query = `SELECT d.trial, d.idx, d.seconds FROM prompts d`
	return r.each(query+ofTrials+`d.outcome = '`+string(memtrix.Pass)+`' AND `+r.where, func(rows *sql.Rows) error {
		var id int64
		var n int
		var seconds float64
		if err := rows.Scan(&id, &n, &seconds); err != nil {
			return fmt.Errorf("prompt: %w", err)
		}
		r.byID[id].Numbers[memtrix.PromptSeconds(n)] = memtrix.Number{Value: int64(math.Round(seconds * 1e9)), Unit: memtrix.UnitNanoseconds}
		return nil
	}, r.args...)
}

func (r *briefReader) derived() error {
	return r.each(`SELECT d.trial, d.meter, d.unit, d.value, d.low, d.high FROM derived d`+ofTrials+r.where, func(rows *sql.Rows) error {
		var id int64
		var meter string
		var n memtrix.Number
		if err := rows.Scan(&id, &meter, &n.Unit, &n.Value, &n.Low, &n.High); err != nil {
			return fmt.Errorf("value: %w", err)
		}
		r.byID[id].Numbers[meter] = n
		return nil
	}, r.args...)
}
