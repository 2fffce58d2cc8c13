package results_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"memtrix"
	"memtrix/recorders"
	"memtrix/results"
)

// TestNight says what a night of 60 trials takes, from trials that were really
// run: MEMTRIX_NIGHT names copies of results folders, with colons between them.
// Series that are thinned already are in the store as they are kept.
func TestNight(t *testing.T) {
	folders := os.Getenv("MEMTRIX_NIGHT")
	if folders == "" {
		t.Skip("MEMTRIX_NIGHT names no results folders")
	}
	var night, whole, trials int
	var disk int64
	var slowest time.Duration
	for _, dir := range filepath.SplitList(folders) {
		disk += onDisk(t, dir)
		all, took := stored(t, dir)
		slowest = max(slowest, took)
		for _, trial := range all {
			if len(trial.Series) == 0 {
				continue
			}
			full := size(t, trial.Series)
			kept := full
			if trial.Outcome.Kind == memtrix.Pass && trial.AsExpected() {
				var thinned []memtrix.Series
				for _, s := range trial.Series {
					thinned = append(thinned, recorders.Envelope(s, 100*time.Millisecond))
				}
				kept = size(t, thinned)
			}
			readings, changes := 0, 0
			for _, s := range trial.Series {
				changes += len(s.V)
				if n := len(s.T); strings.HasPrefix(s.Meter.Name, "ram.tree") || strings.HasPrefix(s.Meter.Name, "vram.device") {
					readings += int((s.T[n-1] - s.T[0]) / (10 * time.Millisecond))
				}
			}
			t.Logf("%s trial %d, %s, %.0f s: %d bytes, %.2f a reading of the fast meters, %.2f a change; kept %d", filepath.Base(dir), trial.ID, trial.Outcome.Kind, trial.Seconds, full,
				float64(full)/float64(max(readings, 1)), float64(full)/float64(max(changes, 1)), kept)
			night, whole, trials = night+kept, whole+full, trials+1
		}
	}
	of60 := func(n float64) float64 { return 60 * n / float64(max(trials, 1)) / 1e6 }
	t.Logf("series of 60 such trials: %.2f MB by rule, %.2f MB as they are stored", of60(float64(night)), of60(float64(whole)))
	t.Logf("on disk, with raw files and pictures and without models, %d trials: %.2f MB, of 60: %.2f MB", trials, float64(disk)/1e6, of60(float64(disk)))
	t.Logf("the slowest trial was read in %v", slowest)
}

func size(t *testing.T, series []memtrix.Series) int {
	t.Helper()
	n, err := results.SeriesSize(series)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// onDisk is what the files of a results folder take, models left out.
func onDisk(t *testing.T, dir string) int64 {
	t.Helper()
	var sum int64
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path == filepath.Join(dir, "models"):
			return filepath.SkipDir
		case d.Type().IsRegular():
			info, err := d.Info()
			if err != nil {
				return err
			}
			sum += info.Size()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// stored reads all trials of a results folder, and says how long the slowest took.
func stored(t *testing.T, dir string) (all []*memtrix.Trial, slowest time.Duration) {
	t.Helper()
	ctx := context.Background()
	db, err := results.Open(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	sessions, err := db.Sessions(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sessions {
		short, err := db.Trials(ctx, s.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range short {
			began := time.Now()
			trial, err := db.Trial(ctx, b.ID)
			if err != nil {
				t.Fatal(err)
			}
			slowest = max(slowest, time.Since(began))
			all = append(all, trial)
		}
	}
	return all, slowest
}
