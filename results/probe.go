package results

import (
	"database/sql"
	"fmt"

	"memtrix"
)

func (w *writer) probe(trial int64, p *memtrix.Probe) {
	if p != nil {
		w.exec(`INSERT INTO probes (trial, data) VALUES (?, ?)`, trial, w.json(p))
	}
}

func (r *reader) probes() error {
	const query = `SELECT p.trial, p.data FROM probes p JOIN trials t ON t.id = p.trial`
	return r.each(query, `p.trial`, func(rows *sql.Rows) error {
		var id int64
		p := &memtrix.Probe{}
		if err := rows.Scan(&id, fromJSON(p)); err != nil {
			return fmt.Errorf("probe of trial %d: %w", id, err)
		}
		r.byID[id].Probe = p
		return nil
	})
}
