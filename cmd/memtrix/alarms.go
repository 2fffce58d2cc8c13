package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"memtrix/history"
	"memtrix/reports"
	"memtrix/results"
)

type alarmsCmd struct {
	List   alarmsListCmd   `cmd:"" default:"withargs" help:"The alarms that somebody should act on; with --all those that are expected or fixed, too."`
	Ack    alarmsAckCmd    `cmd:"" help:"Somebody has seen them: they stay until what changed goes back."`
	Expect alarmsExpectCmd `cmd:"" help:"The new level is meant, from a version on."`
	Close  alarmsCloseCmd  `cmd:"" help:"Done with: fixed elsewhere, or a false alarm (say so with --note)."`
}

// Help is shown under --help.
func (alarmsCmd) Help() string {
	return `An alarm is what changed for the worse, as memtrix run found it after a session: one alarm for all changes with one cause (the same step from one commit or package to the next, in whatever cells and meters). When the control cell moved, too, the alarm says that it is the machine. Each names what else changed at that point, likely causes first. A drift is an alarm, too, with how much a night brings and when it began. Where memtrix floor had found the floor of a cell, the alarm says whether it moved.

An alarm is open, acknowledged, expected, or fixed. It becomes fixed by itself when all that it is about went back: five trials in a row that pass, or three nights within a quarter of the step of the old level. Changes with the cause of an alarm that is not fixed join it and open none. One that is fixed stays so: what comes again opens a new one.

Exit status of list: 0 none is open, 1 some are.`
}

type alarmsListCmd struct {
	Results string `help:"Results folder." default:"memtrix-results" type:"existingdir"`
	All     bool   `help:"Those that are expected or fixed, too."`
	JSON    bool   `name:"json" help:"One JSON document on standard output and nothing else there."`
}

func (c *alarmsListCmd) Run(a *app) error {
	db, err := openToRead(a, c.Results)
	if err != nil {
		return err
	}
	defer db.Close()
	all, err := db.Alarms(a.ctx)
	if err != nil {
		return cannot{err}
	}
	open := slices.ContainsFunc(all, func(x history.Alarm) bool { return x.State == history.Open })
	if !c.All {
		all = slices.DeleteFunc(all, func(x history.Alarm) bool { return x.State != history.Open && x.State != history.Acknowledged })
	}
	switch {
	case c.JSON:
		err = reports.AlarmsJSON(a.stdout, all)
	case len(all) == 0:
		_, err = fmt.Fprintln(a.stdout, "no alarms")
	default:
		err = reports.AlarmsText(a.stdout, all, tableOptions(a))
	}
	if err = unlessUnread(err); err != nil {
		return cannot{fmt.Errorf("write the alarms: %w", err)}
	}
	if open {
		return status(exitFound)
	}
	return nil
}

// alarmFlags are those of the commands that change alarms.
type alarmFlags struct {
	ID      []int64 `arg:"" help:"Numbers of alarms, as memtrix alarms shows them."`
	Results string  `help:"Results folder." default:"memtrix-results" type:"existingdir"`
	Note    string  `help:"Why, for whoever looks later." placeholder:"TEXT"`
}

type alarmsAckCmd struct{ alarmFlags }

func (c *alarmsAckCmd) Run(a *app) error { return c.set(a, history.Acknowledged, "") }

type alarmsExpectCmd struct {
	alarmFlags
	From string `help:"The version from which on it is meant; by default the one with which it came." placeholder:"VERSION"`
}

func (c *alarmsExpectCmd) Run(a *app) error { return c.set(a, history.Expected, c.From) }

type alarmsCloseCmd struct{ alarmFlags }

func (c *alarmsCloseCmd) Run(a *app) error { return c.set(a, history.Fixed, "") }

func (c alarmFlags) set(a *app, state history.State, from string) error {
	db, err := results.Open(a.ctx, c.Results)
	if err != nil {
		return cannot{err}
	}
	defer db.Close()
	all, err := db.Alarms(a.ctx)
	if err != nil {
		return cannot{err}
	}
	named, err := c.named(all, state, db.Dir())
	if err != nil {
		return usage{err}
	}
	for _, alarm := range named {
		id, version := alarm.ID, from
		if version == "" && state == history.Expected && len(alarm.Changes) > 0 {
			version = alarm.Changes[0].To
		}
		err := db.SetAlarm(a.ctx, id, state, version, c.Note)
		if errors.Is(err, results.ErrNotFound) {
			return usage{err}
		}
		if err != nil {
			return cannot{err}
		}
		text := fmt.Sprintf("alarm %d is %s", id, state)
		if version != "" {
			text += " from " + reports.OneLine(version) + " on"
		}
		fmt.Fprintln(a.stdout, text)
	}
	return nil
}

// named are the alarms of the given numbers, each once. When any of them is not there, or
// cannot come into the state, the error says which, and nothing may be changed.
func (c alarmFlags) named(all []history.Alarm, state history.State, dir string) ([]history.Alarm, error) {
	var found []history.Alarm
	var missing, fixed []string
	for i, id := range c.ID {
		if slices.Contains(c.ID[:i], id) {
			continue
		}
		k := slices.IndexFunc(all, func(x history.Alarm) bool { return x.ID == id })
		switch {
		case k < 0:
			missing = append(missing, strconv.FormatInt(id, 10))
		case all[k].State == history.Fixed && state != history.Fixed:
			fixed = append(fixed, strconv.FormatInt(id, 10))
		default:
			found = append(found, all[k])
		}
	}
	unchanged := ""
	if len(found) > 0 {
		unchanged = "; nothing was changed"
	}
	switch {
	case len(missing) > 0:
		return nil, fmt.Errorf("there is no alarm %s in %s (memtrix alarms --all lists them)%s", strings.Join(missing, ", "), dir, unchanged)
	case len(fixed) > 0:
		return nil, fmt.Errorf("alarm %s is fixed: what it is about went back, or somebody closed it; should it come again, that opens a new alarm%s", strings.Join(fixed, ", "), unchanged)
	}
	return found, nil
}
