package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"memtrix"
	"memtrix/history"
	"memtrix/reports"
	"memtrix/results"
)

type compareCmd struct {
	A       string   `arg:"" help:"A session (its name, last, last~1), a version (its name, release or commit; in one session: VERSION@SESSION), or a trial (its number, or trial:N)."`
	B       string   `arg:"" help:"The same: what is held against A."`
	Results string   `help:"Results folder." default:"memtrix-results" type:"existingdir"`
	Format  string   `help:"text, markdown (a comment on a pull request), comfy (the table that ComfyUI's maintainers use) or json." enum:"text,markdown,comfy,json" default:"text"`
	Meter   []string `help:"Meters to compare instead of those that matter most, e.g. ram.tree.anon, rested.ram.tree.rss, prompt.2.seconds, floor.vram; all for all there are." placeholder:"METER"`
	FailOn  string   `name:"fail-on" help:"Exit with 1 only on these differences: new-oom, new-failure, shift, shift:5% (of at least that much), fixed-oom. By default on any to the worse." placeholder:"KINDS"`
}

// Help is shown under --help.
func (compareCmd) Help() string {
	return `Compares two sides cell by cell, with the medians over repeats, their intervals of 95 %, the difference, p (U test of Mann and Whitney; of outcomes, Fisher's exact test) and how many more repeats are needed to tell. Outcomes that changed come first. A version is taken from the newest session that has both versions, else from the newest that has it.

Cells are paired by settings, hardware, workflow and probe. What is not alike (card, driver, kernel, size of the machine, probe, a server that ran before) is said in warning lines; simulated and measured trials are never compared. For a fair comparison run both versions in one session with "order: abba" and four repeats or more.

Exit status: 0 nothing is worse (a failure that the spec expects is not, and is said to be expected), 1 something is, 2 wrong usage or sides that cannot be compared: what memtrix watch looked on at, or a thing with itself.`
}

func (c *compareCmd) Run(a *app) error {
	failOn, err := parseFailOn(c.FailOn)
	if err != nil {
		return err
	}
	db, err := openToRead(a, c.Results)
	if err != nil {
		return err
	}
	defer db.Close()
	sessions, err := db.Sessions(a.ctx)
	if err != nil {
		return cannot{err}
	}
	// What a word means needs no numbers: years of them are not read for two sides.
	trials, err := db.Briefs(a.ctx, results.Which{Meters: []string{"-"}})
	if err != nil {
		return cannot{err}
	}
	prefer := history.Common(c.A, c.B, trials)
	var sides [2]history.Side
	for i, word := range []string{c.A, c.B} {
		if sides[i], err = history.Pick(word, trials, sessions, prefer); err != nil {
			return usage{err}
		}
		if err := withNumbers(a, db, &sides[i]); err != nil {
			return err
		}
	}
	meters := c.Meter
	if len(meters) == 1 && meters[0] == "all" {
		_, _, meters = history.Meters(append(append(trials[:0:0], sides[0].Trials...), sides[1].Trials...), nil)
	}
	found, err := history.CompareSides(sides[0], sides[1], meters)
	if err != nil {
		return usage{err}
	}
	if err := c.write(a, found); err != nil {
		return cannot{fmt.Errorf("write the comparison: %w", err)}
	}
	stepSummary(a, func(w io.Writer) error { return reports.ComparisonMarkdown(w, found) })
	if failOn != nil {
		return sayFailing(a, failing(failOn, found.Changes()))
	}
	worse := slices.DeleteFunc(found.Changes(), func(c history.Change) bool { return !c.Worse })
	annotate(a, func(w io.Writer) error { return reports.ChangeAnnotations(w, worse) })
	if len(worse) > 0 {
		return status(exitFound)
	}
	return nil
}

// withNumbers reads the trials of a side again, with all of their numbers.
func withNumbers(a *app, db *results.DB, s *history.Side) error {
	var which results.Which
	ids := map[int64]bool{}
	for _, t := range s.Trials {
		ids[t.Trial.ID] = true
		if !slices.Contains(which.Sessions, t.Session.ID) {
			which.Sessions = append(which.Sessions, t.Session.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	all, err := db.Briefs(a.ctx, which)
	if err != nil {
		return cannot{err}
	}
	s.Trials = slices.DeleteFunc(all, func(t *memtrix.Brief) bool { return !ids[t.Trial.ID] })
	return nil
}

func (c *compareCmd) write(a *app, found history.Comparison) error {
	switch c.Format {
	case "markdown":
		return unlessUnread(reports.ComparisonMarkdown(a.stdout, found))
	case "comfy":
		return unlessUnread(reports.ComparisonComfy(a.stdout, found))
	case "json":
		return unlessUnread(reports.ComparisonJSON(a.stdout, found))
	}
	return unlessUnread(reports.ComparisonText(a.stdout, found, tableOptions(a)))
}

// parseFailOn reads --fail-on; "" gives nil.
func parseFailOn(text string) (history.FailOn, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	rules, err := history.ParseFailOn(text)
	if err != nil {
		return nil, usage{fmt.Errorf("--fail-on: %w", err)}
	}
	return rules, nil
}
