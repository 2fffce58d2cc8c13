package results

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"memtrix"
)

func TestSessions(t *testing.T) {
	ctx := context.Background()
	db := mustOpen(t, t.TempDir())
	now := time.Date(2026, 11, 30, 15, 4, 5, 6, time.UTC)
	db.now = func() time.Time { return now }

	if _, err := db.LastSession(ctx, "nightly"); !errors.Is(err, ErrNotFound) {
		t.Errorf("no session yet: got %v", err)
	}
	_, err := db.FindSession(ctx, "last")
	says(t, err, "no session in", db.Dir())

	first := mustStart(t, db, "nightly", "")
	if want := (memtrix.Session{ID: first.ID, Name: "nightly-20261130-150405", Spec: "nightly", Started: now}); first != want {
		t.Errorf("want %+v, got %+v", want, first)
	}
	second := mustStart(t, db, "nightly", "")
	if want := "nightly-20261130-150405-2"; second.Name != want {
		t.Errorf("want %s, got %s", want, second.Name)
	}
	other := mustStart(t, db, "other", "by hand")

	for _, name := range []string{"by hand", "last", "new"} {
		if _, err := db.StartSession(ctx, "nightly", name); err == nil {
			t.Errorf("StartSession %q: no error", name)
		}
	}
	if got, err := db.LastSession(ctx, "nightly"); err != nil || got != second {
		t.Errorf("LastSession: want %+v, got %+v, %v", second, got, err)
	}
	if got, err := db.FindSession(ctx, "last"); err != nil || got != other {
		t.Errorf("last: want %+v, got %+v, %v", other, got, err)
	}
	if got, err := db.FindSession(ctx, first.Name); err != nil || got != first {
		t.Errorf("by name: want %+v, got %+v, %v", first, got, err)
	}
	_, err = db.FindSession(ctx, "nosuch")
	says(t, err, `"nosuch"`, "by hand, nightly-20261130-150405-2, nightly-20261130-150405")
	if !errors.Is(err, ErrNotFound) {
		t.Errorf("unknown name: got %v", err)
	}

	now = now.Add(time.Hour)
	if err := db.EndSession(ctx, second.ID); err != nil {
		t.Fatal(err)
	}
	second.Ended = now
	if got, err := db.LastSession(ctx, "nightly"); err != nil || got != second {
		t.Errorf("ended: want %+v, got %+v, %v", second, got, err)
	}
	if err := db.EndSession(ctx, 4711); !errors.Is(err, ErrNotFound) {
		t.Errorf("end of no session: got %v", err)
	}
	if got, err := db.Sessions(ctx); err != nil || !reflect.DeepEqual(got, []memtrix.Session{first, second, other}) {
		t.Errorf("Sessions: got %+v, %v", got, err)
	}
}

// Ensure that an interrupted session knows what is missing, and that only
// finished trials count.
func TestDone(t *testing.T) {
	ctx := context.Background()
	db := mustOpen(t, t.TempDir())
	session, other := mustStart(t, db, "nightly", "one"), mustStart(t, db, "nightly", "two")
	base := fullTrial(0).Cell
	changed := base
	changed.Settings = memtrix.Settings{"cache": "none"}
	save := func(s memtrix.Session, cell memtrix.Cell, repeat int, kind memtrix.OutcomeKind, seconds float64) {
		t.Helper()
		mustSave(t, db, &memtrix.Trial{Session: s.ID, Cell: cell, Repeat: repeat, Seconds: seconds, Outcome: memtrix.Outcome{Kind: kind}})
	}
	save(session, base, 0, memtrix.Interrupted, 1)
	save(session, base, 0, memtrix.Pass, 2)
	save(session, base, 1, memtrix.OOM, 3)
	save(session, base, 2, memtrix.HarnessFailure, 4)
	save(session, base, 3, memtrix.Interrupted, 5)
	save(other, changed, 0, memtrix.Hang, 6)

	got, err := db.Done(ctx, session.ID)
	want := map[string]map[int]memtrix.OutcomeKind{base.ID(): {0: memtrix.Pass, 1: memtrix.OOM}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("want %v, got %v, %v", want, got, err)
	}

	last := func(cell memtrix.Cell, kind memtrix.OutcomeKind, seconds float64, ok bool) {
		t.Helper()
		k, s, o, err := db.LastOf(ctx, cell.ID())
		if k != kind || s != seconds || o != ok || err != nil {
			t.Errorf("want %s %v %v, got %s %v %v, %v", kind, seconds, ok, k, s, o, err)
		}
	}
	last(base, memtrix.OOM, 3, true)
	last(changed, memtrix.Hang, 6, true)
	changed.Probe = false
	last(changed, "", 0, false)

	moved, newer := base.Version, base.Version
	moved.Name, moved.Dir = "other name", "/elsewhere"
	newer.Commit = "0000"
	known, err := db.Known(ctx, []memtrix.Version{newer, moved})
	if err != nil || !reflect.DeepEqual(known, []bool{false, true}) {
		t.Errorf("Known: got %v, %v", known, err)
	}
}
