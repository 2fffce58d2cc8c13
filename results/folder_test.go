package results

import (
	"context"
	"os"
	"path/filepath"
	"testing"
)

// Ensure that a results folder that was moved finds its trials' files in itself, also
// those that an older memtrix kept by their whole paths.
func TestFolderMoves(t *testing.T) {
	ctx := context.Background()
	parent := t.TempDir()
	before, after := filepath.Join(parent, "before"), filepath.Join(parent, "after")
	db := mustOpen(t, before)
	session := mustStart(t, db, "nightly", "one")
	trial := fullTrial(session.ID)
	trial.Dir = filepath.Join(before, "trials", "one")
	if err := os.MkdirAll(trial.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	mustSave(t, db, trial)
	old := fullTrial(session.ID)
	old.Repeat++
	mustSave(t, db, old)
	if _, err := db.sql.ExecContext(ctx, `UPDATE trials SET dir = ? WHERE id = ?`, trial.Dir, old.ID); err != nil {
		t.Fatal(err)
	}
	check := func(want string) {
		t.Helper()
		for _, id := range []int64{trial.ID, old.ID} {
			got, err := db.Trial(ctx, id)
			if err != nil {
				t.Fatal(err)
			}
			if got.Dir != want {
				t.Errorf("trial %d: want %s, got %s", id, want, got.Dir)
			}
		}
	}
	check(trial.Dir)
	mustClose(t, db)
	if err := os.Rename(before, after); err != nil {
		t.Fatal(err)
	}
	db = mustOpen(t, after)
	defer mustClose(t, db)
	check(filepath.Join(after, "trials", "one"))
}
