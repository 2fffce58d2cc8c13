package main

import (
	"fmt"
	"io"
	"os"

	"memtrix/history"
	"memtrix/reports"
	"memtrix/results"
)

// stepSummary appends to the summary of a GitHub step; outside of one it does nothing.
// (https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands#adding-a-job-summary)
func stepSummary(a *app, write func(io.Writer) error) {
	path := os.Getenv("GITHUB_STEP_SUMMARY")
	if path == "" {
		return
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err == nil {
		err = write(f)
		if e := f.Close(); err == nil {
			err = e
		}
	}
	if err != nil {
		fmt.Fprintf(a.stderr, "memtrix: no step summary: %v\n", err)
	}
}

// annotate writes GitHub's workflow commands to standard error, which is read for them as
// standard output is, and leaves a JSON document alone.
func annotate(a *app, write func(io.Writer) error) {
	if os.Getenv("GITHUB_ACTIONS") == "true" {
		_ = write(a.stderr) // what cannot be annotated is in the table, too
	}
}

// failing are the changes on which a command fails.
func failing(rules history.FailOn, changes []history.Change) []history.Change {
	var all []history.Change
	for _, c := range changes {
		if rules.Fails(c) {
			all = append(all, c)
		}
	}
	return all
}

// sayFailing names what makes a command fail, and annotates it.
func sayFailing(a *app, changes []history.Change) error {
	if len(changes) == 0 {
		return nil
	}
	for _, c := range changes {
		fmt.Fprintf(a.stderr, "fails on %s: %s: %s (%s -> %s)\n", c.Kind, reports.OneLine(c.Where()), reports.OneLine(c.Reason), reports.OneLine(c.From), reports.OneLine(c.To))
	}
	annotate(a, func(w io.Writer) error { return reports.ChangeAnnotations(w, changes) })
	return status(exitFound)
}

// failSession fails on what a stored session changed.
func failSession(a *app, dir, name string, rules history.FailOn) error {
	db, err := results.OpenReadOnly(a.ctx, dir)
	if err != nil {
		return cannot{err}
	}
	defer db.Close()
	session, err := findSession(a, db, name)
	if err != nil {
		return err
	}
	w, err := see(a.ctx, db, session)
	if err != nil {
		return cannot{err}
	}
	changes := w.changes()
	for _, c := range w.known { // found in that night, with its repeats
		if c.Session == session.ID && c.How == history.HowTonight {
			changes = append(changes, c)
		}
	}
	return sayFailing(a, failing(rules, changes))
}
