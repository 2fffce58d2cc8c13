package main

import (
	"errors"
	"fmt"
	"slices"

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
	return `An alarm is what changed for the worse, as memtrix run found it after a session: one alarm for all changes with one cause (the same step from one commit or package to the next, in whatever cells and meters). When the control cell moved, too, the alarm says that it is the machine. Each names what else changed at that point, likely causes first.

An alarm is open, acknowledged, expected, or fixed. It becomes fixed by itself when all that it is about went back: five trials in a row that pass, or three nights within a quarter of the step of the old level. Changes with the cause of an alarm that is not fixed join it and open none.

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
	for _, id := range c.ID {
		i := slices.IndexFunc(all, func(x history.Alarm) bool { return x.ID == id })
		if i < 0 {
			return usage{fmt.Errorf("there is no alarm %d in %s", id, db.Dir())}
		}
		version := from
		if version == "" && state == history.Expected && len(all[i].Changes) > 0 {
			version = all[i].Changes[0].To
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
