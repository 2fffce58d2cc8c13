package main

import (
	"context"
	"fmt"
	"slices"

	"memtrix"
	"memtrix/history"
	"memtrix/regress"
	"memtrix/reports"
	"memtrix/results"
)

// nightsRead is how many sessions of a spec are read to see what the newest brought:
// more than regress.Tonight looks back on.
const nightsRead = 220

// sight is what is known of a spec when a session of it is looked at. What was before the
// session is read once, however often it is looked at.
type sight struct {
	session memtrix.Session
	earlier []*memtrix.Brief // of sessions before
	trials  []*memtrix.Brief
	lines   []history.Line
	meters  []string // that open alarms
	known   []history.Change
	alarms  []history.Alarm
}

func see(ctx context.Context, db *results.DB, session memtrix.Session) (*sight, error) {
	sessions, err := db.SessionsOf(ctx, session.Spec)
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(sessions, func(s memtrix.Session) bool { return s.ID == session.ID }); i >= 0 {
		sessions = sessions[:i+1] // an older session is seen as it was seen then
	}
	sessions = sessions[max(0, len(sessions)-nightsRead):]
	w := &sight{session: session}
	own, err := w.own(ctx, db)
	if err != nil {
		return nil, err
	}
	which := results.Which{Meters: history.DefaultMeters, Before: session.ID}
	if len(sessions) > 0 {
		which.From = sessions[0].ID
	}
	for _, t := range own {
		if !slices.Contains(which.Series, t.Series) {
			which.Series = append(which.Series, t.Series)
		}
	}
	if len(which.Series) == 0 {
		which.Series = []string{""} // a session without trials
	}
	all, err := db.Briefs(ctx, which)
	if err != nil {
		return nil, err
	}
	w.earlier = slices.DeleteFunc(all, func(t *memtrix.Brief) bool { return t.Session.Spec != session.Spec })
	return w, w.with(ctx, db, own)
}

// own are the session's own trials, as they are now.
func (w *sight) own(ctx context.Context, db *results.DB) ([]*memtrix.Brief, error) {
	return db.Briefs(ctx, results.Which{Sessions: []int64{w.session.ID}, Meters: history.DefaultMeters})
}

// again looks once more, after further trials of the session.
func (w *sight) again(ctx context.Context, db *results.DB) error {
	own, err := w.own(ctx, db)
	if err != nil {
		return err
	}
	return w.with(ctx, db, own)
}

func (w *sight) with(ctx context.Context, db *results.DB, own []*memtrix.Brief) (err error) {
	w.trials = append(slices.Clone(w.earlier), own...)
	w.lines = history.Lines(w.trials, "")
	w.meters = history.AlarmMetersOf(w.trials)
	if w.known, err = db.KnownChanges(ctx); err != nil {
		return err
	}
	if w.alarms, err = db.Alarms(ctx); err != nil {
		return err
	}
	history.Close(w.known, w.alarms)
	return nil
}

// confirm runs repeats of cells of which one more trial would tell whether they changed,
// in the session itself: of values at most regress.MostRepeats, of an out-of-memory
// one. Each is a trial that says so. It gives what is known then.
func confirm(a *app, db *results.DB, rd *ready) (*sight, error) {
	w, err := see(a.ctx, db, rd.session)
	if err != nil {
		return nil, cannot{err}
	}
	for range regress.MostRepeats {
		suspects := history.Look(w.lines, rd.session.ID, w.known, w.meters).Suspects
		plan, err := again(a.ctx, db, rd, suspects)
		if err != nil {
			return nil, err
		}
		if len(plan.Cells) == 0 {
			break
		}
		if _, err := rd.runner.Run(a.ctx, rd.session, plan); err != nil {
			return nil, err
		}
		if err := w.again(a.ctx, db); err != nil {
			return nil, cannot{err}
		}
	}
	return w, nil
}

// again is a plan of one more repeat for each suspect. A server of somebody else is not
// given more work than was asked for.
func again(ctx context.Context, db *results.DB, rd *ready, suspects []history.Suspect) (*memtrix.Plan, error) {
	done, err := db.Done(ctx, rd.session.ID)
	if err != nil {
		return nil, cannot{err}
	}
	plan := &memtrix.Plan{Spec: rd.plan.Spec}
	for _, c := range rd.plan.Cells {
		id := c.Cell.ID()
		i := slices.IndexFunc(suspects, func(s history.Suspect) bool { return s.Cell == id })
		if i < 0 || c.Status != memtrix.StatusRun || c.Cell.Version.Attached != nil {
			continue
		}
		c.Repeats = 0
		for n := range done[id] {
			c.Repeats = max(c.Repeats, n+1)
		}
		c.Repeats++
		c.Confirm = true
		rd.display.Say(fmt.Sprintf("once more, to be sure: %s, %s on %s: %s", c.Cell.Workflow.Name, c.Cell.Settings, c.Cell.Version.Name, suspects[i].Why))
		plan.Cells = append(plan.Cells, c)
	}
	return plan, nil
}

// review keeps what a finished session brought, and gives it to be shown. w is what is
// known after its last trial, nil where that is to be read.
func review(ctx context.Context, db *results.DB, w *sight, name string) (*reports.Review, error) {
	session, err := db.FindSession(ctx, name)
	if err != nil {
		return nil, err
	}
	if w == nil {
		if w, err = see(ctx, db, session); err != nil {
			return nil, err
		}
	}
	found := history.Look(w.lines, session.ID, w.known, w.meters)
	r := history.Group(found.Changes, session, w.alarms)
	for i := range r.Opened {
		r.Opened[i].Confirm(w.lines)
	}
	r.Fixed = history.Gone(w.lines, w.alarms)
	if err := db.SaveReview(ctx, &r); err != nil {
		return nil, err
	}
	shown := &reports.Review{Opened: r.Opened, Better: r.Better, Nights: found.Nights, Enough: found.Enough}
	for _, changes := range r.Joined {
		shown.Joined = append(shown.Joined, changes...)
	}
	for _, old := range w.alarms {
		switch {
		case slices.Contains(r.Fixed, old.ID):
			old.State = history.Fixed
			shown.Fixed = append(shown.Fixed, old)
		case old.State == history.Open:
			shown.StillOpen++
		}
	}
	shown.Changes = w.changes()
	for _, c := range found.Changes {
		if c.How == history.HowTonight { // outcomes are among the others
			shown.Changes = append(shown.Changes, c)
		}
	}
	return shown, nil
}

// changes are what a session changed along its lines, whether or not an alarm is due: for
// those who fail on them by size. The comparisons of neighbouring versions are among
// them.
func (w *sight) changes() []history.Change {
	meters, _, _ := history.Meters(w.trials, nil)
	var all []history.Change
	for _, l := range w.lines {
		for _, c := range history.Changes(l, meters) {
			if c.Session == w.session.ID {
				all = append(all, c)
			}
		}
	}
	return all
}
