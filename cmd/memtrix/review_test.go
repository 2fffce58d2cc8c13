package main

import (
	"context"
	"fmt"
	"testing"

	"memtrix"
	"memtrix/results"
)

// nightsOf stores nights of so many cells, and gives the newest session, which goes on.
func nightsOf(t testing.TB, cells, nights int) (*results.DB, memtrix.Session) {
	t.Helper()
	ctx := context.Background()
	db, err := results.Open(ctx, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	for n := range nights {
		v := memtrix.Version{Name: "master", Target: memtrix.TargetComfyUI, Release: "0.29.0", Commit: fmt.Sprintf("%040x", n)}
		var trials []*memtrix.Trial
		for c := range cells {
			trials = append(trials, passing(fmt.Sprintf("w%02d", c), v, n))
		}
		if err := storeSession(ctx, db, "nightly", fmt.Sprintf("night-%03d", n), trials...); err != nil {
			t.Fatal(err)
		}
	}
	s, err := db.FindSession(ctx, "last")
	if err != nil {
		t.Fatal(err)
	}
	return db, s
}

// BenchmarkNight is what a run of 60 cells reads of its history when it has ended: once to
// see whether repeats would tell, once after one repeat, and once for the alarms.
func BenchmarkNight(b *testing.B) {
	ctx := context.Background()
	db, session := nightsOf(b, 60, 220)
	for b.Loop() {
		w, err := see(ctx, db, session)
		if err != nil {
			b.Fatal(err)
		}
		if err := w.again(ctx, db); err != nil {
			b.Fatal(err)
		}
		if _, err := review(ctx, db, w, session.Name); err != nil {
			b.Fatal(err)
		}
	}
}
