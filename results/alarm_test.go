package results

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"memtrix/history"
	"memtrix/regress"
)

// Alarms, what joins them, what is for the better, and states come back as they were.
func TestAlarms(t *testing.T) {
	ctx := context.Background()
	db := mustOpen(t, t.TempDir())
	s := mustStart(t, db, "nightly", "one")
	now := time.Date(2026, 11, 30, 1, 2, 3, 0, time.UTC)
	db.now = func() time.Time { return now }
	change := func(meter string) history.Change {
		return history.Change{Line: "l", Workflow: "sdxl", Settings: "default", Axis: history.ByDate, Meter: meter, Kind: regress.Shift, Worse: true,
			Before: 1, After: 2, Session: s.ID, At: now, From: "a", To: "b", Causes: []history.Cause{{Kind: history.CausePackage, Name: "torch", Before: "1", After: "2"}}}
	}
	r := &history.Review{
		Opened: []history.Alarm{{State: history.Open, Machine: true, Title: "t", Cause: "c", CauseKey: "k", Session: s.ID, Name: "one", Simulated: true, Confirming: 2, Confirmed: 1, Changes: []history.Change{change("x")}}},
		Better: []history.Change{change("y")},
	}
	if err := db.SaveReview(ctx, r); err != nil {
		t.Fatal(err)
	}
	id := r.Opened[0].ID
	again := &history.Review{Joined: map[int64][]history.Change{id: {change("z"), change("x")}}} // x is kept already
	if err := db.SaveReview(ctx, again); err != nil {
		t.Fatal(err)
	}
	want := r.Opened[0]
	want.Changes = []history.Change{change("x"), change("z")}
	got, err := db.Alarms(ctx)
	if err != nil || len(got) != 1 || !reflect.DeepEqual(got[0], want) {
		t.Fatalf("%v\n got %+v\nwant %+v", err, got, want)
	}
	known, err := db.KnownChanges(ctx)
	if err != nil || len(known) != 3 {
		t.Errorf("%d known changes, want 3: %v", len(known), err)
	}
	if err := db.SetAlarm(ctx, id, history.Expected, "0.30.0", "new cache"); err != nil {
		t.Fatal(err)
	}
	if err := db.SaveReview(ctx, &history.Review{Fixed: []int64{id}}); err != nil {
		t.Fatal(err)
	}
	got, err = db.Alarms(ctx)
	if err != nil || got[0].State != history.Fixed || got[0].From != "0.30.0" || got[0].Note != "new cache" {
		t.Errorf("%+v %v", got, err)
	}
	told := history.FloorTold{Where: "sdxl", Move: "rose", Words: "w", Trials: []int64{1, 2}}
	if err := db.SetFloor(ctx, id, told); err != nil {
		t.Fatal(err)
	}
	if got, err = db.Alarms(ctx); err != nil || !reflect.DeepEqual(got[0].Floor, &told) {
		t.Errorf("floor: %+v %v", got, err)
	}
	if err := db.SetFloor(ctx, 4711, told); !errors.Is(err, ErrNotFound) {
		t.Errorf("the floor of an unknown alarm: %v", err)
	}
	if err := db.SetAlarm(ctx, 4711, history.Fixed, "", ""); !errors.Is(err, ErrNotFound) {
		t.Errorf("unknown alarm: %v", err)
	}
}
