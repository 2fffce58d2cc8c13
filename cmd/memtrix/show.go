package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/term"

	"memtrix"
	"memtrix/reports"
	"memtrix/results"
)

// formats of every picture: one to look at, one to print.
var formats = []reports.Format{reports.PNG, reports.SVG}

// show writes a session's table to standard output and its pictures into the
// results folder.
func show(a *app, s *reports.Session, dir string) error {
	o := reports.TableOptions{}
	if f, ok := a.stdout.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil {
			o.Width = width
		}
		o.Color = os.Getenv("NO_COLOR") == ""
	}
	if err := reports.Table(a.stdout, *s, o); err != nil {
		return err
	}
	files, err := draw(s, dir)
	for _, f := range files {
		fmt.Fprintln(a.stdout, f)
	}
	return err
}

// draw makes the pictures of a session: a heat map, and a timeline of each trial
// beside its raw files. It returns the paths of the ones that a person should
// look at first.
func draw(s *reports.Session, dir string) ([]string, error) {
	// What was measured is drawn, also when a person stopped the run.
	ctx := context.Background()
	db, err := results.OpenReadOnly(ctx, dir)
	if err != nil {
		return nil, cannot{err}
	}
	defer db.Close()
	var files []string
	heat := filepath.Join(dir, "heatmap-"+s.Name)
	for _, format := range formats {
		if err := toFile(heat+"."+string(format), func(f *os.File) error { return reports.Heatmap(f, *s, "", format) }); err != nil {
			return nil, err
		}
	}
	files = append(files, "heat map:  "+heat+".png")
	for _, t := range s.Trials {
		if t.Dir == "" || len(t.Spans) == 0 {
			continue
		}
		path, err := drawTimeline(ctx, db, t)
		if err != nil {
			return files, err
		}
		files = append(files, fmt.Sprintf("timeline:  %s (trial %d)", path, t.ID))
	}
	return files, nil
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
