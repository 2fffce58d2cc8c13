package main

import (
	"fmt"

	"memtrix/history"
	"memtrix/reports"
	"memtrix/results"
)

type historyCmd struct {
	Of      string   `arg:"" optional:"" name:"series" help:"A workflow's name, a part of it, or a series key; all by default."`
	Results string   `help:"Results folder." default:"memtrix-results" type:"existingdir"`
	Meter   []string `help:"Meters to follow instead of those that matter most; all for all there are." placeholder:"METER"`
	By      string   `help:"date follows one version's name from session to session, version follows a cell from version to version; both by default, each where it says something." enum:"date,version,both" default:"both"`
	JSON    bool     `name:"json" help:"One JSON document on standard output and nothing else there."`
}

// Help is shown under --help.
func (historyCmd) Help() string {
	return `Shows each series over its sessions and versions, with what changed and is not noise, and what else changed at that point (commit, custom nodes, packages, flags, driver ...), likely causes first.

By date a point is a session, for versions whose name stays the same from night to night ("master"): the median of its repeats. A session without the series is a gap. By version a point is a version, releases in their own order, each with the trials of its newest session; neighbours with four repeats or more are compared as compare does, their outcomes and their numbers. Where that is too little to tell anything, it says so. Trials that ran out of memory are outcomes and no gaps. Simulated and measured trials, and those of different cards, are never on one line.`
}

func (c *historyCmd) Run(a *app) error {
	db, err := openToRead(a, c.Results)
	if err != nil {
		return err
	}
	defer db.Close()
	wanted, every := c.Meter, len(c.Meter) == 1 && c.Meter[0] == "all"
	switch {
	case every:
		wanted = nil
	case len(wanted) == 0:
		wanted = history.DefaultMeters
	}
	trials, err := db.Briefs(a.ctx, results.Which{Meters: wanted})
	if err != nil {
		return cannot{err}
	}
	known, err := db.KnownChanges(a.ctx)
	if err != nil {
		return cannot{err}
	}
	if trials, err = history.Of(c.Of, trials); err != nil {
		return usage{err}
	}
	axis := map[string]history.Axis{"date": history.ByDate, "version": history.ByVersion}[c.By]
	var shown []reports.LineHistory
	if every {
		_, _, c.Meter = history.Meters(trials, nil)
	}
	if _, unknown, _ := history.Meters(trials, c.Meter); len(unknown) > 0 {
		if trials, err = db.Briefs(a.ctx, results.Which{}); err != nil {
			return cannot{err}
		}
		_, _, have := history.Meters(trials, nil)
		return usage{history.UnknownMeters(unknown, have)}
	}
	for _, l := range history.Lines(trials, axis) {
		meters, _, _ := history.Meters(l.Trials(), c.Meter)
		shown = append(shown, reports.NewLineHistory(l, meters, history.Marked(l, meters, known)))
	}
	switch {
	case c.JSON:
		err = reports.HistoryJSON(a.stdout, shown)
	case len(shown) == 0:
		_, err = fmt.Fprintf(a.stdout, "no history yet: %s, and nothing in two sessions or in two versions\n", trialsText(len(trials)))
	default:
		err = reports.HistoryText(a.stdout, shown, tableOptions(a))
	}
	if err = unlessUnread(err); err != nil {
		return cannot{fmt.Errorf("write the history: %w", err)}
	}
	return nil
}

func trialsText(n int) string {
	if n == 1 {
		return "1 trial"
	}
	return fmt.Sprintf("%d trials", n)
}
