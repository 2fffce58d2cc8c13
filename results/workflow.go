package results

import (
	"encoding/json"
	"fmt"

	"memtrix"
)

// frontEnd is the part of a workflow that only those in the front end's form have.
type frontEnd struct {
	UI        json.RawMessage  `json:"ui"`
	Changes   []memtrix.Change `json:"changes,omitempty"`
	VaryPaths []string         `json:"vary_paths,omitempty"`
}

// workflows gives trials their workflows. Each is read once and shared: some are
// large, and a session runs one again and again.
func (r *reader) workflows() error {
	for id, trials := range r.runs {
		var f memtrix.Workflow
		var ui frontEnd
		row := r.tx.QueryRowContext(r.ctx, `SELECT name, source, hash, graph, vary, stand_ins, ui FROM workflows WHERE id = ?`, id)
		if err := row.Scan(&f.Name, &f.Source, &f.Hash, fromJSON(&f.Graph), fromJSON(&f.Vary), fromJSON(&f.StandIns), fromJSON(&ui)); err != nil {
			return fmt.Errorf("workflow %d: %w", id, err)
		}
		f.UI, f.Changes, f.VaryPaths = ui.UI, ui.Changes, ui.VaryPaths
		for _, t := range trials {
			t.Cell.Workflow = f
		}
	}
	return nil
}
