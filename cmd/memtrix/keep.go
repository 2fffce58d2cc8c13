package main

import (
	"context"
	"errors"
	"fmt"

	"memtrix"
	"memtrix/results"
	"memtrix/runner"
)

// keepCmd marks trials.
type keepCmd struct {
	Trials  []int64 `arg:"" name:"trial" help:"Numbers of trials, as memtrix report --format json has them."`
	Undo    bool    `help:"Take the mark away: the next session thins their series again."`
	Results string  `help:"Results folder." default:"memtrix-results" type:"existingdir"`
}

func (c *keepCmd) Run(a *app) error {
	db, err := results.Open(a.ctx, c.Results)
	if err != nil {
		return cannot{err}
	}
	defer db.Close()
	for _, id := range c.Trials {
		m, err := db.Mark(a.ctx, id, !c.Undo)
		switch {
		case errors.Is(err, results.ErrNotFound):
			return usage{err}
		case err != nil:
			return cannot{err}
		case c.Undo:
			fmt.Fprintf(a.stdout, "trial %d is not marked any more\n", id)
		case m.Thinned:
			fmt.Fprintf(a.stdout, "trial %d is kept, but of its series only an envelope was left by now\n", id)
		default:
			fmt.Fprintf(a.stdout, "trial %d is kept whole\n", id)
		}
	}
	return nil
}

// thinOlder leaves envelopes of what the sessions before a new one recorded and
// nobody marked. That it fails is no reason not to run.
func thinOlder(a *app, db *results.DB, session memtrix.Session) {
	if _, err := db.Thin(a.ctx, session.ID, runner.Envelope); err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintf(a.stderr, "warning: %v\n", err)
	}
}
