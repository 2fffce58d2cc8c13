package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"memtrix"
	"memtrix/lab"
	"memtrix/matrix"
	"memtrix/reports"
	"memtrix/reports/progress"
	"memtrix/results"
)

// experimentFlags are those of leak, floor and ceiling.
type experimentFlags struct {
	specFlags
	Results string `help:"Folder for memtrix.db, pictures and the raw files of each trial." default:"memtrix-results" type:"path"`
	Session string `help:"new, last, or a session's name. By default the last session of this experiment goes on if it was interrupted, else a new one begins." placeholder:"SESSION"`
	JSON    bool   `name:"json" help:"One JSON document on standard output and nothing else there."`
	Quiet   bool   `short:"q" help:"No progress."`
}

// experiment is a session of tries.
type experiment struct {
	db    *results.DB
	done  func()
	ready *ready
	bench *lab.Bench
	cells []memtrix.PlannedCell
}

// open makes an experiment ready. name is added to the spec's: sessions of one
// experiment belong together.
func (f *experimentFlags) open(a *app, name string, adjust func(*matrix.Spec) error) (*experiment, error) {
	spec, err := f.load(a.ctx)
	if err != nil {
		return nil, err
	}
	f.ownModels(a, spec)
	spec.Control, spec.Budget, spec.Repeats = nil, 0, 1
	if err := adjust(spec); err != nil {
		return nil, err
	}
	db, done, err := openToWrite(a, f.Results)
	if err != nil {
		return nil, err
	}
	rd, err := makeReady(a, spec, db, "."+name, f.Session, f.Quiet)
	if err != nil {
		done()
		return nil, err
	}
	e := &experiment{db: db, done: done, ready: rd}
	rd.runner.Progress = &counted{Display: rd.display}
	e.bench = &lab.Bench{Runner: rd.runner, Store: db, Session: rd.session}
	for _, c := range rd.plan.Cells {
		if c.Status == memtrix.StatusRun {
			e.cells = append(e.cells, c)
			continue
		}
		sayLeftOut(a, c.Cell, c.Status, c.Reason)
	}
	if len(e.cells) == 0 {
		e.close()
		return nil, usage{errNoCell}
	}
	return e, nil
}

func (e *experiment) close() {
	e.ready.close()
	e.done()
}

// runsAlready says that all versions of a spec are servers that somebody else started.
func runsAlready(s *matrix.Spec) bool {
	return len(s.Versions) > 0 && !slices.ContainsFunc(s.Versions, func(e matrix.VersionEntry) bool { return e.URL == "" })
}

// onlyStarted leaves out the cells of servers that memtrix does not start, and says why.
func (e *experiment) onlyStarted(a *app, why string) error {
	e.cells = slices.DeleteFunc(e.cells, func(c memtrix.PlannedCell) bool {
		out := c.Cell.Version.Attached != nil
		if out {
			sayLeftOut(a, c.Cell, memtrix.StatusNotApplicable, why)
		}
		return out
	})
	if len(e.cells) == 0 {
		return usage{errNoCell}
	}
	return nil
}

var errNoCell = errors.New("no cell of the spec can be run")

// sayLeftOut says why a cell is not asked.
func sayLeftOut(a *app, c memtrix.Cell, s memtrix.Status, why string) {
	fmt.Fprintln(a.stderr, reports.OneLine(fmt.Sprintf("%s, %s, %s: %s, %s", c.Version.Name, c.Workflow.Name, c.Settings, s, why)))
}

// each asks a question of every cell. What cannot be told of one cell does not keep
// the others from being asked. The session ends when all of them were, unless going on
// with it may tell more.
func (e *experiment) each(a *app, ask func(context.Context, memtrix.PlannedCell) error) error {
	var errs []error
	again := false
	for _, c := range e.cells {
		err := ask(a.ctx, c)
		if a.ctx.Err() != nil {
			fmt.Fprintln(a.stderr, "The trials so far are kept; the same command goes on from here.")
			return a.ctx.Err()
		}
		if err != nil {
			errs = append(errs, cannot{fmt.Errorf("%s: %w", cellName(c.Cell), err)})
			again = again || !errors.As(err, new(lab.Settled))
		}
	}
	e.ready.display.Close()
	if !again {
		if err := e.db.EndSession(context.WithoutCancel(a.ctx), e.ready.session.ID); err != nil {
			errs = append(errs, cannot{err})
		}
	}
	return errors.Join(errs...)
}

// keep stores a value.
func (e *experiment) keep(ctx context.Context, v memtrix.Value) error {
	return e.db.SaveValue(context.WithoutCancel(ctx), v)
}

// cellName tells a cell from the others of a spec.
func cellName(c memtrix.Cell) string {
	s := fmt.Sprintf("%s  %s  %s", c.Version.Name, c.Workflow.Name, c.Settings)
	if c.Hardware.Name != "" && c.Hardware.Name != "as-is" {
		s += "  " + c.Hardware.Name
	}
	return s
}

// hasInside says that a probe can look into one of the versions.
func hasInside(s *matrix.Spec) bool {
	return slices.ContainsFunc(s.Versions, func(e matrix.VersionEntry) bool { return e.Sim == "" })
}

// counted numbers the trials of a search through; how many will follow is not known.
type counted struct {
	*progress.Display
	n atomic.Int64
}

func (c *counted) Left(time.Duration) {}

func (c *counted) CellStart(_ int, title string) { c.Display.CellStart(int(c.n.Add(1)), title) }

// drawCurve writes both formats of a curve's picture and names the one to look at.
func (e *experiment) drawCurve(a *app, c reports.Curve) error {
	base := filepath.Join(e.db.Dir(), "curve-"+fileName(e.ready.session.Name))
	for _, format := range formats {
		if err := toFile(base+"."+string(format), func(f *os.File) error { return reports.DrawCurve(f, c, format) }); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(a.stdout, "curve:  "+reports.OneLine(base)+".png")
	return unlessUnread(err)
}

func writeJSON(a *app, doc any) error {
	enc := json.NewEncoder(a.stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return unlessUnread(enc.Encode(doc))
}

// curveLine is the tries of one cell for a picture; scale turns a size into the
// axis's unit.
func curveLine(name string, tries []lab.Point, border int64, scale float64, label func(lab.Point) string) reports.CurveLine {
	l := reports.CurveLine{Name: name, Border: float64(border) / scale}
	for _, p := range tries {
		q := reports.CurvePoint{
			Size: float64(p.Size) / scale, Label: label(p), Seconds: p.Last, Pass: p.Pass, AsIs: p.AsIs,
			Outcome: string(p.Outcome), Trial: p.Trial,
		}
		if p.Memory != "" && p.Memory != memtrix.MemoryNone {
			q.Outcome += " (" + string(p.Memory) + ")"
		}
		if p.Phase != "" && !p.Pass {
			q.Outcome += " in " + string(p.Phase)
		}
		if !p.Pass {
			q.Seconds = 0
		}
		if p.Peak > 0 {
			q.Detail = "took " + reports.Bytes(p.Peak)
		}
		if p.AsIs {
			q.Detail += ", as it is"
		}
		if p.HiddenRetries > 0 {
			q.Detail += fmt.Sprintf(", %d hidden retries", p.HiddenRetries)
		}
		l.Points = append(l.Points, q)
	}
	return l
}
