package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/term"

	"memtrix"
	"memtrix/comfyui"
	"memtrix/matrix"
	"memtrix/recorders"
	"memtrix/recorders/nvidia"
	"memtrix/reports"
	"memtrix/reports/live"
	"memtrix/results"
	"memtrix/runner"
)

type watchCmd struct {
	URL      string         `name:"url" help:"A ComfyUI that runs: http://127.0.0.1:8188." placeholder:"URL"`
	PID      int            `name:"pid" help:"Its process on this machine. Alone, its port is looked for; a process without one is only recorded." placeholder:"PID"`
	For      *time.Duration `help:"End by itself after this time; without it Ctrl-C does, or the server." placeholder:"10m"`
	Interval time.Duration  `help:"Time between two readings of memory." default:"50ms"`
	Results  string         `help:"Folder for memtrix.db and the trial's raw files. One memtrix writes into a folder at a time." default:"memtrix-results" type:"path"`
	JSON     bool           `name:"json" help:"One JSON document on standard output, at the end, and nothing else there."`
	Quiet    bool           `short:"q" help:"Show only how prompts ended."`
}

// Help is shown under --help.
func (watchCmd) Help() string {
	return `Looks on while you work with a ComfyUI that runs already, however it was started: its memory, what runs, how each prompt ended. Nothing is sent for you, and the server is left as it is. What it costs the server: a connection and its log line by line; one question when a prompt begins and one when it has ended, each only when the questions so far took less than a thousandth of the time.

Which node runs is told by a ComfyUI only to the browser whose prompt it is: until a prompt has ended, steps and phases come from the log.

At the end (Ctrl-C, --for, or the server's) a trial is stored, of a session that no other session is compared with.

Exit status: 0 when all went well, 1 when a prompt failed or the server died, 2 for wrong usage, 3 when nothing could be watched.`
}

func (c *watchCmd) Run(a *app) error {
	if err := c.check(); err != nil {
		return err
	}
	v, err := c.version(a) // before anything is made
	if err != nil {
		return err
	}
	db, done, err := openToWrite(a, c.Results)
	if err != nil {
		return err
	}
	defer done()
	session, err := db.StartSession(a.ctx, memtrix.WatchSpec, "")
	if err != nil {
		return cannot{err}
	}
	t, err := c.watch(a, db, session, v)
	if err != nil {
		return cannot{err}
	}
	ctx := context.WithoutCancel(a.ctx)
	if err := db.EndSession(ctx, session.ID); err != nil {
		return cannot{err}
	}
	trials, err := db.Trials(ctx, session.ID)
	if err != nil {
		return cannot{err}
	}
	s := &reports.Session{Name: session.Name, Spec: session.Spec, Trials: trials, Interval: c.Interval, Slower: c.Interval}
	if err := c.show(a, s, t); err != nil {
		return err
	}
	if k := t.Outcome.Kind; k != memtrix.Pass && k != memtrix.Interrupted {
		return status(exitFound)
	}
	return nil
}

func (c *watchCmd) check() error {
	switch {
	case c.URL == "" && c.PID == 0:
		return usage{errors.New("nothing to watch: give --url http://127.0.0.1:8188 or --pid PID")}
	case c.PID < 0:
		return usage{fmt.Errorf("--pid %d is not a process number", c.PID)}
	case c.Interval < time.Millisecond || c.Interval > recorders.Seldom:
		return usage{fmt.Errorf("--interval %v: 1ms to %v", c.Interval, recorders.Seldom)}
	case c.For != nil && *c.For <= 0:
		return usage{fmt.Errorf("--for %v: give a time above 0, for example 10m", *c.For)}
	}
	if c.URL != "" {
		if _, err := comfyui.BaseURL(c.URL); err != nil {
			return usage{err}
		}
	}
	return nil
}

// version looks who is to be watched. A process that does not answer as a ComfyUI is
// one that is only recorded.
func (c *watchCmd) version(a *app) (memtrix.Version, error) {
	provider := newProvider(a, true, c.Quiet)
	defer provider.Close()
	w := &world{ctx: a.ctx, attach: &comfyui.AttachTarget{}, provider: provider}
	if c.URL != "" {
		v, err := w.attached(matrix.VersionEntry{URL: c.URL, PID: c.PID})
		if err != nil {
			return v, cannot{err}
		}
		return v, nil
	}
	at, err := comfyui.ListensAt(c.PID)
	if err != nil {
		return memtrix.Version{}, cannot{err}
	}
	for _, addr := range at {
		if v, err := w.attached(matrix.VersionEntry{URL: "http://" + addr.String(), PID: c.PID}); err == nil {
			return v, nil
		}
	}
	return memtrix.Version{
		Name: fmt.Sprintf("process %d", c.PID), Target: memtrix.TargetAttached,
		Attached: &memtrix.Attached{Local: true, PID: c.PID},
	}, nil
}

// watch records until Ctrl-C, the time or the server ends.
func (c *watchCmd) watch(a *app, db *results.DB, session memtrix.Session, v memtrix.Version) (*memtrix.Trial, error) {
	ctx := a.ctx
	if c.For != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, *c.For)
		defer cancel()
	}
	f, ok := a.stderr.(*os.File)
	display := live.New(a.stderr, ok && term.IsTerminal(int(f.Fd())), c.Quiet)
	defer display.Close()
	target := &comfyui.WatchTarget{}
	r := &runner.Runner{
		Targets:     map[memtrix.TargetKind]memtrix.Target{memtrix.TargetAttached: target},
		Store:       db,
		Progress:    display,
		Options:     runner.Options{Interval: c.Interval, Keep: memtrix.KeepAuto, Timeouts: runner.Timeouts{Start: time.Minute, Stop: 10 * time.Second}},
		Dir:         db.Dir(),
		Environment: environmentOf(&matrix.Spec{}),
	}
	cell := memtrix.Cell{Version: v, Hardware: matrix.AsIs, Workflow: memtrix.Watched(session.Name)}
	if v.Attached.Local {
		env := serverLookup(v.Attached.PID)
		if card, closeCard, err := recorders.OpenCard(env); err == nil {
			defer closeCard()
			r.Card = card
			done := make(chan struct{})
			defer close(done)
			go nameHolders(display, card, v.Attached.PID, done)
		}
	}
	return r.Watch(ctx, session, memtrix.PlannedCell{Cell: cell, Status: memtrix.StatusRun, Notes: target.Notes(cell)})
}

// serverLookup finds variables as the server sees them: which card is its first one.
func serverLookup(pid int) nvidia.Lookup {
	env := map[string]string{}
	all := comfyui.ServerEnviron(pid)
	for _, kv := range all {
		if name, value, ok := strings.Cut(kv, "="); ok {
			env[name] = value
		}
	}
	if len(all) == 0 {
		return nil
	}
	return func(name string) (string, bool) { v, ok := env[name]; return v, ok }
}

// holdersEvery is how often who holds the card is asked: on some drivers that takes
// milliseconds and a lock that work on the card needs, too.
const holdersEvery = 5 * time.Second

// nameHolders names the processes that hold memory of the card beside the server.
func nameHolders(display *live.Display, card recorders.Card, own int, done <-chan struct{}) {
	tick := time.NewTicker(holdersEvery)
	defer tick.Stop()
	for {
		list, err := card.Processes(nil)
		if err != nil {
			return // containers and some drivers hide them
		}
		var holders []memtrix.Holder
		for _, p := range list {
			if p.PID == own {
				continue
			}
			h := memtrix.Holder{PID: p.PID, Name: "unknown"}
			if data, err := os.ReadFile(filepath.Join("/proc", fmt.Sprint(p.PID), "comm")); err == nil {
				h.Name = strings.TrimSpace(string(data))
			}
			if p.Known {
				h.Bytes = p.Used
			}
			holders = append(holders, h)
		}
		display.Holders(holders)
		select {
		case <-done:
			return
		case <-tick.C:
		}
	}
}

func (c *watchCmd) show(a *app, s *reports.Session, t *memtrix.Trial) error {
	if c.JSON {
		return unlessUnread(reports.SessionJSON(a.stdout, *s))
	}
	if err := show(a, s, c.Results); err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\nverdict: %s\n", reports.OneLine(reports.Verdict(t.Outcome)))
	if t.Outcome.Message != "" {
		fmt.Fprintf(&b, "  %s\n", reports.OneLine(t.Outcome.Message))
	}
	for _, line := range t.Outcome.Advice {
		fmt.Fprintf(&b, "  advice: %s\n", reports.OneLine(line))
	}
	fmt.Fprintf(&b, "stored as trial %d of session %s in %s\n", t.ID, s.Name, c.Results)
	_, err := fmt.Fprint(a.stdout, b.String())
	return unlessUnread(err)
}
