package results

import (
	"math/rand/v2"
	"testing"
	"time"

	"memtrix"
)

const tenMinutes = 10 * time.Minute

// tiled repeats a recording until it is ten minutes long, as a trial with many
// prompts would be, with moments in whole microseconds as the recorders give.
func tiled(series []memtrix.Series) []memtrix.Series {
	var long time.Duration
	for _, s := range series {
		long = max(long, s.T[len(s.T)-1]+time.Millisecond)
	}
	out := make([]memtrix.Series, len(series))
	for i, s := range series {
		out[i].Meter = s.Meter
		for from := time.Duration(0); from < tenMinutes; from += long {
			for k := range s.T {
				out[i].T = append(out[i].T, (from + s.T[k]).Truncate(time.Microsecond))
				out[i].V = append(out[i].V, s.V[k])
			}
		}
	}
	return out
}

// restless is the worst that can be recorded in ten minutes: a card whose used,
// free and own memory change at each millisecond, and a tree that changes every
// 10 ms, at moments that are never quite the same distance apart.
func restless() []memtrix.Series {
	random := rand.New(rand.NewPCG(3, 4))
	var out []memtrix.Series
	add := func(name string, every time.Duration, copies int) {
		var s memtrix.Series
		v := int64(8 << 30)
		for at := time.Duration(0); at < tenMinutes; at += every {
			v += (random.Int64N(65) - 32) << 21
			s.T, s.V = append(s.T, at+time.Duration(random.Int64N(60))*time.Microsecond), append(s.V, v)
		}
		for i := range copies {
			c := s
			c.Meter = memtrix.Meter{Name: name + string(rune('0'+i)), Unit: memtrix.UnitBytes, Source: "made up"}
			out = append(out, c)
		}
	}
	add("vram", time.Millisecond, 3)
	add("ram", 10*time.Millisecond, 6)
	return out
}

// BenchmarkTrial writes and reads a trial of ten minutes. A sample is one value of
// one meter that was stored; those that did not change cost nothing.
func BenchmarkTrial(b *testing.B) {
	for name, series := range map[string][]memtrix.Series{
		"recorded": tiled(rough(recorded(b, "029-8gib-disable-dynamic-vram"))),
		"restless": restless(),
	} {
		samples := 0
		for _, s := range series {
			samples += len(s.V)
		}
		db := mustOpen(b, b.TempDir())
		session := mustStart(b, db, "bench", "")
		trial := &memtrix.Trial{Session: session.ID, Series: series}
		trial.Outcome.Kind = memtrix.Pass
		b.Run(name+"/save", func(b *testing.B) {
			for b.Loop() {
				trial.ID = 0
				mustSave(b, db, trial)
			}
			b.ReportMetric(float64(samples)*float64(b.N)/b.Elapsed().Seconds(), "samples/s")
		})
		b.Run(name+"/read", func(b *testing.B) {
			for b.Loop() {
				if _, err := db.Trial(b.Context(), trial.ID); err != nil {
					b.Fatal(err)
				}
			}
			size, err := SeriesSize(series)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(size)/float64(samples), "bytes/sample")
			b.ReportMetric(float64(samples), "samples")
		})
		mustClose(b, db)
	}
}
