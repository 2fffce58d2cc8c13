package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"unicode"

	"memtrix"
	"memtrix/internal/files"
	"memtrix/reports"
	"memtrix/results"
)

// formats of every picture: one to look at, one to print.
var formats = []reports.Format{reports.PNG, reports.SVG}

// show writes a session's table to standard output and its pictures into the
// results folder. The pictures are made also when nobody reads the table.
func show(a *app, s *reports.Session, dir string) error {
	tableErr := unlessUnread(reports.Table(a.stdout, *s, tableOptions(a)))
	files, err := draw(a, s, dir)
	for _, f := range files {
		fmt.Fprintln(a.stdout, reports.OneLine(f))
	}
	warning, err := notDrawn(err)
	if warning != "" {
		fmt.Fprintln(a.stderr, "memtrix:", reports.OneLine(warning))
	}
	return errors.Join(tableErr, err)
}

// notDrawn makes one warning of pictures that may not be written: who looks at results of
// somebody else, or on a disk that is read only, sees them all the same. Other errors stay.
func notDrawn(err error) (warning string, rest error) {
	all := []error{err}
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		all = many.Unwrap()
	}
	var refused, others []error
	for _, e := range all {
		switch {
		case e == nil:
		case errors.Is(e, os.ErrPermission) || errors.Is(e, syscall.EROFS):
			refused = append(refused, e)
		default:
			others = append(others, e)
		}
	}
	switch n := len(refused); n {
	case 0:
		return "", err
	case 1:
		warning = "a picture is not written: " + refused[0].Error()
	default:
		warning = fmt.Sprintf("%d pictures are not written: %v", n, refused[0])
	}
	return warning, errors.Join(others...)
}

// unlessUnread drops the error of a reader that went away (| head): what could
// not be shown to it is in the results folder.
func unlessUnread(err error) error {
	if errors.Is(err, syscall.EPIPE) {
		return nil
	}
	return err
}

// openToRead opens results for a command that only looks.
func openToRead(a *app, dir string) (*results.DB, error) {
	db, err := results.OpenToRead(a.ctx, dir, func(e *results.OlderError) {
		fmt.Fprintf(a.stderr, "brought %s up to date: schema %d of an older memtrix to %d\n", e.Path, e.Has, e.Reads)
	})
	if err != nil {
		return nil, cannot{err}
	}
	return db, nil
}

// draw makes the pictures of a session: a heat map, and a timeline of each trial
// beside its raw files. It returns the paths of the ones that a person should
// look at first. A picture that cannot be made does not keep the others from
// being made; raw files that somebody has removed are no error.
func draw(a *app, s *reports.Session, dir string) ([]string, error) {
	// What was measured is drawn, also when a person stopped the run.
	ctx := context.Background()
	if len(s.Trials) == 0 && len(s.Plan.Cells) == 0 {
		return nil, nil // a session that has only begun
	}
	db, err := results.OpenReadOnly(ctx, dir)
	if err != nil {
		return nil, cannot{err}
	}
	defer db.Close()
	var drawn []string
	var errs []error
	for _, meter := range reports.HeatmapMeters(*s) {
		heat := filepath.Join(dir, "heatmap-"+fileName(s.Name)+"-"+meter)
		if err := drawHeatmap(s, meter, heat); err != nil {
			errs = append(errs, err)
		} else {
			drawn = append(drawn, "heat map:  "+heat+".png")
		}
	}
	trends, err := drawTrends(s, dir)
	drawn, errs = append(drawn, trends...), append(errs, err)
	for _, t := range s.Trials {
		if t.Dir == "" || len(t.Spans) == 0 {
			continue
		}
		if !files.Exist(t.Dir) {
			fmt.Fprintf(a.stderr, "trial %d: no timeline, since its folder is gone: %s\n", t.ID, reports.OneLine(t.Dir))
			continue
		}
		path, err := drawTimeline(ctx, db, t)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		drawn = append(drawn, fmt.Sprintf("timeline:  %s (trial %d)", path, t.ID))
	}
	return drawn, errors.Join(errs...)
}

func drawHeatmap(s *reports.Session, meter, base string) error {
	for _, format := range formats {
		if err := toFile(base+"."+string(format), func(f *os.File) error { return reports.Heatmap(f, *s, meter, format) }); err != nil {
			return err
		}
	}
	return nil
}

// mostTrends bounds the pictures of a session's trends to the worst.
const mostTrends = 6

// drawTrends makes a picture of each trend along which something changed.
func drawTrends(s *reports.Session, dir string) ([]string, error) {
	var files []string
	for _, t := range s.Trends {
		for _, m := range t.Pictures() {
			if len(files) == mostTrends {
				return files, nil
			}
			base := filepath.Join(dir, "trend-"+fileName(s.Name)+"-"+strconv.Itoa(len(files)+1))
			for _, format := range formats {
				if err := toFile(base+"."+string(format), func(f *os.File) error { return reports.DrawTrend(f, t, m, format) }); err != nil {
					return files, err
				}
			}
			files = append(files, "trend:     "+base+".png")
		}
	}
	return files, nil
}

// fileName is a session's name without what would lead out of the folder, or
// disturb those who list it.
func fileName(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '/' || r == '\\' || unicode.IsControl(r) {
			return '_'
		}
		return r
	}, name)
}

func drawTimeline(ctx context.Context, db *results.DB, t *memtrix.Trial) (string, error) {
	whole, err := db.Trial(ctx, t.ID) // with its series
	if err != nil {
		return "", err
	}
	base := filepath.Join(t.Dir, "timeline")
	for _, format := range formats {
		if err := toFile(base+"."+string(format), func(f *os.File) error { return reports.Timeline(f, whole, format) }); err != nil {
			return "", err
		}
	}
	return base + ".png", nil
}

func toFile(path string, write func(*os.File) error) error {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	if err := write(f); err != nil {
		f.Close()
		return fmt.Errorf("write %s: %w", path, err)
	}
	return f.Close()
}
