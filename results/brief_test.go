package results

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"memtrix"
)

// A brief says the same as the whole trial: peaks over the work, readings at rest,
// times of prompts that passed, the non-evictable peak, values.
func TestBriefs(t *testing.T) {
	ctx := context.Background()
	db := mustOpen(t, t.TempDir())
	one, two := mustStart(t, db, "nightly", "one"), mustStart(t, db, "nightly", "two")
	trial := fullTrial(one.ID)
	// What memtrix provokes at the end is in no peak.
	trial.Spans = append(trial.Spans, memtrix.Span{Kind: memtrix.SpanStop, Peaks: []memtrix.Peak{
		{Meter: memtrix.RAMTreeRSS, Value: 1 << 40}, {Meter: "only.at.the.end", Value: 5},
	}})
	// A meter of peaks only has no row of its own to say its unit.
	work := len(trial.Spans) - 2
	trial.Spans[work].Peaks = append(trial.Spans[work].Peaks, memtrix.Peak{Meter: memtrix.TorchWork, Value: 2 << 30, How: memtrix.PeakProbe})
	trial.Spans[1].Peaks = []memtrix.Peak{{Meter: memtrix.RAMTreeRSS, Value: 1, How: memtrix.PeakKernel}} // idle
	mustSave(t, db, trial)
	mustSave(t, db, fullTrial(two.ID))
	floor := memtrix.Value{Trial: trial.ID, Meter: memtrix.FloorVRAM, Unit: memtrix.UnitBytes, Value: 3 << 30, Trials: []int64{1}}
	if err := db.SaveValue(ctx, floor); err != nil {
		t.Fatal(err)
	}
	check := func(q Which, want int) []*memtrix.Brief {
		t.Helper()
		got, err := db.Briefs(ctx, q)
		if err != nil || len(got) != want {
			t.Fatalf("%+v: %d trials, want %d: %v", q, len(got), want, err)
		}
		return got
	}
	check(Which{}, 2)
	check(Which{From: two.ID}, 1)
	check(Which{Series: []string{trial.Cell.Series()}}, 2)
	check(Which{Series: []string{"other"}}, 0)
	check(Which{Trials: []int64{trial.ID}, Sessions: []int64{two.ID}}, 0)
	b := check(Which{Sessions: []int64{one.ID}}, 1)[0]
	if b.Cell != trial.Cell.ID() || b.Series != trial.Cell.Series() || b.Session.Name != "one" || b.Trial.Environment["driver"] != "580.159" || !b.Trial.Control {
		t.Errorf("%+v", b)
	}
	if n := b.Numbers[memtrix.TorchWork]; n.Unit != memtrix.UnitBytes {
		t.Errorf("%s: %+v, want bytes", memtrix.TorchWork, n)
	}
	meters := 0
	for _, s := range trial.Spans {
		for _, p := range s.Peaks {
			want, ok := trial.Peak(p.Meter)
			got, have := b.Numbers[p.Meter]
			if meters++; ok != have || got.Value != want.Value || got.How != want.How {
				t.Errorf("%s: %+v %t, want %+v %t", p.Meter, got, have, want, ok)
			}
		}
	}
	if meters == 0 {
		t.Error("no peak was compared")
	}
	for name, want := range map[string]memtrix.Number{
		memtrix.RestedPrefix + memtrix.RAMTreeRSS: {Value: 9, Unit: memtrix.UnitBytes},
		memtrix.IdlePrefix + memtrix.RAMTreeRSS:   {Value: 1, Unit: memtrix.UnitBytes, How: memtrix.PeakKernel},
		memtrix.PromptSeconds(1):                  {Value: 8_190_000_000, Unit: memtrix.UnitNanoseconds},
		memtrix.FloorVRAM:                         {Value: 3 << 30, Unit: memtrix.UnitBytes},
	} {
		if b.Numbers[name] != want {
			t.Errorf("%s: %+v, want %+v", name, b.Numbers[name], want)
		}
	}
	some := check(Which{Trials: []int64{trial.ID}, Meters: []string{memtrix.RestedPrefix + memtrix.RAMTreeRSS}}, 1)[0].Numbers
	if _, ok := some[memtrix.VRAMDeviceUsed]; ok || some[memtrix.RestedPrefix+memtrix.RAMTreeRSS].Value != 9 || some[memtrix.FloorVRAM].Value == 0 {
		t.Errorf("of one meter: %v", some)
	}
	if _, ok := b.Numbers[memtrix.PromptSeconds(2)]; ok {
		t.Error("the time until a prompt failed counts as a prompt's time")
	}
}

// Trials from before the table of peaks get the same rows by migration.
func TestBriefsOfOlderTrials(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	db := mustOpen(t, dir)
	session := mustStart(t, db, "nightly", "one")
	trial := fullTrial(session.ID)
	trial.Spans[1].Peaks = []memtrix.Peak{{Meter: memtrix.RAMTreeRSS, Value: 1, How: memtrix.PeakKernel}}
	mustSave(t, db, trial)
	want, err := db.Briefs(ctx, Which{})
	if err != nil {
		t.Fatal(err)
	}
	// Back to the schema before.
	for _, q := range []string{`DROP TABLE trial_peaks`, `DROP TABLE changes`, `DROP TABLE alarms`, `ALTER TABLE trials DROP COLUMN control`, `ALTER TABLE trials DROP COLUMN confirms`,
		`DELETE FROM goose_db_version WHERE version_id >= 10`} {
		if _, err := db.sql.ExecContext(ctx, q); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db = onlyUntil(t, dir, "00011")
	got, err := db.Briefs(ctx, Which{})
	if err != nil || len(got) != 1 {
		t.Fatal(got, err)
	}
	if len(got[0].Numbers) != len(want[0].Numbers) {
		t.Errorf("%d numbers, want %d", len(got[0].Numbers), len(want[0].Numbers))
	}
	for name, n := range want[0].Numbers {
		if got[0].Numbers[name] != n {
			t.Errorf("%s: %+v, want %+v", name, got[0].Numbers[name], n)
		}
	}
}

// onlyUntil opens a folder with the migrations up to one.
func onlyUntil(t *testing.T, dir, last string) *DB {
	t.Helper()
	some := fstest.MapFS{}
	names, err := filepath.Glob("migrations/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if filepath.Base(name)[:len(last)] > last {
			continue
		}
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		some[filepath.Base(name)] = &fstest.MapFile{Data: data}
	}
	var files fs.FS = some
	db, err := open(context.Background(), dir, files)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}
