package main

import (
	"context"
	"io"
	"slices"
	"time"

	"memtrix"
	"memtrix/history"
	"memtrix/reports"
	"memtrix/reports/html"
	"memtrix/results"
)

// What a page may hold of series, in columns of charts: 2,000 bytes a trial are what is
// left of 10 MB for 500 of them, and more than a screen is wide adds nothing.
const (
	allColumns   = 100_000
	mostColumns  = 260
	leastColumns = 40
)

// page writes a session as one HTML file.
func (c *reportCmd) page(a *app, db *results.DB, session memtrix.Session, s *reports.Session) error {
	var err error
	if s.Trends, err = trends(a.ctx, db, session, *s); err != nil {
		return cannot{err}
	}
	if s.Alarms, err = alarmsOf(a.ctx, db, session); err != nil {
		return cannot{err}
	}
	p := html.Page{Report: reports.NewReport(*s), Made: time.Now(), Program: programWords()}
	columns := max(leastColumns, min(mostColumns, allColumns/max(1, len(s.Trials))))
	for _, t := range s.Trials {
		whole, err := db.Trial(a.ctx, t.ID)
		if err != nil {
			return cannot{err}
		}
		p.Charts = append(p.Charts, reports.NewChart(whole, columns))
	}
	return output(a, c.Output, func(w io.Writer) error { return html.Write(w, p) })
}

// alarmsOf are the alarms that sessions of one spec opened, up to this one.
func alarmsOf(ctx context.Context, db *results.DB, session memtrix.Session) ([]history.Alarm, error) {
	sessions, err := sessionsUpTo(ctx, db, session)
	if err != nil {
		return nil, err
	}
	all, err := db.Alarms(ctx)
	return slices.DeleteFunc(all, func(a history.Alarm) bool { return !slices.Contains(sessions, a.Session) }), err
}

// sessionsUpTo are the sessions of a session's spec that began no later.
func sessionsUpTo(ctx context.Context, db *results.DB, session memtrix.Session) ([]int64, error) {
	sessions, err := db.Sessions(ctx)
	if err != nil {
		return nil, err
	}
	var list []int64
	for _, o := range sessions {
		if o.Spec == session.Spec && !o.Started.After(session.Started) {
			list = append(list, o.ID)
		}
	}
	return list, nil
}

// trends are the histories of a session's cells: over its versions, and over the
// sessions of its spec up to this one.
func trends(ctx context.Context, db *results.DB, session memtrix.Session, s reports.Session) ([]reports.Trend, error) {
	sessions, err := sessionsUpTo(ctx, db, session)
	if err != nil || len(s.Trials) == 0 {
		return nil, err
	}
	which := results.Which{Sessions: sessions}
	for _, t := range s.Trials {
		if series := t.Cell.Series(); !slices.Contains(which.Series, series) {
			which.Series = append(which.Series, series)
		}
	}
	briefs, err := db.Briefs(ctx, which)
	if err != nil {
		return nil, err
	}
	lines := history.Lines(briefs, "")
	meters, _, _ := history.Meters(briefs, nil)
	changes := make([][]history.Change, len(lines))
	for i, l := range lines {
		changes[i] = history.Changes(l, meters)
	}
	return reports.NewTrends(lines, meters, changes), nil
}
