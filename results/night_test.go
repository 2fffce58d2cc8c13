package results_test

import (
	"context"
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
func TestNight(t *testing.T) {
	folders := os.Getenv("MEMTRIX_NIGHT")
	if folders == "" {
		t.Skip("MEMTRIX_NIGHT names no results folders")
	}
	var night, whole, trials int
	var longest time.Duration
	for _, dir := range filepath.SplitList(folders) {
		for _, trial := range stored(t, dir) {
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
			longest = max(longest, time.Duration(trial.Seconds*1e9))
		}
	}
	t.Logf("series of 60 such trials: %.2f MB by rule, %.2f MB whole", 60*float64(night)/float64(trials)/1e6, 60*float64(whole)/float64(trials)/1e6)
}

func size(t *testing.T, series []memtrix.Series) int {
	t.Helper()
	n, err := results.SeriesSize(series)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func stored(t *testing.T, dir string) []*memtrix.Trial {
	t.Helper()
	ctx := context.Background()
	db, err := results.Open(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var all []*memtrix.Trial
	for id := int64(1); ; id++ {
		trial, err := db.Trial(ctx, id)
		if err != nil {
			return all
		}
		all = append(all, trial)
	}
}
