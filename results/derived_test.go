package results

import (
	"context"
	"reflect"
	"testing"

	"memtrix"
)

// A value hangs on a trial and is found by session, and by series and meter.
func TestValues(t *testing.T) {
	ctx := context.Background()
	db := mustOpen(t, t.TempDir())
	session := mustStart(t, db, "nightly.floor-vram", "one")
	trial := fullTrial(session.ID)
	mustSave(t, db, trial)
	want := memtrix.Value{
		Trial: trial.ID, Meter: memtrix.FloorVRAM, Unit: memtrix.UnitBytes,
		Value: 3 << 30, Low: 2 << 30, High: 3 << 30, Trials: []int64{trial.ID, 7}, Note: "on this card",
	}
	first := want
	first.Value = 1
	for _, v := range []memtrix.Value{first, want} { // the second replaces the first
		if err := db.SaveValue(ctx, v); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.SaveValue(ctx, memtrix.Value{Trial: 4711, Meter: "x"}); err == nil {
		t.Error("a value of no trial is kept")
	}
	for name, read := range map[string]func() ([]memtrix.ValueAt, error){
		"session": func() ([]memtrix.ValueAt, error) { return db.Values(ctx, session.ID) },
		"history": func() ([]memtrix.ValueAt, error) {
			return db.ValueHistory(ctx, trial.Cell.Series(), memtrix.FloorVRAM)
		},
	} {
		got, err := read()
		if err != nil || len(got) != 1 {
			t.Fatalf("%s: %v %v", name, got, err)
		}
		v := got[0]
		if !reflect.DeepEqual(v.Value, want) || v.Session != session.ID || v.Cell != trial.Cell.ID() || v.Version != "0.29.0" || !v.Simulated || !v.Started.Equal(trial.Started) {
			t.Errorf("%s: %+v", name, v)
		}
	}
	if got, err := db.ValueHistory(ctx, "other", memtrix.FloorVRAM); err != nil || len(got) != 0 {
		t.Errorf("another series: %v %v", got, err)
	}
}
